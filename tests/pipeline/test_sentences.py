import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_termlink.pipeline.sentences import REACH, get_sentences

TEXT = (
    "Seen on Monday. She had a fit\nand fever. FAMILY\nFAMILY HISTORY: Her mother had e.g. a rash."
)


@pytest.fixture
def nlp():
    return spacy.blank("en")


def spans_of(doc, *words):
    return [doc.char_span(doc.text.index(w), doc.text.index(w) + len(w), label="X") for w in words]


def test_without_boundaries_lines_and_full_stops_divide(nlp):
    doc = nlp(TEXT)
    found = get_sentences(doc, spans_of(doc, "fit", "fever", "rash"))
    assert found == [
        "She had a fit",
        "and fever.",
        "FAMILY HISTORY: Her mother had e.g. a rash.",
    ]


def test_boundaries_of_a_component_count(nlp):
    nlp.add_pipe("sentencizer")
    doc = nlp("One fit, two. Three fevers!")
    assert get_sentences(doc, spans_of(doc, "fit", "fevers")) == ["One fit, two.", "Three fevers!"]


def test_a_note_in_one_line_is_cut_around_the_mention(nlp):
    doc = nlp("a " * 500 + "fit " + "b " * 500)
    [found] = get_sentences(doc, spans_of(doc, "fit"))
    assert len(found) <= 2 * REACH + 3 and "fit" in found


def test_nothing_to_do(nlp):
    assert get_sentences(Doc(nlp.vocab), []) == []
    doc = nlp("fit")
    assert get_sentences(doc, [Span(doc, 0, 1)]) == ["fit"]
