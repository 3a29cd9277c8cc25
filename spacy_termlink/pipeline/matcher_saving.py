"""How a matcher keeps its terminologies: copied, linked, as paths, or as bytes."""

import shutil
import tempfile
from pathlib import Path
from typing import Any, List, Sequence

import srsly

from ..candidates.dictionary import NamedConcepts
from ..errors import TermlinkError
from ..files import atomic_folder, read_json, sha256_file, write_json
from .saving import link_or_copy, read_files, write_files


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
                raise TermlinkError("TL702", name=name, kb=meta["source"], licence=meta["licence"])
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
