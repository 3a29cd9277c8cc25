"""How a matcher keeps its terminologies: copied, linked, as paths, or as bytes."""

import shutil
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Sequence, Union

import srsly
from spacy import util
from spacy.util import SimpleFrozenList

from ..candidates.dictionary import NamedConcepts
from ..errors import TermlinkError
from ..files import atomic_folder, link_or_copy, read_json, sha256_file, write_json
from .saving import read_files, write_files


class SavedWithTerminologies:
    """What `TermMatcher` adds to Pipe to be saved with its terminologies; see docs/pipeline.md."""

    name: str
    cfg: Dict[str, Any]
    _configured: Dict[str, Any]
    set_kb: Callable[[List[str]], None]
    _has_kb: Callable[[], bool]
    _concepts: Callable[[], List[NamedConcepts]]

    def to_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = SimpleFrozenList()
    ) -> None:
        """Write the component's folder; fields for `exclude`: "cfg", "kb".

        RAISES (TermlinkError): TL702 if a terminology may not be shared and would be copied.
        """
        writers: Dict[str, Callable[[Path], None]] = {
            "cfg": lambda p: srsly.write_json(p, self._changes())
        }
        if self._has_kb():
            writers["kb"] = lambda p: save(self._concepts(), p, **self._saving())
        util.to_disk(path, writers, exclude)

    def from_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = SimpleFrozenList()
    ) -> "SavedWithTerminologies":
        """Read the component's folder and map its terminologies.

        RAISES (TermlinkError): If a terminology is torn or gone, TL705 if it is another one.
        """

        def read_kb(folder: Path) -> None:
            if folder.is_dir():
                self.set_kb(load(folder, name=self.name))

        readers: Dict[str, Callable[[Path], Any]] = {
            "cfg": lambda p: self._apply(srsly.read_json(p)),
            "kb": read_kb,
        }
        util.from_disk(path, readers, exclude)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = SimpleFrozenList()) -> bytes:
        """The component as bytes, with the terminologies unless save_kb is "path".

        RAISES (TermlinkError): TL702 if a terminology may not be shared and would be copied.
        """
        writers: Dict[str, Callable[[], bytes]] = {"cfg": lambda: srsly.json_dumps(self._changes())}
        if self._has_kb():
            writers["kb"] = lambda: to_bytes(self._concepts(), **self._saving())
        return util.to_bytes(writers, exclude)

    def from_bytes(
        self, bytes_data: bytes, *, exclude: Iterable[str] = SimpleFrozenList()
    ) -> "SavedWithTerminologies":
        """Read what `to_bytes` made; terminologies go to a temporary folder that lives as long as we do."""
        readers: Dict[str, Callable[[Any], Any]] = {
            "cfg": lambda b: self._apply(srsly.json_loads(b)),
            "kb": lambda b: self.set_kb(from_bytes(b, name=self.name, owner=self)),
        }
        util.from_bytes(bytes_data, readers, exclude)
        return self

    def _changes(self) -> Dict[str, List[Any]]:
        """Settings that differ from the config, which nlp.to_disk writes: as configured, as they are."""
        return {
            key: [self._configured[key], value]
            for key, value in self.cfg.items()
            if value != self._configured[key]
        }

    def _apply(self, changes: Dict[str, List[Any]]) -> None:
        # a setting that spacy.load(config=...) overrides is not as configured then: it wins
        for key, (configured, value) in changes.items():
            if self.cfg.get(key) == configured:
                self.cfg[key] = value

    def _saving(self) -> Dict[str, Any]:
        return {
            "mode": self.cfg["save_kb"],
            "name": self.name,
            "allow_restricted": self.cfg["allow_restricted"],
        }


def save(
    sources: Sequence[NamedConcepts],
    folder: Path,
    *,
    mode: str,
    name: str,
    allow_restricted: bool,
) -> None:
    """Write terminologies with their dictionaries: folders "0", "1", ..., or files that name them.

    mode (str): "copy", "hardlink" or "path"; see saving.save_kb.
    RAISES (TermlinkError): TL702 if one may not be shared and its data would be written.
    """
    with atomic_folder(folder) as part:
        for i, source in enumerate(sources):
            if mode == "path":
                pointer = {"path": str(source.path), "fingerprint": _fingerprint(source)}
                write_json(part / f"{i}.json", pointer)
                continue
            meta = source.terminology.meta
            if not (meta["shareable"] or allow_restricted):
                raise TermlinkError(
                    "TL702", name=name, kb=meta["source"], licence=meta["licence"] or "not stated"
                )
            copy = link_or_copy if mode == "hardlink" else shutil.copy2
            target = part / str(i) / "terminology"
            shutil.copytree(source.terminology.path, target, copy_function=copy)
            source.dictionary.save(part / str(i) / "dictionary")


def load(folder: Path, *, name: str) -> List[str]:
    """Paths of the terminologies that `save` wrote.

    RAISES (TermlinkError): TL705 if one is another than was saved.
    """
    entries = sorted(folder.iterdir(), key=lambda path: int(path.stem))
    return [str(path) if path.is_dir() else _follow(path, name) for path in entries]


def to_bytes(sources: Sequence[NamedConcepts], **settings: Any) -> bytes:
    """What `save` would write, in a message."""
    with tempfile.TemporaryDirectory(prefix="termlink-") as temporary:
        folder = Path(temporary) / "kb"
        save(sources, folder, **settings)
        return srsly.msgpack_dumps(read_files(folder))


def from_bytes(data: bytes, *, name: str, owner: Any) -> List[str]:
    """Paths of the terminologies of `to_bytes`, in a temporary folder.

    owner (Any): The component. When it goes, in the process that made it, so does the folder.
    RAISES (TermlinkError): TL705 or TL706 for a message that is not ours.
    """
    return load(write_files(srsly.msgpack_loads(data), name=name, owner=owner), name=name)


def _follow(pointer: Path, name: str) -> str:
    saved = read_json(pointer)
    path = Path(saved["path"])
    source = path / "terminology" if (path / "terminology").is_dir() else path
    if not (source / "meta.json").is_file():
        raise TermlinkError("TL001", path=path)
    found = sha256_file(source / "meta.json")
    if found != saved["fingerprint"]:
        raise TermlinkError(
            "TL705", name=name, path=path, found=found, expected=saved["fingerprint"]
        )
    return str(path)


def _fingerprint(source: NamedConcepts) -> str:
    return sha256_file(source.terminology.path / "meta.json")
