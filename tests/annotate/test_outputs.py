import csv
import html.parser
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import spacy
from spacy.tokens import DocBin

from spacy_termlink.annotate.core import ANNOTATIONS, REJECTS, Annotated, Linker
from spacy_termlink.annotate.html import render_note, write_page
from spacy_termlink.annotate.notes import Note, Reject
from spacy_termlink.annotate.omop import NOTE_NLP
from spacy_termlink.annotate.outputs import (
    FORMATS,
    Extras,
    Finished,
    find_format,
    write_output,
    write_rejects,
)
from spacy_termlink.annotate.parts import PartFolder, cut_parts
from spacy_termlink.errors import TermlinkError

LINKERS = [
    Linker("a", "hpo", "2025-01-16", "HPO licence <b>", "https://hpo.example/term/{id}"),
    Linker("b", "list", "", ""),
]
NASTY = 'a "quoted" <script>alert(1)</script> & \r\n, ; 😀 שלום 发烧'


def row(**values):
    full = {
        "note_id": "1", "start": 0, "end": 5, "text": "fever", "label": "FINDING", "kb": "hpo",
        "release": "2025-01-16", "concept_id": "HP:0001945", "concept_name": "Fever",
        "matched": "fever", "score": 0.1 + 0.2, "probability": 1 / 3, "tier": "hybrid",
        "assertion": "negated", "section": "plan",
    }  # fmt: skip
    return {**full, **values}


ROWS = [
    [row(), row(text=NASTY, end=99, label=NASTY, concept_name=NASTY, matched=NASTY, section=NASTY)],
    [],
    [
        row(
            note_id="2", kb="list", release=None, concept_id="NIL", concept_name=None, matched=None,
            score=None, probability=None, tier=None, assertion=None, section=None,
        ),
        row(note_id=NASTY, assertion="affirmed"),
    ],
]  # fmt: skip
REJECTED = [
    {"line": 3, "note_id": None, "code": "broken_json", "component": None, "error": None},
    {"line": 9, "note_id": NASTY, "code": "component_failed", "component": "x", "error": "E"},
]


def batch(rows, schema):
    columns = {name: [r[name] for r in rows] for name in schema.names}
    return pa.RecordBatch.from_pydict(columns, schema=schema)


@pytest.fixture
def finished(tmp_path):
    parts = PartFolder(tmp_path / "o.parts")
    parts.begin({"date": "2026-11-29"}, resume=False)
    for number, rows in enumerate(ROWS):
        part = next(cut_parts([Note(1, "x", "y")]))._replace(number=number)
        rejects = REJECTED if number == 1 else []
        annotated = Annotated(batch(rows, ANNOTATIONS), batch(rejects, REJECTS), 1)
        parts.write(part, annotated, {})
    return Finished(parts, 3, LINKERS, "2026-11-29", True)


ALL = [r for rows in ROWS for r in rows]


def test_jsonl_reads_back_equal(finished, tmp_path):
    write_output(finished, tmp_path / "o.jsonl", "jsonl")
    lines = (tmp_path / "o.jsonl").read_bytes().decode().split("\n")
    assert [json.loads(line) for line in lines[:-1]] == ALL
    assert list(json.loads(lines[0])) == ANNOTATIONS.names


def test_parquet_reads_back_equal(finished, tmp_path):
    write_output(finished, tmp_path / "o.parquet", "parquet")
    table = pq.read_table(tmp_path / "o.parquet")
    assert table.schema == ANNOTATIONS
    assert table.to_pylist() == ALL


def test_parquet_without_a_row_has_the_columns(finished, tmp_path):
    write_output(finished._replace(n_parts=0), tmp_path / "o.parquet", "parquet")
    assert pq.read_table(tmp_path / "o.parquet").schema == ANNOTATIONS


