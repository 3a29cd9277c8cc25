"""The sample notes: the jsonl files are those of the marked source, and the gold fits."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTES = ROOT / "assets" / "notes"
IDS = {"hpo": r"HP:\d{7}", "icd10cm": r"[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?"}


def build_notes():
    spec = importlib.util.spec_from_file_location("build_notes", ROOT / "scripts/build_notes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(name):
    return [json.loads(line) for line in (NOTES / name).read_text(encoding="utf8").splitlines()]


def test_files_are_those_of_the_source():
    for name, content in build_notes().build().items():
        assert (NOTES / name).read_text(encoding="utf8") == content, "run scripts/build_notes.py"


def test_parse_counts_offsets_of_nested_marks():
    text, marks = build_notes().parse("a {b {c|h:H:1&H:2~H:3}|i:I|negated} d")
    assert text == "a b c d"
    outer, inner = marks
    assert (text[outer.start : outer.end], outer.gold, outer.assertion) == (
        "b c",
        {"i": "I"},
        "negated",
    )
    assert (text[inner.start : inner.end], inner.gold, inner.assertion) == (
        "c", {"h": "H:1&H:2~H:3"}, "affirmed",
    )  # fmt: skip


@pytest.mark.parametrize("source", ["a {b|h:H:1", "{a {b|h:H:1}", "a } b", "{a}"])
def test_parse_refuses_a_broken_mark(source):
    with pytest.raises(ValueError):
        build_notes().parse(source)


@pytest.mark.parametrize("name", IDS)
def test_gold_fits(name):
    docs = rows(f"{name}.jsonl")
    assert len(docs) == 12
    assert [doc["text"] for doc in docs] == [note["text"] for note in rows("notes.jsonl")]
    for doc in docs:
        spans = [(entity["start"], entity["end"]) for entity in doc["entities"]]
        assert len(spans) == len(set(spans)) and spans == sorted(spans)
        for entity in doc["entities"]:
            words = doc["text"][entity["start"] : entity["end"]]
            assert words == entity["text"] == words.strip()
            assert "\n" not in words
            accept = entity.get("accept", [[concept] for concept in entity["concepts"]])
            assert [ids[0] for ids in accept] == entity["concepts"]
            for ids in accept:
                assert all(re.fullmatch(IDS[name], i) for i in ids)


def test_every_kind_of_mention_is_covered():
    mentions = rows("hpo_mentions.jsonl")
    assert {m["assertion"] for m in mentions} == {"affirmed", "negated", "uncertain", "family"}
    assert {m["cardinality"] for m in mentions} == {"single", "composite"}
    texts = {m["text"] for m in mentions}
    assert {"PND", "AKI", "throwing up", "exzema", "diarrhoea", "N/V"} <= texts


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_every_gold_id_is_living(name):
    """Needs what `make demo` makes."""
    folder = ROOT / "terminologies" / name
    if not folder.is_dir():
        pytest.skip("run `make demo` first")
    from spacy_termlink.terminology import Terminology

    terminology = Terminology.open(folder)
    for mention in rows(f"{name}_mentions.jsonl"):
        for ids in mention.get("accept", [mention["concepts"]]):
            for i in ids:
                assert terminology.resolve(i) == i, f"{i} ({mention['text']})"
