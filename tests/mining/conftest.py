"""Tiny terminologies: seizures and their neighbours, and the same diseases in another source."""

import pytest

from spacy_termlink.mining.corpus import Corpus
from spacy_termlink.mining.heldout import HeldoutSettings
from spacy_termlink.terminology import Concept, Name, Relation, Terminology, Xref
from spacy_termlink.terminology.builder import build_terminology


def is_a(*parents):
    return [Relation("is_a", parent) for parent in parents]


# root - nervous - seizure - focal, febrile; root - heart - murmur
HPO = [
    Concept("HP:0", "All"),
    Concept("HP:1", "Nervous system abnormality", relations=is_a("HP:0")),
    Concept(
        "HP:2",
        "Seizure",
        [
            Name("Seizures", "exact"),
            Name("Epileptic seizure", "exact"),
            Name("Seizure", "layperson"),
            Name("Fits", "layperson"),
            Name("SZ", "abbreviation"),
        ],
        definition="A sudden burst of electrical activity in the brain.",
        relations=is_a("HP:1"),
    ),
    Concept("HP:3", "Focal seizure", [Name("Partial seizure")], relations=is_a("HP:2")),
    Concept(
        "HP:4",
        "Febrile seizure",
        [Name("Fever fit", "layperson")],
        relations=[*is_a("HP:2"), Relation("caused_by", "HP:8")],
    ),
    Concept("HP:5", "Heart abnormality", relations=is_a("HP:0")),
    Concept(
        "HP:6", "Heart murmur", [Name("Murmur, heart"), Name("Murmur")], relations=is_a("HP:5")
    ),
    Concept("HP:7", "Old seizure", obsolete=True, replaced_by="HP:2"),
    Concept("HP:8", "Fever", [Name("Pyrexia"), Name("Fits", "related")], relations=is_a("HP:0")),
]


@pytest.fixture
def make_terminology(tmp_path):
    def make(concepts, source="hpo", **meta):
        path = tmp_path / source
        build_terminology(concepts, path, meta={"source": source, **meta})
        return Terminology.open(path)

    return make


@pytest.fixture
def hpo(make_terminology):
    return make_terminology(HPO)


@pytest.fixture
def corpus(hpo):
    """The whole tiny terminology, nothing held out."""
    return Corpus([hpo], heldout=HeldoutSettings(names=0.0))


@pytest.fixture
def item(corpus):
    items = {item.concept: item for item in corpus.walk()}
    return items.__getitem__


@pytest.fixture
def two_sources(make_terminology):
    """A disease source whose D:1 and D:2 refer to one HPO concept each, D:3 and D:4 to the same."""
    diseases = [
        Concept("D:1", "seizure disorder", xrefs=[Xref("HP:0000002"), Xref("UMLS:C1")]),
        Concept("D:2", "fever disease", xrefs=[Xref("HPO:8", "skos:broadMatch")]),
        Concept("D:3", "murmur a", xrefs=[Xref("HP:6")]),
        Concept("D:4", "murmur b", xrefs=[Xref("HP:6")]),
    ]
    return make_terminology(HPO), make_terminology(diseases, "doid")
