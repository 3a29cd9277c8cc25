import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spacy_termlink.annotate.inputs import NoteSource
from spacy_termlink.annotate.notes import REJECT_CODES, Note, Reject
from spacy_termlink.errors import TermlinkError

TEXTS = ["Fever.", "", "a\r\nb\rc\nd", "😀 שלום 发烧", '"quoted", and a comma']


def read(path, **fields):
    return list(NoteSource(str(path), **fields).read())


def notes_of(items):
    return [(item.note_id, item.text) for item in items if isinstance(item, Note)]


def codes_of(items):
    return [(item.line, item.note_id, item.code) for item in items if isinstance(item, Reject)]


def jsonl(path, *lines):
    content = b"\n".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines
    )
    path.write_bytes(content + b"\n")
    return path


def test_jsonl_texts_come_as_they_are(tmp_path):
    rows = [{"note_id": str(i), "text": text, "more": 1} for i, text in enumerate(TEXTS)]
    items = read(jsonl(tmp_path / "n.jsonl", *rows))
    assert notes_of(items) == [(str(i), text) for i, text in enumerate(TEXTS)]
    assert [item.line for item in items] == [1, 2, 3, 4, 5]


def test_csv_texts_come_as_they_are(tmp_path):
    import csv

    path = tmp_path / "n.csv"
    with path.open("w", newline="", encoding="utf8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "note_text"])
        writer.writerows(enumerate(TEXTS))
    assert notes_of(read(path)) == [(str(i), text) for i, text in enumerate(TEXTS)]


def test_parquet_texts_come_as_they_are(tmp_path):
    table = pa.table({"doc_id": list(range(5)), "text": TEXTS, "extra": [None] * 5})
    pq.write_table(table, tmp_path / "n.parquet")
    assert notes_of(read(tmp_path / "n.parquet")) == [(str(i), t) for i, t in enumerate(TEXTS)]


def test_folder_texts_come_as_they_are(tmp_path):
    (tmp_path / "sub").mkdir()
    for i, text in enumerate(TEXTS):
        (tmp_path / "sub" / f"{i}.txt").write_bytes(text.encode())
    (tmp_path / "sub" / "readme.md").write_text("no note")
    assert notes_of(read(tmp_path)) == [(f"sub/{i}", text) for i, text in enumerate(TEXTS)]


def test_suffixes_in_capitals(tmp_path):
    for name in ("A.TXT", "B.Txt", "c.txt"):
        (tmp_path / name).write_text("Fever.")
    assert notes_of(read(tmp_path)) == [(i, "Fever.") for i in "ABc"]
    tables = tmp_path / "tables"
    tables.mkdir()
    jsonl(tables / "n.JSONL", {"id": 1, "text": "Fever."})
    (tables / "m.CSV").write_text("id,text\n2,Fever.\n")
    assert notes_of(read(tables)) == [("2", "Fever."), ("1", "Fever.")]


def test_files_of_a_folder_that_are_not_read_are_counted(tmp_path):
    for name in ("a.txt", "b.tsv", "c.TSV", "d.jsonl.gz", "e.csv", "readme", ".hidden"):
        (tmp_path / name).write_text("Fever.")
    source = NoteSource(str(tmp_path))
    assert source.left_out() == {"": 1, ".csv": 1, ".jsonl.gz": 1, ".tsv": 2}
    assert NoteSource(str(tmp_path / "e.csv")).left_out() == {}
    (tmp_path / "a.txt").unlink()
    (tmp_path / "e.csv").unlink()
    with pytest.raises(TermlinkError, match=r"TL803.*1 \.jsonl\.gz, 2 \.tsv"):
        list(NoteSource(str(tmp_path)).read())


def test_stdin_is_jsonl(monkeypatch):
    data = io.BytesIO(b'{"note_id": 7, "text": "Fever."}\n')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(data))
    source = NoteSource("-")
    assert source.count() is None
    assert list(source.read()) == [Note(1, "7", "Fever.")]


