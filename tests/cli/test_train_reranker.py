"""`termlink train-reranker`: from a KB's synonyms and from mentions, into a KB, and evaluated."""

import json
import shutil

import confection
import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app
from spacy_termlink.kb import TermKB


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


@pytest.fixture
def folder(tmp_path, tiny_kb, tiny_encoder):
    """A folder with a KB, mentions and a config."""
    shutil.copytree(tiny_kb, tmp_path / "kb")
    texts = [("had fits", "T:0003"), ("grand mal fits", "T:0005"), ("small", "T:0011")]
    rows = [
        {"id": str(i), "text": text, "concepts": [concept], "context": f"She {text}.",
         "doc_id": f"d{i}", "split": "train"}
        for i, (text, concept) in enumerate(texts * 4)
    ]  # fmt: skip
    (tmp_path / "mentions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    section = {
        "kind": "cross-encoder", "max_steps": 4, "batch_size": 4, "precision": "float32",
        "device": "cpu", "nil_share": 0.2,
        "model": {"encoder": str(tiny_encoder), "context": True, "margin": 1.0},
        "optimizer": {"learning_rate": 1e-3, "warmup_steps": 1},
        "dev": {"every": 2},
        "data": {
            "synonyms": {"kb": str(tmp_path / "kb"), "k": 4, "dev_share": 0.3},
            "mentions": {"kb": str(tmp_path / "kb"), "k": 4, "split": "train",
                         "mentions": str(tmp_path / "mentions.jsonl"), "lexical": 2, "random": 3},
        },
    }  # fmt: skip
    confection.Config({"reranker": section}).to_disk(tmp_path / "reranker.cfg")
    return tmp_path


def test_trained_into_a_kb_and_evaluated(folder):
    out, kb = folder / "cross", folder / "kb"
    code, output = run(
        "train-reranker", folder / "reranker.cfg", "-o", out, "--into", kb,
        "--json", folder / "figures.json", "--reranker.max_steps", "6",
    )  # fmt: skip
    assert code == 0, output
    assert "6 steps" in output and "hits@1" in output
    figures = json.loads((folder / "figures.json").read_text())
    assert figures["step"] == 6 and 0 <= figures["best"]["hits@1"] <= 1
    about = json.loads((out / "training.json").read_text())["data"]
    assert [row["name"] for row in about] == ["mentions", "synonyms"]
    # of the mentions dev_share keeps a twentieth, by default
    assert about[0]["lists"] + about[0]["dev"] == 12
    opened = TermKB.open(kb, verify=True)
    assert opened.reranker.reads_context
    code, output = run(
        "evaluate", kb, folder / "mentions.jsonl", "--reranker", "none", "--reranker", "kb",
        "--reranker", out, "--context", "--json", folder / "e.json",
    )  # fmt: skip
    assert code == 0, output
    assert "reranked" in output and "hybrid+kb" in output
    data = json.loads((folder / "e.json").read_text())
    results = data["results"]
    assert list(results) == ["hybrid", "hybrid+kb", "hybrid+cross"]
    assert results["hybrid"]["n_reranked"] is None and results["hybrid+kb"]["n_reranked"] > 0
    for name in ("hits@1", "mrr", "n_reranked", "context"):
        assert results["hybrid+kb"][name] == results["hybrid+cross"][name]
    code, output = run("evaluate", kb, folder / "mentions.jsonl", "--json", folder / "own.json")
    assert json.loads((folder / "own.json").read_text())["candidates"] == "hybrid+kb"


def test_bad_input_is_one_line(folder):
    cfg, kb = folder / "reranker.cfg", folder / "kb"
    for words, told in [
        (["train-reranker", folder / "no.cfg", "-o", folder / "x"], "TL001"),
        (["train-reranker", cfg, "-o", folder / "x", "--reranker.kind", "other"], "reranker.kind"),
        (["train-reranker", cfg, "-o", folder / "x", "--into", folder / "nokb"], "TL001"),
        (["train-reranker", cfg, "-o", kb], "TL002"),
        (["train-reranker", cfg, "-o", folder / "x", "--resume"], "TL416"),
        (["train-reranker", cfg, "-o", folder / "x", "--reranker.model.names", "all"], "names"),
        (["evaluate", kb, folder / "mentions.jsonl", "--reranker", "kb"], "TL622"),
        (["evaluate", kb, folder / "mentions.jsonl", "--reranker", "nowhere"], "TL620"),
    ]:
        code, output = run(*words)
        assert code == 2, (words, output)
        assert told in output.strip().splitlines()[-1], (words, output)
    assert TermKB.open(kb, verify=True).reranker is None
