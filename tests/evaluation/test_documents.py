import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.documents import evaluate_documents
from spacy_termlink.evaluation.mentions import AnnotatedDoc, Entity

TEXT = "x" * 100


def doc(*entities, doc_id="d", doc_concepts=None):
    spans = tuple(Entity(start, end, tuple(ids)) for start, end, *ids in entities)
    return AnnotatedDoc(doc_id, TEXT, spans, doc_concepts)


def counts(gold, pred, name, **more):
    figures = evaluate_documents([gold], [pred], **more)[name]
    return figures["tp"], figures["fp"], figures["fn"]


def test_by_hand():
    gold = doc((0, 5, "A"), (10, 15, "B"), (20, 25, "C"), (30, 35, "D"))
    pred = doc((0, 5, "A"), (10, 14, "B"), (20, 25, "X"), (50, 55, "D"))
    assert counts(gold, pred, "strict") == (1, 3, 3)
    assert counts(gold, pred, "partial") == (2, 2, 2)
    assert counts(gold, pred, "documents") == (3, 1, 1)
    assert counts(gold, pred, "mentions_strict") == (2, 2, 2)
    assert counts(gold, pred, "mentions_partial") == (3, 1, 1)
    figures = evaluate_documents([gold], [pred])
    assert figures["strict"]["f1"] == pytest.approx(0.25)
    assert figures["documents"]["precision"] == pytest.approx(0.75)
    assert (figures["n"], figures["n_entities"], figures["n_concepts"]) == (1, 4, 4)


def test_micro_average_over_documents():
    golds = [doc((0, 5, "A")), doc((0, 5, "A"), (6, 9, "B"), doc_id="e")]
    preds = [doc((0, 5, "A")), doc((0, 5, "X"), doc_id="e")]
    strict = evaluate_documents(golds, preds)["strict"]
    assert (strict["tp"], strict["fp"], strict["fn"]) == (1, 1, 2)
    assert strict["recall"] == pytest.approx(1 / 3)
    # the same id in two documents counts twice on document level
    documents = evaluate_documents(golds, preds)["documents"]
    assert (documents["tp"], documents["fp"], documents["fn"]) == (1, 1, 2)


def test_touching_spans_do_not_overlap():
    assert counts(doc((0, 5, "A")), doc((5, 9, "A")), "partial") == (0, 1, 1)


def test_one_prediction_finds_one_gold_entity():
    gold = doc((0, 5, "A"), (6, 10, "A"))
    assert counts(gold, doc((0, 10, "A")), "partial") == (1, 0, 1)


def test_the_largest_pairing_is_found():
    # greedy from the left would pair the long prediction with the first gold and lose one
    gold = doc((0, 4, "A"), (6, 10, "A"))
    pred = doc((0, 10, "A"), (0, 4, "A"))
    assert counts(gold, pred, "partial") == (2, 0, 0)


def test_any_concept_of_a_composite_entity_is_right_and_the_document_wants_all():
    gold, pred = doc((0, 5, "A", "B")), doc((0, 5, "B"))
    assert counts(gold, pred, "strict") == (1, 0, 0)
    assert counts(gold, pred, "documents") == (1, 0, 1)


def test_nil_is_a_mention_but_no_link():
    gold, pred = doc((0, 5, "A"), (6, 9)), doc((0, 5), (6, 9, "B"))
    assert counts(gold, pred, "strict") == (0, 1, 1)
    assert counts(gold, pred, "documents") == (0, 1, 1)
    assert counts(gold, pred, "mentions_strict") == (2, 0, 0)


def test_texts_of_mentions_are_compared_document_by_document():
    text = "Seizures, a seizure and the Seizures. Fits."
    gold = AnnotatedDoc("d", text, (Entity(0, 8, ("A",)), Entity(28, 36, ()), Entity(38, 42, ())))
    pred = AnnotatedDoc("d", text, (Entity(28, 36, ()), Entity(12, 19, ("A",))))
    # "seizures" is found, whichever of the two; "a seizure" is too much, "fits" is missing
    assert counts(gold, pred, "mentions_documents") == (1, 1, 1)


def test_doc_concepts_stand_for_the_entities():
    gold = doc((0, 5, "A"), doc_concepts=("B", "C"))
    assert counts(gold, doc((0, 5, "A"), (6, 9, "B")), "documents") == (1, 1, 1)
    assert counts(doc((0, 5, "A"), doc_concepts=()), doc((0, 5, "A")), "documents") == (0, 1, 0)


def test_accepted_ids_count():
    entity = Entity(0, 5, ("A", "B"), accept=(("A", "A2"), ("B", "B2")))
    gold = AnnotatedDoc("d", TEXT, (entity, Entity(6, 9, ("C",), accept=(("C", "A"),))))
    pred = doc((0, 5, "A2"), (6, 9, "A"))
    assert counts(gold, pred, "strict") == (2, 0, 0)
    # A2 stands for A; A is a gold concept itself, so it does not stand for C
    assert counts(gold, pred, "documents") == (1, 0, 2)
    assert counts(gold, doc((0, 5, "B2"), (6, 9, "C")), "documents") == (2, 0, 1)


def test_ids_are_resolved_on_both_sides():
    redirects = {"OLD": "A", "A": "A", "ALT": "A"}
    gold, pred = doc((0, 5, "OLD"), (6, 9, "GONE")), doc((0, 5, "ALT"), (6, 9, "GONE"))
    assert counts(gold, pred, "strict") == (1, 1, 1)
    resolved = evaluate_documents([gold], [pred], resolve=redirects.get)
    accepting = AnnotatedDoc("d", TEXT, (Entity(0, 5, ("Z",), accept=(("Z", "OLD"),)),))
    assert counts(accepting, pred, "strict", resolve=redirects.get) == (1, 1, 0)
    assert resolved["strict"]["tp"] == 2
    assert resolved["documents"]["tp"] == 2


def test_nothing_there_and_nothing_found_is_perfect():
    assert evaluate_documents([doc()], [doc()])["strict"]["f1"] == 1.0
    assert evaluate_documents([doc((0, 5, "A"))], [doc()])["strict"]["f1"] == 0.0
    assert evaluate_documents([], [])["documents"]["f1"] == 1.0


def test_other_documents_are_refused():
    with pytest.raises(TermlinkError, match="TL905.*1 and 0"):
        evaluate_documents([doc()], [])
    with pytest.raises(TermlinkError, match="'d'"):
        evaluate_documents([doc()], [doc(doc_id="e")])
