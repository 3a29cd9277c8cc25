"""Clustering of all names of a KB: are two names synonyms? (seed 000: CODER++, section 3.2;
DESIGN.md, section 7).

Two names are a positive pair when they share a concept. A pair is predicted at threshold θ when
either name is among the other's m nearest and their cosine is above θ. Every unordered pair counts
once. Time and memory are linear in the names: only the lists and the concepts' own pairs are walked.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Optional

import numpy as np

from ..candidates.faiss_index import DenseIndex
from ..counts import PRF, prf
from ..errors import TermlinkError

#: Names whose lists are searched or counted at once.
BLOCK = 4096


class Owners:
    """The concepts of each name, a compressed adjacency.

    offsets (np.ndarray): (n + 1,) int64.
    concepts (np.ndarray): Those of name i are `concepts[offsets[i]:offsets[i + 1]]`, ascending, each
        once; every name has one at least.
    """

    def __init__(self, names: np.ndarray, concepts: np.ndarray, n_names: int) -> None:
        """Build from entries.

        names, concepts (np.ndarray): Entry i says that name names[i] names concept concepts[i];
            double entries count once. (E,) each.
        n_names (int): n.
        """
        self.n_names = n_names
        self._base = int(concepts.max(initial=0)) + 1
        self._keys = np.unique(names.astype(np.int64) * self._base + concepts)
        named, self.concepts = np.divmod(self._keys, self._base)
        self.degree = np.bincount(named, minlength=n_names)
        self.offsets = np.zeros(n_names + 1, dtype=np.int64)
        np.cumsum(self.degree, out=self.offsets[1:])

    def of(self, name: int) -> np.ndarray:
        """Concepts of a name, ascending."""
        return self.concepts[self.offsets[name] : self.offsets[name + 1]]

    def share(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether the names of each pair share a concept, (P,) bool.

        a, b (np.ndarray): Names, (P,) each.
        """
        shared = self.concepts[self.offsets[a]] == self.concepts[self.offsets[b]]
        # only names of several concepts need a second look
        left = np.flatnonzero(~shared & ((self.degree[a] > 1) | (self.degree[b] > 1)))
        pair, concept = self._spread(left, a)
        wanted = b[pair] * np.int64(self._base) + concept
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        shared[pair[self._keys[at] == wanted]] = True
        return shared

    def n_positive_pairs(self) -> int:
        """Unordered pairs of names that share a concept; one that shares several counts once."""
        sizes = np.bincount(self.concepts)
        total = int((sizes * (sizes - 1) // 2).sum())
        # counted more than once: pairs of names that both have several concepts
        several = np.repeat(self.degree > 1, self.degree)
        names = np.repeat(np.arange(self.n_names), self.degree)[several]
        concepts = self.concepts[several]
        order = np.lexsort((names, concepts))
        names, concepts = names[order], concepts[order]
        ends = np.searchsorted(concepts, concepts, side="right")
        later = ends - np.arange(len(names)) - 1  # names of the same concept that follow
        first = np.repeat(np.arange(len(names)), later)
        step = np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
        keys = names[first] * np.int64(self.n_names) + names[first + step + 1]
        return total - (len(keys) - len(np.unique(keys)))

    def _spread(self, pairs: np.ndarray, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each pair once for each concept of its name, and that concept."""
        n = self.degree[names[pairs]]
        start = np.repeat(self.offsets[names[pairs]] - (np.cumsum(n) - n), n)
        return np.repeat(pairs, n), self.concepts[start + np.arange(len(start))]


class Neighbours(NamedTuple):
    """The m nearest other names of each name, nearest first.

    rows (np.ndarray): (n, m) int32; -1 where an approximate index finds fewer.
    cosines (np.ndarray): (n, m) float32.
    """

    rows: np.ndarray
    cosines: np.ndarray


def owners_of(kb: Any) -> Owners:
    """The concepts of a KB's unique names (rows of its index)."""
    names = np.repeat(np.arange(len(kb.names)), np.diff(kb.names.offsets))
    return Owners(names, kb.terminology.concept_rows[kb.names.name_rows], len(kb.names))


def find_neighbours(
    index: DenseIndex, m: int, *, progress: Optional[Callable[[int], object]] = None
) -> Neighbours:
    """Search the names of an index with their own vectors, a block at a time.

    m (int): Neighbours of each, itself not among them.
    progress (Optional[Callable]): Called with the number of names done since the last call.
    """
    n = len(index)
    m = max(0, min(m, n - 1))
    rows, cosines = np.full((n, m), -1, dtype=np.int32), np.zeros((n, m), dtype=np.float32)
    for start in range(0, n, BLOCK):
        own = np.arange(start, min(n, start + BLOCK))
        found, scores = index.search(index.vectors(own), n=m + 1)
        # itself goes last and is cut; among names of equal vectors it need not be the first
        order = np.argsort(found == own[:, None], axis=1, kind="stable")[:, :m]
        rows[own] = np.take_along_axis(found, order, axis=1)
        cosines[own] = np.take_along_axis(scores, order, axis=1)
        if progress:
            progress(len(own))
    return Neighbours(rows, cosines)


def distinct_pairs(neighbours: Neighbours) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Pairs of which either name is in the other's list, each once, a block of lists at a time.

    A pair that is in both lists comes from the list of the lower name.

    YIELDS (tuple[np.ndarray, np.ndarray, np.ndarray]): Lower and higher name, and the cosine, (P,).
    """
    rows, cosines = neighbours
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        place, column = np.nonzero(block >= 0)
        own, other = (place + start).astype(np.int32), block[place, column]
        higher = np.flatnonzero(own > other)
        known = (rows[other[higher]] == own[higher, None]).any(axis=1)
        kept = np.ones(len(own), dtype=bool)
        kept[higher[known]] = False
        own, other = own[kept].astype(np.int64), other[kept].astype(np.int64)
        cosine = cosines[start : start + BLOCK][place, column][kept]
        yield np.minimum(own, other), np.maximum(own, other), cosine


class Clustering:
    """Counts at every threshold.

    n_names (int): n; there are n (n - 1) / 2 pairs.
    m (int): Length of the lists.
    positives (int): Pairs that share a concept.
    thresholds (np.ndarray): Ascending, (T,).
    tp, fp (np.ndarray): Predicted pairs that do and do not share a concept, (T,) int64.
    n_listed (int): Pairs that share a concept and stand in a list, whatever their cosine: no
        threshold finds more.
    """

    def __init__(
        self,
        neighbours: Neighbours,
        owners: Owners,
        *,
        n_thresholds: int = 100,
    ) -> None:
        self.n_names, self.m = neighbours.rows.shape
        self.positives = owners.n_positive_pairs()
        self.thresholds = np.arange(n_thresholds) / n_thresholds
        # by how many thresholds lie below the cosine: [no positive pair, positive pair]
        counts = np.zeros((2, n_thresholds + 1), dtype=np.int64)
        for a, b, cosine in distinct_pairs(neighbours):
            shared = owners.share(a, b)
            below = np.searchsorted(self.thresholds, cosine.astype(np.float64), side="left")
            counts[0] += np.bincount(below[~shared], minlength=n_thresholds + 1)
            counts[1] += np.bincount(below[shared], minlength=n_thresholds + 1)
        self.n_listed = int(counts[1].sum())
        above = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
        self.fp, self.tp = above[:, 1:]

    def at(self, i: int) -> PRF:
        """Precision, recall and F1 at threshold i."""
        tp = int(self.tp[i])
        return prf(tp, int(self.fp[i]), self.positives - tp)

    def best(self) -> int:
        """Threshold of the best F1; of equal ones the highest."""
        return max(range(len(self.thresholds)), key=lambda i: (self.at(i).f1, i))

    def row(self, i: int) -> dict[str, Any]:
        """Every figure at threshold i, with the four counts."""
        found = self.at(i)
        pairs = self.n_names * (self.n_names - 1) // 2
        true_negatives = pairs - found.tp - found.fp - found.fn
        return {"threshold": float(self.thresholds[i]), **found._asdict(), "tn": true_negatives}

    def report(self) -> dict[str, Any]:
        """What `termlink cluster --json` writes, but for the KB's name."""
        return {
            "n_names": self.n_names,
            "m": self.m,
            "n_positive_pairs": self.positives,
            "n_positive_pairs_listed": self.n_listed,
            "best": self.row(self.best()),
            "thresholds": [self.row(i) for i in range(len(self.thresholds))],
        }


def check_names(kb: Any) -> None:
    """Refuse a KB that has no pair of names.

    RAISES (TermlinkError): TL940.
    """
    if len(kb.names) < 2:
        raise TermlinkError("TL940", path=kb.path, n=len(kb.names))
