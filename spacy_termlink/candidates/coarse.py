"""Inverted lists for millions of names: IVF_SQ8, and IVF_PQ with 8-bit vectors that refine it.

Faiss's own way trains all centroids at once and lets lists grow as they fill: for ten million names
that takes a day on two cores and twice the memory. Here centroids are trained on two levels, each row
is assigned once, and the lists are given their size before they are filled.
"""

from typing import Any, NamedTuple, Optional

import numpy as np

from .dense_index import has_gpus, one_thread
from .index_specs import GRAPH_FROM, HNSW_LINKS, n_lists, n_parts

#: Rows read, assigned and added at once.
BLOCK_ROWS = 32_768
#: Rows per list that its centroid is trained on.
ROWS_PER_CENTROID = 16
#: From this many centroids on they are trained on two levels.
TWO_LEVELS_FROM = 1024
ITERATIONS = 10
#: Rows that quantisers are trained on, and the rotation before a product quantiser, which takes long.
QUANTISED_ROWS, ROTATED_ROWS = 65_536, 16_384
#: Rounds of the rotation, and of the clusters of each part in the first of them and the later ones.
ROTATIONS, FIRST_ROUND, LATER_ROUNDS = 8, 8, 2
#: Clusters of the first level whose centroids a row is compared with, to find its list.
CLUSTERS_COMPARED = 3


def spread_rows(n: int, wanted: int) -> Any:
    """Rows evenly spread over n, all of them as a slice if no more are wanted than there are."""
    if n <= wanted:
        return slice(0, n)
    return np.linspace(0, n - 1, wanted).astype(np.int64)


def build_ivf_sq8(vectors: Any) -> tuple[Any, None]:
    """Inverted lists of 8-bit vectors."""
    import faiss

    n, width = vectors.shape
    centroids = train_centroids(_sample(vectors, ROWS_PER_CENTROID * n_lists(n)), n_lists(n))
    quantiser = _index_centroids(centroids.rows)
    index: Any = faiss.IndexIVFScalarQuantizer(
        quantiser, width, quantiser.ntotal, faiss.ScalarQuantizer.QT_8bit,
        faiss.METRIC_INNER_PRODUCT, True,  # what is left of a row without its centroid
    )  # fmt: skip
    index.train(_sample(vectors, QUANTISED_ROWS))
    _fill(index, vectors, centroids)
    return index, None


def build_ivf_pq(vectors: Any) -> tuple[Any, Any]:
    """Inverted lists of product-quantised vectors behind a rotation (OPQ, Ge et al. 2013), and 8-bit
    vectors in the order of the rows."""
    import faiss

    n, width = vectors.shape
    parts = n_parts(width)
    rotation = faiss.OPQMatrix(width, parts)
    bits = int(np.clip(np.log2(max(2, min(n, ROTATED_ROWS) / 39)), 1, 8))
    quantiser_of_rotation = faiss.ProductQuantizer(width, parts, bits)
    rotation.pq = quantiser_of_rotation
    rotation.niter, rotation.niter_pq_0, rotation.niter_pq = ROTATIONS, FIRST_ROUND, LATER_ROUNDS
    rotation.max_train_points = ROTATED_ROWS
    rotation.train(_sample(vectors, ROTATED_ROWS))
    lists = n_lists(n)
    sample = rotation.apply(_sample(vectors, max(QUANTISED_ROWS, ROWS_PER_CENTROID * lists)))
    centroids = train_centroids(sample, lists)
    quantiser = _index_centroids(centroids.rows)
    index: Any = faiss.IndexIVFPQ(quantiser, width, lists, parts, bits, faiss.METRIC_INNER_PRODUCT)
    index.pq.cp.niter = ITERATIONS
    index.train(sample[spread_rows(len(sample), QUANTISED_ROWS)])
    del sample
    _fill(index, vectors, centroids, rotation)
    return faiss.IndexPreTransform(rotation, index), _build_refinement(vectors)


