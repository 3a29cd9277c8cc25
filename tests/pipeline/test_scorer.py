import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_termlink.pipeline.scorer import make_linker_scorer

WORDS = ["fever", "and", "cough", "with", "rash"]
score = make_linker_scorer()
nlp = spacy.blank("en")


def make_doc(*spans, key=None):
    doc = Doc(nlp.vocab, words=WORDS)
    made = [Span(doc, start, end, label, kb_id=kb_id) for start, end, label, kb_id in spans]
    if key:
        doc.spans[key] = made
    else:
        doc.ents = made
    return doc


def test_unannotated_documents_and_spans_score_nothing():
    """spaCy's Scorer.score_links counts "" == "" as right, and text nobody annotated as 1.0."""
    plain = Example(make_doc((0, 1, "F", "X:1")), make_doc())
    scores = score([plain, Example(make_doc((0, 1, "F", "")), make_doc((0, 1, "F", "")))])
    assert scores["nel_score"] is None
    assert scores["nel_micro_f"] is None
    assert scores["nel_e2e_f"] is None
    assert scores["nel_f_per_type"] == {}
    assert score([])["nel_macro_f"] is None


def test_a_prediction_on_an_unlinked_gold_span_counts_nowhere():
    gold = make_doc((0, 1, "F", "X:1"), (2, 3, "F", ""))
    pred = make_doc((0, 1, "F", "X:1"), (2, 3, "F", "X:9"))
    scores = score([Example(pred, gold)])
    assert (scores["nel_micro_p"], scores["nel_e2e_p"]) == (1.0, 1.0)


def test_counts_by_hand():
    gold = make_doc((0, 1, "F", "X:1"), (2, 3, "G", "X:2"), (4, 5, "G", "NIL"))
    pred = make_doc((0, 1, "F", "X:1"), (2, 3, "G", "X:3"), (4, 5, "G", "X:4"))
    scores = score([Example(pred, gold)])
    # F: tp 1. G: the wrong id is fp + fn, the link on NIL is fp
    assert scores["nel_micro_p"] == pytest.approx(1 / 3)
    assert scores["nel_micro_r"] == pytest.approx(1 / 2)
    assert scores["nel_micro_f"] == scores["nel_score"] == pytest.approx(2 / 5)
    assert scores["nel_macro_p"] == pytest.approx(1 / 2)
    assert scores["nel_f_per_type"] == {
        "F": {"p": 1.0, "r": 1.0, "f": 1.0},
        "G": {"p": 0.0, "r": 0.0, "f": 0.0},
    }


def test_nil_against_nil_is_no_link_to_count():
    gold = make_doc((0, 1, "F", "NIL"), (2, 3, "F", "X:2"))
    scores = score([Example(make_doc((0, 1, "F", "NIL"), (2, 3, "F", "NIL")), gold)])
    assert (scores["nel_micro_p"], scores["nel_micro_r"]) == (0.0, 0.0)
    scores = score([Example(make_doc((0, 1, "F", "NIL")), make_doc((0, 1, "F", "NIL")))])
    assert scores["nel_micro_f"] is None


def test_end_to_end_counts_missed_and_invented_spans():
    gold = make_doc((0, 1, "F", "X:1"), (2, 3, "F", "X:2"))
    pred = make_doc((0, 1, "F", "X:1"), (3, 5, "F", "X:3"), (1, 2, "F", "NIL"))
    scores = score([Example(pred, gold)])
    assert scores["nel_micro_f"] == 1.0
    assert (scores["nel_e2e_p"], scores["nel_e2e_r"]) == (0.5, 0.5)


def test_alternative_ids_are_the_concept_they_stand_for():
    example = Example(make_doc((0, 1, "F", "X:1")), make_doc((0, 1, "F", "X:0001")))
    assert score([example])["nel_micro_f"] == 0.0
    resolve = {"X:0001": "X:1", "X:1": "X:1"}.get
    assert score([example], resolve=resolve)["nel_micro_f"] == 1.0


def test_span_groups_and_two_labels_at_one_place():
    gold = make_doc((0, 1, "F", "X:1"), (0, 1, "G", "X:2"), key="sc")
    pred = make_doc((0, 1, "G", "X:2"), (0, 1, "F", "X:1"), key="sc")
    scores = score([Example(pred, gold)], spans_key="sc")
    assert scores["nel_micro_f"] == 1.0
    assert score([Example(pred, gold)])["nel_micro_f"] is None


def test_tokenisation_may_differ():
    gold = make_doc((0, 1, "F", "X:1"))
    pred = Doc(nlp.vocab, words=["fever and", "cough with rash"])
    assert pred.text == gold.text
    scores = score([Example(pred, gold)])
    assert scores["nel_micro_f"] is None
    assert scores["nel_e2e_r"] == 0.0
