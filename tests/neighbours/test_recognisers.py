"""spaCy's own recognisers before a linker: trained, by rules, in entities and in span groups."""

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Example

TEXT = "He had a heart attack and short stature ."
LINKED = [("heart attack", "T:0007"), ("short stature", "T:0011")]
PATTERNS = [
    {"label": "FINDING", "pattern": "heart attack"},
    {"label": "FINDING", "pattern": "heart attack and"},
    {"label": "FINDING", "pattern": "short stature"},
]


def links(doc, key=None):
    spans = doc.spans[key] if key else doc.ents
    return [(span.text, span.kb_id_) for span in spans]


def test_a_trained_ner(ner_path, tiny_kb, tmp_path):
    """Links what the NER finds, in memory and after the pipeline was saved."""
    nlp = spacy.load(ner_path)
    nlp.add_pipe("term_linker", config={"kb": str(tiny_kb)})
    assert links(nlp(TEXT)) == LINKED
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    assert again.pipe_names == ["ner", "term_linker"]
    assert [links(doc) for doc in again.pipe([TEXT, "The boy plays football ."])] == [LINKED, []]


def test_a_sourced_ner_keeps_its_weights_while_the_linker_learns(ner_path, tiny_kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("ner", source=spacy.load(ner_path))
    linker = nlp.add_pipe("term_linker", config={"kb": str(tiny_kb)})
    gold = nlp(TEXT)
    with nlp.select_pipes(enable="term_linker"):
        optimizer = nlp.initialize(lambda: [Example(nlp.make_doc(TEXT), gold)])
        nlp.update([Example(nlp.make_doc(TEXT), gold)], sgd=optimizer)
    assert linker.gold_counts.used == 2
    assert links(nlp(TEXT)) == LINKED


def test_a_trained_spancat(spancat_path, tiny_kb, tmp_path):
    """Its group is linked, and keeps the scores that the recogniser has put into its attributes."""
    nlp = spacy.load(spancat_path)
    scores = nlp(TEXT).spans["sc"].attrs["scores"]
    nlp.add_pipe("term_linker", config={"kb": str(tiny_kb), "spans_key": "sc"})
    doc = nlp(TEXT)
    assert links(doc, "sc") == LINKED and doc.ents == ()
    assert (doc.spans["sc"].attrs["scores"] == scores).all()
    nlp.to_disk(tmp_path / "saved")
    assert links(spacy.load(tmp_path / "saved")(TEXT), "sc") == LINKED


@pytest.mark.parametrize("factory, key", [("entity_ruler", None), ("span_ruler", "ruler")])
def test_rulers(factory, key, tiny_kb, tmp_path):
    nlp = spacy.blank("en")
    config = {"spans_key": key} if key else {}
    nlp.add_pipe(factory, config=config).add_patterns(PATTERNS)
    nlp.add_pipe("term_linker", config={"kb": str(tiny_kb), "spans_key": key, "threshold": 0.99})
    doc = nlp(TEXT)
    # entities may not overlap, spans of a group may: the longer name is no concept's
    found = dict(links(doc, key))
    assert found == {"heart attack and": "NIL", **(dict(LINKED) if key else dict(LINKED[1:]))}
    nlp.to_disk(tmp_path / "saved")
    assert dict(links(spacy.load(tmp_path / "saved")(TEXT), key)) == found


@pytest.mark.parametrize("factory, key", [("entity_ruler", None), ("span_ruler", "ruler")])
def test_docbin(factory, key, tiny_kb, tmp_path):
    """Ids, candidates and the name of the KB come back from a file."""
    nlp = spacy.blank("en")
    nlp.add_pipe(factory, config={"spans_key": key} if key else {}).add_patterns(PATTERNS)
    nlp.add_pipe("term_linker", config={"kb": str(tiny_kb), "spans_key": key})
    doc = nlp(TEXT)
    DocBin(docs=[doc], store_user_data=True).to_disk(tmp_path / "docs.spacy")
    (again,) = DocBin().from_disk(tmp_path / "docs.spacy").get_docs(spacy.blank("en").vocab)
    assert links(again, key) == links(doc, key)
    for before, after in zip(*(d.spans[key] if key else d.ents for d in (doc, again)), strict=True):
        assert [list(pair) for pair in after._.kb_ents] == before._.kb_ents
        assert [dict(c) for c in after._.term_candidates] == before._.term_candidates
    assert again.user_data["term_linker"]["term_linker"]["release"] == "2026-01-01"
