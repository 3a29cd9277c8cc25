"""scripts/ablation.py on a tiny terminology: tables of what is finished, runs that are kept."""

import json
import runpy
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"


@pytest.fixture
def ablation(monkeypatch):
    """Function that runs the script."""
    monkeypatch.syspath_prepend(str(SCRIPTS))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["ablation.py", *map(str, words)])
        runpy.run_path(str(SCRIPTS / "ablation.py"), run_name="__main__")

    return run


def test_tables_of_finished_runs(ablation, tiny_terminology, tiny_encoder, tmp_path, capsys):
    words = [tiny_terminology, "--encoder", tiny_encoder, "--branch", "T:0001", "-o", tmp_path]
    words += ["--steps", 1, "--only", "sampling", "--seeds"]
    ablation(*words, 1)
    runs = {path.name: path.read_bytes() for path in (tmp_path / "runs").iterdir()}
    assert len(runs) == 5
    assert not (tmp_path / "scratch").exists()
    ablation(*words, 2)
    assert len(list((tmp_path / "runs").iterdir())) == 9
    for name, content in runs.items():
        assert (tmp_path / "runs" / name).read_bytes() == content

    tables = json.loads((tmp_path / "ablation.json").read_text())["tables"]
    sampling = tables["sampling"]
    assert [row["seeds"] for row in sampling.values()] == [1, 2, 2, 2, 2]
    # the run that two tables share stands in both
    shared = tables["losses"]["multi-similarity"]
    assert shared == sampling["dynamic hard positives and negatives"] | {
        key: shared[key] for key in ("hits@1", "hits@10", "ndcg@10")
    }
    assert shared["hits@1"]["difference"] == 0
    bands = json.loads((tmp_path / "ablation.json").read_text())["bands"]
    assert set(bands) == set(sampling)
    for name, row in bands.items():
        n = sum(each["n"] for each in row.values())
        total = sum(each["n"] * each["hits@1"] for each in row.values())
        assert total / n == pytest.approx(sampling[name]["hits@1"]["mean"], abs=1e-5)
    # a mention is no name that is searched: not all its words are there
    assert len(row) > 1
    each = [json.loads(path.read_text()) for path in sorted((tmp_path / "runs").glob("*none*"))]
    hits = [run["means"]["hits@1"] for run in each]
    assert sampling["no hard negatives"]["hits@1"]["mean"] == pytest.approx(sum(hits) / 2)
    for run in each:
        assert run["n_mentions"] == len(run["mentions"]["hits@1"])
        assert run["means"]["hits@1"] == pytest.approx(
            sum(run["mentions"]["hits@1"]) / run["n_mentions"]
        )
        assert run["clustering"]["n_names"] > run["n_mentions"]
    assert "| dynamic hard positives and negatives | 2 |" in (tmp_path / "ablation.md").read_text()

    with pytest.raises(SystemExit, match="choose another folder"):
        ablation(*words, 1, "--steps", 2)