def test_omop_reads_back(finished, tmp_path):
    write_output(finished, tmp_path / "o.csv", "omop")
    with (tmp_path / "o.csv").open(newline="", encoding="utf8") as file:
        found = list(csv.DictReader(file))
    assert tuple(found[0]) == NOTE_NLP
    assert [r["note_nlp_id"] for r in found] == ["1", "2", "3", "4"]
    assert [r["note_id"] for r in found] == [r["note_id"] for r in ALL]
    assert [r["offset"] for r in found] == ["0"] * 4
    assert [r["lexical_variant"] for r in found] == [r["text"] for r in ALL]
    assert {r["note_nlp_concept_id"] for r in found} == {"0"}
    assert {r["note_nlp_source_concept_id"] for r in found} == {"0"}
    assert {r["nlp_date"] for r in found} == {"2026-11-29"}
    # a mention nobody assessed is neither present nor absent
    assert [r["term_exists"] for r in found] == ["N", "N", "", "Y"]
    modifiers = dict(part.split("=", 1) for part in found[0]["term_modifiers"].split(";"))
    assert modifiers == {
        "kb": "hpo", "release": "2025-01-16", "concept_id": "HP:0001945", "concept_name": "Fever",
        "score": str(0.1 + 0.2), "label": "FINDING", "assertion": "negated", "section": "plan",
    }  # fmt: skip
    assert "concept_id=NIL" in found[2]["term_modifiers"]
    # a semicolon inside a value would look like the next one
    assert found[1]["term_modifiers"].count(";") == 7


def test_omop_columns_have_the_widths_of_the_table(finished, tmp_path):
    part = next(cut_parts([Note(1, "x", "y")]))
    long = [row(text="x" * 300, concept_name="y" * 3000)]
    finished.parts.write(part, Annotated(batch(long, ANNOTATIONS), batch([], REJECTS), 1), {})
    write_output(finished._replace(n_parts=1), tmp_path / "o.csv", "omop")
    with (tmp_path / "o.csv").open(newline="", encoding="utf8") as file:
        found = next(csv.DictReader(file))
    assert (len(found["lexical_variant"]), len(found["term_modifiers"])) == (250, 2000)


def test_rejects_read_back_equal(finished, tmp_path):
    write_rejects(finished, tmp_path / "r.jsonl")
    lines = (tmp_path / "r.jsonl").read_bytes().decode().split("\n")
    assert [json.loads(line) for line in lines[:-1]] == REJECTED


def test_spacy_reads_back_equal(finished, make_nlp, tmp_path):
    nlp = make_nlp()
    for number, text in enumerate(["A Seizure", "no", "fever qqqqq"]):
        extras = Extras("spacy", LINKERS)
        extras.add(f"n{number}", nlp(text), [])
        part = next(cut_parts([Note(1, "x", "y")]))._replace(number=number)
        empty = Annotated(batch([], ANNOTATIONS), batch([], REJECTS), 1)
        finished.parts.write(part, empty, extras.files())
    write_output(finished, tmp_path / "o.spacy", "spacy")
    docs = list(DocBin().from_disk(tmp_path / "o.spacy").get_docs(spacy.blank("en").vocab))
    assert [doc.text for doc in docs] == ["A Seizure", "no", "fever qqqqq"]
    assert [doc.user_data["note_id"] for doc in docs] == ["n0", "n1", "n2"]
    assert [[e.kb_id_ for e in doc.ents] for doc in docs] == [["X:3"], [], ["X:7", "NIL"]]
    expected = nlp("A Seizure").ents[0]
    assert list(docs[0].ents[0]._.term_candidates) == expected._.term_candidates  # a tuple by now
    assert [list(pair) for pair in docs[0].ents[0]._.kb_ents] == expected._.kb_ents


