"""Tokens per second of term_matcher, after tokenisation; building, saving and opening it.

python benchmarks/matcher.py kb/hpo --notes DIR
python benchmarks/matcher.py terminologies/mesh terminologies/hpo --names 5000000 --notes DIR

With --names the terminologies' names are joined, the first words of one with the last words of another,
until there are so many: a terminology as large as one asks for, of words that notes hold.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import spacy
from link import ASSETS, read_notes

from spacy_termlink.terminology import Terminology
from spacy_termlink.terminology.convert import convert_source

#: What a process of its own measures: the peak memory is that of the build alone.
BUILD = """
import json, sys, time
import spacy
nlp = spacy.blank("en")
matcher = nlp.add_pipe("term_matcher", config={"kb": sys.argv[1]})
start = time.perf_counter()
matcher.open_sources()
built = time.perf_counter() - start
start = time.perf_counter()
nlp.to_disk(sys.argv[2])
saved = time.perf_counter() - start
# not ru_maxrss, which a process inherits from the one that started it
peak = next(l for l in open("/proc/self/status") if l.startswith("VmHWM"))
peak = int(peak.split()[1]) / 1024
print(json.dumps({"build_seconds": built, "save_seconds": saved, "peak_mb": peak}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kb", type=Path, nargs="+", help="KB or terminology folders")
    parser.add_argument(
        "--names",
        type=int,
        default=0,
        help="make a terminology of so many names, and build, save it",
    )
    parser.add_argument(
        "--notes", type=Path, default=ASSETS / "notes.jsonl", help="a .jsonl, or a folder of notes"
    )
    parser.add_argument(
        "--repeat", type=int, default=5, help="runs; the best one counts (default 5)"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        nlp = build_large(args.kb, args.names, Path(folder)) if args.names else build(args.kb)
        measure(nlp, args)


def build(paths: list[Path]) -> spacy.Language:
    """A pipeline that looks for the names of these folders."""
    nlp = spacy.blank("en")
    nlp.add_pipe("term_matcher", config={"kb": [str(path) for path in paths]})
    return nlp


def build_large(paths: list[Path], n_names: int, folder: Path) -> spacy.Language:
    """Build and save the pipeline of a terminology of n_names names, and open it again."""
    table = folder / "names.jsonl"
    with table.open("w", encoding="utf8") as file:
        for i, name in enumerate(make_names(paths, n_names)):
            file.write(json.dumps({"concept_id": f"C{i:08d}", "name": name}) + "\n")
    convert_source(table, folder / "terminology", format="table", shareable=True, n_process=2)
    command = [sys.executable, "-c", BUILD, str(folder / "terminology"), str(folder / "pipeline")]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    figures = json.loads(output)
    print(
        f"{n_names:,} names: built in {figures['build_seconds']:.0f} s, saved in "
        f"{figures['save_seconds']:.1f} s, peak {figures['peak_mb']:,.0f} MB"
    )
    start = time.perf_counter()
    nlp = spacy.load(folder / "pipeline")
    print(f"opened in {time.perf_counter() - start:.1f} s")
    return nlp


def make_names(paths: list[Path], n_names: int) -> Iterator[str]:
    """The terminologies' names, then new ones: the beginning of one and the end of another."""
    names = [name for path in paths for name in Terminology.open(path).names["text"].to_pylist()]
    names = list(dict.fromkeys(names))[:n_names]
    yield from names
    words = [parts for parts in map(str.split, names) if len(parts) > 1]
    rng = random.Random(0)
    for _ in range(n_names - len(names)):
        left, right = rng.choice(words), rng.choice(words)
        yield " ".join([*left[: len(left) // 2], *right[len(right) // 2 :]])


def measure(nlp: spacy.Language, args: argparse.Namespace) -> None:
    """Print what finding mentions takes."""
    matcher = nlp.get_pipe("term_matcher")
    docs = [nlp.make_doc(text) for text in read_notes(args.notes)]
    tokens = sum(map(len, docs))
    start = time.perf_counter()
    list(matcher.pipe([nlp.make_doc("warm up")]))
    opening = time.perf_counter() - start
    best, n_found = float("inf"), 0
    for _ in range(args.repeat):
        fresh = [doc.copy() for doc in docs]
        start = time.perf_counter()
        found = list(matcher.pipe(fresh))
        best = min(best, time.perf_counter() - start)
        n_found = sum(len(doc.ents) for doc in found)
    print(f"{len(docs):,} notes, {tokens:,} tokens, {n_found:,} mentions found")
    print(f"first use (opening the dictionary): {opening:.2f} s")
    print(f"{tokens / best:,.0f} tokens/s")


if __name__ == "__main__":
    main()
