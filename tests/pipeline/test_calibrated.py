"""The linker of a calibrated KB: probabilities in what it sets, a threshold that is one."""

import shutil

import pytest
import spacy
from spacy.cli.find_threshold import find_threshold
from spacy.tokens import DocBin, Span

from spacy_termlink.errors import TermlinkError
from spacy_termlink.kb import TermKB, calibrate_kb
from spacy_termlink.rerank.calibration import Calibration, Linear, scoring_fingerprint
from spacy_termlink.rerank.features import FIRST, NEXT

#: Nothing but the score counts: 1.0 is right with 0.75, 0.99 with 0.7, and what is no name with 0.25.
KNOTS = ((0.97, 0.99, 1.0), (0.25, 0.7, 0.75))


def calibration_of(kb):
    weights = tuple(float(name == "score") for name in FIRST)
    return Calibration(
        Linear(weights, 0.0, KNOTS), Linear((0.0,) * len(NEXT), 0.0), "HybridCandidates",
        kb.fingerprint, scoring_fingerprint(kb.meta), 0.5, {"method": "by hand"},
    )  # fmt: skip


@pytest.fixture
def calibrated_path(kb_path, tmp_path):
    kb = TermKB.open(shutil.copytree(kb_path, tmp_path / "calibrated"))
    return calibrate_kb(kb, calibration_of(kb)).path


@pytest.fixture
def nlp(make_nlp, calibrated_path):
    return make_nlp(kb=str(calibrated_path), threshold=None)


def test_probabilities_are_set_and_decide(nlp, texts):
    for doc in nlp.pipe(texts):
        for ent in doc.ents:
            first, *others = ent._.term_candidates
            assert 0 < first["probability"] < 1
            values = [c["probability"] for c in ent._.term_candidates]
            assert values == sorted(values, reverse=True) and sum(values) <= 1
            linked = first["probability"] >= 0.5
            assert ent.kb_id_ == (first["id"] if linked else "NIL")
            assert ent._.kb_ents == ([[first["id"], first["score"]]] if linked else [])
    doc = nlp("A fever and a qqq.")
    assert doc.ents[0]._.term_candidates[0]["probability"] == pytest.approx(0.75)
    assert doc.ents[0]._.kb_ents == [["X:7", 1.0]]  # the score, as scispaCy's users know it
    assert doc.ents[1]._.term_candidates[0]["probability"] == pytest.approx(0.25)
    assert doc.ents[1].kb_id_ == "NIL"


def test_a_probability_is_the_same_where_others_are_wanted(make_nlp, calibrated_path, texts):
    """It depends on how far the others are, so they are looked for."""
    complete = {"@misc": "spacy-termlink.HybridCandidates.v1", "complete": True}
    of_exact = []
    for more in ({}, {"candidates": complete}):
        nlp = make_nlp(kb=str(calibrated_path), threshold=None, **more)
        of_exact.append([ent._.term_candidates for d in nlp.pipe(texts) for ent in d.ents])
    assert of_exact[0] == of_exact[1]
    assert all(len(candidates) > 1 for candidates in of_exact[0])


@pytest.mark.parametrize(
    ("threshold", "expected"), [(0.2, ["X:7", True]), (0.74, ["X:7", False]), (0.8, ["NIL", False])]
)
def test_the_threshold_of_the_linker_is_a_probability(nlp, threshold, expected):
    nlp.get_pipe("term_linker").cfg["threshold"] = threshold
    fever, qqq = nlp("A fever and a qqq.").ents
    assert [fever.kb_id_, qqq.kb_id_ != "NIL"] == expected


def test_k_changes_no_probability(nlp, texts):
    def first(doc):
        return [ent._.term_candidates[0] for ent in doc.ents]

    with_ten = [first(doc) for doc in nlp.pipe(texts)]
    nlp.get_pipe("term_linker").cfg["k"] = 1
    assert [first(doc) for doc in nlp.pipe(texts)] == with_ten


def test_other_candidates_have_a_threshold_on_the_score(make_nlp, calibrated_path, kb):
    nlp = make_nlp(
        kb=str(calibrated_path), threshold=None,
        candidates={"@misc": "spacy-termlink.ExactCandidates.v1"},
    )  # fmt: skip
    [ent] = nlp("A fever.").ents
    assert ent._.term_candidates[0]["probability"] is None
    assert ent.kb_id_ == "X:7"


@pytest.mark.parametrize("mode", ["copy", "hardlink", "path"])
def test_a_saved_pipeline_keeps_it(nlp, tmp_path, texts, mode):
    linker = nlp.get_pipe("term_linker")
    linker.cfg["save_kb"] = mode
    nlp.to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved")
    assert loaded.get_pipe("term_linker").kb.calibration == linker.kb.calibration
    for doc, again in zip(nlp.pipe(texts), loaded.pipe(texts), strict=True):
        assert [e._.term_links for e in doc.ents] == [e._.term_links for e in again.ents]
    from_bytes = spacy.blank("en")
    from_bytes.add_pipe("entity_ruler")
    from_bytes.add_pipe("term_linker").from_bytes(linker.to_bytes())
    assert from_bytes.get_pipe("term_linker").kb.calibration == linker.kb.calibration


def test_a_calibration_of_another_kb_is_an_error_before_the_first_link(make_nlp, calibrated_path):
    path = calibrated_path / "calibration.json"
    fingerprint = TermKB.open(calibrated_path).fingerprint
    path.write_text(path.read_text().replace(fingerprint, "f" * 64))
    nlp = make_nlp(kb=str(calibrated_path), threshold=None)
    with pytest.raises(TermlinkError, match="TL611"):
        nlp("A fever.")


def test_find_threshold_looks_among_probabilities(nlp, tmp_path):
    nlp.to_disk(tmp_path / "saved")
    gold = nlp.make_doc("A fever , a headache and a qqq .")
    ids = {"fever": "X:7", "headache": "X:4", "qqq": "NIL"}
    labels = {"fever": "FINDING", "headache": "FINDING", "qqq": "OTHER"}
    gold.ents = [
        Span(gold, token.i, token.i + 1, labels[token.text], kb_id=ids[token.text])
        for token in gold
        if token.text in ids
    ]
    DocBin(docs=[gold], store_user_data=True).to_disk(tmp_path / "gold.spacy")
    best, score, scores = find_threshold(
        str(tmp_path / "saved"), tmp_path / "gold.spacy", "term_linker", "threshold",
        "nel_micro_f", n_trials=5,
    )  # fmt: skip
    by_threshold = [scores[key] for key in sorted(scores)]
    # at 0 and 0.25 the NIL mention is linked, too; over 0.75 nothing is
    assert by_threshold == pytest.approx([0.8, 0.8, 1.0, 1.0, 0.0])
    assert (best, score) == (0.5, 1.0)
