"""The dense index: Faiss over the vectors of the unique names, inner product of unit-norm rows."""

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import TermlinkError

FILE = "dense.faiss"
#: From this many names on `auto` takes HNSW: flat search costs 2 x names x D operations a query.
#: (IVF is built faster, but loses two points of Hits@1 at the same speed.)
HNSW_FROM = 20_000
#: From this many names on `auto` also quantises: 4 times less memory.
SQ8_FROM = 1_000_000
#: Share of the lists of an IVF index that a search goes through, and at least how many.
PROBED, LEAST_PROBED = 1 / 8, 8
#: What Faiss wants to train a centroid on.
POINTS_PER_CENTROID = 39
#: Fewer queries are searched by one thread: starting and awaiting the others takes longer.
FEW_QUERIES = 64
HNSW_LINKS = 32
#: What Faiss does not refuse, but dies of: parts of no size, a graph with less than two links a node.
_ZERO, _ONE_LINK = re.compile(r"(?<![0-9.])0+(?![0-9.])"), re.compile(r"HNSW1(?![0-9])")
EF_CONSTRUCTION = 80
EF_SEARCH = 96
#: An approximate index walks past most of what a narrow mask allows; below this many allowed rows
#: they are compared one by one.
BRUTE_FORCE_ROWS = 4096


