import json
import pickle
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from spacy_termlink.encoders import load_encoder
from spacy_termlink.errors import TermlinkError
from spacy_termlink.kb import TermKB, build_kb, open_kb
from spacy_termlink.terminology import Concept
from spacy_termlink.terminology.builder import build_terminology


@pytest.fixture
def copy(tiny_kb, tmp_path):
    """A KB folder that a test may damage."""
    return shutil.copytree(tiny_kb, tmp_path / "copy")


@pytest.fixture(scope="module")
def encoder(tiny_encoder):
    return load_encoder(tiny_encoder, dtype="float32")


def change_meta(kb, **values):
    meta = json.loads((kb / "meta.json").read_text())
    (kb / "meta.json").write_text(json.dumps({**meta, **values}))


def write_lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf8")
    return path


def test_opened_kb_says_what_it_is(tiny_kb):
    kb = TermKB.open(tiny_kb, verify=True)
    assert (kb.name, kb.release, kb.licence, kb.shareable) == (
        "tiny",
        "2026-01-01",
        "CC0-1.0",
        True,
    )
    assert kb.fingerprint == kb.encoder.fingerprint
    info = kb.info()
    assert json.loads(json.dumps(info)) == info
    assert info["threshold_applies_to"] == "score"
    assert 0 < kb.threshold < 1
    assert info["bytes"]["total"] == sum(
        path.stat().st_size
        for path in tiny_kb.rglob("*")
        if path.is_file() and path.name != "meta.json"
    ) + sum(path.stat().st_size for path in tiny_kb.glob("*/meta.json"))


def test_opening_loads_neither_encoder_nor_index(tiny_kb):
    kb = TermKB.open(tiny_kb)
    assert kb._loaded == {}
    kb.generator("exact").generate(["seizure"], k=1)
    assert not {"encoder", "index", "ngram"} & set(kb._loaded)


def test_same_inputs_same_bytes(tiny_terminology, encoder, tmp_path, tiny_kb):
    build_kb(tiny_terminology, encoder, tmp_path / "tiny", progress=False)
    files = sorted(path.relative_to(tiny_kb) for path in tiny_kb.rglob("*") if path.is_file())
    assert files == sorted(
        p.relative_to(tmp_path / "tiny") for p in (tmp_path / "tiny").rglob("*") if p.is_file()
    )
    for file in files:
        assert (tiny_kb / file).read_bytes() == (tmp_path / "tiny" / file).read_bytes(), file


@pytest.mark.parametrize(
    "name", ["index/dense.faiss", "ngram/idf.npy", "encoder/model.safetensors", "spelling/keys.npy"]
)
def test_short_and_missing_files_are_named_at_open(copy, name):
    whole = (copy / name).read_bytes()
    (copy / name).write_bytes(whole[:-1])
    with pytest.raises(TermlinkError, match=f"TL505.*{name}.*bytes"):
        TermKB.open(copy)
    (copy / name).unlink()
    with pytest.raises(TermlinkError, match=f"TL505.*{name}.*missing"):
        TermKB.open(copy)


@pytest.mark.parametrize("name", ["index/dense.faiss", "ngram/idf.npy"])
def test_verify_names_a_changed_file(copy, name):
    content = bytearray((copy / name).read_bytes())
    content[-20] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(TermlinkError, match=f"TL007.*{name}"):
        TermKB.open(copy).verify()


@pytest.mark.parametrize(
    "name",
    ["ngram/idf.npy", "spelling/keys.npy", "index/name_rows.npy", "index/dense.faiss",
     "terminology/lookup/kinds.npy", "encoder/tokenizer.json", "encoder/config.json"],
)  # fmt: skip
def test_files_replaced_by_others_of_the_same_size_are_named_at_first_use(copy, name):
    (copy / name).write_bytes(bytes((copy / name).stat().st_size))
    with pytest.raises(TermlinkError, match=name.removeprefix("terminology/")):
        kb = TermKB.open(copy)
        for generator in ("hybrid", "dense"):
            kb.generator(generator).generate(["siezure"], k=1)


