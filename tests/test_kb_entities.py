"""Code that was written for scispaCy's linker."""

import pytest
import spacy

from spacy_termlink.kb import open_kb
from spacy_termlink.kb.entities import Entity


def test_code_written_for_scispacy_runs(tiny_kb):
    """As in scispaCy's README, with its two lines that make the linker replaced."""
    nlp = spacy.blank("en")
    nlp.add_pipe("term_matcher", config={"kb": str(tiny_kb)})
    nlp.add_pipe("term_linker", config={"kb": str(tiny_kb)})

    doc = nlp("She had an epileptic fit.")
    entity = doc.ents[0]
    linker = nlp.get_pipe("term_linker")
    shown = [str(linker.kb.cui_to_entity[umls_ent[0]]) for umls_ent in entity._.kb_ents]
    assert shown[0] == (
        "CUI: T:0003, Name: Seizure\nDefinition: A sudden discharge.\nTUI(s): neuro\n"
        "Aliases (total: 2): \n\t Epileptic fit, Fits"
    )
    rows = [
        (cui, linker.kb.cui_to_entity[cui].canonical_name, score)
        for ent in doc.ents
        for cui, score in ent._.kb_ents[:1]
    ]
    assert rows == [("T:0003", "Seizure", 1.0)]


def test_entities_are_a_mapping_of_living_concepts(tiny_kb):
    entities = open_kb(tiny_kb).cui_to_entity
    assert entities["T:0003"] == Entity(
        "T:0003", "Seizure", ["Epileptic fit", "Fits"], ["neuro"], "A sudden discharge."
    )
    assert entities["T:9003"] == entities["T:0099"] == entities["T:0003"]  # alternative, retired
    assert entities["T:0012"].definition is None
    assert len(entities) == len(list(entities)) == 12 and "T:0099" not in list(entities)
    assert entities.get("T:1234") is None and "T:0001" in entities and None not in entities
    with pytest.raises(KeyError, match="T:1234"):
        entities["T:1234"]


def test_of_many_aliases_ten_are_printed():
    names = [f"name {i}" for i in range(12)]
    shown = str(Entity("C1", "concept", names, []))
    assert "Aliases (abbreviated, total: 12): \n\t name 0," in shown
    assert "name 9" in shown and "name 10" not in shown
