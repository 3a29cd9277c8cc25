"""The dense index: Faiss over the vectors of the unique names, inner product of unit-norm rows."""

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import TermlinkError
from ..files import map_array
from .mapped import (
    ROW_NUMBER_BYTES,
    TAKES_HINTS,
    read_ahead,
    read_lists,
    read_rows,
    read_rows_only,
)

FILE = "dense.faiss"
#: 8-bit vectors in the order of the rows, which rank again what a product quantiser finds.
REFINE_FILE = "refine.faiss"
#: Where each row lies in the inverted lists: list number and place in it, as Faiss packs them.
PLACES_FILE = "places.npy"
#: What `DenseIndex.save` writes.
FILES = (FILE, REFINE_FILE, PLACES_FILE)
#: Fewer queries are searched by one thread: starting and awaiting the others takes longer.
FEW_QUERIES = 64
EF_SEARCH = 96
#: Nodes that a search for lists keeps, at least.
EF_CENTROIDS = 64
#: An approximate index walks past most of what a narrow mask allows; below this many allowed rows
#: they are compared one by one.
BRUTE_FORCE_ROWS = 4096
#: Rows that a product quantiser proposes to the refinement per row wanted, and at least.
REFINED_PER_WANTED, LEAST_REFINED = 5, 300
#: Searches after opening that have their lists read before they begin: later ones find most in memory.
COLD_SEARCHES = 100