def test_another_encoder_of_the_same_size_is_refused(copy):
    path = copy / "encoder" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    kb = TermKB.open(copy)
    with pytest.raises(TermlinkError, match="TL506"):
        kb.generator("dense").generate(["seizure"], k=1)


def test_a_kb_that_was_moved_aside_when_its_build_was_killed_is_opened(copy):
    from spacy_termlink.annotate.pipelines import load_pipeline
    from spacy_termlink.candidates.dictionary import open_dictionary
    from spacy_termlink.cli import app
    from spacy_termlink.terminology import Terminology

    def info(path):
        app(["info", str(path)], standalone_mode=False)

    def annotate(path):
        load_pipeline([str(path)])

    for read in (TermKB.open, open_kb, open_dictionary, info, annotate):
        copy.rename(copy.with_name(".copy.0123abcd.old"))
        read(copy)
        assert not copy.with_name(".copy.0123abcd.old").exists()
    for part, read in (("terminology", Terminology.open), ("encoder", load_encoder)):
        (copy / part).rename(copy / f".{part}.0123abcd.old")
        read(copy / part)


def test_other_versions_and_other_folders(copy, tiny_terminology, tmp_path):
    change_meta(copy, format_version=99)
    with pytest.raises(TermlinkError, match="TL504.*99"):
        TermKB.open(copy)
    with pytest.raises(TermlinkError, match="TL503"):
        TermKB.open(tiny_terminology)
    with pytest.raises(TermlinkError, match="TL503.*it is a file"):
        TermKB.open(Path(__file__))
    with pytest.raises(TermlinkError, match="TL503.*meta.json"):
        TermKB.open(tmp_path)
    with pytest.raises(TermlinkError, match="TL001"):
        TermKB.open(tmp_path / "nowhere")
    (copy / "meta.json").write_text("{")
    with pytest.raises(TermlinkError, match="TL003"):
        TermKB.open(copy)


def test_a_process_opens_a_kb_once(copy, tiny_kb):
    kb = open_kb(copy)
    assert open_kb(str(copy)) is kb
    assert open_kb(tiny_kb) is not kb
    change_meta(copy, threshold=0.123)
    assert open_kb(copy).threshold == 0.123


def test_threads_load_each_part_once(copy):
    kb = TermKB.open(copy)
    found = []
    threads = [threading.Thread(target=lambda: found.append(kb.encoder)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(encoder) for encoder in found}) == 1


def test_a_pickled_kb_is_opened_again(tiny_kb):
    """Worker processes that are spawned get the path, not the index."""
    sent = pickle.dumps(open_kb(tiny_kb))
    assert len(sent) < 1000
    assert pickle.loads(sent) is open_kb(tiny_kb)


def test_added_names(tiny_terminology, encoder, tmp_path):
    """Only mentions of one concept; ids through redirects; a name that is there already stays one."""
    mentions = write_lines(
        tmp_path / "mentions.jsonl",
        {"text": "brain storm", "concepts": ["T:9003"]},
        {"text": "Brain  Storm", "concepts": ["T:0003"]},
        {"text": "epileptic fits", "concepts": ["T:0003", "T:0004"]},
        {"text": "two at once", "concepts": ["T:0003"], "cardinality": "composite"},
        {"text": "seizure", "concepts": ["T:0003"]},
        {"text": "elsewhere", "concepts": ["X:1"]},
        {"text": "nothing", "concepts": []},
    )
    kb = build_kb(tiny_terminology, encoder, tmp_path / "kb", add_names=mentions, progress=False)
    assert kb.meta["counts"]["added"] == 1
    found = kb.generator("exact").generate(["brain storm"], k=2)[0]
    assert [(c.concept_id, c.kind, c.matched) for c in found] == [
        ("T:0003", "annotated", "brain storm")
    ]


