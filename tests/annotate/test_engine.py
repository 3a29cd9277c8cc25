"""What Spark and Ray share, without either."""

import json

import pyarrow as pa
import pytest

from spacy_termlink.annotate import engine
from spacy_termlink.annotate.core import ANNOTATIONS, annotate_batch
from spacy_termlink.annotate.engine import annotate_slices, make_task, result_fields
from spacy_termlink.annotate.inputs import NoteSource
from spacy_termlink.annotate.ray import _Actor
from spacy_termlink.annotate.run import run_annotation
from spacy_termlink.errors import TermlinkError

TEXTS = ["fever", None, "", "Seizure, headache", "fe\0ver", "😀 pyrexia\r\n", "fits " * 3]


def notes(**more):
    columns = {"nr": [f"n{i}" for i in range(len(TEXTS))], "body": TEXTS, **more}
    return pa.RecordBatch.from_pydict(columns)


def run(task, nlp, *batches):
    found = [found for batch in batches for found in annotate_slices(task, nlp, batch)]
    return [row for batch in found for row in batch.to_pylist()]


@pytest.fixture
def expected(kb_path, tmp_path):
    """What the command writes for the same notes."""
    rows = [{"note_id": f"n{i}", "text": text} for i, text in enumerate(TEXTS)]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out, rejects = tmp_path / "out.jsonl", tmp_path / "rejects"
    source = NoteSource(str(tmp_path / "notes.jsonl"))
    run_annotation([str(kb_path)], source, out, format="jsonl", rejects=rejects)
    return [[json.loads(x) for x in file.read_text().splitlines()] for file in (out, rejects)]


def test_rows_are_those_of_the_command(kb_path, expected):
    task = make_task(kb_path, ["nr", "body"], text="body", id="nr", rejects=False)
    nlp = engine.load_once(task.pipeline)
    assert run(task, nlp, notes()) == expected[0]
    assert len(expected[0]) == 7
    assert engine.load_once(task.pipeline) is nlp


def test_slices_change_nothing(kb_path, expected, monkeypatch):
    task = make_task(kb_path, ["nr", "body"], text="body", id="nr", rejects=False)
    nlp = engine.load_once(task.pipeline)
    monkeypatch.setattr(engine, "PART_NOTES", 2)
    assert [b.num_rows for b in engine._slices(notes(), "body")] == [2, 2, 2, 1]
    assert run(task, nlp, notes()) == expected[0]
    monkeypatch.setattr(engine, "PART_CHARS", 15)
    assert [b.num_rows for b in engine._slices(notes(), "body")] == [2, 1, 1, 1, 1, 1]
    assert run(task, nlp, notes().slice(3), notes().slice(0, 0)) == expected[0][1:]


def test_other_columns_are_repeated_in_every_row(kb_path):
    ward = [{"name": f"w{i}", "beds": [i]} for i in range(len(TEXTS))]
    batch = notes(line=list("abcdefg"), ward=ward, none=pa.nulls(len(TEXTS)))
    task = make_task(kb_path, batch.schema.names, text="body", id="nr", rejects=True)
    assert task.carry == ("line", "ward", "none")
    rows = run(task, engine.load_once(task.pipeline), batch)
    for row in rows:
        at = int(row["note_id"][1:])
        assert (row["line"], row["ward"], row["none"]) == ("abcdefg"[at], ward[at], None)
    assert list(rows[0]) == [f.name for f in result_fields(task)] + ["line", "ward", "none"]
    assert [r["note_id"] for r in rows] == ["n0", "n3", "n3", "n5", "n6", "n6", "n6", "n1", "n4"]


def test_refused_notes_have_a_row_where_asked_for(kb_path, expected):
    task = make_task([str(kb_path)], ["nr", "body"], text="body", id="nr", rejects=True)
    rows = run(task, engine.load_once(task.pipeline), notes())
    mentions = [row for row in rows if row["reject"] is None]
    assert [{name: row[name] for name in ANNOTATIONS.names} for row in mentions] == expected[0]
    refused = [row for row in rows if row["reject"] is not None]
    assert [(r["note_id"], r["reject"], r["reject_component"]) for r in refused] == [
        (r["note_id"], r["code"], r["component"]) for r in expected[1]
    ]
    assert {r[name] for r in refused for name in ANNOTATIONS.names[1:]} == {None}


def test_a_string_that_is_not_utf8_is_refused_alone(make_nlp):
    texts = pa.array([b"fever", b"f\xe9ver", b"fever"]).view(pa.string())
    ids = pa.array([b"a", b"b", b"\xff"]).view(pa.string())
    batch = pa.RecordBatch.from_arrays([ids, texts], ["note_id", "text"])
    found = annotate_batch(make_nlp(), batch)
    assert found.annotations["note_id"].to_pylist() == ["a"]
    assert [(r["line"], r["note_id"], r["code"]) for r in found.rejects.to_pylist()] == [
        (2, "b", "not_utf8"), (3, None, "not_utf8"),
    ]  # fmt: skip


@pytest.mark.parametrize("type_", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_strings_of_other_widths(make_nlp, type_):
    batch = pa.RecordBatch.from_arrays(
        [pa.array([7], pa.int32()), pa.array(["fever"], type_)], ["note_id", "text"]
    )
    found = annotate_batch(make_nlp(), batch)
    assert found.annotations.select(["note_id", "concept_id"]).to_pylist() == [
        {"note_id": "7", "concept_id": "X:7"}
    ]


@pytest.mark.parametrize(
    "columns, code",
    [
        (["nr"], "TL860.*no column 'body'.*found: 'nr'"),
        (["body"], "TL860.*no column 'nr'"),
        (["nr", "body", "kb"], "TL861.*'kb'"),
        (["nr", "body", "x", "x"], "TL861.*'x'"),
        (["nr", "body", "body"], "TL861.*'body'"),
        (["nr", "body", "reject"], "TL861.*'reject'"),
    ],
)
def test_columns_that_cannot_be_used(columns, code):
    with pytest.raises(TermlinkError, match=code):
        make_task("kb", columns, text="body", id="nr", rejects=True)


def test_batches_are_cut_by_characters(make_nlp, monkeypatch):
    nlp, sizes = make_nlp(), []
    pipe = nlp.pipe
    monkeypatch.setattr(nlp, "pipe", lambda texts, **kw: sizes.append(len(texts)) or pipe(texts))
    monkeypatch.setattr("spacy_termlink.annotate.core.BATCH_CHARS", 10)
    texts = ["fever", "fever", "x" * 50, "fever"]
    batch = pa.RecordBatch.from_pydict({"note_id": list("abcd"), "text": texts})
    assert annotate_batch(nlp, batch).annotations["note_id"].to_pylist() == ["a", "b", "d"]
    assert sizes == [2, 1, 1]


def test_what_an_actor_of_ray_returns(kb_path):
    """The class that Ray makes, without Ray: test_ray.py has the rest."""
    batch = notes(ward=list("abcdefg"))
    task = make_task(kb_path, batch.schema.names, text="body", id="nr", rejects=False)
    table = pa.Table.from_batches([batch.slice(0, 4), batch.slice(4)])
    found = _Actor(task)(table)
    assert found.to_pylist() == run(task, engine.load_once(task.pipeline), batch)
    assert _Actor(task)(table.slice(0, 0)).schema == found.schema