class Page(html.parser.HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.texts, self.attributes = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag == "a":
            self.links.append(dict(attrs))

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def page(finished, tmp_path):
    def make(run=finished):
        notes = [("1", f"fever {NASTY}"), (NASTY, ""), ("2", "fever fever")]
        for number, ((note_id, text), rows) in enumerate(zip(notes, ROWS, strict=True)):
            extras = Extras("html", LINKERS)
            extras.add(note_id, spacy.blank("en")(text), rows)
            part = next(cut_parts([Note(1, "x", "y")]))._replace(number=number)
            annotated = Annotated(batch(rows, ANNOTATIONS), batch([], REJECTS), 1)
            run.parts.write(part, annotated, extras.files())
        write_output(run, tmp_path / "o.html", "html")
        return (tmp_path / "o.html").read_text(encoding="utf8")

    return make


def test_html_escapes_everything(page):
    text = page()
    assert "<script" not in text
    parsed = Page(text)
    assert "script" not in parsed.tags
    shown = "".join(parsed.texts)
    assert "<script>alert(1)</script> &" in shown
    assert "😀 שלום 发烧" in shown
    assert "HPO licence <b>" in shown


def test_html_links_to_the_pages_of_the_concepts(page):
    links = Page(page()).links
    assert all(link["href"].startswith("https://hpo.example/term/HP") for link in links)
    assert "0001945" in links[0]["href"] and "0.30" in links[0]["title"]
    assert any(link["title"].startswith("hpo, Fever, score") for link in links)


def test_html_states_release_licence_and_assertion(page, finished):
    text = page()
    assert "2025-01-16" in text and "licence not stated" in text
    assert "Assertion was not assessed" not in text
    assert "Assertion was not assessed" in page(finished._replace(assessed=False))


def test_html_loads_nothing(page):
    parsed = Page(page())
    loading = {"script", "link", "img", "iframe", "object", "embed", "video", "audio", "source"}
    assert not loading & set(parsed.tags)
    assert not {name for name, _ in parsed.attributes} & {"src", "srcset", "onload", "onclick"}
    assert "url(" not in page() and "@import" not in page()


def test_html_shows_overlapping_mentions():
    rows = [
        row(start=0, end=5, text="fever"),
        row(start=0, end=12, text="fever remedy"),
        row(start=6, end=12, text="remedy"),
    ]
    text = render_note("1", "fever remedy", rows, LINKERS)
    marks = re.findall(r"<mark[^>]*>\s*(.*?)<a", text)
    assert marks == ["fever remedy", "fever", "remedy"]
    assert text.count("fever remedy") == 1, "the note is there once"


def test_html_says_by_which_name_it_was_found():
    rows = [row(matched="Pyrexia"), row(start=6, end=11, matched="Fever")]
    titles = [link["title"] for link in Page(render_note("1", "fever fever", rows, LINKERS)).links]
    assert ["by its name Pyrexia" in title for title in titles] == [True, False]


def test_html_links_the_address_of_a_licence(tmp_path):
    linkers = [LINKERS[0]._replace(licence="free, https://hpo.example/a?b&c, <as is>")]
    with (tmp_path / "page.html").open("w+", encoding="utf8") as file:
        write_page(file, [], linkers, assessed=True)
        file.seek(0)
        text = file.read()
    [link] = [x for x in Page(text).links if "/a?" in x["href"]]
    assert link["href"] == "https://hpo.example/a?b&c"
    assert "&lt;as is&gt;" in text


def test_html_marks_negation():
    rows = [row(), row(start=6, end=11, assertion="affirmed")]
    text = render_note("1", "fever fever", rows, LINKERS)
    assert text.count("(negated)") == 1 and "(affirmed)" not in text


@pytest.mark.parametrize(
    "path, name, expected",
    [
        ("a.jsonl", None, "jsonl"), ("a.CSV", None, "omop"), ("a.html", None, "html"),
        ("a.spacy", None, "spacy"), ("a.parquet", None, "parquet"), ("a.txt", "jsonl", "jsonl"),
    ],
)  # fmt: skip
def test_format_by_name_or_suffix(tmp_path, path, name, expected):
    assert find_format(tmp_path / path, name) == expected


def test_unknown_format(tmp_path):
    with pytest.raises(TermlinkError, match="TL804.*jsonl, parquet"):
        find_format(tmp_path / "a.txt", None)
    assert set(FORMATS) == {"jsonl", "parquet", "spacy", "omop", "fhir", "html"}


def test_parts_are_cut_by_notes_and_by_characters(monkeypatch):
    monkeypatch.setattr("spacy_termlink.annotate.parts.PART_NOTES", 3)
    monkeypatch.setattr("spacy_termlink.annotate.parts.PART_CHARS", 10)
    items = [Note(i, str(i), "x" * n) for i, n in enumerate([1, 1, 1, 1, 9, 50, 1])]
    assert [p.notes.num_rows for p in cut_parts(items)] == [3, 2, 1, 1]
    assert [p.n_items for p in cut_parts([Reject(1, None, "broken_json")])] == [1]


def test_the_second_note_of_an_id_is_rejected():
    items = [Note(1, "a", "x"), Note(2, "b", "x"), Note(3, "a", "y")]
    [part] = cut_parts(items)
    assert part.rejects == [Reject(3, "a", "duplicate_id")]
    assert part.notes["note_id"].to_pylist() == ["a", "b"]


def test_digests_tell_notes_apart():
    def digest(*items):
        return next(cut_parts(items)).digest

    assert digest(Note(1, "a", "x")) == digest(Note(1, "a", "x"))
    assert len({digest(Note(1, "a", "x")), digest(Note(1, "a", "y")), digest(Note(1, "b", "x")),
                digest(Note(2, "a", "x")), digest(Reject(1, "a", "x"))}) == 5  # fmt: skip
