"""Graded gains from the hierarchy, and nDCG (DESIGN.md, section 7; seed 002)."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..terminology import Terminology

#: Gains by distance from the gold concept.
GAIN_SELF, GAIN_NEAR, GAIN_FAR = 3, 2, 1


class Gains:
    """Graded gain of every concept for a gold one.

    3 for the concept itself, 2 for a parent or child, 1 for a grandparent, grandchild, sibling or
    uncle (a parent's sibling); else 0. A concept that stands in several relations has the best one.
    """

    def __init__(self, terminology: Terminology) -> None:
        self._terminology = terminology
        self._known: dict[str, dict[str, int]] = {}
        self._ideals: dict[tuple[str, ...], np.ndarray] = {}

    def of(self, gold_id: str) -> dict[str, int]:
        """Ids with a gain above 0; retired concepts have none, no search may find them."""
        if gold_id not in self._known:
            self._known[gold_id] = self._compute(gold_id)
        return self._known[gold_id]

    def of_all(self, gold_ids: Sequence[str]) -> Mapping[str, int]:
        """Ids with a gain above 0 for any of several gold ids, each with its best one."""
        if len(gold_ids) == 1:
            return self.of(gold_ids[0])
        best: dict[str, int] = {}
        for gold_id in gold_ids:
            for other, gain in self.of(gold_id).items():
                best[other] = max(gain, best.get(other, 0))
        return best

    def ideal(self, gold_ids: Sequence[str], n: int) -> np.ndarray:
        """DCG@1 to DCG@n, (n,), of the ideal list for any of these gold ids."""
        key = tuple(gold_ids)
        if key not in self._ideals or len(self._ideals[key]) < n:
            self._ideals[key] = dcgs(sorted(self.of_all(key).values(), reverse=True), n)
        return self._ideals[key][:n]

    def _compute(self, gold_id: str) -> dict[str, int]:
        graph, terminology = self._terminology.graph, self._terminology
        row = terminology.row(gold_id)
        parents, children = graph.parents(row), graph.children(row)
        far = {*graph.siblings(row)}
        for parent in parents:
            far.update(graph.parents(parent), graph.siblings(parent))
        for child in children:
            far.update(graph.children(child))
        gains = dict.fromkeys(far, GAIN_FAR)
        gains.update(dict.fromkeys([*parents, *children], GAIN_NEAR))
        gains[row] = GAIN_SELF
        retired = terminology.obsolete
        return {terminology.concept_id(r): gain for r, gain in gains.items() if not retired[r]}


def dcgs(gains: Sequence[float], n: int) -> np.ndarray:
    """Discounted cumulative gain at each rank from 1 to n, (n,): the sum of gain / log2(rank + 1)
    so far. A list shorter than n counts as padded with zeros."""
    padded = np.zeros(n)
    padded[: len(gains)] = gains[:n]
    return np.cumsum(padded / np.log2(np.arange(2, n + 2)))


def dcg(gains: Iterable[float]) -> float:
    """Discounted cumulative gain: sum of gain / log2(rank + 1), rank from 1."""
    given = list(gains)
    return float(dcgs(given, len(given))[-1]) if given else 0.0


def ndcg(found: Sequence[float], existing: Iterable[float], k: int) -> float:
    """nDCG@k with linear gain.

    found (Sequence[float]): Gains of the concepts found, best rank first; a short list counts as
        padded with zeros.
    existing (Iterable[float]): Gains of every concept of the terminology (zeros may be left out):
        the ideal list is the best k of them, whether found or not.
    RETURNS (float): 0 to 1; 0 where nothing with a gain exists.
    """
    ideal = dcg(sorted(existing, reverse=True)[:k])
    return dcg(found[:k]) / ideal if ideal else 0.0
