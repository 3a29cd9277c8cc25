"""benchmarks/million.py: the names that both sides index."""

import json
import sys
from pathlib import Path

import pytest

from spacy_termlink.terminology.store import Terminology

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def million(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import million

    yield million
    for name in ("million", "scispacy_side"):
        sys.modules.pop(name, None)


def living_names(terminology):
    rows = [row for row in range(terminology.n_concepts) if not terminology.obsolete[row]]
    return [name for row in rows for name in terminology.name_texts(terminology.name_rows(row))]


@pytest.mark.parametrize("n_names", [1, 2, 5, 9])
def test_joined_up_to_the_number_of_names(million, tiny_terminology, tmp_path, n_names):
    joined = million.join([tiny_terminology, tiny_terminology], n_names, tmp_path / "joined")
    expected = living_names(Terminology.open(tiny_terminology))
    assert living_names(joined) == expected[:n_names]


def test_too_few_names(million, tiny_terminology, tmp_path):
    with pytest.raises(SystemExit, match="names, not 1,000,000"):
        million.join([tiny_terminology, tiny_terminology], 1_000_000, tmp_path / "joined")


def test_both_sides_get_the_same_names(million, tiny_terminology, tmp_path):
    joined = million.join([tiny_terminology], 9, tmp_path / "joined")
    million.write_entities(joined, tmp_path / "theirs")
    lines = (tmp_path / "theirs" / "kb.jsonl").read_text(encoding="utf8").splitlines()
    entities = [json.loads(line) for line in lines]
    assert [name for e in entities for name in e["aliases"]] == living_names(joined)
    assert all(e["canonical_name"] in e["aliases"] for e in entities)
