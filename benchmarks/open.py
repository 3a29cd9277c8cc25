"""Time to open a KB and a saved pipeline (after imports), and the peak memory of `annotate`.

    python benchmarks/open.py kb/hpo [--notes DIR]

Every figure comes from a process of its own, the best of three.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import spacy
from link import ASSETS, read_notes

OPEN_KB = """
import sys, time
from spacy_termlink.kb import TermKB
start = time.perf_counter()
TermKB.open(sys.argv[1])
print(time.perf_counter() - start)
"""
LOAD_PIPELINE = """
import sys, time
import spacy, spacy_termlink.pipeline.factories, spacy_termlink.pipeline.term_linker
import spacy_termlink.kb, torch, transformers
spacy.blank("en")
start = time.perf_counter()
spacy.load(sys.argv[1])
print(time.perf_counter() - start)
"""
ANNOTATE = """
import resource, sys
from spacy_termlink.cli import app
app(["annotate", sys.argv[1], sys.argv[2], "-o", sys.argv[3]], standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run(code: str, *args: object) -> float:
    command = [sys.executable, "-c", code, *map(str, args)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(result.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kb", type=Path, help="KB folder")
    parser.add_argument(
        "--notes", type=Path, default=ASSETS / "notes.jsonl", help="a .jsonl, or a folder of notes"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nlp = spacy.blank("en")
        nlp.add_pipe("term_linker", config={"kb": str(args.kb)})
        nlp("")
        nlp.to_disk(folder / "pipeline")
        notes = folder / "notes.jsonl"
        lines = [{"note_id": str(i), "text": text} for i, text in enumerate(read_notes(args.notes))]
        notes.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")
        opening = min(run(OPEN_KB, args.kb) for _ in range(3))
        loading = min(run(LOAD_PIPELINE, folder / "pipeline") for _ in range(3))
        print(f"open the KB: {opening:.3f} s")
        print(f"spacy.load of a saved pipeline with it: {loading:.3f} s")
        peak = run(ANNOTATE, args.kb, notes, folder / "out.jsonl")
        print(f"annotate {len(lines):,} notes, peak memory: {peak:,.0f} MB")


if __name__ == "__main__":
    main()
