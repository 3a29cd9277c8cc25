"""Saving, loading and pickling of a component with a KB."""

import json
import math
import threading
import weakref
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Optional, Tuple, Union

from spacy import util
from spacy.language import Language
from spacy.util import SimpleFrozenList
from spacy.vocab import Vocab
from thinc.api import Model

from ..kb import TermKB
from . import saving
from .extensions import set_extensions

#: Attributes that belong to a process, or to a pipeline, and are made anew in a copy.
_NOT_PICKLED = ("_kb", "_lock", "_masks", "_generator", "_nlp", "_learner")
#: Attributes that spaCy's base class keeps outside __dict__.
_BASE = ("vocab", "model", "name", "cfg", "scorer")


class SavedWithKb:
    """What `TermLinker` adds to TrainablePipe to be saved with its KB; see docs/pipeline.md.

    Fields, for `exclude`: "cfg", "vocab", "model", "kb".
    """

    vocab: Vocab
    model: Model
    name: str
    cfg: Dict[str, Any]
    _configured: Dict[str, Any]
    open_kb: Callable[[], TermKB]
    set_kb: Callable[[TermKB], None]
    _kb: Optional[TermKB]
    _kb_path: Optional[str]
    _nlp: Optional["weakref.ref[Language]"]
    _is_stale: Callable[[], bool]
    _learner: Any
    _check_settings: Callable[[], None]

    def to_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = SimpleFrozenList()
    ) -> None:
        """Write the component's folder.

        path (Union[str, Path]): The folder.
        exclude (Iterable[str]): Fields to leave out; without "kb" the KB is named in the config only.
        RAISES (TermlinkError): TL702 if the KB may not be shared and its data would be written.
        """
        writers: Dict[str, Callable[[Path], Any]] = {
            "cfg": lambda p: p.write_text(json.dumps(self._changes()), encoding="utf8"),
            "vocab": lambda p: self.vocab.to_disk(p, exclude=exclude),
            "model": lambda p: self.model.to_disk(p),
        }
        if self._has_kb():
            writers["kb"] = lambda p: saving.save_kb(self.open_kb(), p, **self._save_settings())
        util.to_disk(path, writers, exclude)

    def from_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = SimpleFrozenList()
    ) -> "SavedWithKb":
        """Read the component's folder; its KB is opened, no vector of it read.

        RAISES (TermlinkError): If the KB is torn or gone, TL705 if it is another one than was saved.
        """

        def read_kb(folder: Path) -> None:
            kb = saving.load_kb(folder, name=self.name)
            if kb is not None:
                self.set_kb(kb)

        readers: Dict[str, Callable[[Path], Any]] = {
            "cfg": lambda p: self._apply(json.loads(p.read_text(encoding="utf8"))),
            "vocab": lambda p: self.vocab.from_disk(p, exclude=exclude),
            "model": lambda p: self.model.from_disk(p),
            "kb": read_kb,
        }
        util.from_disk(path, readers, exclude)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = SimpleFrozenList()) -> bytes:
        """The component with its KB as bytes: with save_kb "path" a few, else the size of the KB.

        RAISES (TermlinkError): TL702 if the KB may not be shared and its data would be written.
        """
        writers: Dict[str, Callable[[], bytes]] = {
            "cfg": lambda: json.dumps(self._changes()).encode("utf8"),
            "vocab": lambda: self.vocab.to_bytes(exclude=exclude),
            "model": self.model.to_bytes,
        }
        if self._has_kb():
            writers["kb"] = lambda: saving.kb_to_bytes(self.open_kb(), **self._save_settings())
        return util.to_bytes(writers, exclude)

    def from_bytes(
        self, bytes_data: bytes, *, exclude: Iterable[str] = SimpleFrozenList()
    ) -> "SavedWithKb":
        """Read what `to_bytes` made; a whole KB goes to a temporary folder that lives as long as we do."""
        readers: Dict[str, Callable[[Any], Any]] = {
            "cfg": lambda b: self._apply(json.loads(b)),
            "vocab": lambda b: self.vocab.from_bytes(b, exclude=exclude),
            "model": self.model.from_bytes,
            "kb": lambda b: self.set_kb(saving.kb_from_bytes(b, name=self.name, owner=self)),
        }
        util.from_bytes(bytes_data, readers, exclude)
        return self

    def __reduce__(self) -> Tuple[Callable, Tuple[type], Dict[str, Any]]:
        """For workers: the path of the KB goes over, and is mapped again there. What was learned
        goes with the KB."""
        if self._is_stale():
            self.open_kb()
        state = {key: value for key, value in self.__dict__.items() if key not in _NOT_PICKLED}
        state.update({key: getattr(self, key) for key in _BASE})
        return _new, (type(self),), state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        """The counterpart of `__reduce__`."""
        for key, value in state.items():
            setattr(self, key, value)
        self._forget_process()

    def _forget_process(self) -> None:
        self._kb = None
        self._learner = None
        self._nlp = None
        self._lock = threading.Lock()
        set_extensions()

    def _has_kb(self) -> bool:
        return self._kb is not None or self._kb_path is not None

    def _save_settings(self) -> Dict[str, Any]:
        return {
            "mode": self.cfg["save_kb"],
            "name": self.name,
            "allow_restricted": self.cfg["allow_restricted"],
        }

    def _changes(self) -> Dict[str, Tuple[Any, Any]]:
        """Settings that differ from the config, which nlp.to_disk writes: (as configured, as is).

        RAISES (TermlinkError): TL704 for one that is out of its range.
        """
        self._check_settings()
        return {
            key: (self._configured[key], value)
            for key, value in self.cfg.items()
            if value != self._configured.get(key)
        }

    def _apply(self, changes: Dict[str, Tuple[Any, Any]]) -> None:
        # a setting that spacy.load(config=...) overrides is not as configured then: it wins
        for key, (configured, value) in changes.items():
            if _equal(self.cfg.get(key), configured):
                self.cfg[key] = value
        self._check_settings()


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b)  # spaCy reads 0.6 from a config as 0.6000000000000001
    return bool(a == b)


def _new(cls: Any) -> Any:
    return cls.__new__(cls)