def test_names_are_not_added_from_what_is_measured_with(tiny_terminology, encoder, tmp_path):
    lines = [
        {"text": f"fit {split}", "concepts": ["T:0003"], "split": split}
        for split in ("train", "dev", "test")
    ]
    mentions = write_lines(
        tmp_path / "mentions.jsonl", *lines, {"text": "fit of old", "concepts": ["T:0003"]}
    )

    def added(**options):
        kb = build_kb(
            tiny_terminology,
            encoder,
            tmp_path / "kb",
            add_names=mentions,
            progress=False,
            **options,
        )
        names = kb.terminology.names.to_pylist()
        return {n["text"] for n in names if n["kind"] == "annotated"}, kb.meta["counts"]

    names, counts = added()
    assert names == {"fit train", "fit of old"}
    assert counts["other_splits"] == 2
    assert added(add_names_split="dev")[0] == {"fit dev", "fit of old"}
    assert len(added(add_names_split="")[0]) == 4
    write_lines(mentions, *lines[1:])
    with pytest.raises(TermlinkError, match="TL548.*only of dev, test"):
        added()


def test_mentions_that_add_no_name_are_counted(tiny_terminology, encoder, tmp_path):
    useless = [
        {"text": "a", "concepts": ["X:9"]}, {"text": "b", "concepts": ["NIL"]},
        {"text": "c", "concepts": [5]}, {"text": "d", "concepts": []},
        {"text": " ", "concepts": ["T:0003"]},
    ]  # fmt: skip
    path = write_lines(tmp_path / "m.jsonl", *useless, {"text": "e", "concepts": ["T:0003"]})
    without = write_lines(tmp_path / "w.jsonl", {"concept_id": "T:0003", "text": "unheard of"})
    out = tmp_path / "kb"
    options = {"add_names": path, "without_names": without, "progress": False}
    counts = build_kb(tiny_terminology, encoder, out, **options).meta["counts"]
    assert (counts["added"], counts["mentions"], counts["unknown_ids"]) == (1, 1, 3)
    assert (counts["no_single_concept"], counts["no_text"], counts["not_found"]) == (1, 1, 1)
    write_lines(path, *useless)
    with pytest.raises(TermlinkError, match="TL549.* 3 name an unknown concept"):
        build_kb(tiny_terminology, encoder, out, **options)


def test_left_out_names(tiny_terminology, encoder, tmp_path):
    heldout = write_lines(
        tmp_path / "heldout.jsonl",
        {"concept_id": "T:0003", "text": "epileptic fit"},
        {"concept_id": "T:0007", "text": "MI"},
    )
    kb = build_kb(tiny_terminology, encoder, tmp_path / "kb", without_names=heldout, progress=False)
    assert kb.meta["counts"]["left_out"] == 2
    exact = kb.generator("exact")
    assert exact.generate(["epileptic fit"], k=2)[0] == []
    assert [c.concept_id for c in exact.generate(["MI"], k=2)[0]] == ["T:0008"]


@pytest.mark.parametrize("line", ["{", "[]", '{"text": "a"}', '{"concept_id": 3, "text": "a"}'])
def test_bad_lists_of_names_name_the_line(tiny_terminology, encoder, tmp_path, line):
    path = tmp_path / "names.jsonl"
    path.write_text(f"\n{line}\n")
    for argument in ("add_names", "without_names"):
        with pytest.raises(TermlinkError, match="TL507.*line 2"):
            build_kb(tiny_terminology, encoder, tmp_path / "kb", **{argument: path}, progress=False)
    assert not (tmp_path / "kb").exists()
    assert list(tmp_path.iterdir()) == [path]


def test_failed_build_leaves_the_old_kb(tiny_terminology, encoder, copy):
    before = (copy / "meta.json").read_bytes()
    with pytest.raises(TermlinkError, match="TL502"):
        build_kb(tiny_terminology, encoder, copy, index="Flatt", progress=False)
    assert (copy / "meta.json").read_bytes() == before
    assert [path.name for path in copy.parent.iterdir()] == ["copy"]


