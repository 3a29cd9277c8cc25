"""Tokens per second of term_matcher, after tokenisation.

python benchmarks/matcher.py kb/hpo --notes DIR
"""

import argparse
import time
from pathlib import Path

import spacy
from link import ASSETS, read_notes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kb", type=Path, help="KB or terminology folder")
    parser.add_argument(
        "--notes", type=Path, default=ASSETS / "notes.jsonl", help="a .jsonl, or a folder of notes"
    )
    parser.add_argument(
        "--repeat", type=int, default=5, help="runs; the best one counts (default 5)"
    )
    args = parser.parse_args()
    nlp = spacy.blank("en")
    nlp.add_pipe("term_matcher", config={"kb": str(args.kb)})
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
