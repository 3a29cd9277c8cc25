"""Builds in shards: killed and resumed, torn shards, vectors taken from an older KB."""

import hashlib
import os
import pathlib
import shutil
import signal
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from spacy_termlink.candidates.shards import VectorShards
from spacy_termlink.cli import app
from spacy_termlink.encoders import load_encoder
from spacy_termlink.errors import TermlinkError
from spacy_termlink.kb import OldVectors, TermKB, build_kb, encoding, rebuild_kb
from spacy_termlink.terminology import Concept, Name
from spacy_termlink.terminology.builder import build_terminology


class LetterEncoder:
    """Vectors made of the letters of a name; remembers what it was asked for."""

    width = 16
    dtype = "float32"

    def __init__(self, fingerprint="letters"):
        self.fingerprint = fingerprint
        self.encoded = []

    def encode(self, texts, progress=None):
        self.encoded.extend(texts)
        rows = [hashlib.sha256(text.encode()).digest()[: self.width] for text in texts]
        vectors = np.array([list(row) for row in rows], dtype=np.float32).reshape(-1, self.width)
        vectors -= 127
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def save(self, folder):
        folder.mkdir()
        (folder / "letters.txt").write_text(self.fingerprint)


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(encoding, "SHARD_NAMES", 5)


@pytest.fixture(scope="module")
def new_release(tmp_path_factory):
    """The tiny terminology's next release: a concept more, a name more, one gone, one renamed."""
    from tests.conftest import TINY_CONCEPTS

    concepts = []
    for concept in TINY_CONCEPTS:
        if concept.concept_id == "T:0012":
            concept = Concept(
                "T:0012",
                "Cleft of palate",
                [Name("Palatoschisis", "exact"), Name("Palatum fissum", "exact")],
            )
        if concept.concept_id == "T:0011":
            continue
        concepts.append(concept)
    concepts.append(Concept("T:0013", "Arachnodactyly", [Name("Spider fingers", "layperson")]))
    path = tmp_path_factory.mktemp("release") / "tiny"
    build_terminology(concepts, path, meta={"source": "tiny", "release": "2026-07-01"})
    return path


def contents(kb):
    return {
        p.relative_to(kb).as_posix(): p.read_bytes() for p in sorted(kb.rglob("*")) if p.is_file()
    }


def test_shards_are_one_array(tmp_path):
    whole = np.random.default_rng(0).normal(size=(23, 4)).astype(np.float32)
    paths = []
    for i, (start, stop) in enumerate([(0, 7), (7, 14), (14, 14), (14, 23)]):
        paths.append(tmp_path / f"shard-{i}.npy")
        np.save(paths[-1], whole[start:stop])
    shards = VectorShards(paths)
    assert shards.shape == whole.shape and len(shards) == 23
    for a in range(0, 24):
        for b in range(0, 26):
            assert np.array_equal(shards[a:b], whole[a:b])
    rows = np.array([[22, 0, 7], [6, 13, 14]])
    assert np.array_equal(shards[rows], whole[rows])
    assert shards[np.array([], dtype=int)].shape == (0, 4)
    paths[1].write_bytes(b"torn")
    with pytest.raises(TermlinkError, match="TL505.*shard-1"):
        shards[5:9]


def test_shards_give_the_same_kb(tiny_terminology, tmp_path, monkeypatch):
    for folder in ("whole", "shards"):
        (tmp_path / folder).mkdir()
    build_kb(tiny_terminology, LetterEncoder(), tmp_path / "whole" / "kb", progress=False)
    monkeypatch.setattr(encoding, "SHARD_NAMES", 5)
    build_kb(tiny_terminology, LetterEncoder(), tmp_path / "shards" / "kb", progress=False)
    assert contents(tmp_path / "whole" / "kb") == contents(tmp_path / "shards" / "kb")
    assert [path.name for path in (tmp_path / "shards").iterdir()] == ["kb"]


def test_shards_of_a_transformer_give_the_same_kb(
    tiny_terminology, tiny_encoder, tiny_kb, tmp_path, small_shards
):
    encoder = load_encoder(tiny_encoder, dtype="float32")
    build_kb(tiny_terminology, encoder, tmp_path / "tiny", progress=False)
    assert contents(tmp_path / "tiny") == contents(tiny_kb)


