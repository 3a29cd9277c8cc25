import json
import re
import sys

import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app
from spacy_termlink.evaluation.mentions import read_docs, read_mentions

PUBTATOR = "1|t|Fever and cough\n1|a|No pain.\n1\t0\t5\tFever\tDisease\tD1|D2\n1\t10\t15\tcough\tDisease\t-1\n"
BAD = "\n2|t|Fever\n2\t1\t5\tFever\tDisease\tD1\n"


@pytest.fixture
def run():
    return lambda *args: CliRunner().invoke(app, ["convert-corpus", *map(str, args)])


def test_what_is_written_can_be_evaluated(run, tmp_path):
    (tmp_path / "x.txt").write_text(PUBTATOR)
    docs, mentions = tmp_path / "docs.jsonl", tmp_path / "mentions.jsonl"
    result = run(tmp_path / "x.txt", "-o", docs, "--prefix", "MESH", "--mentions", mentions)
    assert result.exit_code == 0
    assert "1 documents with 2 mentions (1 NIL), pubtator to jsonl" in result.stdout
    (doc,) = read_docs(docs)
    assert doc.text == "Fever and cough\nNo pain."
    assert [e.concepts for e in doc.entities] == [("MESH:D1", "MESH:D2"), ()]
    first, second = read_mentions(mentions)
    assert (first.id, first.text, first.context) == ("1:0", "Fever", "Fever and cough")
    assert (first.cardinality, first.doc_id, first.start, first.label) == (
        "composite",
        "1",
        0,
        "Disease",
    )
    assert second.concepts == ()
    assert not (tmp_path / "docs.jsonl.rejects.jsonl").exists()


def test_rejects_have_a_file_and_a_code(run, tmp_path):
    (tmp_path / "x.pubtator").write_text(PUBTATOR + BAD + "\n" + PUBTATOR)
    out = tmp_path / "x.json"
    result = run(tmp_path / "x.pubtator", "-o", out, "--json", "-")
    assert result.exit_code == 3
    figures = json.loads(result.stdout)
    assert (figures["documents"], figures["entities"], figures["rejected"]) == (2, 2, 2)
    rows = [
        json.loads(line) for line in (tmp_path / "x.json.rejects.jsonl").read_text().splitlines()
    ]
    assert [(row["doc_id"], row["place"], row["code"]) for row in rows] == [
        ("2", "line 7", "TL981"), ("1", "document", "TL984")
    ]  # fmt: skip
    assert "fever" not in str(rows).lower()
    # the reject file of an earlier run does not stay
    (tmp_path / "x.pubtator").write_text(PUBTATOR)
    assert run(tmp_path / "x.pubtator", "-o", out).exit_code == 0
    assert not (tmp_path / "x.json.rejects.jsonl").exists()


def test_a_folder_of_brat_and_back(run, tmp_path):
    (tmp_path / "x.pubtator").write_text(PUBTATOR)
    assert run(tmp_path / "x.pubtator", "-o", f"{tmp_path}/brat/").exit_code == 0
    assert sorted(p.name for p in (tmp_path / "brat").iterdir()) == ["1.ann", "1.txt"]
    assert run(tmp_path / "brat", "-o", tmp_path / "brat").exit_code == 2  # its own input
    assert run(tmp_path / "x.pubtator", "-o", tmp_path / "brat").exit_code == 0  # replaced
    assert run(tmp_path / "brat", "-o", tmp_path / "y", "--to", "pubtator").exit_code == 0
    assert (tmp_path / "y").read_text() == PUBTATOR.replace("-1\n", "-\n") + "\n"


def test_a_format_named_for_the_output(run, tmp_path):
    """SOURCE's name says jsonl, so --format cannot mean SOURCE."""
    (tmp_path / "docs.jsonl").write_text('{"doc_id": "1", "text": "x", "entities": []}\n')
    result = run(tmp_path / "docs.jsonl", "--format", "pubtator", "-o", tmp_path / "out")
    assert result.exit_code == 0
    assert (tmp_path / "out").read_text() == "1|t|x\n1|a|\n\n"


@pytest.mark.parametrize(
    "args, message",
    [
        (("gone.xml", "-o", "x.jsonl"), "TL001"),
        (("x.data", "-o", "x.jsonl"), "TL980.*--format: pubtator, bioc"),
        (("x.pubtator", "-o", "x.doc"), "TL980.*--to"),
        (("x.pubtator", "-o", "notes"), "TL002.*notes"),
        (("x.pubtator", "-o", "x.pubtator"), "TL906"),
        (("blank.pubtator", "-o", "x.jsonl"), "TL983"),
        (("x.pubtator", "-f", "brat", "-o", "x.jsonl"), "TL982.*BRAT is a folder"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_code_2(run, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.pubtator").write_text(PUBTATOR)
    (tmp_path / "x.data").write_text(PUBTATOR)
    (tmp_path / "blank.pubtator").write_text("\n\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "1.txt").write_text("a note")
    result = run(*args)
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert re.search(message, line)
    assert not (tmp_path / "x.jsonl").exists()
    assert (tmp_path / "notes" / "1.txt").read_text() == "a note"


def test_without_the_library_the_extra_is_named(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "bioc", None)
    (tmp_path / "x.pubtator").write_text(PUBTATOR)
    result = run(tmp_path / "x.pubtator", "-o", tmp_path / "x.xml")
    assert result.exit_code == 2 and "pip install 'spacy-termlink[corpora]'" in result.stderr


@pytest.mark.parametrize("option", ["--rejects", "--mentions", "--json"])
def test_outputs_do_not_overwrite_each_other(run, tmp_path, option):
    (tmp_path / "x.pubtator").write_text(PUBTATOR)
    out = tmp_path / "x.jsonl"
    result = run(tmp_path / "x.pubtator", "-o", out, option, out)
    assert result.exit_code == 2 and "TL909" in result.stderr
    assert run(tmp_path / "x.pubtator", "-o", out, option, tmp_path).exit_code == 2
    assert not out.exists()


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.xml", "x.pubtator", "x.spacy", "folder"])
@pytest.mark.parametrize("field", ["id", "text", "concept"])
def test_half_a_surrogate_pair_is_a_reject_and_no_text_is_shown(run, tmp_path, name, field):
    bad = {"id": "bad", "text": "fits secret", "concept": "D1"}
    bad[field] += "\ud800"
    documents = [
        {"id": value["id"], "passages": [{"offset": 0, "text": value["text"], "annotations": [
            {"id": "1", "infons": {"identifier": value["concept"]}, "text": "fits",
             "locations": [{"offset": 0, "length": 4}]}]}]}
        for value in (bad, {"id": "good", "text": "fits", "concept": "D1"})
    ]  # fmt: skip
    (tmp_path / "in.json").write_text(json.dumps({"documents": documents}))
    result = run(tmp_path / "in.json", "-o", tmp_path / name, "--rejects", tmp_path / "r.jsonl")
    assert result.exit_code == 3
    assert "1 documents with 1 mentions" in result.stdout and "secret" not in result.output
    (row,) = map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines())
    assert (row["doc_id"], row["code"]) == (bad["id"], "TL984")
