import copy
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from spacy_termlink.encoders import load_encoder
from spacy_termlink.errors import TermlinkError
from spacy_termlink.training.checkpoints import RunFolder
from spacy_termlink.training.config import resolve_config
from spacy_termlink.training.loop import learning_rate
from spacy_termlink.training.runlog import read_log
from spacy_termlink.training.settings import OptimizerSettings

from .conftest import N_NAMES, NAMES, make_trainer


class Stop(Exception):
    """The process dies here."""


def stop_after(step):
    def report(event):
        if event["step"] == step:
            raise Stop

    return report


def weights(folder):
    return load_file(folder / "model.safetensors")


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


def hits(encode):
    """Share of the names whose nearest other name is of their concept."""
    texts = [(name, concept) for concept, names in NAMES.items() for name in names]
    vectors = encode([text for text, _ in texts])
    scores = vectors @ vectors.T - 2 * np.eye(len(texts))
    right = [texts[i][1] == texts[j][1] for i, j in enumerate(scores.argmax(axis=1))]
    return {"hits@1": float(np.mean(right))}


def test_training_learns(section, tmp_path):
    section["max_steps"] = 60
    del section["tasks"]["parent"]
    trainer = make_trainer(resolve_config(section))
    before = hits(trainer.encode)["hits@1"]
    trainer.run(tmp_path / "out")
    encoder = load_encoder(tmp_path / "out", dtype="float32")
    assert hits(encoder.encode)["hits@1"] > max(0.8, before + 0.3)


def test_same_seed_same_weights_another_seed_others(section, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        make_trainer(resolve_config({**section, "seed": seed})).run(tmp_path / name)
    assert same(weights(tmp_path / "a"), weights(tmp_path / "b"))
    assert not same(weights(tmp_path / "a"), weights(tmp_path / "c"))


@pytest.mark.parametrize("stopped", [3, 4, 5, 6])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_resumed_run_ends_with_the_same_bits(section, tmp_path, stopped, accumulate):
    section = {**section, "accumulate": accumulate, "dev": {"every": 2}}
    config = resolve_config(section)
    make_trainer(config, score=hits).run(tmp_path / "whole")
    with pytest.raises(Stop):
        make_trainer(config, score=hits, report=stop_after(stopped)).run(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    if stopped == 3:  # died before the checkpoint of step 3 was written
        assert RunFolder(tmp_path / "out").steps() == []
        return
    assert RunFolder(tmp_path / "out").steps() == [3]
    state = make_trainer(config, score=hits).run(tmp_path / "out", resume=True)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "out"))
    assert state["step"] == 6 and not RunFolder(tmp_path / "out").path.exists()
    logs = [read_log(tmp_path / name / "log.jsonl") for name in ("whole", "out")]
    parts = [[(row["event"], row["step"], row.get("losses")) for row in log] for log in logs]
    assert parts[0] == parts[1]


def test_resume_after_the_last_checkpoint_finishes(section, tmp_path):
    config = resolve_config(section)
    make_trainer(config).run(tmp_path / "whole")
    trainer = make_trainer(config)
    trainer._finish = lambda *_: (_ for _ in ()).throw(Stop)
    with pytest.raises(Stop):
        trainer.run(tmp_path / "out")
    make_trainer(config).run(tmp_path / "out", resume=True)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "out"))


def test_a_torn_write_beside_a_checkpoint_does_no_harm(section, tmp_path):
    config = resolve_config(section)
    make_trainer(config).run(tmp_path / "whole")
    with pytest.raises(Stop):
        make_trainer(config, report=stop_after(5)).run(tmp_path / "out")
    folder = RunFolder(tmp_path / "out").path
    (folder / ".step-00000005.abc.part").mkdir()
    (folder / ".best-00000005.safetensors.abc.part").write_bytes(b"half")
    with (folder / "log.jsonl").open("a") as file:
        file.write('{"event": "train", "st')
    make_trainer(config).run(tmp_path / "out", resume=True)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "out"))


def test_resume_refuses_other_settings_and_other_records(section, tmp_path):
    with pytest.raises(Stop):
        make_trainer(resolve_config(section), report=stop_after(4)).run(tmp_path / "out")
    other = copy.deepcopy(section)
    other["optimizer"]["learning_rate"] = 0.5
    with pytest.raises(
        TermlinkError, match=r"TL419.*training.optimizer.learning_rate: 0.001, now 0.5"
    ):
        make_trainer(resolve_config(other)).run(tmp_path / "out", resume=True)
    trainer = make_trainer(resolve_config(section))
    trainer._data_sha256 = "other"
    with pytest.raises(TermlinkError, match=r"TL419.*records"):
        trainer.run(tmp_path / "out", resume=True)


def test_an_unfinished_run_is_not_overwritten(config, tmp_path):
    with pytest.raises(Stop):
        make_trainer(config, report=stop_after(4)).run(tmp_path / "out")
    with pytest.raises(TermlinkError, match="TL418"):
        make_trainer(config).run(tmp_path / "out")


def test_nothing_to_resume(config, tmp_path):
    with pytest.raises(TermlinkError, match="TL416"):
        make_trainer(config).run(tmp_path / "out", resume=True)