def build_in_child(kill_at, terminology, out, *, resume):
    """Build in a forked process that kills itself at a step of writing; whether it was killed.

    kill_at (int): Which call of the functions that write or name files; even ones before it is made,
        odd ones after.
    """
    pid = os.fork()
    if not pid:
        calls = 0

        def deadly(function):
            def call(*args, **kwargs):
                nonlocal calls
                calls += 1
                mine = calls == kill_at // 2 + 1
                if mine and kill_at % 2 == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = function(*args, **kwargs)
                if mine:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            return call

        encoding.np.save = deadly(np.save)
        encoding.shutil.rmtree = deadly(shutil.rmtree)
        pathlib.Path.replace = deadly(pathlib.Path.replace)
        try:
            build_kb(terminology, LetterEncoder(), out, resume=resume, progress=False)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def test_a_folder_that_no_build_made_stays(tiny_terminology, tmp_path, small_shards):
    mine = tmp_path / "kb.shards" / "mydata"
    mine.mkdir(parents=True)
    with pytest.raises(TermlinkError, match=r"TL002.*kb\.shards"):
        build_kb(tiny_terminology, LetterEncoder(), tmp_path / "kb", progress=False)
    assert mine.is_dir()


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_killed_at_every_step_and_resumed(tiny_terminology, tmp_path, small_shards):
    """The resumed build is the uninterrupted one, and encodes no shard that was whole."""
    build_kb(tiny_terminology, LetterEncoder(), tmp_path / "sound" / "kb", progress=False)
    expected = contents(tmp_path / "sound" / "kb")
    names = TermKB.open(tmp_path / "sound" / "kb").names
    n_names = len(names)
    kill_at, fewest = 0, n_names
    while True:
        folder = tmp_path / f"killed-{kill_at}"
        out = folder / "kb"
        if not build_in_child(kill_at, tiny_terminology, out, resume=False):
            break
        work = folder / "kb.shards"
        if (work / "manifest.json").exists():
            with pytest.raises(TermlinkError, match="TL540.*--resume"):
                build_kb(tiny_terminology, LetterEncoder(), out, progress=False)
        whole = len(list(work.glob("shard-*.json")))
        encoder = LetterEncoder()
        build_kb(tiny_terminology, encoder, out, resume=True, progress=False)
        assert contents(out) == expected, kill_at
        assert not work.exists()
        assert len(encoder.encoded) >= n_names - 5 * whole - 5
        fewest = min(fewest, len(encoder.encoded))
        shutil.rmtree(folder)
        kill_at += 1
    assert kill_at > 20
    assert fewest == 0  # killed after the last shard


def unfinished(terminology, out):
    """Leave an unfinished build of all shards, as a kill before the rename does."""
    encoder = LetterEncoder()
    encoder.save = lambda folder: 1 / 0
    with pytest.raises(ZeroDivisionError):
        build_kb(terminology, encoder, out, progress=False)
    return out.with_name(f"{out.name}.shards")


@pytest.mark.parametrize("damage", ["short", "changed", "missing", "no facts"])
def test_a_torn_shard_is_encoded_again(tiny_terminology, tmp_path, small_shards, damage):
    build_kb(tiny_terminology, LetterEncoder(), tmp_path / "sound" / "kb", progress=False)
    out = tmp_path / "kb"
    shard = unfinished(tiny_terminology, out) / "shard-000001.npy"
    whole = shard.read_bytes()
    if damage == "short":
        shard.write_bytes(whole[:-7])
    elif damage == "changed":
        shard.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif damage == "missing":
        shard.unlink()
    else:
        shard.with_suffix(".json").unlink()
    encoder = LetterEncoder()
    build_kb(tiny_terminology, encoder, out, resume=True, progress=False)
    assert len(encoder.encoded) == 5
    assert contents(out) == contents(tmp_path / "sound" / "kb")


def test_resumed_with_something_else(tiny_terminology, new_release, tmp_path, small_shards):
    out = tmp_path / "kb"
    work = unfinished(tiny_terminology, out)
    with pytest.raises(TermlinkError, match="TL541.*begun with encoder letters, now other"):
        build_kb(tiny_terminology, LetterEncoder("other"), out, resume=True, progress=False)
    with pytest.raises(TermlinkError, match="TL541.*begun with names"):
        build_kb(new_release, LetterEncoder(), out, resume=True, progress=False)
    assert len(list(work.glob("shard-*.npy"))) == 6


def test_resume_with_nothing_to_resume_builds(tiny_terminology, tmp_path, small_shards):
    kb = build_kb(tiny_terminology, LetterEncoder(), tmp_path / "kb", resume=True, progress=False)
    assert len(kb.names) == 26


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("index", ["Flat", "HNSW", "IVF", "SQ8", "IVF_SQ8"])
def test_updated_kb_is_the_one_built_anew(
    tiny_terminology, new_release, tmp_path, monkeypatch, index, sharded
):
    """Byte for byte, whatever the index; only what is new is encoded."""
    if sharded:
        monkeypatch.setattr(encoding, "SHARD_NAMES", 5)
    keeps = index in ("SQ8", "IVF_SQ8")
    old = build_kb(
        tiny_terminology,
        LetterEncoder(),
        tmp_path / "old",
        index=index,
        keeps_vectors=keeps,
        progress=False,
    )
    encoder = LetterEncoder()
    vectors = OldVectors(old, encoder)
    build_kb(
        new_release,
        encoder,
        tmp_path / "a" / "kb",
        index=index,
        keeps_vectors=keeps,
        update=vectors,
        progress=False,
    )
    assert sorted(encoder.encoded) == [
        "arachnodactyly",
        "cleft of palate",
        "palatum fissum",
        "spider fingers",
    ]
    assert (vectors.n_encoded, vectors.n_taken) == (4, 22)
    build_kb(
        new_release,
        LetterEncoder(),
        tmp_path / "b" / "kb",
        index=index,
        keeps_vectors=keeps,
        progress=False,
    )
    assert contents(tmp_path / "a" / "kb") == contents(tmp_path / "b" / "kb")