@pytest.mark.parametrize("index", ["Flat", "HNSW", "IVF", "SQ8", "PQ"])
def test_every_index_type_in_a_kb(tiny_terminology, encoder, tmp_path, index):
    kb = build_kb(tiny_terminology, encoder, tmp_path / "kb", index=index, progress=False)
    found = kb.generator("hybrid").generate(["seizures", "heart attacks"], k=3)
    assert [candidates[0].concept_id for candidates in found] == ["T:0003", "T:0007"]
    assert np.isfinite([c.score for candidates in found for c in candidates]).all()


def test_only_a_kb_is_replaced_by_a_kb(copy, tiny_terminology, encoder, tmp_path):
    terminology = shutil.copytree(tiny_terminology, tmp_path / "terminology")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("fever")
    for out in (terminology, notes, notes / "a.txt", copy / "terminology"):
        with pytest.raises(TermlinkError, match="TL002.*no KB"):
            build_kb(terminology, encoder, out, progress=False)
    assert (notes / "a.txt").read_text() == "fever"
    (copy / "meta.json").write_text("{")
    empty = tmp_path / "empty"
    empty.mkdir()
    for out in (copy, empty):
        assert build_kb(terminology, encoder, out, progress=False).path == out


def test_a_terminology_without_names_makes_no_kb(encoder, tmp_path):
    build_terminology([Concept("1", "a", obsolete=True)], tmp_path / "t")
    with pytest.raises(TermlinkError, match="TL508"):
        build_kb(tmp_path / "t", encoder, tmp_path / "kb", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize(
    "line", [b'{"text": "\xff"}', b"[" * 100_000, b'{"text": "\\ud800"}', b'{"text": "a\\u0000"}']
)
@pytest.mark.parametrize("option", ["add_names", "without_names"])
def test_lists_of_names_that_hold_no_text(tiny_terminology, encoder, tmp_path, line, option):
    (tmp_path / "names.jsonl").write_bytes(b"\n" + line)
    names = {option: tmp_path / "names.jsonl"}
    with pytest.raises(TermlinkError, match="TL507.*line 2"):
        build_kb(tiny_terminology, encoder, tmp_path / "kb", progress=False, **names)


def test_the_concept_that_annotators_meant_comes_first(tiny_terminology, encoder, tmp_path):
    """ "MI" is a name of two concepts; "brain storm" was meant as one of them twice, as another once."""
    assert [c.concept_id for c in open_kb_order(tiny_terminology, encoder, tmp_path / "a", [])] == [
        "T:0007", "T:0008",
    ]  # fmt: skip
    mentions = [("MI", "T:0008"), ("mi", "T:0008"), ("MI", "T:0007"), ("unheard of", "T:0007")]
    found = open_kb_order(tiny_terminology, encoder, tmp_path / "b", mentions)
    assert [c.concept_id for c in found] == ["T:0008", "T:0007"]
    kb = TermKB.open(tmp_path / "b")
    counted = {
        (kb.terminology.names["concept_id"][row].as_py(), kb.terminology.name_text(row)): n
        for row, n in enumerate(kb.mention_counts.tolist())
        if n
    }
    assert counted == {("T:0008", "MI"): 2, ("T:0007", "MI"): 1, ("T:0007", "unheard of"): 1}


def open_kb_order(terminology, encoder, out, mentions):
    """Candidates of "MI" in a KB with these annotated mentions."""
    lines = [{"text": text, "concepts": [concept]} for text, concept in mentions]
    path = write_lines(out.parent / f"{out.name}.jsonl", *lines)
    kb = build_kb(terminology, encoder, out, add_names=path if lines else None, progress=False)
    return kb.generator("hybrid").generate(["MI"], k=2)[0]
