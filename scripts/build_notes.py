"""Writes assets/notes/*.jsonl from the marked-up notes in assets/notes/source/.

A marked mention is `{words|h:HP:0001250|i:R56.9|negated}`: h the HPO gold, i the ICD-10-CM gold, then
the assertion (affirmed where none is given). `A&B` are two concepts named by one mention (composite),
`A~B` are equally right ids, the first one preferred. Marks may be nested; offsets are counted here.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

NOTES = Path(__file__).parent.parent / "assets" / "notes"
LABELS = {"h": ("hpo", "PHENOTYPE"), "i": ("icd10cm", "DIAGNOSIS")}
ASSERTIONS = ("affirmed", "negated", "uncertain", "family")


class Mark(NamedTuple):
    """A marked mention: offsets, the gold per terminology as written, the assertion."""

    start: int
    end: int
    gold: dict[str, str]
    assertion: str


def parse(source: str) -> tuple[str, list[Mark]]:
    """The plain text of a marked-up note, and its marks in text order."""
    text, marks, opened, position = "", [], [], 0
    while position < len(source):
        char = source[position]
        if char == "{":
            opened.append(len(text))
        elif char == "|":
            close = source.index("}", position)
            fields = source[position + 1 : close].split("|")
            gold = dict(field.split(":", 1) for field in fields if field not in ASSERTIONS)
            assertion = next((field for field in fields if field in ASSERTIONS), "affirmed")
            marks.append(Mark(opened.pop(), len(text), gold, assertion))
            position = close
        elif char == "}":
            raise ValueError(f"a mark without gold near {text[-40:]!r}")
        else:
            text += char
        position += 1
    if opened:
        raise ValueError(f"a mark is not closed: {text[opened[-1] :][:40]!r}")
    return text, sorted(marks, key=lambda mark: (mark.start, -mark.end))


def entities(text: str, marks: list[Mark], key: str) -> Iterator[dict]:
    """Entities of one terminology, in the form of `docs.jsonl`."""
    for mark in marks:
        if key not in mark.gold:
            continue
        accept = [ids.split("~") for ids in mark.gold[key].split("&")]
        entity = {
            "start": mark.start,
            "end": mark.end,
            "text": text[mark.start : mark.end],
            "label": LABELS[key][1],
            "concepts": [ids[0] for ids in accept],
            "assertion": mark.assertion,
        }
        if any(len(ids) > 1 for ids in accept):
            entity["accept"] = accept
        yield entity


def mentions(doc: dict) -> Iterator[dict]:
    """The document's entities in the form of `mentions.jsonl`."""
    for number, entity in enumerate(doc["entities"]):
        line_start = doc["text"].rfind("\n", 0, entity["start"]) + 1
        line_end = doc["text"].find("\n", entity["end"])
        yield {
            "id": f"{doc['doc_id']}:{number}",
            "doc_id": doc["doc_id"],
            "context": doc["text"][line_start : line_end if line_end >= 0 else None],
            **entity,
            "cardinality": "single" if len(entity["concepts"]) == 1 else "composite",
            "split": "test",
        }


def build() -> dict[str, str]:
    """File name -> content, for every file of the folder that is made from the source."""
    sources = sorted((NOTES / "source").glob("*.txt"))
    parsed = [(path.stem, *parse(path.read_text(encoding="utf8"))) for path in sources]
    rows: dict[str, list[dict]] = {
        "notes.jsonl": [{"note_id": doc_id, "text": text} for doc_id, text, _ in parsed]
    }
    for key, (name, _) in LABELS.items():
        docs = [
            {"doc_id": doc_id, "text": text, "split": "test",
             "entities": list(entities(text, marks, key))}
            for doc_id, text, marks in parsed
        ]  # fmt: skip
        rows[f"{name}.jsonl"] = docs
        rows[f"{name}_mentions.jsonl"] = [row for doc in docs for row in mentions(doc)]
    return {
        name: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines)
        for name, lines in rows.items()
    }


if __name__ == "__main__":
    for name, content in build().items():
        (NOTES / name).write_text(content, encoding="utf8")
        sys.stderr.write(f"{NOTES / name}: {content.count(chr(10))} lines\n")
