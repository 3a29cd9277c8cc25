import json

import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app


def termlink(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)


def test_cluster(tiny_kb, tmp_path):
    outputs = [
        (tmp_path / f"{run}.json", tmp_path / f"{run}.pairs.tsv", tmp_path / f"{run}.misplaced.tsv")
        for run in "ab"
    ]
    for figures, pairs, misplaced in outputs:
        result = termlink(
            "cluster", tiny_kb, "-m", 5, "--thresholds", 10,
            "--json", figures, "--pairs", pairs, "--misplaced", misplaced,
        )  # fmt: skip
        assert result.exit_code == 0, result.output
    data = json.loads(outputs[0][0].read_text())
    assert (data["kb"], data["m"], len(data["thresholds"])) == ("tiny", 5, 10)
    n = data["n_names"]
    for row in data["thresholds"]:
        assert row["tp"] + row["fp"] + row["fn"] + row["tn"] == n * (n - 1) // 2
        assert row["tp"] + row["fn"] == data["n_positive_pairs"]
    assert data["best"] in data["thresholds"]
    # the false positives at the best threshold are the pairs to look at
    assert len(outputs[0][1].read_text().splitlines()) == data["best"]["fp"] + 1
    for a, b in zip(*outputs):
        assert a.read_bytes() == b.read_bytes()
    assert "best" in result.output and "pairs of synonyms" in result.output


def test_json_on_stdout_is_json(tiny_kb):
    result = termlink("cluster", tiny_kb, "--json", "-")
    assert json.loads(result.stdout)["m"] >= 1


def test_bad_input(tmp_path):
    result = termlink("cluster", tmp_path / "none")
    assert result.exit_code == 2
    assert termlink("cluster", tmp_path, "-m", 0).exit_code == 2


@pytest.mark.parametrize(
    "command, options",
    [("cluster", ("--pairs", "--json")), ("cluster", ("--misplaced", "--pairs")),
     ("contrast", ("--details", "--json"))],
)  # fmt: skip
def test_two_outputs_in_one_file_are_refused(tiny_kb, tmp_path, command, options):
    out = tmp_path / "out"
    result = termlink(command, tiny_kb, options[0], out, options[1], tmp_path / "." / "out")
    assert result.exit_code == 2 and "TL909" in result.stderr
    assert not out.exists()
