"""Mentions of several concepts, through the pipeline."""

import pytest
from spacy.tokens import Doc, DocBin, Span


def link(nlp, text):
    doc = nlp.make_doc(text)
    doc.ents = [Span(doc, 0, len(doc), label="FINDING")]
    return nlp.get_pipe("term_linker")(doc)


def group_of(doc):
    return [concept_id for concept_id, _ in doc.ents[0]._.kb_group]


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("headache and fever", ["X:4", "X:7"]),
        ("epileptic fit/headache", ["X:3", "X:4"]),
        ("abnormality of the nervous system and heart", ["X:2", "X:5"]),
        ("fever, headache or seizure", ["X:7", "X:4", "X:3"]),
        ("fever", ["X:7"]),
        (
            "fever and pyrexia",
            [],
        ),  # one concept twice: no group, and as a whole under the threshold
    ],
)
def test_the_concepts_that_a_mention_names(make_nlp, text, group):
    doc = link(make_nlp(), text)
    assert group_of(doc) == group
    assert doc.ents[0]._.term_links["term_linker"]["kb_group"] == doc.ents[0]._.kb_group


def test_a_mention_without_a_concept_has_no_group(make_nlp):
    doc = link(make_nlp(), "qqq and zzz")
    assert (doc.ents[0].kb_id_, doc.ents[0]._.kb_group) == ("NIL", [])


def test_a_second_linker_leaves_the_group_of_the_first(make_nlp):
    nlp = make_nlp(overwrite=False)
    doc = link(nlp, "headache and fever")
    assert doc.ents[0]._.kb_group == []
    entry = doc.ents[0]._.term_links["term_linker"]
    assert [concept_id for concept_id, _ in entry["kb_group"]] == ["X:4", "X:7"]


def test_the_group_is_plain_json(make_nlp):
    nlp = make_nlp()
    doc = link(nlp, "headache and fever")
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert group_of(again) == ["X:4", "X:7"]
    (stored,) = DocBin(docs=[doc], store_user_data=True).get_docs(nlp.vocab)
    assert group_of(stored) == ["X:4", "X:7"]
