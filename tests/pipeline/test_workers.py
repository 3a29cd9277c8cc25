"""nlp.pipe with several processes, after the parent has used torch's and Faiss's threads."""

import subprocess
import sys
import textwrap

import pytest

from spacy_termlink.pipeline import workers

SCRIPT = """
import multiprocessing
import sys

import spacy
import torch


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def found(docs):
    return [
        [(e.text, e.kb_id_, plain(e._.term_links)) for e in doc.ents]
        + [plain(doc.user_data["term_linker"])]
        for doc in docs
    ]


if __name__ == "__main__":
    method, path = sys.argv[1:]
    multiprocessing.set_start_method(method)
    torch.set_num_threads(2)
    texts = ["A seizure, fever, qqq.", "", "A hole in the heart.", "headache, pyrexias"] * 5
    nlp = spacy.load(path)
    expected = found(nlp.pipe(texts))
    torch.ones(600, 600) @ torch.ones(600, 600)  # starts the pool that a forked child lacks
    assert found(nlp.pipe(texts, n_process=2, batch_size=3)) == expected
    assert torch.get_num_threads() == 2
    print("equal")
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(make_nlp, tmp_path, method):
    make_nlp().to_disk(tmp_path / "saved")
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    run = subprocess.run(
        [sys.executable, script, method, tmp_path / "saved"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.stdout.strip() == "equal", run.stderr
    assert "TOKENIZERS_PARALLELISM" not in run.stderr


def test_the_main_process_keeps_its_threads(monkeypatch):
    calls = []
    torch = type("torch", (), {"set_num_threads": staticmethod(calls.append)})
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.delitem(sys.modules, "faiss", raising=False)
    monkeypatch.setattr(workers, "_settled_pid", None)
    workers.settle_worker()
    assert calls == []
    # a child forked by something other than multiprocessing, as Spark's daemon does
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(workers, "_settled_pid", None)
    monkeypatch.setattr(workers, "_imported_pid", -1)
    workers.settle_worker()
    workers.settle_worker()
    assert calls == [1]
