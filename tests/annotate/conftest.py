import pytest
import spacy
from spacy.language import Language

from spacy_termlink.encoders import load_encoder
from spacy_termlink.kb import build_kb
from spacy_termlink.terminology import Concept, Name
from spacy_termlink.terminology.builder import build_terminology

CONCEPTS = [
    Concept("X:3", "seizure", [Name("epileptic fit"), Name("fits", "layperson")]),
    Concept("X:4", "headache"),
    Concept("X:7", "fever", [Name("pyrexia")]),
    Concept("X:8", "fever remedy"),
]
PATTERNS = [
    {"label": "FINDING", "pattern": text}
    for text in ("seizures", "Seizure", "seizure", "fever", "headache", "qqqqq", "😀fever")
]


@pytest.fixture(scope="session")
def make_kb(tiny_encoder):
    """Write a KB of a few concepts into a folder; the terminology lies beside it."""

    def make(folder, concepts, **meta):
        meta = {
            "source": "tiny",
            "release": "2026-01",
            "licence": "test",
            "shareable": True,
            **meta,
        }
        terminology = folder.with_name(f"{folder.name}-terminology")
        build_terminology(concepts, terminology, meta=meta)
        return build_kb(terminology, load_encoder(tiny_encoder), folder, progress=False).path

    return make


@pytest.fixture(scope="session")
def kb_path(tmp_path_factory, make_kb):
    return make_kb(tmp_path_factory.mktemp("kbs") / "tiny", CONCEPTS)


@pytest.fixture(scope="session")
def other_kb_path(tmp_path_factory, make_kb):
    concepts = [Concept("B50", "febris", [Name("fever")]), Concept("B51", "headache of day 2")]
    return make_kb(tmp_path_factory.mktemp("kbs") / "other", concepts)


@Language.component("fails_on_boom")
def fails_on_boom(doc):
    if "boom" in doc.text:
        raise ValueError(f"cannot read {doc.text}")
    return doc


@pytest.fixture
def make_nlp(kb_path):
    """Entities by rules, so that what is tested here does not hang on the matcher."""

    def make(*, kbs=None, before=(), **config):
        nlp = spacy.blank("en")
        for name in before:
            nlp.add_pipe(name)
        nlp.add_pipe("entity_ruler").add_patterns(PATTERNS)
        for i, kb in enumerate(kbs or [kb_path]):
            settings = {"kb": str(kb), "overwrite": i == 0, "threshold": 0.99, **config}
            nlp.add_pipe("term_linker", name=f"linker{i}", config=settings)
        return nlp

    return make