@pytest.mark.parametrize(
    "line, note_id, code",
    [
        (b'{"note_id": "a", "text": "Fev', None, "broken_json"),
        (b"[" * 100_000, None, "broken_json"),
        (b'["a", "Fever"]', None, "not_an_object"),
        (b'{"note_id": "a", "text": "\xff"}', None, "not_utf8"),
        (b'{"text": "Fever"}', None, "missing_id"),
        (b'{"note_id": "", "text": "Fever"}', None, "missing_id"),
        (b'{"note_id": 1.5, "text": "Fever"}', None, "id_not_text"),
        (b'{"note_id": true, "text": "Fever"}', None, "id_not_text"),
        (b'{"note_id": "\\ud800", "text": "Fever"}', None, "surrogate"),
        (b'{"note_id": "a"}', "a", "missing_text"),
        (b'{"note_id": "a", "text": null}', "a", "missing_text"),
        (b'{"note_id": "a", "text": 3}', "a", "text_not_string"),
        (b'{"note_id": "a", "text": ["Fever"]}', "a", "text_not_string"),
        (b'{"note_id": "a", "text": "Fe\\u0000ver"}', "a", "nul_byte"),
        (b'{"note_id": "a", "text": "Fe\\ud83dver"}', "a", "surrogate"),
    ],
)
def test_a_bad_line_is_rejected_and_the_rest_goes_on(tmp_path, line, note_id, code):
    good = {"note_id": "x", "text": "Fever"}
    items = read(jsonl(tmp_path / "n.jsonl", good, b"", line, {**good, "note_id": "y"}))
    assert codes_of(items) == [(3, note_id, code)]
    assert [note_id for note_id, _ in notes_of(items)] == ["x", "y"]
    assert code in REJECT_CODES


@pytest.mark.parametrize(
    "data",
    [
        json.dumps([{"id": 1, "text": "Fever"}]),
        json.dumps([{"id": 1, "text": "Fever"}, {"id": 2, "text": "Fits"}], indent=2),
        json.dumps({"id": 1, "text": "Fever"}, indent=2),
        '\ufeff\n[{"id": 1, "text": "Fever"},\n{"id": 2, "text": "Fever"}]\n',
        '[\n{"id": 1, "text": "Fever"},\n{"id": 2, "text": "Fever"}\n]',
    ],
)
def test_json_that_is_no_jsonl_is_told_so(tmp_path, monkeypatch, data):
    (tmp_path / "n.jsonl").write_text(data, encoding="utf8")
    with pytest.raises(TermlinkError, match=r"TL819.*n\.jsonl .* one object a line"):
        read(tmp_path / "n.jsonl")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data.encode())))
    with pytest.raises(TermlinkError, match="TL819.*stdin"):
        read("-")


@pytest.mark.parametrize("line", [b"{", b"[", b'["a", "Fever"]'])
def test_a_first_line_like_that_is_a_bad_one_if_a_good_one_follows(tmp_path, line):
    items = read(jsonl(tmp_path / "n.jsonl", line, {"id": "x", "text": "Fever"}))
    assert notes_of(items) == [("x", "Fever")] and len(items) == 2


def test_a_whole_surrogate_pair_is_text(tmp_path):
    items = read(jsonl(tmp_path / "n.jsonl", b'{"id": "a", "text": "\\ud83d\\ude00 fever"}'))
    assert notes_of(items) == [("a", "😀 fever")]


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    items = read(jsonl(tmp_path / "n.jsonl", b'\xef\xbb\xbf{"id": "a", "text": "x"}'))
    assert notes_of(items) == [("a", "x")]
    (tmp_path / "n.csv").write_bytes(b"\xef\xbb\xbfid,text\r\na,x\r\n")
    assert notes_of(read(tmp_path / "n.csv")) == [("a", "x")]


