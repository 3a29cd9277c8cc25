"""The cross-encoder's folder, its scores by hand, and which lists it takes."""

import json
import shutil

import numpy as np
import pytest

from spacy_termlink.encoders.encoder import TransformerEncoder
from spacy_termlink.errors import TermlinkError
from spacy_termlink.rerank.cross_encoder import (
    NAME,
    SCALE,
    CrossEncoder,
    is_doubtful,
    make_cross_encoder,
    make_pair,
    reorder,
)
from spacy_termlink.rerank.rerankers import make_reranker, open_reranker, write_about
from spacy_termlink.types import Candidate

MOST = 0.97


def candidate(concept_id, score, *, name="Seizure", matched="", kind="exact", tier="hybrid"):
    return Candidate(concept_id, name, matched or name, kind, score, tier)


def make_folder(path, encoder, **more):
    """A cross-encoder whose head is drawn at random."""
    shutil.copytree(encoder, path)
    head = np.random.default_rng(0).normal(size=32).round(3).tolist()
    values = {"weight": 20.0, "nil": 0.5, "share": 0.5, "head": head, "bias": 0.1, "names": "both",
              "context": False, "margin": 0.2}  # fmt: skip
    write_about(path, NAME, {**values, **more})
    return path


@pytest.fixture
def folder(tmp_path, tiny_encoder):
    return make_folder(tmp_path / "cross", tiny_encoder)


def read_by_hand(folder, pairs):
    """SCALE (Σ head m n - bias): the tokens of mention and name, pooled apart after they were read
    together."""
    encoder = TransformerEncoder(folder, dtype="float32")
    about = json.loads((folder / "reranker.json").read_text())
    found = []
    for pair in pairs:
        ids = encoder._tokenizer.encode(*pair).ids
        states = encoder._forward([ids])[0][0].numpy()
        n_first = len(encoder._tokenizer.encode(pair[0]).ids)
        halves = [states[:n_first].mean(axis=0), states[n_first:].mean(axis=0)]
        m, n = (half / np.linalg.norm(half) for half in halves)
        found.append(SCALE * ((m * n) @ np.array(about["head"]) - about["bias"]))
    return np.array(found)


def test_scores_by_hand(kb, folder):
    found = CrossEncoder(kb, folder, dtype="float32")
    lists = [
        [candidate("T:0003", 0.6), candidate("T:0004", 0.55, name="Focal-onset seizure",
                                             matched="Partial seizure")],
        [candidate("T:0007", 0.5, name="Myocardial infarction")],
    ]  # fmt: skip
    pairs = [("fit", "Seizure"), ("fit", "Partial seizure | Focal-onset seizure"),
             ("heart fit", "Myocardial infarction")]  # fmt: skip
    z = read_by_hand(folder, pairs)
    expected = np.clip(np.array([0.6, 0.55, 0.5]) + 0.5 * z / 20, 0, MOST)
    made = found.rerank(["Fit", "heart fit"], lists)
    scores = {c.concept_id: c.score for own in made for c in own}
    got = [scores["T:0003"], scores["T:0004"], scores["T:0007"]]
    assert got == pytest.approx(expected, abs=1e-4)
    assert len(set(z.round(3))) == 3
    for own in made:
        assert [c.score for c in own] == sorted((c.score for c in own), reverse=True)
    # a mention alone has what it has among others
    assert found.rerank(["heart fit"], lists[1:])[0][0].score == pytest.approx(got[2], abs=1e-6)


def test_a_share_of_nothing_changes_nothing(kb, tmp_path, tiny_encoder):
    found = CrossEncoder(kb, make_folder(tmp_path / "cross", tiny_encoder, share=0.0))
    own = [candidate("T:0003", 0.6), candidate("T:0004", 0.55)]
    assert found.rerank(["fit"], [own]) == [own]
    assert found.rerank([], []) == []


def test_context_is_read_where_the_folder_says_so(kb, tmp_path, tiny_encoder):
    own = [[candidate("T:0003", 0.6), candidate("T:0004", 0.55)]]
    for context in (False, True):
        folder = make_folder(tmp_path / str(context), tiny_encoder, context=context)
        found = CrossEncoder(kb, folder, dtype="float32")
        assert found.reads_context is context
        plain = found.rerank(["fit"], own)
        assert (found.rerank(["fit"], own, contexts=["she had a fit"]) != plain) is context
        assert found.rerank(["fit"], own, contexts=[""]) == plain


