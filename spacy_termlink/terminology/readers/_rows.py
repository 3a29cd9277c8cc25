"""What the readers of large releases share: rows grouped by concept, and a hierarchy without circles."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa


class Grouped(NamedTuple):
    """A table sorted by concept row.

    table (pa.Table): Its rows.
    offsets (np.ndarray): Where each concept begins, and the end; (n_concepts + 1,) int64.
    """

    table: pa.Table
    offsets: np.ndarray

    def values(self, row: int) -> list:
        """Column "value" of a concept row."""
        start, end = int(self.offsets[row]), int(self.offsets[row + 1])
        return self.table["value"].slice(start, end - start).to_pylist() if end > start else []


def grouped(table: pa.Table, n_concepts: int) -> Grouped:
    """A table whose column "row" is sorted, with the offsets of each concept row."""
    return Grouped(table, offsets_of(table["row"].to_numpy(), n_concepts))


def offsets_of(rows: np.ndarray, n_concepts: int) -> np.ndarray:
    """Offsets of each value of sorted rows, (n_concepts + 1,) int64."""
    offsets = np.zeros(n_concepts + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_concepts), out=offsets[1:])
    return offsets


class Edges:
    """Edges by subject row.

    kinds (Sequence[str]): Type of edge by code.
    """

    def __init__(
        self, kinds: Sequence[str], codes: np.ndarray, edges: np.ndarray, n_concepts: int
    ) -> None:
        self.kinds = kinds
        order = np.lexsort((edges[1], codes, edges[0]))
        self._codes, self._objects = codes[order], edges[1][order]
        self._offsets = offsets_of(edges[0][order], n_concepts)

    def __getitem__(self, row: int) -> list[tuple[str, int]]:
        here = slice(self._offsets[row], self._offsets[row + 1])
        codes, objects = self._codes[here].tolist(), self._objects[here].tolist()
        return [(self.kinds[code], other) for code, other in zip(codes, objects, strict=True)]


def unique_pairs(pairs: Sequence[np.ndarray], n_concepts: int) -> np.ndarray:
    """Arrays (2, n) of rows as one, sorted, each pair once."""
    keys = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(p[0] * n_concepts + p[1] for p in pairs)])
    )
    return np.stack(np.divmod(keys, n_concepts))


def hierarchy(edges: Mapping[str, Sequence[np.ndarray]], n_concepts: int) -> Edges:
    """Edges of "is_a" and "broader" without doubles; is_a edges within a circle become broader.

    Vocabularies that disagree on what is broader make circles: every edge between two concepts that
    lie on one is taken out, whichever comes first, so that the result depends on no order.
    edges (Mapping[str, Sequence[np.ndarray]]): Kind -> arrays (2, n) of subject and object rows.
    """
    is_a, broader = (unique_pairs(edges[kind], n_concepts) for kind in ("is_a", "broader"))
    if is_a.size:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        graph = csr_matrix((np.ones(is_a.shape[1], np.int8), is_a), shape=(n_concepts, n_concepts))
        _, component = connected_components(graph, directed=True, connection="strong")
        circular = component[is_a[0]] == component[is_a[1]]
        broader = unique_pairs([broader, is_a[:, circular]], n_concepts)
        is_a = is_a[:, ~circular]
    both = np.concatenate([is_a, broader], axis=1)
    codes = np.repeat(np.arange(2), [is_a.shape[1], broader.shape[1]])
    return Edges(("is_a", "broader"), codes, both, n_concepts)