def test_bad_csv_rows(tmp_path):
    (tmp_path / "n.csv").write_bytes(b"id,text\na,x\nb\nc,y,z\nd,\xff\n,x\ne,ok\n")
    items = read(tmp_path / "n.csv")
    assert codes_of(items) == [
        (3, None, "broken_row"),
        (4, None, "broken_row"),
        (5, None, "not_utf8"),
        (6, None, "missing_id"),
    ]
    assert [note_id for note_id, _ in notes_of(items)] == ["a", "e"]


def test_a_long_csv_field(tmp_path):
    (tmp_path / "n.csv").write_text(f"id,text\na,{'x' * 500_000}\n")
    assert len(notes_of(read(tmp_path / "n.csv"))[0][1]) == 500_000


def test_a_text_file_that_is_not_utf8(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff")
    (tmp_path / "b.txt").write_bytes(b"ok")
    assert codes_of(read(tmp_path)) == [(1, "a", "not_utf8")]


def test_fields_that_are_asked_for(tmp_path):
    path = jsonl(tmp_path / "n.jsonl", {"id": "a", "nr": "1", "text": "x", "body": "y"})
    assert notes_of(read(path)) == [("a", "x")]
    assert notes_of(read(path, text_field="body", id_field="nr")) == [("1", "y")]


@pytest.mark.parametrize(
    "fields, message",
    [({"text_field": "body"}, "'body'.*found: 'a', 'b'.*--text-field"), ({}, "'text' or")],
)
def test_a_missing_field_is_named(tmp_path, fields, message):
    with pytest.raises(TermlinkError, match=message):
        read(jsonl(tmp_path / "n.jsonl", {"a": 1, "b": 2}), **fields)


def test_no_such_input(tmp_path):
    with pytest.raises(TermlinkError, match="TL001"):
        NoteSource(str(tmp_path / "none.jsonl"))
    (tmp_path / "n.pdf").write_text("x")
    with pytest.raises(TermlinkError, match="TL801"):
        NoteSource(str(tmp_path / "n.pdf"))
    (tmp_path / "e.jsonl").write_text("")
    with pytest.raises(TermlinkError, match="TL005"):
        NoteSource(str(tmp_path / "e.jsonl"))
    (tmp_path / "b.jsonl").write_text("\n\n")
    with pytest.raises(TermlinkError, match="TL803"):
        read(tmp_path / "b.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(TermlinkError, match="TL803"):
        read(tmp_path / "folder")


def test_a_parquet_file_that_is_none(tmp_path):
    (tmp_path / "n.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(TermlinkError, match="TL813"):
        read(tmp_path / "n.parquet")


def test_parquet_columns_of_other_types(tmp_path):
    table = pa.table({"id": ["a", None, "c"], "text": [b"x", b"y", None]})
    pq.write_table(table, tmp_path / "n.parquet")
    codes = codes_of(read(tmp_path / "n.parquet"))
    assert codes == [
        (1, "a", "text_not_string"),
        (2, None, "missing_id"),
        (3, "c", "missing_text"),
    ]


def test_counts(tmp_path):
    rows = [{"id": str(i), "text": "x"} for i in range(3)]
    assert NoteSource(str(jsonl(tmp_path / "n.jsonl", *rows))).count() == 3
    (tmp_path / "n.csv").write_text("id,text\na,x\nb,y\n")
    assert NoteSource(str(tmp_path / "n.csv")).count() == 2
    (tmp_path / "1.txt").write_text("x")
    assert NoteSource(str(tmp_path)).count() == 1


def test_a_parquet_text_that_is_not_utf8_is_rejected_alone(tmp_path):
    offsets = pa.py_buffer(np.array([0, 2, 7], dtype=np.int32).tobytes())
    texts = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"\xff\xfefever"))
    pq.write_table(pa.table({"id": ["a", "b"], "text": texts}), tmp_path / "n.parquet")
    items = read(tmp_path / "n.parquet")
    assert codes_of(items) == [(1, None, "not_utf8")]
    assert notes_of(items) == [("b", "fever")]


def test_a_parquet_file_with_a_damaged_page_is_named(tmp_path):
    pq.write_table(pa.table({"id": ["a"], "text": ["fever"]}), tmp_path / "n.parquet")
    content = bytearray((tmp_path / "n.parquet").read_bytes())
    content[4:30] = bytes(26)
    (tmp_path / "n.parquet").write_bytes(content)
    with pytest.raises(TermlinkError, match=r"TL813.*n\.parquet"):
        read(tmp_path / "n.parquet")


def test_a_csv_quote_that_is_never_closed_takes_no_other_note_along(tmp_path):
    (tmp_path / "n.csv").write_text('id,text\na,fever\nb,"cough\nc,pain\nd,"a\nb"\ne,"x\n')
    items = read(tmp_path / "n.csv")
    assert notes_of(items) == [("a", "fever"), ("c", "pain"), ("d", "a\nb")]
    assert codes_of(items) == [(3, None, "broken_row"), (7, None, "broken_row")]
    assert [item.line for item in items] == [2, 3, 4, 5, 7]


def test_of_a_csv_quote_that_is_never_closed_a_part_is_kept_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_termlink.annotate.inputs.MOST_CSV_CHARS", 100)
    rows = [f"{i},pain\n" for i in range(2000)]
    (tmp_path / "n.csv").write_text("".join(["id,text\n", 'b,"cough\n', *rows]))
    items = read(tmp_path / "n.csv")
    assert codes_of(items) == [(2, None, "broken_row")]
    assert notes_of(items) == [(str(i), "pain") for i in range(2000)]


def test_a_csv_header_with_a_quote_that_is_never_closed_quotes_no_note(tmp_path):
    (tmp_path / "n.csv").write_text('id,"text\na,secret\n')
    with pytest.raises(TermlinkError, match="TL802") as caught:
        read(tmp_path / "n.csv")
    assert "secret" not in str(caught.value)


def test_two_fields_of_one_name(tmp_path):
    (tmp_path / "n.csv").write_text("id,text,text\na,fever,x\n")
    table = pa.Table.from_arrays([pa.array(["a"])] * 3, names=["id", "text", "text"])
    pq.write_table(table, tmp_path / "n.parquet")
    for name in ("n.csv", "n.parquet"):
        with pytest.raises(TermlinkError, match="TL815.*'text'.*--text-field"):
            read(tmp_path / name)


def test_a_closed_stdin(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(TermlinkError, match="TL803.*stdin"):
        read("-")


def test_a_folder_of_files_is_read_as_one(tmp_path):
    folder = tmp_path / "notes"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "2.csv").write_text("id,text\nz,third\n")
    (folder / "1.jsonl").write_text('{"doc_id": "x", "text": "first"}\nbroken\n')
    pq.write_table(pa.table({"note_id": [7], "note_text": ["last"]}), folder / "c.parquet")
    for name in ("_SUCCESS", ".1.jsonl", "_meta.jsonl", "readme.md"):
        (folder / name).write_text("no note")
    (folder / "0.jsonl").write_text("")
    source = NoteSource(str(folder))
    assert list(source.read()) == [
        Note(1, "x", "first"), Reject(2, None, "broken_json"), Note(3, "z", "third"),
        Note(4, "7", "last"),
    ]  # fmt: skip
    assert source.count() == 4
    (folder / "b" / "note.txt").write_text("a note")
    assert list(NoteSource(str(folder)).read()) == [Note(1, "b/note", "a note")]


def test_fields_are_looked_for_in_every_file_of_a_folder(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"id": "x", "text": "first"}\n')
    (tmp_path / "2.jsonl").write_text('{"id": "y", "body": "second"}\n')
    with pytest.raises(TermlinkError, match="TL802.*2.jsonl.*'text'"):
        list(NoteSource(str(tmp_path)).read())