def test_updated_kb_of_a_transformer_answers_as_one_built_anew(
    tiny_kb, new_release, tiny_encoder, tmp_path
):
    encoder = load_encoder(tiny_encoder, dtype="float32")
    updated = build_kb(
        new_release,
        encoder,
        tmp_path / "a" / "kb",
        update=OldVectors(TermKB.open(tiny_kb), encoder),
        progress=False,
    )
    anew = build_kb(new_release, encoder, tmp_path / "b" / "kb", progress=False)
    names = anew.terminology.names["text"].to_pylist()
    misspelled = [name[:3] + name[4:] for name in names if len(name) > 5]
    for generator in ("hybrid", "dense"):
        asked = names + misspelled
        assert updated.generator(generator).generate(asked, k=5) == anew.generator(
            generator
        ).generate(asked, k=5)


@pytest.mark.parametrize("index", ["SQ8", "PQ", "IVF_PQ"])
def test_a_quantised_kb_without_its_vectors_is_no_source(tiny_terminology, tmp_path, index):
    old = build_kb(tiny_terminology, LetterEncoder(), tmp_path / "old", index=index, progress=False)
    with pytest.raises(TermlinkError, match="TL543.*--keep-vectors"):
        OldVectors(old, LetterEncoder())


def test_vectors_of_another_encoder_are_refused(tiny_terminology, tmp_path):
    old = build_kb(tiny_terminology, LetterEncoder(), tmp_path / "old", progress=False)
    with pytest.raises(TermlinkError, match="TL542.*fingerprint is letters, now other"):
        OldVectors(old, LetterEncoder("other"))
    encoder = LetterEncoder()
    encoder.dtype = "bfloat16"
    with pytest.raises(TermlinkError, match="TL542.*dtype is float32, now bfloat16"):
        OldVectors(old, encoder)


def test_kept_vectors_are_in_the_kb(tiny_terminology, tmp_path, small_shards):
    kb = build_kb(
        tiny_terminology, LetterEncoder(), tmp_path / "kb", keeps_vectors=True, progress=False
    )
    TermKB.open(kb.path, verify=True)
    assert sum(name.startswith("vectors/") for name in kb.meta["files"]) == 6
    kept = VectorShards(sorted((kb.path / "vectors").iterdir()))
    assert np.array_equal(kept[:], LetterEncoder().encode(kb.names.texts(kb.terminology)))
    assert not (tmp_path / "kb.shards").exists()


@pytest.mark.parametrize("index", ["IVF_SQ8", "Flat"])
def test_a_rebuilt_kb_has_its_own_index_and_no_old_vectors(
    tiny_terminology, tiny_encoder, tmp_path, index
):
    """Another encoder: files of the old index are not linked, of whatever kind it was."""
    encoder = load_encoder(tiny_encoder, dtype="float32")
    old = build_kb(
        tiny_terminology,
        encoder,
        tmp_path / "old",
        index="IVF_SQ8",
        keeps_vectors=True,
        progress=False,
    )
    new = rebuild_kb(old, encoder.save, tmp_path / "new", index=index)
    new.verify()
    files = {name for name in new.meta["files"] if name.startswith(("index/", "vectors/"))}
    places = {"index/places.npy"} if index == "IVF_SQ8" else set()
    names = {"index/name_offsets.npy", "index/name_rows.npy"}
    assert files == {"index/dense.faiss", *names, *places}
    assert new.generator("hybrid").generate(["seizures"], k=1)[0][0].concept_id == "T:0003"


def test_index_command(tiny_kb, new_release, tiny_encoder, tmp_path):
    def run(*args):
        return CliRunner().invoke(app, ["index", *map(str, args)])

    assert "TL544" in run(new_release, "-o", tmp_path / "none").stderr
    assert (
        "TL546"
        in run(
            new_release, "--encoder", tiny_encoder, "--memory", "0", "-o", tmp_path / "none"
        ).stderr
    )
    assert not (tmp_path / "none").exists()
    old = tmp_path / "old"
    built = run(new_release, "--encoder", tiny_encoder, "-o", old)
    assert built.exit_code == 0, built.stderr
    assert "index Flat: 26 names" in built.stderr
    assert TermKB.open(old).info()["index"]["why"].startswith("26 names")
    updated = run(new_release, "--update", old, "-o", tmp_path / "new")
    assert updated.exit_code == 0, updated.stderr
    assert f"vectors of 26 names are {old}'s, 0 were encoded" in updated.stderr
