"""`termlink mine` and `termlink train` on a tiny terminology, and what the result is good for."""

import json
from pathlib import Path

import confection
import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app

MINE = """
[mining]
seed = 0

[mining.heldout]
names = 0.3
dev = 0.5

[mining.tasks]

[mining.tasks.synonyms]
@tasks = "spacy-termlink.SynonymPairs.v1"
kinds = ["exact", "related", "layperson", "abbreviation"]
positive_kinds = ["preferred"]
"""


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path, tiny_terminology, tiny_encoder):
    """A folder with mined records and a config to train on them."""
    (tmp_path / "mine.cfg").write_text(MINE)
    records = tmp_path / "mined" / "records.jsonl"
    result = run("mine", tiny_terminology, "-c", tmp_path / "mine.cfg", "-o", records)
    assert result.exit_code == 0, result.output
    nll = {"@losses": "spacy-termlink.InBatchNLL.v1", "similarity": "cosine", "temperature": 0.1}
    multi = {"@losses": "spacy-termlink.MultiSimilarity.v1"}
    section = {
        "records": str(records), "max_steps": 4, "precision": "float32", "device": "cpu",
        "model": {"encoder": str(tiny_encoder)},
        "optimizer": {"learning_rate": 1e-3, "warmup_steps": 1},
        "refresh": {"every": 2, "positives": 1, "negatives": 3},
        "dev": {"every": 2, "split": ""},
        "tasks": {
            "synonyms": {"batch_size": 4, "hard_negatives": 1, "loss": nll},
            "names": {"batch_size": 2, "hard_positives": 1, "hard_negatives": 2, "loss": multi},
        },
    }  # fmt: skip
    confection.Config({"training": section}).to_disk(tmp_path / "train.cfg")
    return tmp_path


def test_trained_encoder_makes_a_kb_and_is_evaluated(folder, tiny_terminology):
    out, kb = folder / "encoder", folder / "kb"
    result = run("train", folder / "train.cfg", "-o", out, "--json", folder / "figures.json")
    assert result.exit_code == 0, result.output
    assert "4 steps" in result.output and "hits@1" in result.output
    figures = json.loads((folder / "figures.json").read_text())
    assert figures["step"] == 4 and figures["refreshes"] == 2 and figures["best"]["hits@1"] >= 0
    heldout = folder / "mined" / "heldout.jsonl"
    indexed = run("index", tiny_terminology, "--encoder", out, "-o", kb, "--without-names", heldout)
    assert indexed.exit_code == 0, indexed.output
    evaluated = run("evaluate", kb, heldout, "--candidates", "dense", "--json", "-")
    assert evaluated.exit_code == 0, evaluated.output


def test_dev_score_counts_names_of_two_terminologies_that_share_ids(tmp_path, tiny_encoder):
    from spacy_termlink.cli._training import DevScore
    from spacy_termlink.encoders import load_encoder
    from spacy_termlink.terminology import Concept, Name
    from spacy_termlink.terminology.builder import build_terminology

    (tmp_path / "mine.cfg").write_text(MINE)
    for source, disease in (("icd10", "cholera"), ("icd10cm", "plague")):
        names = [Name(f"{disease} sickness {i}") for i in range(12)]
        meta = {"source": source}
        build_terminology([Concept("A00", disease, names)], tmp_path / source, meta=meta)
    records = tmp_path / "mined" / "records.jsonl"
    config = ("-c", tmp_path / "mine.cfg", "-o", records)
    result = run("mine", tmp_path / "icd10", tmp_path / "icd10cm", *config)
    assert result.exit_code == 0, result.output
    heldout = records.with_name("heldout.jsonl")
    rows = [json.loads(line) for line in heldout.read_text().splitlines()]
    assert {(row["concept_id"], *row["record_ids"]) for row in rows} == {
        ("A00", "ICD10:A00"), ("A00", "ICD10CM:A00"),
    }  # fmt: skip
    score = DevScore(records.with_name("names.jsonl"), heldout, None)
    found = score(load_encoder(tiny_encoder, dtype="float32").encode)
    assert found["hits@10"] == 1


