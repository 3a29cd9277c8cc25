"""The rows of an index: names of different normal form, each searched once whatever concepts
share it."""

from functools import cached_property
from pathlib import Path

import numpy as np

from ..files import map_array, save_arrays
from ..terminology.store import Terminology


class UniqueNames:
    """Maps index rows to name rows of a terminology.

    offsets (np.ndarray): (n_unique + 1,) int64.
    name_rows (np.ndarray): (n_names,) int32; those of index row i are
        `name_rows[offsets[i]:offsets[i + 1]]`, best kind first, then by concept row.
    """

    def __init__(self, offsets: np.ndarray, name_rows: np.ndarray) -> None:
        self.offsets = offsets
        self.name_rows = name_rows

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self, index_row: int) -> np.ndarray:
        """Name rows that share the normal form of an index row."""
        return self.name_rows[self.offsets[index_row] : self.offsets[index_row + 1]]

    def texts(self, terminology: Terminology) -> list[str]:
        """Normal form of each index row."""
        first = self.name_rows[self.offsets[:-1]].tolist()
        return [terminology.name_normalized(row) for row in first]

    def row_of(self, terminology: Terminology, normalized: str) -> int:
        """Index row of a normal form, -1 if no name has it."""
        found = terminology.lookup(normalized, normalized=True)
        return int(self._row_of_name[found[0]]) if found else -1

    @cached_property
    def _row_of_name(self) -> np.ndarray:
        rows = np.full(int(self.name_rows.max(initial=-1)) + 1, -1, dtype=np.int32)
        rows[self.name_rows] = np.repeat(
            np.arange(len(self), dtype=np.int32), np.diff(self.offsets)
        )
        return rows

    def mask(self, terminology: Terminology, allowed: np.ndarray) -> np.ndarray:
        """Index rows that name at least one allowed concept, (n_unique,) bool."""
        if not len(self):
            return np.zeros(0, dtype=bool)
        allowed_names = allowed[terminology.concept_rows[self.name_rows]]
        return np.logical_or.reduceat(allowed_names, self.offsets[:-1])

    def save(self, folder: Path) -> None:
        """Write both arrays."""
        save_arrays(folder, {"name_offsets": self.offsets, "name_rows": self.name_rows})

    @classmethod
    def open(cls, folder: Path) -> "UniqueNames":
        """Map both arrays.

        RAISES (TermlinkError): TL505, naming a file that is damaged.
        """
        return cls(map_array(folder / "name_offsets.npy"), map_array(folder / "name_rows.npy"))


def unique_names(terminology: Terminology) -> tuple[UniqueNames, list[str]]:
    """The unique names of a terminology and their normal forms, in order of their first name row.

    A name with an empty normal form (only punctuation) can be found by no search and has no row.
    """
    rows_of: dict[str, list[int]] = {}
    for row, normalized in enumerate(terminology.names["normalized"].to_pylist()):
        if normalized:
            rows_of.setdefault(normalized, []).append(row)
    kinds, concepts = terminology.kinds, terminology.concept_rows
    ordered = [sorted(rows, key=lambda r: (kinds[r], concepts[r])) for rows in rows_of.values()]
    offsets = np.zeros(len(ordered) + 1, dtype=np.int64)
    np.cumsum([len(rows) for rows in ordered], out=offsets[1:])
    flat = np.array([row for rows in ordered for row in rows], dtype=np.int32)
    return UniqueNames(offsets, flat), list(rows_of)
