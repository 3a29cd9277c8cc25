import re

import pytest

from spacy_termlink.registry import readers
from spacy_termlink.terminology.sources import SOURCES, concept_page

NAMES = ["hpo", "icd10cm", "icd10", "mondo", "doid", "mesh", "go", "chebi", "efo", "minilm"]


def test_names():
    assert list(SOURCES) == NAMES


@pytest.mark.parametrize("source", SOURCES.values(), ids=NAMES)
def test_a_source_is_pinned_and_has_a_licence(source):
    assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", source.wheel.requirement)
    for sha256 in (source.wheel.sha256, *(file.sha256 for file in source.files)):
        assert re.fullmatch(r"[0-9a-f]{64}", sha256)
    assert source.licence and source.release and source.homepage.startswith("https://")
    assert len({file.name for file in source.files}) == len(source.files)


@pytest.mark.parametrize("source", SOURCES.values(), ids=NAMES)
def test_files_stay_in_the_folder(source):
    for file in source.files:
        assert not file.name.startswith(("/", "..")) and "/../" not in file.name


@pytest.mark.parametrize("source", [s for s in SOURCES.values() if s.format], ids=NAMES[:-1])
def test_a_source_has_a_reader(source):
    assert readers.get(source.format)


def test_who_icd10_is_not_shareable():
    assert [name for name, source in SOURCES.items() if not source.shareable] == ["icd10"]


@pytest.mark.parametrize(
    "name, concept_id, page",
    [
        ("hpo", "HP:0001250", "https://hpo.jax.org/browse/term/HP:0001250"),
        ("mesh", "MESH:D009270", "https://meshb.nlm.nih.gov/record/ui?ui=D009270"),
        ("minilm", "x", ""),
    ],
)
def test_page_of_a_concept(name, concept_id, page):
    assert concept_page(SOURCES[name].url, concept_id) == page
