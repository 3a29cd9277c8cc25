import pytest
import spacy

from spacy_termlink.encoders import load_encoder
from spacy_termlink.kb import TermKB, build_kb
from spacy_termlink.terminology import Concept, Name, Relation
from spacy_termlink.terminology.builder import build_terminology

#: (id, parent, semantic types, preferred name, other names)
CONCEPTS = [
    ("X:1", None, ["finding"], "abnormality", []),
    ("X:2", "X:1", ["finding"], "abnormality of the nervous system", []),
    ("X:3", "X:2", ["finding"], "seizure", [Name("epileptic fit"), Name("fits", "layperson")]),
    ("X:4", "X:2", ["finding"], "headache", []),
    ("X:5", "X:1", ["finding"], "abnormality of the heart", []),
    ("X:6", "X:5", ["finding", "defect"], "atrial septal defect", [Name("hole in the heart")]),
    ("X:7", "X:1", ["finding"], "fever", [Name("pyrexia"), Name("high temperature")]),
    ("X:8", None, ["drug"], "fever remedy", [Name("fever", "related")]),
    ("X:9", "X:1", ["finding"], "autism spectrum disorder", []),
]
PATTERNS = {
    "FINDING": ["seizures", "seizure", "headache", "fever", "hole in the heart", "ASD", "pyrexias"],
    "DRUG": ["fever remedy"],
    "OTHER": ["qqq"],
}
TEXTS = [
    "She had a seizure and a fever.",
    "No entity here.",
    "",
    "An atrial septal defect (ASD) was seen; the ASD closed. Headache.",
    "The qqq gave seizures. A hole in the heart, pyrexias, fever.",
]


def build_tiny_kb(folder, encoder, *, shareable=True, concepts=CONCEPTS):
    records = [
        Concept(
            concept_id,
            name,
            names=names,
            semantic_types=types,
            relations=[Relation("is_a", parent)] if parent else [],
            alt_ids=["X:0003"] if concept_id == "X:3" else [],
        )
        for concept_id, parent, types, name, names in concepts
    ]
    meta = {"source": "tiny", "release": "2026-01", "licence": "test", "shareable": shareable}
    terminology = folder.with_name(f"{folder.name}-terminology")
    build_terminology(records, terminology, meta=meta)
    return build_kb(terminology, load_encoder(encoder, dtype="float32"), folder, progress=False)


@pytest.fixture(scope="session")
def kb_path(tmp_path_factory, tiny_encoder):
    """Do not change the files: every test maps them."""
    return build_tiny_kb(tmp_path_factory.mktemp("kbs") / "tiny", tiny_encoder).path


@pytest.fixture(scope="session")
def other_kb_path(tmp_path_factory, tiny_encoder):
    concepts = [("B50", None, [], "febris", [Name("fever")]), ("B51", None, [], "caput", [])]
    return build_tiny_kb(
        tmp_path_factory.mktemp("kbs") / "other", tiny_encoder, concepts=concepts
    ).path


@pytest.fixture(scope="session")
def restricted_kb_path(tmp_path_factory, tiny_encoder):
    folder = tmp_path_factory.mktemp("kbs") / "restricted"
    return build_tiny_kb(folder, tiny_encoder, shareable=False).path


@pytest.fixture
def kb(kb_path):
    return TermKB.open(kb_path)


@pytest.fixture
def make_nlp(kb_path):
    """A blank pipeline with an entity_ruler (or span_ruler) and a linker of exact names."""

    def make(name="term_linker", *, spans_key=None, **config):
        nlp = spacy.blank("en")
        add_ruler(nlp, spans_key)
        config = {"kb": str(kb_path), "spans_key": spans_key, "threshold": 0.999, **config}
        nlp.add_pipe("term_linker", name=name, config=config)
        return nlp

    return make


def add_ruler(nlp, spans_key=None):
    ruler = "entity_ruler" if spans_key is None else "span_ruler"
    settings = {"phrase_matcher_attr": "LOWER"}
    if spans_key is not None:
        settings["spans_key"] = spans_key
    nlp.add_pipe(ruler, config=settings).add_patterns(
        [{"label": label, "pattern": p} for label, texts in PATTERNS.items() for p in texts]
    )


@pytest.fixture
def texts():
    return TEXTS