def test_dev_score_is_what_evaluate_gives_on_a_kb_without_the_held_out_names(
    folder, tiny_terminology, tiny_encoder
):
    from spacy_termlink.cli._training import DevScore
    from spacy_termlink.encoders import load_encoder

    mined, kb = folder / "mined", folder / "kb"
    heldout = mined / "heldout.jsonl"
    found = DevScore(mined / "names.jsonl", heldout, None)(
        load_encoder(tiny_encoder, dtype="float32").encode
    )
    run("index", tiny_terminology, "--encoder", tiny_encoder, "-o", kb, "--without-names", heldout)
    result = run("evaluate", kb, heldout, "--candidates", "dense", "--json", folder / "f.json")
    assert result.exit_code == 0, result.output
    figures = json.loads((folder / "f.json").read_text())
    for name in ("hits@1", "hits@5", "mrr"):
        assert found[name] == pytest.approx(figures[name], abs=0.05), name


def test_values_of_the_command_line_win(folder):
    out = folder / "encoder"
    words = ["--training.max_steps", "2", "--training.tasks.synonyms.weight=0.5"]
    result = run("train", folder / "train.cfg", "-o", out, *words)
    assert result.exit_code == 0, result.output
    config = json.loads((out / "training.json").read_text())["config"]
    assert config["max_steps"] == 2 and config["tasks"]["synonyms"]["weight"] == 0.5


@pytest.mark.parametrize("words, said", [
    (["--training.max_steps", "none"], "training.max_steps is 'none'"),
    (["--training.nonsense", "1"], "training.nonsense"),
    (["--max_steps", "1"], "[TL413] '--max_steps' is no setting"),
    (["--training.model.encoder", "nowhere"], "[TL300] 'nowhere'"),
    (["--training.records", "nowhere.jsonl"], "nowhere"),
    (["--resume"], "[TL416]"),
])  # fmt: skip
def test_bad_input_is_one_line(folder, words, said):
    result = run("train", folder / "train.cfg", "-o", folder / "encoder", *words)
    assert result.exit_code == 2
    errors = [line for line in result.output.splitlines() if line.startswith("termlink: error:")]
    assert len(errors) == 1 and said in errors[0]
    assert not (folder / "encoder").exists()


def test_faiss_search_gives_the_nearest_rows():
    import numpy as np

    from spacy_termlink.cli._training import make_search

    vectors = np.eye(5, 8, dtype=np.float32)
    queries = np.array([[0.1, 0.9, 0.5, 0, 0, 0, 0, 0]], dtype=np.float32)
    assert make_search("Flat")(vectors, queries, 3).tolist() == [[1, 2, 0]]


def test_shipped_configs_point_to_what_the_project_makes():
    from spacy_termlink.training.config import load_config

    root = Path(__file__).parents[2]
    mined = {"train_hpo": "mine.cfg", "train_all": "mine_all.cfg",
             "train_supervised": "mine_supervised.cfg", "train_mentions": "mine_supervised.cfg"}  # fmt: skip
    paths = sorted((root / "configs").glob("train_*.cfg"))
    assert {path.stem for path in paths} == set(mined)
    for path in paths:
        config, mining = load_config(path), mined[path.stem]
        tasks = confection.Config().from_disk(root / "configs" / mining)["mining"]["tasks"]
        assert set(config.tasks) - {"names"} <= set(tasks), path


@pytest.mark.slow
def test_torchrun_trains_as_one_process_does(folder):
    import os
    import subprocess
    import sys

    import torch
    from safetensors.torch import load_file

    config = folder / "train.cfg"
    result = run("train", config, "-o", folder / "one")
    assert result.exit_code == 0, result.output
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
               "-m", "spacy_termlink", "train", config, "-o", folder / "two"]  # fmt: skip
    subprocess.run(command, check=True, timeout=240, env={**os.environ, "OMP_NUM_THREADS": "1"})
    one, two = (load_file(folder / name / "model.safetensors") for name in ("one", "two"))
    for name, weight in one.items():
        assert torch.allclose(weight, two[name], atol=1e-4), name
    assert not (folder / "two.training").exists()
