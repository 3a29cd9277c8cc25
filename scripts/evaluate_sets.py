"""Runs `termlink evaluate` and `evaluate-docs` on every evaluation set that is there.

    python scripts/evaluate_sets.py assets/eval kb -o output/sets

A set is a folder with mentions.jsonl and perhaps docs.jsonl; one that is absent, or whose KB is, is
left out. The figures of a set go to OUTPUT/SET.json and OUTPUT/SET-docs.json.
"""

import argparse
from pathlib import Path

from spacy_termlink.cli import app

#: Set -> KB, options of evaluate, whether its documents are annotated in full (then evaluate-docs too).
SETS = {
    "hpo_gscplus": ("hpo", [], True),
    "hpo_case_reports": ("hpo", [], False),
    "hpo_id68": ("hpo", [], True),
    "hpo_typos": ("hpo", [], False),
    "hpo_german": ("hpo", [], False),
    "ncbi_disease": ("medic", ["--split", "dev"], False),
    "bc5cdr": ("medic", ["--split", "dev", "--label", "Disease"], False),
}


def main() -> None:
    """Evaluate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sets", type=Path, help="folder of sets")
    parser.add_argument("kbs", type=Path, help="folder of KBs")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of figures")
    parser.add_argument("--reranker", help="compare the hybrid without and with this one")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for name, (kb_name, options, whole) in SETS.items():
        folder, kb = args.sets / name, args.kbs / kb_name
        if not folder.is_dir() or not kb.is_dir():
            continue
        docs = folder / "docs.jsonl"
        if docs.is_file():
            options = [*options, "--docs", docs]
        if args.reranker:
            options = [*options, "--reranker", "none", "--reranker", args.reranker]
        command = ["evaluate", kb, folder / "mentions.jsonl", "--cardinality", "single", *options]
        run(*command, "--json", args.output / f"{name}.json")
        if whole and not args.reranker:
            run("evaluate-docs", kb, docs, "--json", args.output / f"{name}-docs.json")


def run(*command: object) -> None:
    """One command of `termlink`, in this process: the KB is opened once."""
    if code := app([str(part) for part in command], standalone_mode=False):
        raise SystemExit(code)


if __name__ == "__main__":
    main()
