"""How much of exact search an index finds, for queries beside its rows; and how hard it must search."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from .dense_index import EF_SEARCH, DenseIndex

#: Rows of a block that is compared with all queries at once.
BLOCK_ROWS = 32_768
#: Recall of the nearest names that an index should reach on the sample, and of how many of them.
WANTED, K = 0.97, 10
#: Recall that is not worth more effort.
NO_MATTER = 0.005
#: Queries of the sample.
N_QUERIES = 256
#: Steps of effort that are tried: nodes that a graph search keeps, lists that are gone through.
EFFORTS_HNSW = (EF_SEARCH, 2 * EF_SEARCH, 4 * EF_SEARCH)
EFFORTS_IVF = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768)


class Sample(NamedTuple):
    """Queries of which the exact answer is known.

    vectors (np.ndarray): (Q, D) float32.
    nearest (np.ndarray): Rows of the K nearest, (Q, K) int64.
    """

    vectors: np.ndarray
    nearest: np.ndarray


def exact_neighbours(vectors: Any, queries: np.ndarray, n: int) -> np.ndarray:
    """Rows of the n largest inner products, best first, ties by row, (Q, n) int64.

    vectors (np.ndarray, VectorShards): (N, D) float32, read a block at a time.
    queries (np.ndarray): (Q, D) float32.
    """
    n = min(n, len(vectors))
    scores: Any = np.empty((len(queries), 0), dtype=np.float32)
    rows: Any = np.empty((len(queries), 0), dtype=np.int64)
    for first in range(0, len(vectors), BLOCK_ROWS):
        block = queries @ vectors[first : first + BLOCK_ROWS].T
        if scores.shape[1] < n:
            some = min(n, block.shape[1])
            best = np.argpartition(-block, some - 1, axis=1)[:, :some]
            # what equals the last of them may have been left out for a later row
            place, column = np.nonzero(
                block >= np.take_along_axis(block, best, axis=1).min(1)[:, None]
            )
        else:
            place, column = np.nonzero(block > scores[:, -1:])
        scores, rows = _merge(scores, rows, place, block[place, column], column + first, n)
    return rows


def _merge(
    scores: np.ndarray, rows: np.ndarray, place: np.ndarray, new_scores: np.ndarray,
    new_rows: np.ndarray, n: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The n best of lists and of what came new to some of them, by score, then by row."""
    place = np.concatenate([np.repeat(np.arange(len(scores)), scores.shape[1]), place])
    all_scores = np.concatenate([scores.ravel(), new_scores])
    all_rows = np.concatenate([rows.ravel(), new_rows])
    order = np.lexsort((all_rows, -all_scores, place))
    starts = np.searchsorted(place[order], np.arange(len(scores)))
    some = min(n, int(np.bincount(place, minlength=len(scores)).min(initial=n)))
    kept = order[starts[:, None] + np.arange(some)]
    return all_scores[kept], all_rows[kept]


def take_sample(vectors: Any, *, n_queries: int = N_QUERIES, k: int = K) -> Sample:
    """Queries beside rows that are evenly spread over an index, with their nearest by exact search.

    A mention is no name, but lies beside some. So each row is moved by the difference of another row
    and its k-th neighbour (over the root of 2), which is about as far, and in such directions, as names
    of one concept differ.
    """
    n = len(vectors)
    rows = np.unique(np.linspace(0, n - 1, n_queries).astype(np.int64))
    others = vectors[np.random.default_rng(0).integers(n, size=len(rows))]
    neighbours = vectors[exact_neighbours(vectors, others, k + 1)[:, -1]]
    queries = vectors[rows] + np.float32(0.5**0.5) * (others - neighbours)
    queries /= np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-12)
    return Sample(queries, exact_neighbours(vectors, queries, k))


def recall(index: DenseIndex, sample: Sample) -> float:
    """Share of the nearest rows of the sample's queries that the index finds."""
    found, _ = index.search(sample.vectors, n=sample.nearest.shape[1])
    pairs = zip(found.tolist(), sample.nearest.tolist(), strict=True)
    return sum(len(set(a) & set(b)) for a, b in pairs) / max(1, sample.nearest.size)


def tune(index: DenseIndex, vectors: Any, *, sample: Optional[Sample] = None) -> float:
    """Set the least effort at which the index reaches WANTED; where none does, the least that comes
    about as near as any.

    index (DenseIndex): A graph or inverted lists; another is measured only.
    vectors (np.ndarray, VectorShards): What it was built of.
    RETURNS (float): The recall reached.
    """
    sample = take_sample(vectors) if sample is None else sample
    reached: dict[Optional[int], float] = {}
    for effort in _efforts(index):
        if effort is not None:
            index.effort = effort
        reached[effort] = recall(index, sample)
        if reached[effort] >= WANTED:
            break
    least = min(WANTED, max(reached.values()) - NO_MATTER)
    effort = next(effort for effort in reached if reached[effort] >= least)
    if effort is not None:
        index.effort = effort
    return reached[effort]


def _efforts(index: DenseIndex) -> Sequence[Optional[int]]:
    if index.effort is None:
        return (None,)
    if not index.n_lists:
        return EFFORTS_HNSW
    return [*(effort for effort in EFFORTS_IVF if effort < index.n_lists), index.n_lists][
        : len(EFFORTS_IVF)
    ]
