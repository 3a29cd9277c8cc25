"""A fast encoder beside the one it was made of: names a second, mentions a second, Hits@1.

    python benchmarks/fast.py kb/all kb/fast --eval-dir EVAL_DIR [--json OUT]

Both folders hold KBs of the same names (hpo, medic, ...), the first with the large encoder, the second
with the fast one. Each speed is the best of --repeat runs, the two taking turns; an idle machine is
assumed. A set is linked with the hybrid, abbreviations resolved in its own documents, mentions of one
concept; the difference has a 95 % bootstrap interval over documents. Without --eval-dir the project's
sample notes are linked.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from spacy_termlink.evaluation.mention_set import prepare_mentions
from spacy_termlink.evaluation.mentions import read_docs, read_mentions
from spacy_termlink.evaluation.significance import compare_results
from spacy_termlink.evaluation.system import evaluate_system
from spacy_termlink.kb import open_kb

#: Set -> KB, split, label: those of scripts/evaluate_sets.py that people wrote.
SETS = {
    "hpo_gscplus": ("hpo", None, None),
    "hpo_case_reports": ("hpo", None, None),
    "hpo_id68": ("hpo", None, None),
    "ncbi_disease": ("medic", "dev", None),
    "bc5cdr": ("medic", "dev", "Disease"),
}
ASSETS = Path(__file__).parent.parent / "assets" / "notes"
HITS = "hits@1"


def main() -> None:
    """Run the benchmark."""
    args = parse_args()
    figures: dict = {"encoders": {}, "sets": {}}
    for name in sorted({path.name for path in args.large.iterdir()}):
        if (args.large / name).is_dir() and (args.fast / name / "meta.json").is_file():
            pair = {"large": open_kb(args.large / name), "fast": open_kb(args.fast / name)}
            figures["encoders"][name] = encoder_figures(pair, args)
            for label, mention_set in sets_of(name, args.eval_dir, pair["large"].terminology):
                figures["sets"][label] = set_figures(pair, mention_set, args.repeat)
    if not figures["encoders"]:
        raise SystemExit(f"{args.large} and {args.fast} hold no KB of the same name")
    print_figures(figures)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf8")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("large", type=Path, help="folder of KBs with the large encoder")
    parser.add_argument("fast", type=Path, help="folder of KBs with the fast one")
    parser.add_argument("--eval-dir", type=Path, help=f"folder with {', '.join(SETS)}")
    parser.add_argument("--names", type=int, default=4000, help="names encoded (default 4000)")
    parser.add_argument("--repeat", type=int, default=3, help="runs per speed (default 3)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


def encoder_figures(pair: dict, args: argparse.Namespace) -> dict:
    """Names a second of both encoders, on evenly spread names of the KB, and their size."""
    texts = pair["large"].names.texts(pair["large"].terminology)
    texts = texts[:: max(1, len(texts) // args.names)]
    for kb in pair.values():
        kb.encoder.encode(texts[:64])
    figures: dict = {}
    for _ in range(args.repeat):
        for side, kb in pair.items():
            start = time.perf_counter()
            kb.encoder.encode(texts)
            rate = len(texts) / (time.perf_counter() - start)
            row = figures.setdefault(side, {"names_per_second": 0.0})
            row["names_per_second"] = max(row["names_per_second"], rate)
    for side, kb in pair.items():
        files = [path for path in (kb.path / "encoder").rglob("*") if path.is_file()]
        figures[side]["encoder_bytes"] = sum(path.stat().st_size for path in files)
        figures[side]["dense_weight"] = kb.meta["hybrid"]["dense_weight"]
    return figures


def sets_of(kb_name: str, eval_dir: Path | None, terminology: object) -> list:
    """(name, mention set) of each set that is linked to this KB."""
    if eval_dir is None:
        path = ASSETS / f"{kb_name}_mentions.jsonl"
        named = [(f"notes_{kb_name}", path, ASSETS / f"{kb_name}.jsonl", None, None)]
    else:
        named = [
            (name, eval_dir / name / "mentions.jsonl", eval_dir / name / "docs.jsonl", split, label)
            for name, (kb, split, label) in SETS.items()
            if kb == kb_name
        ]
    found = []
    for name, mentions, docs, split, label in named:
        if mentions.is_file():
            rows = read_mentions(mentions, split=split, label=label, cardinality="single")
            found.append((name, prepare_mentions(terminology, rows, docs=list(read_docs(docs)))))
    return found


def set_figures(pair: dict, mention_set: object, repeat: int) -> dict:
    """Hits@1 and mentions a second with both, and the paired difference."""
    best: dict = {}
    for _ in range(repeat):
        for side, kb in pair.items():
            # a new generator has no answer kept
            result = evaluate_system(kb, mention_set, "hybrid", name=side)
            if side not in best or result.seconds < best[side].seconds:
                best[side] = result
    difference = compare_results(best["fast"], best["large"])[HITS]
    return {
        "n": len(mention_set.mentions),
        **{
            side: {
                HITS: float(result.figures[:, 0].mean()),
                "mentions_per_second": len(mention_set.mentions) / max(result.seconds, 1e-9),
            }
            for side, result in best.items()
        },
        "difference": {key: difference[key] for key in ("difference", "ci", "p")},
    }


def print_figures(figures: dict) -> None:
    """Two tables."""
    rows = [("KB", "names/s", "fast", "times", "encoder MB", "fast", "dense weight", "fast")]
    for name, row in figures["encoders"].items():
        speeds = [row[side]["names_per_second"] for side in ("large", "fast")]
        sizes = [f"{row[side]['encoder_bytes'] / 1e6:.0f}" for side in ("large", "fast")]
        weights = [f"{row[side]['dense_weight']:.2f}" for side in ("large", "fast")]
        times = f"{speeds[1] / speeds[0]:.1f}"
        rows.append((name, *(f"{speed:,.0f}" for speed in speeds), times, *sizes, *weights))
    write_table(rows)
    rows = [("set", "n", "Hits@1", "fast", "difference, points", "mentions/s", "fast")]
    for name, row in figures["sets"].items():
        hits = [f"{row[side][HITS]:.3f}" for side in ("large", "fast")]
        speeds = [f"{row[side]['mentions_per_second']:,.0f}" for side in ("large", "fast")]
        low, high = (100 * end for end in row["difference"]["ci"])
        gain = f"{100 * row['difference']['difference']:+.1f} [{low:+.1f}, {high:+.1f}]"
        rows.append((name, f"{row['n']:,}", *hits, gain, *speeds))
    sys.stdout.write("\n")
    write_table(rows)


def write_table(rows: list) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        sys.stdout.write("  ".join([row[0].ljust(widths[0]), *cells]).rstrip() + "\n")


if __name__ == "__main__":
    main()