def _build_refinement(vectors: Any) -> Any:
    import faiss

    n, width = vectors.shape
    refine: Any = faiss.IndexScalarQuantizer(
        width, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    refine.train(_sample(vectors, QUANTISED_ROWS))
    refine.codes.resize(n * refine.code_size)
    refine.codes.resize(0)
    for first in range(0, n, BLOCK_ROWS):
        refine.add(np.ascontiguousarray(vectors[first : first + BLOCK_ROWS]))
    return refine


def _sample(vectors: Any, wanted: int) -> np.ndarray:
    return np.ascontiguousarray(vectors[spread_rows(len(vectors), wanted)])


class Centroids(NamedTuple):
    """Centroids of lists.

    rows (np.ndarray): (k, D) float32, of norm 1; those of one cluster lie together.
    clusters (Optional[np.ndarray]): Centroids of the first level, (C, D); None where there is one
        level only.
    ends (np.ndarray): Where the centroids of each cluster end, (C,).
    """

    rows: np.ndarray
    clusters: Optional[np.ndarray]
    ends: np.ndarray

    def nearest(self, rows: np.ndarray) -> np.ndarray:
        """The centroid nearest to each row, of two levels among those of the nearest clusters.
        (B,) int64."""
        if self.clusters is None:
            return np.argmax(rows @ self.rows.T, axis=1)
        some = min(CLUSTERS_COMPARED, len(self.clusters))
        near = np.argpartition(-(rows @ self.clusters.T), some - 1, axis=1)[:, :some]
        best = np.full(len(rows), -np.inf, dtype=np.float32)
        found = np.zeros(len(rows), dtype=np.int64)
        for cluster, end in enumerate(self.ends.tolist()):
            start = int(self.ends[cluster - 1]) if cluster else 0
            members = np.flatnonzero((near == cluster).any(axis=1))
            if start == end or not len(members):
                continue
            scores = rows[members] @ self.rows[start:end].T
            nearest = np.argmax(scores, axis=1)
            scores = scores[np.arange(len(members)), nearest]
            better = scores > best[members]
            best[members[better]] = scores[better]
            found[members[better]] = start + nearest[better]
        return found


def _index_centroids(centroids: np.ndarray) -> Any:
    """The index that finds the lists of a query."""
    import faiss

    k, width = centroids.shape
    if k < GRAPH_FROM:
        flat = faiss.IndexFlatIP(width)
        flat.add(centroids)
        return flat
    # half floats: all of them are read when the index is opened
    half: Any = faiss.ScalarQuantizer.QT_fp16
    graph: Any = faiss.IndexHNSWSQ(width, half, HNSW_LINKS, faiss.METRIC_INNER_PRODUCT)
    with one_thread(True):
        graph.train(centroids)
        graph.add(centroids)
    return graph


def train_centroids(sample: np.ndarray, k: int) -> Centroids:
    """k centroids by spherical k-means. Many are trained on two levels: sqrt(k) clusters, then in each
    as many as fit its share of the sample. That costs sqrt(k) instead of k comparisons a row and
    round.
    """
    if k < TWO_LEVELS_FROM:
        return Centroids(_kmeans(sample, k), None, np.array([k]))
    n_clusters = int(k**0.5)
    clusters = _kmeans(sample[spread_rows(len(sample), 256 * n_clusters)], n_clusters)
    one_level = Centroids(clusters, None, np.array([n_clusters]))
    blocks = range(0, len(sample), BLOCK_ROWS)
    nearest = np.concatenate([one_level.nearest(sample[i : i + BLOCK_ROWS]) for i in blocks])
    shares = _shares(np.bincount(nearest, minlength=n_clusters), k)
    parts = [
        _kmeans(sample[nearest == cluster], share)
        for cluster, share in enumerate(shares.tolist())
        if share
    ]
    return Centroids(np.concatenate(parts), clusters, np.cumsum(shares))


def _shares(sizes: np.ndarray, k: int) -> np.ndarray:
    """k split in proportion to sizes, by largest remainder; none gets more than its size."""
    exact = sizes * (k / sizes.sum())
    shares = np.floor(exact).astype(np.int64)
    order = np.argsort(shares - exact, kind="stable")
    shares[order[: k - int(shares.sum())]] += 1
    return shares


def _kmeans(rows: np.ndarray, k: int) -> np.ndarray:
    """Centroids, trained on the GPUs where Faiss knows any; sums in another order than the processor's
    may then give others."""
    import faiss

    kmeans: Any = faiss.Kmeans(
        rows.shape[1], k, niter=ITERATIONS, spherical=True, seed=1234, min_points_per_centroid=1,
        gpu=has_gpus(),
    )  # fmt: skip
    kmeans.train(np.ascontiguousarray(rows))
    return kmeans.centroids


def _fill(index: Any, vectors: Any, centroids: Centroids, rotation: Any = None) -> None:
    """Assign every row to its list, make room in the lists, then add the rows."""
    import faiss

    n = len(vectors)

    def block(first: int) -> np.ndarray:
        rows = np.ascontiguousarray(vectors[first : first + BLOCK_ROWS])
        return rows if rotation is None else rotation.apply(rows)

    assigned = np.empty(n, dtype=np.int64)
    for first in range(0, n, BLOCK_ROWS):
        rows = block(first)
        assigned[first : first + len(rows)] = centroids.nearest(rows)
    for number, size in enumerate(np.bincount(assigned, minlength=index.nlist).tolist()):
        index.invlists.resize(number, size)
        index.invlists.resize(number, 0)
    for first in range(0, n, BLOCK_ROWS):
        rows = block(first)
        numbers = np.arange(first, first + len(rows), dtype=np.int64)
        index.add_core(
            len(rows), faiss.swig_ptr(rows), faiss.swig_ptr(numbers),
            faiss.swig_ptr(assigned[first : first + len(rows)]),
        )  # fmt: skip
