import sys

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.training.runlog import RunLog, read_log


def test_lines_after_the_checkpoint_are_dropped_on_resuming(tmp_path):
    path = tmp_path / "run" / "log.jsonl"
    log = RunLog(path, step=0, tensorboard=False)
    for step in (1, 2, 3, 4):
        log.write("train", step, loss=step / 10)
    with path.open("a") as file:
        file.write('{"event": "train", "ste')  # killed while it wrote
    RunLog(path, step=2, tensorboard=False).write("train", 3, loss=9.0)
    assert [(row["step"], row["loss"]) for row in read_log(path)] == [(1, 0.1), (2, 0.2), (3, 9.0)]


def test_a_new_run_begins_an_empty_log(tmp_path):
    path = tmp_path / "log.jsonl"
    RunLog(path, step=0, tensorboard=False).write("dev", 0, score=0.5)
    RunLog(path, step=0, tensorboard=False)
    assert read_log(path) == []


def test_tensorboard_is_asked_for_and_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(TermlinkError, match="TL420"):
        RunLog(tmp_path / "log.jsonl", step=0, tensorboard=True)


def test_tensorboard_gets_the_numbers(tmp_path, monkeypatch):
    written = []

    class Writer:
        def __init__(self, folder, purge_step):
            written.append((folder, purge_step))

        def add_scalar(self, name, value, step):
            written.append((name, value, step))

        def flush(self):
            pass

    class Module:
        SummaryWriter = Writer

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", Module)
    log = RunLog(tmp_path / "log.jsonl", step=3, tensorboard=True)
    log.write("train", 4, texts_per_second=10.0, losses={"a": 1.0})
    assert written == [(str(tmp_path / "tensorboard"), 3), ("train/texts_per_second", 10.0, 4)]
