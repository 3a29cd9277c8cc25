"""Prints the figures that `termlink evaluate` and `evaluate-docs` wrote with --json, as one table.

python scripts/print_figures.py output/eval [--markdown]
"""

import argparse
import json
import sys
from pathlib import Path

RANKING = ("hits@1", "hits@5", "hits@10", "mrr")
DOCUMENTS = ("strict", "partial", "documents")


def main() -> None:
    """Print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", help="folders of .json files")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--pages", type=Path, help="html to name at the end")
    args = parser.parse_args()
    files = [path for folder in args.folders for path in sorted(folder.glob("*.json"))]
    figures = {path.stem: json.loads(path.read_text(encoding="utf8")) for path in files}
    ranking = {name: row for name, row in figures.items() if "hits@1" in row}
    documents = {name: row for name, row in figures.items() if "strict" in row}
    table = print_markdown if args.markdown else print_aligned
    if ranking:
        head = ("linking given mentions", "KB", "n", *RANKING)
        table(head, [(n, r["kb"], f"{r['n']:,}", *with_intervals(r)) for n, r in ranking.items()])
    if documents:
        sys.stdout.write("\n")
        head = ("end to end, F1", "KB", "documents", *DOCUMENTS)
        rows = [
            (n.removesuffix("-docs"), r["kb"], str(r["n"]), *(f1(r[key]) for key in DOCUMENTS))
            for n, r in documents.items()
        ]
        table(head, rows)
    if args.pages:
        sys.stdout.write(f"\nannotated notes: {args.pages.resolve()}\n")


def with_intervals(row: dict) -> list[str]:
    """hits@1 with its interval, the others without."""
    low, high = row["ci"]["hits@1"]
    return [f"{row['hits@1']:.3f} [{low:.3f}, {high:.3f}]", *(f"{row[m]:.3f}" for m in RANKING[1:])]


def f1(figures: dict) -> str:
    """F1 with its interval."""
    low, high = figures["ci"]["f1"]
    return f"{figures['f1']:.3f} [{low:.3f}, {high:.3f}]"


def print_aligned(head: tuple, rows: list[tuple]) -> None:
    """Columns for a terminal: text to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        cells = [
            c.ljust(w) if i < 2 else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def print_markdown(head: tuple, rows: list[tuple]) -> None:
    """A table for the README."""
    rule = ("---", "---", *["---:"] * (len(head) - 2))
    for row in (head, rule, *rows):
        sys.stdout.write("| " + " | ".join(row) + " |\n")


if __name__ == "__main__":
    main()
