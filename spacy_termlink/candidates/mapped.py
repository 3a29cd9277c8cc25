"""What the system is told to read of the mapped files of an index, beyond the pages that are touched.

Hints only: where a system does not know them, answers come later and are the same.
"""

import ctypes
import mmap
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

#: Bytes that the system is asked to read at a time: of more it reads a part, without a word.
AT_ONCE = 128 << 10
#: Whether a mapped stretch can be asked for.
TAKES_HINTS = sys.platform.startswith("linux")
#: Of each row in an inverted list, beside its code.
ROW_NUMBER_BYTES = 8


def read_ahead(path: Path, n_bytes: int) -> None:
    """Have a file read but for its last bytes: the centroids and their graph, which every query goes
    through, in one go and not page by page; the lists behind them stay where they are."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            wanted = path.stat().st_size - n_bytes
            for start in range(0, max(0, wanted), AT_ONCE):
                os.posix_fadvise(file.fileno(), start, AT_ONCE, os.POSIX_FADV_WILLNEED)


def read_rows_only(refine: Any) -> None:
    """Have no more read of the vectors of a flat index than the rows that are asked for: a query asks for
    some hundred, all over the file, and each would bring 128 KB."""
    _advise(int(refine.codes.data()), refine.codes.size(), "MADV_RANDOM")


def read_lists(ivf: Any, queries: np.ndarray) -> None:
    """Have the lists that queries will go through read all at once, and not one after the other as the
    search comes to them: on a cold file that is most of its time.

    ivf (faiss.IndexIVF): Its lists are mapped.
    queries (np.ndarray): (B, D) float32, as the lists see them.
    """
    _, lists = ivf.quantizer.search(queries, ivf.nprobe)
    for number in np.unique(lists[lists >= 0]).tolist():
        size = ivf.invlists.list_size(number)
        if size:
            _advise(int(ivf.invlists.get_codes(number)), size * ivf.code_size, "MADV_WILLNEED")
            _advise(int(ivf.invlists.get_ids(number)), size * ROW_NUMBER_BYTES, "MADV_WILLNEED")


def read_rows(refine: Any, rows: np.ndarray) -> None:
    """Have rows of a flat index read all at once.

    rows (np.ndarray): (B,) int64.
    """
    start, size = int(refine.codes.data()), refine.code_size
    for row in np.unique(rows).tolist():
        _advise(start + row * size, size, "MADV_WILLNEED")


def _advise(address: int, n_bytes: int, advice: str) -> None:
    """madvise for the pages that an address and what follows it lie in."""
    if TAKES_HINTS:
        end = address + n_bytes
        step = AT_ONCE if advice == "MADV_WILLNEED" else n_bytes + mmap.PAGESIZE
        for start in range(address // mmap.PAGESIZE * mmap.PAGESIZE, end, step):
            _madvise()(start, min(step, end - start), getattr(mmap, advice))


@cache
def _madvise() -> Any:
    call = ctypes.CDLL(None).madvise
    call.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return call
