"""negspaCy's flag becomes the `assertion` of the annotations."""

import json
import sys

import negspacy.negation  # noqa: F401 (registers the factory)
import pyarrow as pa
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Span

from spacy_termlink.annotate.core import annotate_batch
from spacy_termlink.annotate.neighbours import import_neighbours
from spacy_termlink.cli import app
from spacy_termlink.errors import TermlinkError

NOTE = "She had a heart attack. She denies seizure. No short stature but cleft palate."
EXPECTED = {
    "heart attack": ("T:0007", "affirmed"),
    "seizure": ("T:0003", "negated"),
    "short stature": ("T:0011", "negated"),
    "cleft palate": ("T:0012", "affirmed"),
}


@pytest.fixture(autouse=True)
def forget_the_flag():
    yield
    if Span.has_extension("negex"):
        Span.remove_extension("negex")


def make_pipeline(kb, key=None):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("term_matcher", config={"kb": str(kb), "spans_key": key})
    nlp.add_pipe("negex", config={"span_keys": [key]} if key else {})
    nlp.add_pipe("term_linker", config={"kb": str(kb), "spans_key": key})
    return nlp


@pytest.mark.parametrize("key", [None, "findings"])
def test_the_flag_reaches_the_annotations(tiny_kb, key):
    notes = pa.RecordBatch.from_pydict({"note_id": ["1"], "text": [NOTE]})
    rows = annotate_batch(make_pipeline(tiny_kb, key), notes).annotations.to_pylist()
    assert {row["text"]: (row["concept_id"], row["assertion"]) for row in rows} == EXPECTED


def test_the_command_finds_the_factory(tiny_kb, tmp_path, monkeypatch):
    """A pipeline saved with negspaCy, which registers no entry point: its module is imported."""
    make_pipeline(tiny_kb).to_disk(tmp_path / "pipeline")
    (tmp_path / "notes.jsonl").write_text(json.dumps({"note_id": "1", "text": NOTE}) + "\n")
    monkeypatch.delitem(sys.modules, "negspacy.negation")
    out = tmp_path / "out.jsonl"
    command = ["annotate", tmp_path / "pipeline", tmp_path / "notes.jsonl", "-o", out]
    assert app([str(word) for word in command], standalone_mode=False) in (None, 0)
    assert "negspacy.negation" in sys.modules
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["text"]: (row["concept_id"], row["assertion"]) for row in rows} == EXPECTED


def test_a_neighbour_that_is_not_installed_is_named(tiny_kb, tmp_path, monkeypatch):
    make_pipeline(tiny_kb).to_disk(tmp_path / "pipeline")
    monkeypatch.setitem(sys.modules, "negspacy.negation", None)
    with pytest.raises(TermlinkError, match="TL730.*'negex'.*package negspacy"):
        import_neighbours(str(tmp_path / "pipeline"))


def test_what_is_no_pipeline_is_left_alone(tmp_path):
    import_neighbours(str(tmp_path))
    import_neighbours("no_such_package")
    assert Language.has_factory("negex")