@pytest.mark.parametrize(
    "scores, tiers, doubtful",
    [
        ([0.8, 0.7], "hh", True),
        ([0.8, 0.6], "hh", False),  # the margin itself is enough
        ([0.8], "h", False),
        ([], "", False),
        ([1.0, 0.96], "eh", False),
        ([1.0, 1.0], "ee", True),  # a name of two concepts
        ([1.0, 1.0, 0.5], "eeh", True),
        ([0.9, 0.85], "sh", False),
        ([0.9, 0.9], "ss", True),
    ],
)
def test_doubt(scores, tiers, doubtful):
    full = {"h": "hybrid", "e": "exact", "s": "spelling"}
    own = [candidate(f"T:{i}", s, tier=full[t]) for i, (s, t) in enumerate(zip(scores, tiers))]
    assert is_doubtful(own, 0.2) is doubtful


def test_no_other_candidate_gets_past_a_name(kb):
    own = [candidate("T:2", 1.0, tier="exact"), candidate("T:1", 1.0, tier="exact"),
           candidate("T:3", 0.9), candidate("T:4", 0.8)]  # fmt: skip
    made = reorder(own, np.array([0.1, 0.3, 0.2, 5.0]))
    assert [c.concept_id for c in made] == ["T:1", "T:2", "T:4", "T:3"]
    assert [c.score for c in made] == [1.0, 1.0, MOST, 0.2]
    spelled = [candidate("T:2", 0.6, tier="spelling"), candidate("T:3", 0.55)]
    made = reorder(spelled, np.array([0.0, 0.9]))
    assert [(c.concept_id, c.score) for c in made] == [("T:2", 0.6), ("T:3", 0.6)]
    made = reorder(spelled, np.array([0.0, 0.9]), named=[False, False])
    assert [(c.concept_id, c.score) for c in made] == [("T:3", 0.9), ("T:2", 0.0)]


def test_of_equal_scores_the_order_stays():
    """The recall stage has put the concept first that annotators mean, or that the long form names."""
    own = [candidate("T:3", 0.5, kind="related"), candidate("T:2", 0.5), candidate("T:1", 0.5)]
    made = reorder(own, np.array([0.4, 0.4, 0.4]))
    assert [c.concept_id for c in made] == ["T:3", "T:2", "T:1"]
    named = [candidate("T:2", 1.0, tier="exact"), candidate("T:1", 1.0, tier="exact")]
    assert reorder(named, np.array([1.0, 1.0])) == named
    assert [c.score for c in reorder(own, np.array([-1.0, -0.5, -2.0]))] == [0.0, 0.0, 0.0]


def test_what_is_read():
    found = candidate("T:1", 0.5, name="Heart attack", matched="MI")
    assert make_pair("  Heart-Fit ", "", found, names="both") == ("heart fit", "MI | Heart attack")
    assert make_pair("fit", "", found, names="matched") == ("fit", "MI")
    same = candidate("T:1", 0.5, name="Fits", matched="FITS")
    assert make_pair("fit", "a  fit\n.", same, names="both") == ("fit | a fit .", "FITS")


def test_fingerprint_tells_settings_and_weights_apart(kb, tmp_path, tiny_encoder, make_bert):
    folders = {
        "a": make_folder(tmp_path / "a", tiny_encoder),
        "b": make_folder(tmp_path / "b", tiny_encoder),
        "c": make_folder(tmp_path / "c", tiny_encoder, margin=0.3),
        "d": make_folder(tmp_path / "d", make_bert(tmp_path / "bert", pooling="cls")),
    }
    found = {name: CrossEncoder(kb, folder).fingerprint for name, folder in folders.items()}
    assert found["a"] == found["b"] and len(set(found.values())) == 3


def test_rerankers_by_name(kb, folder):
    assert make_reranker("none", kb) is None
    assert isinstance(make_reranker(str(folder), kb), CrossEncoder)
    assert isinstance(make_cross_encoder(path=str(folder))(kb), CrossEncoder)
    for name in ("kb", NAME):
        with pytest.raises(TermlinkError, match="TL622"):
            make_reranker(name, kb)
    with pytest.raises(TermlinkError, match="TL620.*nowhere"):
        make_reranker("nowhere", kb)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"kind": "kb"}, "no reranker's"),
        ({"version": 99}, "99"),
        ({"reranker": "x.Y.v1"}, "x.Y.v1"),
        ({"weight": 0.0}, "above 0"),
        ({"head": None}, "head"),
    ],
)
def test_folders_of_another_form(kb, folder, change, message):
    path = folder / "reranker.json"
    data = {**json.loads(path.read_text()), **change}
    path.write_text(json.dumps({k: v for k, v in data.items() if v is not None}))
    with pytest.raises(TermlinkError, match=f"TL621.*{message}"):
        open_reranker(folder, kb)
