"""Prints the figures that `termlink evaluate` and `evaluate-docs` wrote with --json, as one table.

python scripts/print_figures.py output/figures output/sets
python scripts/print_figures.py output/figures output/sets --readme README.md
"""

import argparse
import json
import re
import sys
from pathlib import Path

RANKING = ("hits@1", "hits@5", "hits@10", "mrr")
DOCUMENTS = ("strict", "partial", "documents")
#: Where the tables stand in a page.
MARKED = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- end of figures -->)", re.S)

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def main() -> None:
    """Print, or put into a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", help="folders of .json files")
    parser.add_argument("--readme", type=Path, help="put Markdown between the marks of this page")
    parser.add_argument("--pages", type=Path, help="html to name at the end")
    args = parser.parse_args()
    files = [path for folder in args.folders for path in sorted(folder.glob("*.json"))]
    figures = {path.stem: json.loads(path.read_text(encoding="utf8")) for path in files}
    tables = [table for table in (ranking(figures), documents(figures)) if table[1]]
    if args.readme:
        page = args.readme.read_text(encoding="utf8")
        text = "\n" + "\n".join(map(markdown, tables)) + "\n"
        args.readme.write_text(MARKED.sub(lambda _: text, page), encoding="utf8")
        return
    sys.stdout.write("\n" + "\n".join(map(aligned, tables)))
    if args.pages:
        sys.stdout.write(f"\nannotated notes: {args.pages.resolve()}\n")


def ranking(figures: dict) -> Table:
    """Figures of `evaluate`: hits@1 with its interval, the others without."""
    rows = []
    for name, row in figures.items():
        if "hits@1" in row:
            first = with_interval(row["hits@1"], row["ci"]["hits@1"])
            rest = (f"{row[metric]:.3f}" for metric in RANKING[1:])
            rows.append((name, row["kb"], row["split"] or "all", f"{row['n']:,}", first, *rest))
    return ("linking given mentions", "KB", "split", "n", *RANKING), rows


def documents(figures: dict) -> Table:
    """F1 of `evaluate-docs`, each with its interval."""
    rows = []
    for name, row in figures.items():
        if "strict" in row:
            cells = (with_interval(row[key]["f1"], row[key]["ci"]["f1"]) for key in DOCUMENTS)
            split, n = row["split"] or "all", f"{row['n']:,}"
            rows.append((name.removesuffix("-docs"), row["kb"], split, n, *cells))
    head = (
        "finding and linking, F1",
        "KB",
        "split",
        "notes",
        "strict",
        "partial",
        "document level",
    )
    return head, rows


def with_interval(value: float, interval: list) -> str:
    """A figure and its 95 % interval."""
    low, high = interval
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def aligned(table: Table) -> str:
    """Columns for a terminal: names to the left, figures to the right."""
    head, rows = table
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, *rows):
        columns = enumerate(zip(row, widths, strict=True))
        cells = [cell.ljust(w) if i < 3 else cell.rjust(w) for i, (cell, w) in columns]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def markdown(table: Table) -> str:
    """A Markdown table."""
    head, rows = table
    rule = ("---",) * 3 + ("---:",) * (len(head) - 3)
    return "".join("| " + " | ".join(row) + " |\n" for row in (head, rule, *rows))


if __name__ == "__main__":
    main()
