"""NIL: a fifth of the gold concepts of the disease sets is taken out of MEDIC, and their mentions name nothing.

    python scripts/nil_sets.py assets/eval --encoder assets/fetched/minilm -o output/nil

Which ones hangs on a hash of their id. The KB of what is left is measured on split dev of each set: F1 of NIL
and of the links at the KB's own threshold, which is one on scores, then at a probability of 0.5, calibrated on split
train. OUTPUT/nil.json holds the figures; a KB that is there is not built again.
"""

import argparse
import csv
import hashlib
import json
import shutil
import sys
from pathlib import Path

from evaluate_sets import run
from train_part import SETS, read, write

from spacy_termlink.files import write_json

#: One concept of so many is taken out.
ONE_OF = 5


def main() -> None:
    """Take out, build, calibrate, measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sets", type=Path, help=f"folder with medic, {', '.join(SETS)}")
    parser.add_argument("--encoder", type=Path, required=True, help="encoder folder")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    with (args.sets / "medic" / "names.tsv").open(encoding="utf8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    id_of = {alt: row["concept_id"] for row in rows for alt in row["alt_ids"].split("|") if alt}
    mentions = {name: read_mentions(args.sets / name, id_of) for name in SETS}
    gold = {concept for found in mentions.values() for row in found for concept in row["concepts"]}
    known = gold & {row["concept_id"] for row in rows}
    out = {concept for concept in known if is_out(concept)}
    sys.stderr.write(f"{len(out):,} of {len(known):,} gold concepts are taken out\n")
    kb = args.output / "kb"
    if not kb.exists():
        build(kb, [row for row in rows if row["concept_id"] not in out], args.encoder)
    figures = {name: measure(args, name, found, out) for name, found in mentions.items()}
    write_json(args.output / "nil.json", figures)
    sys.stdout.write(table(figures))


def is_out(concept_id: str) -> bool:
    """Whether a gold concept is taken out."""
    return int(hashlib.sha256(concept_id.encode()).hexdigest(), 16) % ONE_OF == 0


def read_mentions(folder: Path, id_of: dict[str, str]) -> list[dict]:
    """Mentions of a set that MEDIC has concepts for, with MEDIC's own ids."""
    label = SETS[folder.name]
    found = [row for row in read(folder / "mentions.jsonl") if label in (None, row.get("label"))]
    return [{**row, "concepts": [id_of.get(i, i) for i in row["concepts"]]} for row in found]


def build(kb: Path, rows: list[dict], encoder: Path) -> None:
    """The KB of the names that are left."""
    table, terminology = kb.parent / "names.tsv", kb.parent / "terminology"
    with table.open("w", encoding="utf8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    run("convert", table, "--format", "table", "-o", terminology)
    run("index", terminology, "--encoder", encoder, "-o", kb)


def measure(args: argparse.Namespace, name: str, rows: list[dict], out: set[str]) -> dict:
    """What `evaluate` says of split dev, at the score's threshold and at the probability's."""
    mentions, docs = args.output / f"{name}.jsonl", args.sets / name / "docs.jsonl"
    write(mentions, ({**r, "concepts": [i for i in r["concepts"] if i not in out]} for r in rows))
    plain, calibrated = args.output / "kb", args.output / f"kb-{name}"
    shutil.rmtree(calibrated, ignore_errors=True)
    shutil.copytree(plain, calibrated)
    run("calibrate", calibrated, mentions, "--docs", docs, "--split", "train")
    found = {}
    for title, kb in (("score", plain), ("probability", calibrated)):
        figures = args.output / f"{name}-{title}.json"
        run("evaluate", kb, mentions, "--docs", docs, "--split", "dev", "--json", figures)
        found[title] = json.loads(figures.read_text(encoding="utf8"))
    return found


def table(figures: dict) -> str:
    """F1 of NIL and of the links, at both thresholds, as Markdown."""
    lines = [
        "| set | n | of nothing | NIL, score | NIL, probability | links, score | links, probability |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in figures.items():
        nil = [found[title]["nil"] for title in ("score", "probability")]
        links = [found[title]["sets"] for title in ("score", "probability")]
        cells = [
            f"{f['f1']:.3f} [{f['ci']['f1'][0]:.3f}, {f['ci']['f1'][1]:.3f}]"
            for f in (*nil, *links)
        ]
        n = found["score"]["n"] + nil[0]["n"]
        lines.append(f"| {name} | {n:,} | {nil[0]['n']:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
