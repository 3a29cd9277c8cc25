"""`termlink annotate`, killed with its whole process group again and again and resumed: slow."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

PART_NOTES = 4
N_NOTES = 1000
N_KILLS = 20
#: Imports once; each line on stdin is a run of the command, in a fork that leads a group of its own.
RUNS = f"""
import json, os, sys
from spacy_termlink.annotate import parts, pipelines, run
from spacy_termlink.cli import app
parts.PART_NOTES = {PART_NOTES}
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        app(json.loads(line))
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture
def notes(tmp_path):
    """Notes with and without mentions, and some of each kind that is refused."""
    rng = random.Random(0)
    words = ["fever", "fits", "headache", "no", "\r\n", "😀", "Pyrexia,", "e\u0301"]
    lines = []
    for number in range(N_NOTES):
        text = " ".join(rng.choices(words, k=rng.randrange(12)))
        row = {"note_id": f"n{number}", "text": text}
        bad = rng.random()
        if bad < 0.03:
            row["note_id"] = "n0"
        elif bad < 0.06:
            row["text"] = None
        lines.append("broken" if 0.06 < bad < 0.08 else json.dumps(row))
    path = tmp_path / "notes.jsonl"
    path.write_text("\n".join(lines))
    return path


class Runs:
    """Starts runs and kills them."""

    def __init__(self, command, seed):
        self.command = json.dumps(command) + "\n"
        self.rng = random.Random(seed)
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUNS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self):
        self.process.stdin.write(self.command)
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def wait(self):
        return int(self.process.stdout.readline())

    def kill(self, folder, n_parts):
        """Start a run and kill it: at once, after some parts, or when all are done."""

        def done():
            return len(list(folder.glob("part-*")))

        kind, before = self.rng.choice(["early", "part", "part", "end"]), done()
        wanted = n_parts if kind == "end" else min(n_parts, before + self.rng.randrange(1, 60))
        pid = self.start()
        if kind == "early":
            time.sleep(self.rng.random())
        while kind != "early" and done() < wanted and alive(pid):
            time.sleep(0.002)
        time.sleep(self.rng.random() * 0.03)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        return kind, self.wait()


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("n_process", [1, 2])
def test_twenty_kills_change_nothing(kb_path, notes, tmp_path, n_process):
    out, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    options = ["--n-process", str(n_process), "--resume"]
    runs = Runs(["annotate", str(kb_path), str(notes), "-o", str(out), *options], n_process)
    once = json.dumps(["annotate", str(kb_path), str(notes), "-o", str(whole)]) + "\n"
    resumed, runs.command = runs.command, once
    runs.start()
    assert runs.wait() == 3  # some notes are refused
    runs.command = resumed
    expected = whole.read_bytes(), whole.with_name("whole.jsonl.rejects.jsonl").read_bytes()
    assert len(expected[0].splitlines()) > 1000 and len(expected[1].splitlines()) > 50
    rejects, folder = tmp_path / "out.jsonl.rejects.jsonl", tmp_path / "out.jsonl.parts"
    n_kills, kinds = 0, []
    for _ in range(10 * N_KILLS):
        kind, code = runs.kill(folder, -(-N_NOTES // PART_NOTES))
        n_kills += code == -signal.SIGKILL
        kinds.append(kind)
        if out.exists():
            assert out.read_bytes() == expected[0]
        if rejects.exists():
            assert rejects.read_bytes() == expected[1]
        if n_kills >= N_KILLS:
            break
        if code == 3:  # it was done before the kill: begin again
            assert not folder.exists()
            out.unlink()
            rejects.unlink()
    assert n_kills == N_KILLS
    runs.start()
    assert runs.wait() == 3
    assert (out.read_bytes(), rejects.read_bytes()) == expected
    # nothing is left but what was there and the two files
    names = {
        "notes.jsonl",
        *(f"{n}.jsonl{s}" for n in ("out", "whole") for s in ("", ".rejects.jsonl")),
    }
    assert {path.name for path in tmp_path.iterdir()} == names
    runs.process.stdin.close()
    assert runs.process.wait() == 0
