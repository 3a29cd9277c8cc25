"""benchmarks/fast.py on tiny KBs: both tables, and the JSON."""

import json
import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "fast.py"


def test_fast_encoder_beside_the_large_one(
    tiny_terminology, tiny_kb, tiny_encoder, tmp_path, monkeypatch, capsys
):
    from spacy_termlink.cli import app

    large, fast, sets = tmp_path / "large", tmp_path / "fast", tmp_path / "sets" / "hpo_gscplus"
    small = tmp_path / "small"
    for words in (
        ["distill", tiny_encoder, tiny_terminology, "-o", small, "--epochs", 1],
        ["index", tiny_terminology, "--encoder", small, "-o", fast / "hpo"],
    ):
        assert not app([str(word) for word in words], standalone_mode=False)
    large.mkdir()
    (large / "hpo").symlink_to(tiny_kb)
    sets.mkdir(parents=True)
    text = "A heart attack, then seizures."
    rows = [("heart attack", "T:0007", 2), ("seizures", "T:0003", 21)]
    mentions = [
        {"id": str(i), "text": t, "start": s, "end": s + len(t), "doc_id": "d", "concepts": [c]}
        for i, (t, c, s) in enumerate(rows)
    ]
    (sets / "mentions.jsonl").write_text("".join(json.dumps(m) + "\n" for m in mentions))
    doc = {"doc_id": "d", "text": text, "entities": []}
    (sets / "docs.jsonl").write_text(json.dumps(doc) + "\n")
    words = [large, fast, "--eval-dir", sets.parent, "--repeat", 1, "--json", tmp_path / "o.json"]
    monkeypatch.setattr(sys, "argv", ["fast.py", *map(str, words)])
    runpy.run_path(str(SCRIPT), run_name="__main__")

    figures = json.loads((tmp_path / "o.json").read_text())
    row = figures["sets"]["hpo_gscplus"]
    # both are exact names, whatever the encoder
    assert row["n"] == 2
    assert row["large"]["hits@1"] == row["fast"]["hits@1"] == 1
    assert row["difference"]["difference"] == 0
    encoders = figures["encoders"]["hpo"]
    for side, kb in (("large", tiny_kb), ("fast", fast / "hpo")):
        files = [path for path in (kb / "encoder").rglob("*") if path.is_file()]
        assert encoders[side]["encoder_bytes"] == sum(path.stat().st_size for path in files)
        assert encoders[side]["names_per_second"] > 0
    printed = capsys.readouterr().out
    assert "hpo_gscplus" in printed and "names/s" in printed

    monkeypatch.setattr(sys, "argv", ["fast.py", str(large), str(sets)])
    with pytest.raises(SystemExit, match="no KB of the same name"):
        runpy.run_path(str(SCRIPT), run_name="__main__")