def test_a_damaged_checkpoint_is_named(config, tmp_path):
    with pytest.raises(Stop):
        make_trainer(config, report=stop_after(4)).run(tmp_path / "out")
    path = next(RunFolder(tmp_path / "out").path.glob("step-*/optimizer.safetensors"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(TermlinkError, match=r"TL417.*step-00000003"):
        make_trainer(config).run(tmp_path / "out", resume=True)


def test_a_folder_that_is_no_encoder_is_left_alone(config, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(TermlinkError, match="TL002"):
        make_trainer(config).run(tmp_path / "out")
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_mean_with_the_initial_weights(section, tmp_path, tiny_encoder):
    make_trainer(resolve_config(section)).run(tmp_path / "trained")
    section["model"] = {**section["model"], "average_with_start": 0.25}
    make_trainer(resolve_config(section)).run(tmp_path / "mean")
    start, trained, mean = map(weights, (tiny_encoder, tmp_path / "trained", tmp_path / "mean"))
    for name in start:
        assert torch.allclose(mean[name], 0.25 * start[name] + 0.75 * trained[name], atol=1e-6)


def test_the_best_weights_are_saved_and_training_stops_early(section, tmp_path, tiny_encoder):
    section = {**section, "max_steps": 20, "dev": {"every": 1, "patience": 3}}
    scores = iter([0.1, 0.2, 0.5, 0.3, 0.5, 0.4])
    seen = []

    def score(encode):
        seen.append(encode(["seizure"]))
        return {"hits@1": next(scores)}

    state = make_trainer(resolve_config(section), score=score).run(tmp_path / "out")
    assert (state["step"], state["best_step"], state["stopped"]) == (5, 2, True)
    found = load_encoder(tmp_path / "out", dtype="float32").encode(["seizure"])
    assert np.allclose(found, seen[2], atol=1e-6) and not np.allclose(found, seen[5], atol=1e-6)


def test_scoring_changes_nothing(section, tmp_path):
    make_trainer(resolve_config(section)).run(tmp_path / "a")
    trainer = make_trainer(
        resolve_config({**section, "dev": {"every": 1}}),
        score=lambda encode: {"x": hits(encode)["hits@1"]},
    )
    trainer._to_save = lambda current: {k: v * 0 for k, v in current.items()}
    current = trainer.model.snapshot()
    trainer._evaluate(RunFolder(tmp_path / "b"), None)
    assert same(current, trainer.model.snapshot())


def test_a_loss_that_is_no_number_is_an_error(config, tmp_path):
    trainer = make_trainer(config)
    next(iter(trainer.model.parameters.values())).data.fill_(float("nan"))
    trainer._search = lambda vectors, queries, n: np.zeros((len(queries), n), dtype=int)
    with pytest.raises(TermlinkError, match="TL421"):
        trainer.run(tmp_path / "out")


def test_rate_rises_and_falls():
    settings = OptimizerSettings(learning_rate=1.0, warmup_steps=4)
    rates = [learning_rate(settings, step, 8) for step in range(8)]
    assert rates == [0.25, 0.5, 0.75, 1.0, 1.0, 0.75, 0.5, 0.25]


def test_card_and_summary_say_what_was_run(section, tmp_path):
    section["dev"] = {"every": 3}
    make_trainer(resolve_config(section), score=hits).run(tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    for part in (f"| tiny | 2026-01-01 | 12 | {N_NAMES} | CC0-1.0 |", "MultiSimilarity.v1", "steps | 6 of 6",
                 "InBatchNLL.v1 similarity cosine, temperature 0.1", "hits@1", "| at the start |"):  # fmt: skip
        assert part in card
    summary = json.loads((tmp_path / "out" / "training.json").read_text())
    assert summary["config"] == section and summary["figures"]["refreshes"] == 3
    assert sum(place["texts"] for place in summary["tasks"].values()) == summary["figures"]["texts"]


KILLED = """
import json, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.training.conftest import make_trainer
from tests.training.test_trainer import hits
from spacy_termlink.training.config import resolve_config
config = resolve_config(json.load(open(sys.argv[1])))
out = Path(sys.argv[2])
resume = out.with_name(out.name + ".training").exists() and bool(
    list(out.with_name(out.name + ".training").glob("step-*")))
make_trainer(config, score=hits).run(out, resume=resume)
"""


@pytest.mark.slow
def test_a_run_killed_many_times_ends_with_the_same_bits(section, tmp_path):
    section = {**section, "max_steps": 60, "checkpoint_every": 1, "dev": {"every": 4}}
    make_trainer(resolve_config(section), score=hits).run(tmp_path / "whole")
    script, settings = tmp_path / "worker.py", tmp_path / "section.json"
    script.write_text(KILLED.format(root=str(Path(__file__).parents[2])))
    settings.write_text(json.dumps(section))
    rng = np.random.default_rng(0)
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    out, kills = tmp_path / "out", 0
    while not out.exists():
        before = RunFolder(out).steps()
        process = subprocess.Popen([sys.executable, script, settings, out], env=env)
        # once it has gone on by a checkpoint: a fast machine would be done in a fixed time
        while process.poll() is None and RunFolder(out).steps() == before:
            time.sleep(0.005)
        time.sleep(float(rng.uniform(0.0, 0.1)))
        if process.poll() is None and kills < 12:
            process.send_signal(signal.SIGKILL)
            kills += 1
        assert process.wait() in (0, -signal.SIGKILL)
    assert kills >= 2
    assert same(weights(tmp_path / "whole"), weights(out))
