"""scripts/nil_sets.py: concepts are taken out of names and mentions alike."""

import json
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"


@pytest.fixture
def nil_sets(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    import nil_sets

    yield nil_sets
    for name in ("nil_sets", "evaluate_sets", "train_part"):
        sys.modules.pop(name, None)


def test_what_is_taken_out_and_measured(nil_sets, tiny_encoder, tmp_path, monkeypatch, capsys):
    ids = [f"D:{i}" for i in range(40)]
    out = {i for i in ids if nil_sets.is_out(i)}
    assert 2 <= len(out) <= 16
    sets = tmp_path / "sets"
    rows = ["concept_id\tname\tkind\talt_ids"]
    rows += [f"{i}\tdisease of organ {i[2:]}\tpreferred\tX:{i[2:]}" for i in ids]
    (sets / "medic").mkdir(parents=True)
    (sets / "medic" / "names.tsv").write_text("\n".join(rows) + "\n")
    for name in nil_sets.SETS:
        write_set(sets / name, ids)
    words = [sets, "--encoder", tiny_encoder, "-o", tmp_path / "nil"]
    monkeypatch.setattr(sys, "argv", ["nil_sets.py", *map(str, words)])
    nil_sets.main()
    said = capsys.readouterr()
    assert f"{len(out)} of 40 gold concepts are taken out" in said.err
    table = [line for line in said.out.splitlines() if line.startswith("|")]
    assert [line.split(" | ")[0] for line in table[2:]] == ["| ncbi_disease", "| bc5cdr"]
    names = (tmp_path / "nil" / "names.tsv").read_text().splitlines()[1:]
    assert {line.split("\t")[0] for line in names} == set(ids) - out
    figures = json.loads((tmp_path / "nil" / "nil.json").read_text())
    for name in nil_sets.SETS:
        lines = (tmp_path / "nil" / f"{name}.jsonl").read_text().splitlines()
        mentions = [json.loads(line) for line in lines]
        # an alternative id of a concept that is taken out is taken out, too
        assert all((not row["concepts"]) == (row["gold"] in out) for row in mentions)
        n_nil = sum(row["gold"] in out for row in mentions if row["split"] == "dev")
        assert {found["nil"]["n"] for found in figures[name].values()} == {n_nil}
        assert figures[name]["score"]["nil"]["applies_to"] == "score"
        assert figures[name]["probability"]["nil"]["threshold"] == 0.5


def write_set(folder, ids):
    """Four mentions of each concept, one by its alternative id; every second is right by its name."""
    folder.mkdir()
    mentions, docs = [], []
    for number in range(4 * len(ids)):
        gold = ids[number % len(ids)]
        text = f"disease of organ {gold[2:]}" if number % 2 else f"organ {gold[2:]} trouble"
        doc_id = f"d{number // 5}"
        mentions.append({
            "id": str(number), "text": text, "doc_id": doc_id, "label": "Disease", "gold": gold,
            "concepts": [f"X:{gold[2:]}" if number < len(ids) else gold],
            "split": "dev" if number // 5 % 4 == 0 else "train",
        })  # fmt: skip
        docs.append({"doc_id": doc_id, "text": "", "entities": []})
    unique = {doc["doc_id"]: doc for doc in docs}.values()
    for name, rows in (("mentions", mentions), ("docs", unique)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
