import json

import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "reference.tsv"
    path.write_text("T:0003\tT:0003\nT:9003\tT:0003\nT:0007\tT:0008\nT:0099\tT:0003\n")
    return path


@pytest.mark.parametrize("choice", [[], ["--mutual"], ["--one-to-one"]])
def test_a_kb_against_itself(tiny_kb, tmp_path, reference, choice):
    out, figures = tmp_path / "m.sssom.tsv", tmp_path / "m.json"
    code, output = run(
        "match", tiny_kb, tiny_kb, "-o", out, "--reference", reference, "--json", figures,
        "--threshold", "0.98", *choice,
    )  # fmt: skip
    assert code == 0, output
    rows = [line for line in out.read_text().splitlines() if line[0] != "#"][1:]
    assert len(rows) == 12
    assert all(row.split("\t")[0] == row.split("\t")[3] for row in rows)
    data = json.loads(figures.read_text())
    assert data["choice"] == (choice[0].strip("-") if choice else "best")
    # T:9003 and T:0099 stand for T:0003; T:0007 is itself first, T:0008 not
    assert data["reference"]["n_pairs"] == 2 and data["ranking"]["n"] == 2
    assert data["ranking"]["hits@1"] == 0.5
    assert (data["pairs"]["tp"], data["pairs"]["fp"], data["pairs"]["fn"]) == (1, 11, 1)
    assert "hits@1" in output and "95 % interval" in output


def test_partial_judges_what_the_reference_names(tiny_kb, tmp_path, reference):
    figures = tmp_path / "m.json"
    code, _ = run(
        "match", tiny_kb, tiny_kb, "-o", tmp_path / "m.tsv", "--reference", reference, "--partial",
        "--threshold", "0.98", "--json", figures,
    )  # fmt: skip
    assert code == 0
    data = json.loads(figures.read_text())
    assert (data["pairs"]["tp"], data["pairs"]["fp"], data["pairs"]["fn"]) == (1, 1, 1)


def test_what_is_written_is_a_reference(tiny_kb, tmp_path):
    """Every pair that was written is found again."""
    out = tmp_path / "m.sssom.tsv"
    assert run("match", tiny_kb, tiny_kb, "-o", out, "--mutual")[0] == 0
    first = out.read_bytes()
    figures = tmp_path / "f.json"
    code, _ = run("match", tiny_kb, tiny_kb, "-o", tmp_path / "again.tsv", "--mutual",
                  "--reference", out, "--json", figures)  # fmt: skip
    assert code == 0
    assert json.loads(figures.read_text())["pairs"]["f1"] == 1.0
    assert (tmp_path / "again.tsv").read_bytes() == first


@pytest.mark.parametrize(
    "words, message",
    [
        (["--mutual", "--one-to-one"], "TL958"),
        (["--candidates", "magic"], "TL501"),
        (["--predicate", "skos:exactMatch"], "TL959"),
        (["--partial"], "TL959"),
        (["--reference", "nowhere.tsv"], "TL001"),
    ],
)
def test_bad_input_ends_with_one_line(tiny_kb, tmp_path, words, message):
    code, output = run("match", tiny_kb, tiny_kb, "-o", tmp_path / "m.tsv", *words)
    assert code == 2 and message in output
    assert not (tmp_path / "m.tsv").exists()


def test_the_reference_is_not_overwritten(tiny_kb, reference):
    code, output = run("match", tiny_kb, tiny_kb, "--reference", reference, "-o", reference)
    assert code == 2 and "TL906" in output
