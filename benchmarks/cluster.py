"""What clustering costs per name, apart from the search: counts at 100 thresholds, and both lists.

    python benchmarks/cluster.py [--sizes 200000 2000000] [--lists] [--json OUT]

Synthetic names of 128 dimensions: topics of 64 names, far from each other, in which the nearest names
lie; concepts of 1 to 8 names; every fiftieth name has two concepts. Names are shuffled, so that
neighbours lie anywhere in memory. A topic is searched by itself, exactly, in the place of an index.
Every size runs in a process of its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from spacy_termlink.evaluation.cluster_lists import misplaced_names, new_pairs
from spacy_termlink.evaluation.clustering import Clustering, Neighbours, Owners

WIDTH, M, TOPIC, TOPICS_AT_ONCE = 128, 30, 64, 512


class Vectors:
    """Stands for the index: gives the vectors of names."""

    def __init__(self, vectors):
        self._vectors = vectors

    def vectors(self, rows):
        return self._vectors[rows]


def make_concepts(n, rng):
    """Concept of each place: 1 to 8 places beside each other."""
    return np.repeat(np.arange(n), rng.integers(1, 9, size=n))[:n]


def make_owners(concepts, order):
    """Some names have a second concept, which stands eight places further."""
    n = len(order)
    second = np.arange(0, n, 50)
    beside = concepts[np.minimum(second + 8, n - 1)]
    return Owners(np.concatenate([order, order[second]]), np.concatenate([concepts, beside]), n)


def make_names(concepts, rng):
    """Vectors, and the name that stands at each place of the topics."""
    n = len(concepts)
    order = rng.permutation(n)
    vectors = np.empty((n, WIDTH), dtype=np.float32)
    for start in range(0, n, TOPIC * TOPICS_AT_ONCE):
        names = order[start : start + TOPIC * TOPICS_AT_ONCE]
        here = concepts[start : start + len(names)] - concepts[start]

        def draw(size):
            return rng.standard_normal((size, WIDTH), dtype=np.float32)

        made = np.repeat(draw(len(names) // TOPIC), TOPIC, axis=0)
        made += 0.6 * draw(here[-1] + 1)[here] + 0.5 * draw(len(names))
        vectors[names] = made / np.linalg.norm(made, axis=1, keepdims=True)
    return vectors, order


def search(vectors, order):
    """The M nearest others of each name, out of its topic."""
    n = len(vectors)
    rows, cosines = np.empty((n, M), np.int32), np.empty((n, M), np.float32)
    for start in range(0, n, TOPIC * TOPICS_AT_ONCE):
        names = order[start : start + TOPIC * TOPICS_AT_ONCE].reshape(-1, TOPIC)
        found = vectors[names]  # (topics, TOPIC, WIDTH)
        near = found @ found.transpose(0, 2, 1)
        near[:, np.arange(TOPIC), np.arange(TOPIC)] = -2
        best = np.argsort(-near, axis=2, kind="stable")[:, :, :M]
        others = np.take_along_axis(names[:, None, :], best.reshape(len(names), 1, -1), axis=2)
        rows[names] = others.reshape(best.shape)
        cosines[names] = np.take_along_axis(near, best, axis=2)
    return Neighbours(rows, cosines)


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def measure(n, lists):
    n -= n % TOPIC
    rng = np.random.default_rng(0)
    concepts = make_concepts(n, rng)
    vectors, order = make_names(concepts, rng)
    neighbours, searching = timed(lambda: search(vectors, order))
    owners = make_owners(concepts, order)
    runs = [timed(lambda: Clustering(neighbours, owners)) for _ in range(2)]
    clustering, counting = min(runs, key=lambda run: run[1])
    best = clustering.row(clustering.best())
    found = {"names": n, "search_s": searching, "count_s": counting, "best": best}
    if lists:
        pairs, found["pairs_s"] = timed(lambda: new_pairs(neighbours, owners, best["threshold"]))
        names, found["misplaced_s"] = timed(
            lambda: misplaced_names(neighbours, owners, Vectors(vectors))
        )
        found.update(pairs=len(pairs), misplaced=len(names))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024 if sys.platform != "darwin" else 1024**2
    )
    return {**found, "count_us_per_name": 1e6 * counting / n, "peak_mb": peak}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[200_000, 2_000_000])
    parser.add_argument("--lists", action="store_true", help="both lists for the curator, too")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one, args.lists)))
        return
    results = []
    for size in args.sizes:
        command = [sys.executable, __file__, "--one", str(size), *(["--lists"] * args.lists)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(done.stdout)
        results.append(result)
        print(
            f"{result['names']:>10,} names: {result['count_us_per_name']:.2f} us a name to count "
            f"({result['count_s']:.1f} s), peak {result['peak_mb']:,.0f} MB; search, apart, "
            f"{result['search_s']:.1f} s; best F1 {result['best']['f1']:.3f}"
        )
        if args.lists:
            print(
                f"{'':>10}  {result['pairs']:,} new pairs in {result['pairs_s']:.1f} s, "
                f"{result['misplaced']:,} misplaced names in {result['misplaced_s']:.1f} s"
            )
    if len(results) > 1:
        ratio = results[-1]["count_us_per_name"] / results[0]["count_us_per_name"]
        print(f"cost per name, last to first: {ratio:.2f}")
    if args.json:
        args.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
