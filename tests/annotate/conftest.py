import importlib.util
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

_PATH = Path(__file__).parent.parent / "pipeline" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("pipeline_fixtures", _PATH)
fixtures = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(fixtures)

PATTERNS = [
    {"label": "FINDING", "pattern": text}
    for text in ("seizures", "Seizure", "seizure", "fever", "headache", "qqqqq", "😀fever")
]


@pytest.fixture(scope="session")
def encoder(tmp_path_factory):
    return fixtures.build_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(scope="session")
def kb_path(tmp_path_factory, encoder):
    return fixtures.build_tiny_kb(tmp_path_factory.mktemp("kbs") / "tiny", encoder).path


@pytest.fixture(scope="session")
def other_kb_path(tmp_path_factory, encoder):
    concepts = [("B50", None, [], "febris", [fixtures.Name("fever")])]
    path = tmp_path_factory.mktemp("kbs") / "other"
    return fixtures.build_tiny_kb(path, encoder, concepts=concepts).path


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
