"""How a component keeps its KB: inside the saved pipeline, linked, as a path, or as bytes."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path, PurePosixPath
from typing import Any, Dict, Optional

import srsly

from ..errors import TermlinkError
from ..files import atomic_folder, link_or_copy, read_json, sha256_file, write_json
from ..kb import TermKB, open_kb

SAVE_MODES = ("copy", "hardlink", "path")


def save_kb(kb: TermKB, folder: Path, *, mode: str, name: str, allow_restricted: bool) -> None:
    """Write a KB into a saved component: as the folder itself, or as `<folder>.json` that names it.

    folder (Path): `<component>/kb`.
    mode (str): "copy", "hardlink" (the same files under a second name where the file system
        allows it, else copies) or "path" (absolute path and fingerprint).
    RAISES (TermlinkError): TL702 if the KB may not be shared and its data would be written.
    """
    pointer = folder.with_suffix(".json")
    if mode == "path":
        write_json(pointer, _pointer(kb))
        if folder.exists() and folder.resolve() != kb.path.resolve():
            shutil.rmtree(folder)
        return
    require_shareable(kb, name, allow_restricted)
    # saving a pipeline over itself: the files are there, and mapped
    if folder.resolve() != kb.path.resolve():
        copy = link_or_copy if mode == "hardlink" else shutil.copy2
        with atomic_folder(folder) as part:
            shutil.copytree(kb.path, part, copy_function=copy, dirs_exist_ok=True)
    pointer.unlink(missing_ok=True)


def load_kb(folder: Path, *, name: str) -> Optional[TermKB]:
    """The KB that `save_kb` wrote, None if the component was saved without one.

    RAISES (TermlinkError): If the KB is torn or gone, TL705 if it is another one than was saved.
    """
    if folder.is_dir():
        return open_kb(folder)
    pointer = folder.with_suffix(".json")
    return _follow(read_json(pointer), name) if pointer.exists() else None


def kb_to_bytes(kb: TermKB, *, mode: str, name: str, allow_restricted: bool) -> bytes:
    """The KB in a message: every file of the folder, or path and fingerprint with mode "path".

    RAISES (TermlinkError): TL702 if the KB may not be shared and its data would be written.
    """
    if mode == "path":
        return srsly.msgpack_dumps(_pointer(kb))
    require_shareable(kb, name, allow_restricted)
    return srsly.msgpack_dumps({"files": read_files(kb.path)})


def kb_from_bytes(data: bytes, *, name: str, owner: Any) -> TermKB:
    """The KB of `kb_to_bytes`; whole folders are written to a temporary place to be mapped.

    owner (Any): The component. When it goes, in the process that made it, so does the folder.
    """
    message = srsly.msgpack_loads(data)
    if "files" not in message:
        return _follow(message, name)
    return open_kb(write_files(message["files"], name=name, owner=owner))


def read_files(folder: Path) -> Dict[str, bytes]:
    """Every file of a folder: path in it -> content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write_files(files: Dict[str, bytes], *, name: str, owner: Any) -> Path:
    """Write what `read_files` read to a temporary folder; `owner` as in `kb_from_bytes`."""
    folder = Path(tempfile.mkdtemp(prefix="termlink-kb-"))
    weakref.finalize(owner, remove_own, folder, os.getpid())
    for relative, content in files.items():
        parts = PurePosixPath(relative)
        if parts.is_absolute() or ".." in parts.parts:  # bytes can come from anywhere
            raise TermlinkError("TL706", name=name, path=relative)
        path = folder / parts
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def _pointer(kb: TermKB) -> Dict[str, str]:
    return {"path": str(kb.path.resolve()), "fingerprint": _fingerprint(kb)}


def _fingerprint(kb: TermKB) -> str:
    # meta.json holds the sha256 of every file; kb.fingerprint is that of the encoder alone
    return sha256_file(kb.path / "meta.json")


def _follow(pointer: Dict[str, str], name: str) -> TermKB:
    kb = open_kb(Path(pointer["path"]))
    found, expected = _fingerprint(kb), pointer["fingerprint"]
    if found != expected:
        raise TermlinkError("TL705", name=name, path=kb.path, found=found, expected=expected)
    return kb


def require_shareable(kb: TermKB, name: str, allow_restricted: bool) -> None:
    """RAISES (TermlinkError): TL702 for a KB whose licence forbids passing it on."""
    if not (kb.shareable or allow_restricted):
        raise TermlinkError("TL702", name=name, kb=kb.name, licence=kb.licence or "not stated")


def remove_own(folder: Path, pid: int) -> None:
    """Delete a temporary folder in the process that made it."""
    # a forked worker inherits the finalizer, but not the folder
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)