def factory_string(spec: str, n: int, width: int) -> str:
    """Faiss factory string of an index spec.

    spec (str): auto, Flat, HNSW, IVF, SQ8, PQ, or a factory string, which is passed on.
    n (int): Names to index.
    width (int): Columns of a vector; PQ splits them into parts of 8.
    """
    if spec == "auto":
        spec = "Flat" if n < HNSW_FROM else "HNSW" if n < SQ8_FROM else "HNSW_SQ8"
    lists = max(1, min(int(n**0.5), n // POINTS_PER_CENTROID))
    parts = next(m for m in range(max(1, width // 8), 0, -1) if width % m == 0)
    bits = int(np.clip(np.log2(max(1, n / POINTS_PER_CENTROID)), 1, 8))
    return {
        "Flat": "Flat",
        "HNSW": f"HNSW{HNSW_LINKS},Flat",
        "IVF": f"IVF{lists},Flat",
        "HNSW_SQ8": f"HNSW{HNSW_LINKS},SQ8",
        "SQ8": "SQ8",
        "PQ": f"PQ{parts}x{bits}",
    }.get(spec, spec)


def build_index(vectors: np.ndarray, spec: str) -> "DenseIndex":
    """Train and fill an index.

    vectors (np.ndarray): (N, D) float32, rows of norm 1.
    spec (str): See `factory_string`.
    RAISES (TermlinkError): TL502 for a spec that Faiss does not know or cannot train.
    """
    import faiss

    n, width = vectors.shape
    factory = factory_string(spec, n, width)
    if _ZERO.search(factory) or _ONE_LINK.search(factory):
        raise TermlinkError("TL502", spec=spec, reason="a number in it is too small")
    try:
        index: Any = faiss.index_factory(width, factory, faiss.METRIC_INNER_PRODUCT)
        is_graph = hasattr(index, "hnsw")
        if is_graph:
            index.hnsw.efConstruction = EF_CONSTRUCTION
        # threads insert into a graph in an order of their own; it must not depend on that
        with one_thread(is_graph):
            index.train(vectors)
            index.add(vectors)
    except RuntimeError as error:
        reason = str(error).rsplit("Error: ", 1)[-1].strip()
        raise TermlinkError("TL502", spec=spec, reason=reason) from error
    return DenseIndex(index, factory)


@contextmanager
def one_thread(wanted: bool) -> Iterator[None]:
    """Let Faiss work with one thread, where that is wanted."""
    import faiss

    threads = faiss.omp_get_max_threads()
    if wanted:
        faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


class DenseIndex:
    """A Faiss index with masks and rescoring.

    index (faiss.Index): Trained and filled.
    factory (str): Its factory string.
    """

    def __init__(self, index: Any, factory: str) -> None:
        import faiss

        self.index = index
        self.factory = factory
        # of a graph, what holds its vectors
        self._storage: Any = (
            faiss.downcast_index(index.storage) if hasattr(index, "hnsw") else index
        )
        if hasattr(index, "make_direct_map"):
            index.make_direct_map()
        if hasattr(index, "nprobe"):
            index.nprobe = min(index.nlist, max(LEAST_PROBED, int(index.nlist * PROBED)))

    @classmethod
    def open(cls, folder: Path, factory: str) -> "DenseIndex":
        """Open a saved index; vectors stay in the file, mapped.

        RAISES (TermlinkError): TL505 if the file is torn.
        """
        import faiss

        path = folder / FILE
        try:
            index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError as error:
            reason = str(error).rsplit("Error: ", 1)[-1].strip()
            raise TermlinkError("TL505", path=path, reason=reason) from error
        return cls(index, factory)

    def save(self, folder: Path) -> None:
        """Write the index."""
        import faiss

        faiss.write_index(self.index, str(folder / FILE))

    def __len__(self) -> int:
        return self.index.ntotal

    def search(
        self, vectors: np.ndarray, *, n: int, allowed_rows: Optional[np.ndarray] = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The n nearest rows of each vector.

        vectors (np.ndarray): (B, D) float32.
        n (int): Rows wanted.
        allowed_rows (Optional[np.ndarray]): Boolean mask over rows.
        RETURNS (tuple[np.ndarray, np.ndarray]): Rows (B, n) int64 and scores (B, n) float32, best
            first; row -1 fills up where there are fewer.
        """
        n = min(n, len(self))
        if allowed_rows is not None:
            rows = np.flatnonzero(allowed_rows)
            if len(rows) <= BRUTE_FORCE_ROWS:
                return self._compare(vectors, rows, n)
        parameters = self._parameters(n, allowed_rows)
        try:
            with one_thread(len(vectors) < FEW_QUERIES):
                scores, rows = self.index.search(vectors, n, params=parameters)
        except RuntimeError:
            if allowed_rows is None:
                raise
            # product quantisers and wrapped indexes take no selector
            return self._compare(vectors, np.flatnonzero(allowed_rows), n)
        return rows, scores

    def vectors(self, rows: np.ndarray) -> np.ndarray:
        """Stored vectors of index rows, (B, D) float32; of a quantised index, approximate."""
        return self.index.reconstruct_batch(rows)

    def scores_of(self, vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Inner products of vector i with the index rows `rows[i]`, (B, M); -1 gives 0."""
        library: Any = importlib.import_module("faiss")  # its stubs lack the call

        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        if isinstance(self._storage, library.IndexFlat):
            scores = np.empty(rows.shape, dtype=np.float32)
            self._storage.compute_distance_subset(
                len(rows), library.swig_ptr(vectors), rows.shape[1],
                library.swig_ptr(scores), library.swig_ptr(rows),
            )  # fmt: skip
        else:
            stored = self.vectors(np.maximum(rows, 0).ravel()).reshape(*rows.shape, -1)
            scores = np.einsum("bd,bmd->bm", vectors, stored)  # (B, M, D)
        return np.where(rows < 0, np.float32(0), scores)

    def _compare(
        self, vectors: np.ndarray, rows: np.ndarray, n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        n = min(n, len(rows))
        if not n:
            return np.empty((len(vectors), 0), np.int64), np.empty((len(vectors), 0), np.float32)
        scores = vectors @ self.index.reconstruct_batch(rows).T
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        return rows[order], np.take_along_axis(scores, order, axis=1)

    def _parameters(self, n: int, allowed_rows: Optional[np.ndarray]) -> Any:
        library: Any = importlib.import_module("faiss")  # its stubs lack these classes

        selector = None
        if allowed_rows is not None:
            selector = library.IDSelectorBitmap(np.packbits(allowed_rows, bitorder="little"))
        if hasattr(self.index, "hnsw"):
            return library.SearchParametersHNSW(sel=selector, efSearch=max(EF_SEARCH, 2 * n))
        if hasattr(self.index, "nprobe"):
            return library.SearchParametersIVF(sel=selector, nprobe=self.index.nprobe)
        return library.SearchParameters(sel=selector) if selector is not None else None
