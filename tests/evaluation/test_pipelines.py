import pytest
import spacy
from spacy.language import Language

from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.mentions import AnnotatedDoc, Entity
from spacy_termlink.evaluation.pipelines import (
    find_scored_linker,
    link_gold_mentions,
    predict_documents,
)

TEXT = "A heart attack, fits. MI of a qqqq."


@pytest.fixture
def make_nlp(tiny_kb):
    def make(threshold=0.99, spans_key=None):
        nlp = spacy.blank("en")
        nlp.add_pipe("entity_ruler").add_patterns(
            [{"label": "X", "pattern": text} for text in ("heart attack", "fits", "qqqq")]
        )
        config = {"kb": str(tiny_kb), "threshold": threshold, "spans_key": spans_key}
        nlp.add_pipe("term_linker", config=config)
        return nlp

    return make


def link(nlp, *entities, text=TEXT):
    docs = [AnnotatedDoc("d", text, tuple(entities))]
    linker = find_scored_linker(nlp, "p")
    return link_gold_mentions(nlp, docs, linker=linker, resolve=linker.kb.terminology.resolve)


def test_predicted_entities(make_nlp):
    nlp = make_nlp()
    docs = [AnnotatedDoc("d", TEXT, split="dev"), AnnotatedDoc("e", "")]
    first, second = predict_documents(nlp, docs, linker=find_scored_linker(nlp, "p"))
    assert (first.doc_id, first.text, first.split) == ("d", TEXT, "dev")
    assert first.entities == (
        Entity(2, 14, ("T:0007",), "X"),
        Entity(16, 20, ("T:0003",), "X"),
        Entity(30, 34, (), "X"),
    )
    assert second.entities == ()


def test_gold_mentions_are_linked_whatever_the_recogniser_finds(make_nlp):
    found = link(
        make_nlp(),
        Entity(2, 14, ("T:0007",)),
        Entity(16, 20, ("T:9003",)),  # redirects
        Entity(22, 24, ("T:0009",), accept=(("T:0009", "T:0007", "T:0008"),)),
        Entity(25, 34, ("T:0001",)),
        Entity(30, 34, ()),
    )
    assert (found["n"], found["accuracy"], found["refused"]) == (4, 0.75, 0.25)
    assert (found["n_nil"], found["nil_accuracy"]) == (1, 1.0)
    assert found["ci"] == {
        "accuracy": [0.75, 0.75], "refused": [0.25, 0.25], "nil_accuracy": [1.0, 1.0],
    }  # fmt: skip
    # the refused entity is missed, no link is wrong; links stand where the gold entities do
    for name in ("strict", "partial"):
        figures = found[name]
        assert (figures["tp"], figures["fp"], figures["fn"]) == (3, 0, 1)
    # concepts: T:0007 by the first, T:0003; T:0009 by an id that is accepted, T:0001 is missed
    figures = found["documents"]
    assert (figures["tp"], figures["fp"], figures["fn"]) == (2, 0, 2)


def test_overlapping_gold_mentions_are_all_linked(make_nlp):
    found = link(make_nlp(), Entity(2, 14, ("T:0007",)), Entity(2, 7, ()), Entity(8, 14, ()))
    assert (found["n"], found["accuracy"], found["n_nil"]) == (1, 1.0, 2)


def test_a_mention_inside_a_token_is_widened(make_nlp):
    found = link(make_nlp(), Entity(3, 13, ("T:0007",)), Entity(15, 16, ("T:0001",)))
    assert (found["n"], found["accuracy"]) == (1, 1.0)


def test_links_go_to_the_documents_they_are_of(make_nlp):
    nlp = make_nlp()
    docs = [
        AnnotatedDoc("d", TEXT, (Entity(2, 14, ("T:0007",)), Entity(2, 7, ("T:0001",)))),
        AnnotatedDoc("e", "fits", (Entity(0, 4, ("T:0001",)),)),
        AnnotatedDoc("f", "nothing"),
    ]
    linker = find_scored_linker(nlp, "p")
    found = link_gold_mentions(nlp, docs, linker=linker, resolve=linker.kb.terminology.resolve)
    assert (found["strict"]["tp"], found["strict"]["fp"], found["strict"]["fn"]) == (1, 1, 2)
    assert found["accuracy"] == pytest.approx(1 / 3)
    assert found["ci"]["accuracy"] == [0.0, 0.5]


def test_the_pipeline_is_left_as_it_was(make_nlp):
    nlp = make_nlp()
    link(nlp, Entity(2, 14, ("T:0007",)))
    assert nlp.pipe_names == ["entity_ruler", "term_linker"]
    assert len(nlp(TEXT).ents) == 3


def test_a_linker_of_a_span_group_is_left_out(make_nlp):
    assert link(make_nlp(spans_key="found"), Entity(2, 14, ("T:0007",))) is None


def test_the_linker_that_sets_the_ids_is_scored(make_nlp, tiny_kb):
    nlp = make_nlp()
    second = {"kb": str(tiny_kb), "overwrite": False}
    nlp.add_pipe("term_linker", name="second", config=second, first=True)
    assert find_scored_linker(nlp, "p") is nlp.get_pipe("term_linker")
    with pytest.raises(TermlinkError, match="TL806"):
        find_scored_linker(Language(), "p")
