import gc
import json
import weakref

import pytest

from spacy_termlink.candidates.dictionary import build_dictionary, finding_mask, open_dictionary
from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Concept, Relation, Terminology
from spacy_termlink.terminology.builder import build_terminology


@pytest.fixture
def folder(tmp_path):
    concepts = [
        Concept("HP:0000118", "Phenotypic abnormality"),
        Concept("HP:1", "Hearing loss", relations=[Relation("is_a", "HP:0000118")]),
        Concept("HP:2", "Onset", semantic_types=["modifier"]),
        Concept("HP:3", "Gone", obsolete=True),
    ]
    meta = {"source": "t", "release": "1", "licence": "x", "shareable": True}
    build_terminology(concepts, tmp_path / "t", meta=meta)
    return tmp_path / "t"


def test_built_in_memory_once(folder):
    opened = open_dictionary(folder)
    assert opened is open_dictionary(folder)
    [row] = opened.dictionary.find("loss of hearing")
    assert opened.terminology.name_text(row) == "Hearing loss"
    assert opened.dictionary.find("gone") == ()


def test_one_that_is_not_in_use_is_let_go(folder):
    build_dictionary(Terminology.open(folder)).save(folder / "dictionary")
    opened = open_dictionary(folder)
    gone = weakref.ref(opened), weakref.ref(opened.dictionary), weakref.ref(opened.terminology)
    del opened
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3


def test_a_saved_one_is_mapped_unless_another_release_made_it(folder, monkeypatch):
    built = []
    monkeypatch.setattr(
        "spacy_termlink.candidates.dictionary.build_dictionary",
        lambda terminology: built.append(1) or build_dictionary(terminology),
    )
    build_dictionary(Terminology.open(folder)).save(folder / "dictionary")
    assert open_dictionary(folder).dictionary.find("Hearing loss")
    assert not built
    meta = folder / "dictionary" / "meta.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), "rules": "other"}))
    (folder / "meta.json").touch()  # opened anew, as in another process
    assert open_dictionary(folder).dictionary.find("Hearing loss")
    assert built


def test_findings_are_looked_for(folder):
    terminology = Terminology.open(folder)
    assert finding_mask(terminology).tolist() == [True, True, False, False]
    assert finding_mask(terminology, ["modifier"]).tolist() == [False, False, True, False]
    with pytest.raises(TermlinkError, match="TL107"):
        finding_mask(terminology, ["HP:404"])


def test_a_terminology_without_that_root_is_looked_for_whole(tmp_path):
    meta = {"source": "t", "release": "1", "licence": "x", "shareable": True}
    build_terminology([Concept("A", "Fever")], tmp_path / "t", meta=meta)
    assert finding_mask(Terminology.open(tmp_path / "t")) is None