def has_gpus() -> bool:
    """Whether Faiss knows a GPU; faiss-cpu does not even have the question."""
    import faiss

    return bool(getattr(faiss, "get_num_gpus", int)())


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
    refine (Optional[faiss.Index]): Better vectors in the order of the rows; they rank again what
        `index` finds.
    facts (Optional[dict]): What was chosen and measured when it was built, for meta.json.
    """

    def __init__(
        self,
        index: Any,
        factory: str,
        *,
        refine: Any = None,
        facts: Optional[dict[str, Any]] = None,
    ) -> None:
        import faiss

        self.index = index
        self.factory = factory
        self.facts = facts or {}
        self._refine = refine
        self._refined = None if refine is None else faiss.IndexRefine(index, refine)
        # of a graph, what holds its vectors
        self._storage: Any = (
            faiss.downcast_index(index.storage) if hasattr(index, "hnsw") else index
        )
        self._ivf: Any = faiss.try_extract_index_ivf(index)
        self._places: Optional[np.ndarray] = None
        self._knows_places = False
        self._cold_searches = 0
        self._lock = threading.Lock()

    @classmethod
    def open(cls, folder: Path, factory: str) -> "DenseIndex":
        """Open a saved index; vectors and inverted lists stay in the file, mapped.

        RAISES (TermlinkError): TL505 if a file is torn.
        """
        refine = _read(folder / REFINE_FILE) if (folder / REFINE_FILE).is_file() else None
        index = cls(_read(folder / FILE), factory, refine=refine)
        if index._ivf is not None:
            index._cold_searches = COLD_SEARCHES if TAKES_HINTS else 0
            read_ahead(folder / FILE, len(index) * (index._ivf.code_size + ROW_NUMBER_BYTES))
        if refine is not None:
            read_rows_only(refine)
        if (folder / PLACES_FILE).is_file():
            index._places = map_array(folder / PLACES_FILE)
        return index

    def save(self, folder: Path) -> None:
        """Write the index: `dense.faiss`, and where it has them the files of refinement and places."""
        faiss: Any = importlib.import_module("faiss")  # its stubs lack DirectMap

        if self._ivf is not None:
            # inside dense.faiss the places would be read at each opening
            self._know_places()
            np.save(folder / PLACES_FILE, faiss.vector_to_array(self._ivf.direct_map.array))
            self._ivf.set_direct_map_type(faiss.DirectMap.NoMap)
            self._knows_places = False
        faiss.write_index(self.index, str(folder / FILE))
        if self._refine is not None:
            faiss.write_index(self._refine, str(folder / REFINE_FILE))

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
        index, parameters = self._parameters(n, allowed_rows)
        if self._cold_searches > 0 and len(vectors) < FEW_QUERIES:
            self._cold_searches -= 1
            self._have_read(vectors, n, parameters)
        try:
            with one_thread(len(vectors) < FEW_QUERIES):
                scores, rows = index.search(vectors, n, params=parameters)
        except RuntimeError:
            if allowed_rows is None:
                raise
            # some wrapped indexes take no selector
            return self._compare(vectors, np.flatnonzero(allowed_rows), n)
        return rows, scores

    def vectors(self, rows: np.ndarray) -> np.ndarray:
        """Stored vectors of index rows, (B, D) float32; of a quantised index, approximate."""
        if self._refine is not None:
            return self._refine.reconstruct_batch(rows)
        self._know_places()
        return self.index.reconstruct_batch(rows)

    @property
    def effort(self) -> Optional[int]:
        """How hard it searches: nodes kept by a graph, lists gone through; None for others."""
        if hasattr(self.index, "hnsw"):
            return int(self.index.hnsw.efSearch)
        return None if self._ivf is None else int(self._ivf.nprobe)

    @effort.setter
    def effort(self, value: int) -> None:
        if hasattr(self.index, "hnsw"):
            self.index.hnsw.efSearch = value
        else:
            import faiss

            self._ivf.nprobe = min(value, self._ivf.nlist)
            lists = faiss.downcast_index(self._ivf.quantizer)
            if hasattr(lists, "hnsw"):
                # Faiss keeps efSearch nodes even where it is asked for more lists than that
                lists.hnsw.efSearch = max(EF_CENTROIDS, 2 * self._ivf.nprobe)

    @property
    def n_lists(self) -> int:
        """Inverted lists; 0 for an index without."""
        return 0 if self._ivf is None else int(self._ivf.nlist)

    @property
    def keeps_vectors(self) -> bool:
        """Whether `vectors` gives what the index was built of, to the bit."""
        import faiss

        return isinstance(self._storage, (faiss.IndexFlat, faiss.IndexIVFFlat))

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
        scores = vectors @ self.vectors(rows).T
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        return rows[order], np.take_along_axis(scores, order, axis=1)

    def _parameters(self, n: int, allowed_rows: Optional[np.ndarray]) -> tuple[Any, Any]:
        """The index to search, and the parameters of this search."""
        library: Any = importlib.import_module("faiss")  # its stubs lack these classes

        selector = None
        if allowed_rows is not None:
            selector = library.IDSelectorBitmap(np.packbits(allowed_rows, bitorder="little"))
        index = self.index
        if hasattr(index, "hnsw"):
            effort = max(EF_SEARCH, 2 * n, index.hnsw.efSearch)
            return index, library.SearchParametersHNSW(sel=selector, efSearch=effort)
        parameters = library.SearchParameters(sel=selector) if selector is not None else None
        if self._ivf is not None and hasattr(index, "nprobe"):
            parameters = library.SearchParametersIVF(sel=selector, nprobe=self._ivf.nprobe)
        elif self._ivf is not None and isinstance(index, library.IndexPreTransform):
            inside = library.SearchParametersIVF(sel=selector, nprobe=self._ivf.nprobe)
            parameters = library.SearchParametersPreTransform(index_params=inside)
        if self._refined is None:
            return index, parameters
        factor = max(REFINED_PER_WANTED, LEAST_REFINED / max(1, n))
        return self._refined, library.IndexRefineSearchParameters(
            k_factor=factor, base_index_params=parameters
        )

    def _have_read(self, vectors: np.ndarray, n: int, parameters: Any) -> None:
        """Have everything read that a search comes to."""
        read_lists(self._ivf, self._as_lists_see(vectors))
        if self._refine is not None:
            proposed = int(n * parameters.k_factor)
            _, rows = self.index.search(vectors, proposed, params=parameters.base_index_params)
            read_rows(self._refine, rows[rows >= 0])

    def _as_lists_see(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors behind the rotation, where there is one."""
        chain: Any = getattr(self.index, "chain", None)
        for place in range(chain.size() if chain else 0):
            vectors = chain.at(place).apply(np.ascontiguousarray(vectors))
        return vectors

    def _know_places(self) -> None:
        """Tell Faiss where each row lies: at first need, since 80 MB of ten million rows are read."""
        faiss: Any = importlib.import_module("faiss")  # its stubs lack DirectMap

        if self._ivf is None or self._knows_places:
            return
        with self._lock:  # two threads must not fill one array, nor read one that is half full
            if self._knows_places:
                return
            if self._ivf.direct_map.type == faiss.DirectMap.NoMap and self._places is not None:
                faiss.copy_array_to_vector(np.array(self._places), self._ivf.direct_map.array)
                self._ivf.direct_map.type = faiss.DirectMap.Array
            self._ivf.make_direct_map()  # nothing to do where it is there
            self._knows_places = True


def _read(path: Path) -> Any:
    import faiss

    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        reason = str(error).rsplit("Error: ", 1)[-1].strip()
        raise TermlinkError("TL505", path=path, reason=reason) from error
