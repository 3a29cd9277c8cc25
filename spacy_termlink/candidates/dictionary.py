"""The dictionary of a terminology: which of its names are looked for in texts, and where it is kept."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional
from weakref import WeakValueDictionary

import numpy as np

from ..files import restore_folder
from ..lexical.dictionary import Dictionary
from ..terminology.store import Terminology

#: Roots whose concepts are what a note states. Where a terminology has one of them, the concepts
#: outside it qualify findings (HPO: onset, severity, inheritance, frequency), in ordinary words.
FINDING_ROOTS = ("HP:0000118",)
#: Names read at a time when a dictionary is built.
NAMES_AT_ONCE = 65_536

#: Those in use: of a KB that is let go no file stays mapped.
_opened: WeakValueDictionary[tuple[Path, int], "NamedConcepts"] = WeakValueDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class NamedConcepts:
    """A terminology and the dictionary of its names.

    path (Path): The KB folder or terminology folder they came from.
    terminology (Terminology): The terminology.
    dictionary (Dictionary): Its names; a match's rows are name rows.
    """

    path: Path
    terminology: Terminology
    dictionary: Dictionary


def open_dictionary(path: Path) -> NamedConcepts:
    """The dictionary of a KB folder or terminology folder; opened once in a process, whatever the
    number of threads, for as long as it is in use. Built in memory where the folder holds none, or one of another release.

    RAISES (TermlinkError): What opening a terminology or a dictionary raises.
    """
    path = Path(path).resolve()
    restore_folder(path)
    folder = path / "terminology" if (path / "terminology").is_dir() else path
    terminology = Terminology.open(folder)
    key = (path, (folder / "meta.json").stat().st_mtime_ns)
    with _lock:
        opened = _opened.get(key)
        if opened is None:
            saved = path / "dictionary"
            dictionary = (
                Dictionary.open(saved, terminology.name_text)
                if saved.is_dir() and Dictionary.is_current(saved)
                else build_dictionary(terminology)
            )
            _opened[key] = opened = NamedConcepts(path, terminology, dictionary)
        return opened


def build_dictionary(terminology: Terminology) -> Dictionary:
    """The dictionary of all names of a terminology; a part of them is in memory at a time."""
    texts = terminology.names["text"]
    starts = range(0, len(texts), NAMES_AT_ONCE)
    names = (name for i in starts for name in texts.slice(i, NAMES_AT_ONCE).to_pylist())
    return Dictionary.build(names, terminology.name_text)


def finding_mask(
    terminology: Terminology, branches_or_types: Sequence[str] = ()
) -> Optional[np.ndarray]:
    """Concepts that are looked for in texts.

    branches_or_types (Sequence[str]): See Terminology.mask; empty for the findings of the
        terminology (FINDING_ROOTS), or all of it where it has no such root.
    RETURNS (Optional[np.ndarray]): (n_concepts,) bool; None for all.
    RAISES (TermlinkError): TL107 for a value that is neither branch nor type.
    """
    roots = list(branches_or_types) or [r for r in FINDING_ROOTS if terminology.resolve(r)]
    return terminology.mask(roots) if roots else None
