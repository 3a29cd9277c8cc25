"""The KB: the folder a linker loads."""

from .build import build_kb
from .calibrate import calibrate_kb
from .encoding import OldVectors
from .rebuild import rebuild_kb
from .reranker import add_reranker
from .termkb import FORMAT_VERSION, TermKB, open_kb

__all__ = [
    "FORMAT_VERSION",
    "OldVectors",
    "TermKB",
    "add_reranker",
    "build_kb",
    "calibrate_kb",
    "open_kb",
    "rebuild_kb",
]
