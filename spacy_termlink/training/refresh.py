"""Hard positives and hard negatives, searched with the weights of the moment (CODER++, seed 000)."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .batches import HardNames
from .data import TrainingData
from .schedule import generator
from .settings import RefreshSettings

#: Neighbours searched beyond m: an anchor's own names are among the nearest, and are dropped.
SPARE = 32
#: (vectors (N, D), queries (Q, D), n) -> rows of the n nearest vectors of each query, (Q, n), best
#: first, -1 where there are fewer. Faiss is of a higher rank: the command line passes it in.
Search = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
#: Texts by number -> embeddings of length 1.
Encode = Callable[[np.ndarray], np.ndarray]


@dataclass
class HardTable:
    """What a refresh found.

    rows (np.ndarray): Rows of `TrainingData.names` that took part, (P,) int32.
    positive (np.ndarray): Of each up to k rows of its own concept, (P, k) int32; -1 fills up.
    negative (np.ndarray): Of each up to m rows of other concepts, nearest first, (P, m) int32.
    number (int): Which refresh it is, from 0.
    seconds (float): What it took.
    """

    rows: np.ndarray
    positive: np.ndarray
    negative: np.ndarray
    number: int
    seconds: float


def draw_pool(data: TrainingData, size: int, *key: object) -> np.ndarray:
    """Rows of names that take part: all, or whole concepts of about `size` names."""
    concept = data.names.concept
    if not size or size >= len(concept):
        return np.arange(len(concept), dtype=np.int32)
    ids, counts = np.unique(concept, return_counts=True)
    order = generator(*key).permutation(len(ids))
    enough = int(np.searchsorted(np.cumsum(counts[order]), size)) + 1
    return np.flatnonzero(np.isin(concept, ids[order[:enough]])).astype(np.int32)


def refresh(
    data: TrainingData,
    settings: RefreshSettings,
    encode: Encode,
    search: Search,
    *,
    seed: int,
    number: int,
    share: Callable[[int], slice] = lambda n: slice(None),
) -> HardTable:
    """Encode the pool, search it with itself, keep the hard ones.

    data (TrainingData): Names, concepts, equivalents.
    settings (RefreshSettings): k, m, choice, pool.
    encode (Encode): With the current weights.
    search (Search): Nearest vectors.
    seed, number (int): Key of the random choices.
    share (Callable[[int], slice]): Which of n anchors this process searches; the rows of the others
        are -1 until the processes' shares are put together.
    """
    start = time.perf_counter()
    rows = draw_pool(data, settings.pool, seed, "pool", number)
    vectors = encode(data.names.text[rows])  # (P, D)
    positive = np.full((len(rows), settings.positives), -1, dtype=np.int32)
    negative = np.full((len(rows), settings.negatives), -1, dtype=np.int32)
    anchors = np.arange(len(rows))[share(len(rows))]
    n = min(len(rows), settings.negatives + SPARE)
    near = search(vectors, vectors[anchors], n)
    for i, anchor in enumerate(anchors.tolist()):
        kept = _negatives(data, rows, anchor, near[i])[: settings.negatives]
        negative[anchor, : len(kept)] = kept
    if settings.positives:
        own = _Positives(data, rows, vectors, settings, (seed, "positives", number))
        for anchor in anchors.tolist():
            kept = own.of(anchor)
            positive[anchor, : len(kept)] = kept
    return HardTable(rows, positive, negative, number, time.perf_counter() - start)


def draw_hard(
    data: TrainingData,
    table: HardTable,
    anchors: np.ndarray,
    *,
    positives: int,
    negatives: int,
    key: tuple[object, ...],
) -> HardNames:
    """Draw from what a refresh found.

    anchors (np.ndarray): Row of the table for each anchor, (A,); -1 for one that has none.
    positives, negatives (int): How many of each.
    key (tuple): Of the random choices.
    """
    rng = generator(*key)
    return HardNames(
        _draw(data, table.positive, anchors, positives, rng),
        _draw(data, table.negative, anchors, negatives, rng),
    )


def table_rows(data: TrainingData, table: HardTable) -> dict[tuple[int, int], int]:
    """Row of the table by text and concept."""
    texts, concepts = data.names.text[table.rows].tolist(), data.names.concept[table.rows].tolist()
    return {key: row for row, key in enumerate(zip(texts, concepts, strict=True))}


def _negatives(data: TrainingData, rows: np.ndarray, anchor: int, near: np.ndarray) -> np.ndarray:
    near = near[near >= 0]
    found = rows[near]
    concepts = data.names.concept
    own = int(concepts[rows[anchor]])
    others = found[concepts[found] != own]
    barred = data.equivalents.barred.get(data.concepts[own])
    if barred:
        others = others[[data.concepts[c] not in barred for c in concepts[others].tolist()]]
    normal = data.normal(int(data.names.text[rows[anchor]]))
    return np.array(
        [
            row
            for row, text in zip(others.tolist(), data.names.text[others].tolist(), strict=True)
            if data.normal(text) != normal and own not in data.sharers.get(data.normal(text), ())
        ],
        dtype=np.int32,
    )


class _Positives:
    """The names of an anchor's concept in the pool, other than itself in normal form."""

    def __init__(
        self,
        data: TrainingData,
        rows: np.ndarray,
        vectors: np.ndarray,
        settings: RefreshSettings,
        key: tuple[object, ...],
    ) -> None:
        self._data, self._rows, self._vectors = data, rows, vectors
        self._settings, self._key = settings, key
        self._groups: dict[int, list[int]] = {}
        for place, concept in enumerate(data.names.concept[rows].tolist()):
            self._groups.setdefault(concept, []).append(place)

    def of(self, anchor: int) -> np.ndarray:
        data, rows, k = self._data, self._rows, self._settings.positives
        text = data.names.text
        normal = data.normal(int(text[rows[anchor]]))
        group = self._groups[int(data.names.concept[rows[anchor]])]
        others = [p for p in group if data.normal(int(text[rows[p]])) != normal]
        if len(others) > k and self._settings.choose == "random":
            picked = generator(*self._key, anchor).permutation(len(others))[:k]
            others = [others[i] for i in sorted(picked.tolist())]
        elif len(others) > k or self._settings.choose == "hardest":
            scores = self._vectors[others] @ self._vectors[anchor]
            others = [others[i] for i in np.argsort(scores, kind="stable")[:k].tolist()]
        return rows[others]


def _draw(
    data: TrainingData, found: np.ndarray, anchors: np.ndarray, n: int, rng: np.random.Generator
) -> np.ndarray:
    """n of the rows of each anchor, at random: text and concept, (A, n, 2)."""
    drawn = np.full((len(anchors), n, 2), -1, dtype=np.int32)
    if not n:
        return drawn
    rows = np.where(anchors[:, None] >= 0, found[np.maximum(anchors, 0)], -1)  # (A, m)
    keys = np.where(rows >= 0, rng.random(rows.shape), 2.0)  # those that fill up come last
    order = np.argsort(keys, axis=1, kind="stable")[:, :n]
    rows = np.take_along_axis(rows, order, axis=1)
    there = rows >= 0
    drawn[:, : rows.shape[1], 0] = np.where(there, data.names.text[rows], -1)
    drawn[:, : rows.shape[1], 1] = np.where(there, data.names.concept[rows], -1)
    return drawn
