"""Writes the training parts of the disease sets as one: what `termlink mine` and `index --add-names` read.

    python scripts/train_part.py assets/eval -o annotated

OUTPUT/mentions.jsonl holds the mentions of split train, OUTPUT/docs.jsonl their documents. A document
that another part of a set has too is left out, so that nothing is learnt from what is measured.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from spacy_termlink.files import atomic_file

#: Set -> label of the mentions that MEDIC has concepts for; None for all.
SETS = {"ncbi_disease": None, "bc5cdr": "Disease"}


def main() -> None:
    """Read both sets, write two files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sets", type=Path, help=f"folder with {', '.join(SETS)}")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    folders = {name: args.sets / name for name in SETS}
    for folder in folders.values():
        if not (folder / "mentions.jsonl").is_file():
            raise SystemExit(f"{folder} holds no mentions.jsonl: see vars.eval_dir of project.yml")
    rows = {name: list(read(folder / "mentions.jsonl")) for name, folder in folders.items()}
    measured = {row["doc_id"] for found in rows.values() for row in found if not is_train(row)}
    kept = [
        row
        for name, found in rows.items()
        for row in found
        if is_train(row)
        and SETS[name] in (None, row.get("label"))
        and row["doc_id"] not in measured
    ]
    wanted = {row["doc_id"] for row in kept}
    docs = {
        doc["doc_id"]: doc
        for folder in folders.values()
        for doc in read(folder / "docs.jsonl")
        if doc["doc_id"] in wanted
    }
    write(args.output / "mentions.jsonl", kept)
    write(args.output / "docs.jsonl", docs.values())
    sys.stderr.write(f"{args.output}: {len(kept):,} mentions of {len(docs):,} documents\n")


def is_train(row: dict) -> bool:
    """Whether a mention may be learnt from."""
    return row.get("split") == "train"


def read(path: Path) -> Iterator[dict]:
    """Objects of a JSONL file."""
    with path.open(encoding="utf8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def write(path: Path, rows: Iterable[dict]) -> None:
    """Write a JSONL file, whole or not at all."""
    with atomic_file(path) as part:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        part.write_text(text, encoding="utf8")


if __name__ == "__main__":
    main()
