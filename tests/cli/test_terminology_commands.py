import json
import shutil

import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app

OBO = """format-version: 1.2
data-version: x/2026-02-03

[Term]
id: X:1
name: heart attack
is_a: X:0 ! gone
synonym: "myocardial infarction" EXACT []
"""


@pytest.fixture
def run():
    return lambda *args: CliRunner().invoke(app, [str(arg) for arg in args])


def test_fetch_from_a_file_convert_and_info(run, tmp_path):
    (tmp_path / "hp.obo").write_text(OBO)
    fetched = run("fetch", "hpo", "--from", tmp_path / "hp.obo", "-o", tmp_path / "assets")
    assert fetched.exit_code == 0
    assert fetched.stdout.strip() == str(tmp_path / "assets" / "hpo")
    converted = run("convert", tmp_path / "assets" / "hpo", "-o", tmp_path / "t")
    assert converted.exit_code == 0
    assert "hpo 2026-02-03: 1 concepts (and 0 retired), 2 names" in converted.stderr
    assert "1 is_a relations lead to ids that are not in the source" in converted.stderr
    info = run("info", tmp_path / "t", "--verify", "--json", "-")
    facts = json.loads(info.stdout)
    assert facts["release"] == "2026-02-03" and facts["names_by_kind"]["exact"] == 1
    assert "sha256" in info.stderr


def test_convert_names_a_source_without_release(run, tmp_path):
    (tmp_path / "drugs.tsv").write_text("concept_id\tname\nD:1\tFurosemide\n")
    converted = run("convert", tmp_path / "drugs.tsv", "-f", "table", "-o", tmp_path / "t")
    assert "/t: drugs: 1 concepts" in converted.stderr


def test_info_prints_a_line_for_each_fact(run, tiny_terminology, tmp_path):
    lines = run("info", tiny_terminology).stdout.splitlines()
    file = tmp_path / "info.json"
    assert run("info", tiny_terminology, "--json", file).stdout.splitlines() == lines
    assert json.loads(file.read_text())["counts"]
    assert ["licence", "CC0-1.0"] in [line.split() for line in lines]
    assert ["names", "by", "kind:", "preferred", "12"] in [line.split() for line in lines]


def test_info_of_a_kb(run, tiny_kb):
    facts = json.loads(run("info", tiny_kb, "--json", "-").stdout)
    assert facts["kind"] == "kb"


def test_verify_names_the_file_that_was_changed(run, tiny_terminology, tmp_path):
    copy = shutil.copytree(tiny_terminology, tmp_path / "copy")
    path = copy / "names.arrow"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"Seizure", b"Seizura"))
    assert run("info", copy).exit_code == 0
    result = run("info", copy, "--verify")
    assert result.exit_code == 2 and "names.arrow" in result.stderr


@pytest.mark.parametrize(
    "args, message",
    [
        (("convert", "gone.obo", "--format", "obo"), "No such file"),
        (("convert", "{obo}", "--format", "rdf"), "Formats: "),
        (("convert", "{obo}", "--format", "icd10cm"), "line 1"),
        (("info", "gone"), "No such file"),
        (("info", "{folder}"), "no meta.json"),
        (("fetch", "umls"), "Sources: hpo"),
    ],
)
def test_bad_input_is_one_line_and_code_2(run, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.obo").write_text(OBO)
    result = run(*(arg.format(obo=tmp_path / "x.obo", folder=tmp_path) for arg in args))
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("termlink: error: ") and message in line
