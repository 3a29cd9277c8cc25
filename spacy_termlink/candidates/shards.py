"""Vectors in several files, read a block at a time: more of them than memory holds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Union

import numpy as np

from ..files import map_array


class VectorShards:
    """Rows of several .npy files as one array that can be sliced and indexed; only what is asked for
    is in memory.

    paths (Sequence[Path]): (n_i, D) float32 each.
    RAISES (TermlinkError): TL505 for a file that is no array.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        shapes = [map_array(path).shape for path in self.paths]
        self._ends = np.cumsum([shape[0] for shape in shapes])
        self.shape = (int(self._ends[-1]), int(shapes[0][1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Union[slice, np.ndarray]) -> np.ndarray:
        """Copies of rows: a slice of step 1, or an integer array of any shape."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return self._between(start, max(start, stop))
        flat = np.asarray(rows, dtype=np.int64).ravel()
        found = np.empty((len(flat), self.shape[1]), dtype=np.float32)
        shards = np.searchsorted(self._ends, flat, side="right")
        for shard in np.unique(shards).tolist():
            places = np.flatnonzero(shards == shard)
            found[places] = map_array(self.paths[shard])[flat[places] - self._start(shard)]
        return found.reshape(*np.shape(rows), self.shape[1])

    def _between(self, start: int, stop: int) -> np.ndarray:
        found = np.empty((stop - start, self.shape[1]), dtype=np.float32)
        first = int(np.searchsorted(self._ends, start, side="right"))
        for shard in range(first, len(self.paths)):
            begins, ends = self._start(shard), int(self._ends[shard])
            if begins >= stop:
                break
            a, b = max(start, begins), min(stop, ends)
            # a map that is let go again: what was read of it does not stay in memory
            found[a - start : b - start] = map_array(self.paths[shard])[a - begins : b - begins]
        return found

    def _start(self, shard: int) -> int:
        return int(self._ends[shard - 1]) if shard else 0
