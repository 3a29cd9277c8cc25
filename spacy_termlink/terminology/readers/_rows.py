"""What the readers of large releases share: rows grouped by concept, and a hierarchy without circles."""

from collections.abc import Iterator, Mapping, Sequence
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

    def lists(self, *columns: str, size: int = 50_000) -> Iterator[list[list]]:
        """Values of some columns for each concept row; many concepts at a time become Python lists."""
        for start in range(0, len(self.offsets) - 1, size):
            offsets = self.offsets[start : start + size + 1]
            part = self.table.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
            values = [_as_list(part[name]) for name in columns]
            bounds = (offsets - offsets[0]).tolist()
            for left, right in zip(bounds, bounds[1:], strict=False):
                yield [column[left:right] for column in values]


def _as_list(column: pa.ChunkedArray) -> list:
    if not pa.types.is_dictionary(column.type):
        return column.to_pylist()
    # Arrow makes a string anew for each row; these few are shared
    array = column.combine_chunks()
    if not len(array):
        return []
    words = array.dictionary.to_pylist()
    return [words[code] for code in array.indices.to_numpy().tolist()]


def grouped(table: pa.Table, n_concepts: int) -> Grouped:
    """A table whose column "row" is sorted, with the offsets of each concept row."""
    return Grouped(table, offsets_of(table["row"].to_numpy(), n_concepts))


def offsets_of(rows: np.ndarray, n_concepts: int) -> np.ndarray:
    """Offsets of each value of sorted rows, (n_concepts + 1,) int64."""
    offsets = np.zeros(n_concepts + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_concepts), out=offsets[1:])
    return offsets


def unique_pairs(pairs: Sequence[np.ndarray], n_concepts: int) -> np.ndarray:
    """Arrays (2, n) of rows as one, sorted, each pair once."""
    keys = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(p[0] * n_concepts + p[1] for p in pairs)])
    )
    return np.stack(np.divmod(keys, n_concepts))


def hierarchy(edges: Mapping[str, Sequence[np.ndarray]], ids: pa.StringArray) -> Grouped:
    """Edges of "is_a" and "broader" without doubles; is_a edges within a circle become broader.

    Vocabularies that disagree on what is broader make circles: every edge between two concepts that
    lie on one is taken out, whichever comes first, so that the result depends on no order.
    edges (Mapping[str, Sequence[np.ndarray]]): Kind -> arrays (2, n) of subject and object rows.
    ids (pa.StringArray): Id of each row.
    RETURNS (Grouped): Columns "kind" and "object", an id; by subject, is_a first.
    """
    n_concepts = len(ids)
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
    codes = np.repeat(np.arange(2, dtype=np.int8), [is_a.shape[1], broader.shape[1]])
    order = np.lexsort((both[1], codes, both[0]))
    kinds = pa.DictionaryArray.from_arrays(codes[order], pa.array(["is_a", "broader"]))
    table = pa.table({"kind": kinds, "object": ids.take(pa.array(both[1][order]))})
    return Grouped(table, offsets_of(both[0][order], n_concepts))
