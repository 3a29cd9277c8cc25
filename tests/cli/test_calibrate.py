import json
import shutil

import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app
from spacy_termlink.kb import TermKB

#: Mentions of the tiny terminology: names (right), ambiguous and other ones (mostly wrong).
RIGHT = (("seizure", "T:0003"), ("Short stature", "T:0011"), ("heart attack", "T:0007"))
WRONG = (("MI", "T:0007"), ("odd fits", "T:0012"), ("thing", "T:0009"))


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


@pytest.fixture
def kb(tiny_kb, tmp_path):
    return shutil.copytree(tiny_kb, tmp_path / "kb")


@pytest.fixture
def mentions(tmp_path):
    path = tmp_path / "mentions.jsonl"
    rows = [
        {"id": f"{document}-{i}", "doc_id": f"d{document}", "text": text, "concepts": [concept],
         "split": "train" if document < 20 else "dev", "label": "Finding"}
        for document in range(30)
        for i, (text, concept) in enumerate((*RIGHT, *WRONG))
    ]  # fmt: skip
    rows.append({"id": "nil", "doc_id": "d1", "text": "qqq", "concepts": [], "cardinality": "noid",
                 "split": "train", "label": "Finding"})  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_from_mentions_to_probabilities(kb, mentions, tmp_path):
    plot, figures = tmp_path / "r.svg", tmp_path / "r.json"
    code, output = run(
        "calibrate", kb, mentions, "--split", "train", "--noid", "--plot", plot, "--json", figures
    )
    assert code == 0, output
    assert "expected calibration error" in output and "coverage" in output
    data = json.loads(figures.read_text())
    assert data["n"] == data["mentions"] == 121
    assert (data["set"], data["split"]) == ("mentions.jsonl", "train") and "label" not in data
    assert data["threshold"] == 0.5 and 0 <= data["ece"] <= 1
    assert plot.read_text().startswith("<svg")
    opened = TermKB.open(kb, verify=True)
    assert opened.meta["threshold_applies_to"] == "probability"
    code, output = run("search", kb, "seizures", "--json")
    found = json.loads(output)
    assert found[0]["probability"] > 0.8
    code, output = run("search", kb, "seizures", "-k", "2")
    assert output.splitlines()[0].split()[-1] == "probability"
    code, output = run("info", kb)
    assert "threshold applies to" in output and "calibration: method" in output


def test_evaluation_reports_it(kb, mentions, tmp_path):
    assert run("calibrate", kb, mentions, "--split", "train")[0] == 0
    out = tmp_path / "e.json"
    code, output = run(
        "evaluate", kb, mentions, "--split", "dev", "--candidates", "hybrid", "--candidates",
        "dense", "--json", out,
    )  # fmt: skip
    assert code == 0, output
    results = json.loads(out.read_text())["results"]
    assert results["hybrid"]["calibration"]["n"] == 60
    # mentions like those it was fitted on: what it says is so
    assert results["hybrid"]["calibration"]["ece"] < 0.05
    assert results["dense"]["calibration"] is None
    assert output.count("expected calibration error") == 1


def test_too_few_mentions_leave_the_kb_as_it_was(kb, mentions):
    before = (kb / "meta.json").read_bytes()
    few = mentions.with_name("few.jsonl")
    few.write_text("".join(mentions.read_text().splitlines(keepends=True)[:50]))
    code, output = run("calibrate", kb, few)
    assert code == 2
    assert "TL612" in output and len(output.strip().splitlines()[-1]) > 0
    assert (kb / "meta.json").read_bytes() == before
    assert not (kb / "calibration.json").exists()


def test_outputs_are_no_inputs(kb, mentions):
    assert "TL906" in run("calibrate", kb, mentions, "--json", mentions)[1]
    code, output = run("calibrate", kb / "terminology", mentions)
    assert code == 2 and "TL503" in output
