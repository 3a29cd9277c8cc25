"""How well a T5 tells a concept's other name from names that look like it.

    python benchmarks/yes_no.py T5 MINED [--split test] [--json OUT]

T5 is a folder of 'termlink train-reranker' (kind "t5"), trained on a KB without the names held out;
MINED the folder of 'termlink mine', whose heldout.jsonl has those names. Each held-out name is asked
about with the preferred name of its concept and with the 15 preferred names of other concepts that are
nearest by BM25: to the held-out name itself, as a recall stage would propose them, and to the right
name (docs/reranking.md gives the figures of both). AUC is the share of (right, wrong) pairs, over all questions, in which the right one has the
higher score; the interval is over held-out names. Token overlap is the share of the held-out name's
words that the other name has, and for ties the reverse share.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from spacy_termlink.evaluation.bootstrap import percentile_interval, resample_weights
from spacy_termlink.lexical.bm25 import Bm25Index
from spacy_termlink.mining import read_names
from spacy_termlink.rerank.t5 import make_t5_reranker
from spacy_termlink.text import normalize

NEAREST = 15


def read_questions(mined, split):
    """(held-out name, concept) and, by concept, names and the preferred one."""
    names, preferred = defaultdict(set), {}
    for row in read_names(mined / "names.jsonl"):
        names[row.concept_id].add(normalize(row.text))
        if row.kind == "preferred":
            preferred[row.concept_id] = row.text
    with (mined / "heldout.jsonl").open(encoding="utf8") as file:
        rows = [json.loads(line) for line in file]
    held = [
        (row["text"], row["concepts"][0])
        for row in rows
        if row["split"] == split and row["concepts"][0] in preferred
    ]
    return held, names, preferred


def make_groups(held, names, preferred, *, near_to):
    """Per held-out name: the right name, then the wrong ones."""
    concepts = sorted(preferred)
    texts = [preferred[concept] for concept in concepts]
    index = Bm25Index(texts)
    queries = [text if near_to == "mention" else preferred[concept] for text, concept in held]
    rows, _ = index.search(queries, n=NEAREST + 30)
    groups = []
    for (text, concept), found in zip(held, rows.tolist(), strict=True):
        wrong = [
            texts[row]
            for row in found
            if row >= 0 and concepts[row] != concept and normalize(text) not in names[concepts[row]]
        ]
        groups.append((text, [preferred[concept], *wrong[:NEAREST]]))
    return groups


def overlap(mention, name):
    """Share of the mention's words that the name has; the reverse share decides ties."""
    left, right = set(normalize(mention).split()), set(normalize(name).split())
    common = len(left & right)
    return common / len(left) + 1e-3 * common / len(right)


def auc(scores, right, weights):
    """Weighted AUC, ties count half. Scores ascending come in blocks of equals."""
    _, block = np.unique(scores, return_inverse=True)
    n = block.max() + 1
    positive = np.bincount(block, weights * right, minlength=n)
    negative = np.bincount(block, weights * ~right, minlength=n)
    below = np.cumsum(negative) - negative
    return float((positive * (below + negative / 2)).sum() / (positive.sum() * negative.sum()))


def compare(groups, scored):
    """AUC of each score, and of their difference to overlap, with intervals."""
    owner = np.repeat(np.arange(len(groups)), [len(names) for _, names in groups])
    right = np.concatenate([np.arange(len(names)) == 0 for _, names in groups])
    draws = np.concatenate(list(resample_weights(len(groups))))
    found = {}
    for name, scores in scored.items():
        ones = np.ones(len(owner))
        found[name] = (
            auc(scores, right, ones),
            np.array([auc(scores, right, w[owner]) for w in draws]),
        )
    base = found["token overlap"]
    return {
        name: {
            "auc": value,
            "ci": percentile_interval(drawn),
            "above_overlap": value - base[0],
            "above_overlap_ci": percentile_interval(drawn - base[1]),
        }
        for name, (value, drawn) in found.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("t5", type=Path)
    parser.add_argument("mined", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    held, names, preferred = read_questions(args.mined, args.split)
    t5 = make_t5_reranker(path=str(args.t5))(SimpleNamespace(terminology=None))
    report = {"n": len(held)}
    for near_to in ("mention", "right name"):
        groups = make_groups(held, names, preferred, near_to=near_to)
        pairs = [(text, name) for text, own in groups for name in own]
        start = time.perf_counter()
        scores = t5.probabilities([{"mention": text, "name": name} for text, name in pairs])
        seconds = time.perf_counter() - start
        plain = np.array([overlap(*pair) for pair in pairs])
        figures = compare(groups, {"T5": scores, "token overlap": plain})
        report[f"near the {near_to}"] = figures
        print(
            f"\n{len(held):,} held-out names, {len(pairs):,} questions, wrong names near the {near_to}"
        )
        for name, row in figures.items():
            low, high = row["ci"]
            print(f"  AUC of {name:14s} {row['auc']:.4f} [{low:.4f}, {high:.4f}]")
        low, high = figures["T5"]["above_overlap_ci"]
        gain = figures["T5"]["above_overlap"]
        print(f"  difference            {gain:+.4f} [{low:+.4f}, {high:+.4f}]")
        print(f"  {len(pairs) / seconds:,.0f} questions a second", flush=True)
    if args.json:
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf8")


if __name__ == "__main__":
    sys.exit(main())
