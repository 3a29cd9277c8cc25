"""scripts/zh_tables.py on the shipped example: both tables, runs that are kept."""

import json
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "assets" / "zh_procedures"


def test_both_tables(monkeypatch, tmp_path, capsys):
    out = tmp_path / "zh"
    words = ["zh_tables.py", EXAMPLE / "names.tsv", EXAMPLE / "mentions.jsonl", "-o", out]
    words += ["--phrases", 200, "--steps", 2]
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    script = str(ROOT / "scripts" / "zh_tables.py")
    runpy.run_path(script, run_name="__main__")
    text = (out / "tables.md").read_text(encoding="utf8")
    assert text.count("\n| ") == 2 + 6 + 5  # two headings, six encoders, five ways to rerank
    evaluated = json.loads((out / "runs" / "encoder-0.json").read_text())
    first = next(row for row in text.splitlines() if row.startswith("| contrastive, τ 1/20"))
    assert f"| {evaluated['hits@1']:.3f} [" in first
    assert f"(n = {evaluated['n']})" in text

    kept = {path: path.read_bytes() for path in (out / "runs").iterdir()}
    (out / "runs" / "reranker-none.json").unlink()
    runpy.run_path(script, run_name="__main__")
    assert len(list((out / "runs").iterdir())) == len(kept) == 11
    assert (out / "tables.md").read_text(encoding="utf8") == text
