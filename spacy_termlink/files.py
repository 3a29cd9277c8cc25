"""Writing so that a killed process leaves the old file or the new one, never half of one."""

import errno
import glob
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from .errors import TermlinkError

if TYPE_CHECKING:
    import numpy as np

CHUNK_BYTES = 1 << 20
LEFT_OVER_SECONDS = 60


def sha256_file(path: Path) -> str:
    """Hex sha256 of a file, read in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def require_file(path: Path) -> Path:
    """The path, if it is a file with something in it.

    RAISES (TermlinkError): TL001, TL005 or TL008.
    """
    if not path.exists():
        raise TermlinkError("TL001", path=path)
    if path.is_dir():
        raise TermlinkError("TL008", path=path)
    if path.stat().st_size == 0:
        raise TermlinkError("TL005", path=path)
    return path


def find_target(path: Path) -> Path:
    """What a path leads to: links are followed, so that the file they name is written, and they stay.

    RAISES (TermlinkError): TL006 for links that lead nowhere but to themselves.
    """
    target = Path(os.path.realpath(path))
    if os.path.islink(target):  # noqa: PTH114 - False, not an error, for a name that is too long
        raise TermlinkError("TL006", path=path, reason=os.strerror(errno.ELOOP))
    return target


def is_special(path: Path) -> bool:
    """Whether there is something that is neither file nor folder: a pipe or a device."""
    return path.exists() and not path.is_file() and not path.is_dir()


def check_writable(path: Path) -> None:
    """Try whether a file can be written, without changing one that is there.

    RAISES (TermlinkError): TL006.
    """
    try:
        if is_special(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        target = find_target(path)
        folder = next(parent for parent in target.parents if parent.exists())
        # the name of the part that `atomic_file` writes may be too long
        if folder == target.parent:
            with suppress(FileNotFoundError):
                os.lstat(folder / f".{target.name}.{'0' * 8}.part")
        # in the folder itself, since a disk may be only read; without a name, which a kill would leave
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise TermlinkError("TL006", path=path, reason=error.strerror or error) from error


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; renamed onto it at the end, removed on an error.

    A link is followed, and the file that it names replaced. Into a pipe or a device the whole is
    written at the end; those are never replaced.

    RAISES (TermlinkError): TL006 if it cannot be written.
    """
    try:
        if is_special(path):
            with tempfile.TemporaryDirectory() as folder:
                part = Path(folder) / "whole"
                yield part
                with part.open("rb") as whole, path.open("wb") as sink:
                    shutil.copyfileobj(whole, sink)
            return
        target = find_target(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            yield part
            # after a crash of the machine a rename may outlive the data it names
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise TermlinkError("TL006", path=path, reason=error.strerror or error) from error


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside `path`; it takes the place of `path`, or of the folder that
    this links to, at the end.

    A folder cannot be renamed over another: the old one is moved aside first, put back if the
    second rename fails, and deleted last. What a killed process left of the same folder is put back,
    if there is no other, or deleted.

    RAISES (TermlinkError): TL006 if it cannot be written.
    """
    path = find_target(path)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    old = part.with_suffix(".old")
    locks: list[Optional[int]] = []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        restore_folder(path)
        _remove_left_over(path)
        part.mkdir()
        locks.append(_lock(part))
        yield part
        if path.exists():
            locks.append(_lock(path))  # from here on until it is back or deleted
            path.rename(old)
        try:
            part.rename(path)
        except OSError:
            if old.exists():
                old.rename(path)
            raise
    except OSError as error:
        raise TermlinkError("TL006", path=path, reason=error.strerror or error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if os.path.exists(path):  # noqa: PTH110 - False, not an error, for a name that is too long
            shutil.rmtree(old, ignore_errors=True)
        for lock in locks:
            if lock is not None:
                os.close(lock)


def begin_folder(path: Path, *, ours: str, kind: str) -> None:
    """Make the folder of an unfinished work, without what was left of one while it was deleted.

    ours (str): Pattern of the names that such a folder may hold.
    kind (str): What the folder is, for the message.
    RAISES (TermlinkError): TL002 for anything else that is there; TL006 if it cannot be made.
    """
    try:
        if os.path.lexists(path):
            if path.is_symlink() or not path.is_dir():
                raise TermlinkError("TL002", path=path, kind=kind)
            if not all(re.fullmatch(ours, entry.name) for entry in path.iterdir()):
                raise TermlinkError("TL002", path=path, kind=kind)
            shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    except OSError as error:
        raise TermlinkError("TL006", path=path, reason=error.strerror or error) from error


def restore_folder(path: Path) -> None:
    """Put a folder back that `atomic_folder` had moved aside when its process was killed, before the
    new one could take its place. Nothing happens where `path` exists, or where that process lives."""
    path = Path(os.path.realpath(path))
    if os.path.exists(path):  # noqa: PTH110 - see above
        return
    for old in _left_over(path, "old"):
        with _held(old) as held, suppress(OSError):  # a disk that is only read
            if held and not path.exists():
                old.rename(path)
                return


def _remove_left_over(path: Path) -> None:
    """Delete the temporary folders of `path` that no living process holds."""
    for part in _left_over(path, "part"):
        # one that was made a moment ago may not be locked yet
        if time.time() - part.stat().st_mtime > LEFT_OVER_SECONDS:
            with _held(part) as held:
                if held:
                    shutil.rmtree(part, ignore_errors=True)
    for old in _left_over(path, "old"):
        with _held(old) as held:
            if held and path.exists():
                shutil.rmtree(old, ignore_errors=True)


def _left_over(path: Path, ending: str) -> Iterator[Path]:
    found = path.parent.glob(f".{glob.escape(path.name)}.????????.{ending}")
    return (folder for folder in found if folder.is_dir())


@contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Whether this process holds a folder, for as long as that lasts."""
    try:
        lock = _lock(folder)
    except OSError:  # gone, or one that may not be read
        lock = None
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> Optional[int]:
    """Hold a folder until the process ends or closes it; None where another one does, or where the
    system has no such locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


@contextmanager
def only_process(path: Path) -> Iterator[bool]:
    """Whether this process is the only one that holds a lock file, which is made; True where there are
    no such locks. Children do not inherit it, so that none outlives the process."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield True
        return
    with path.open("w") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            only = True
        except OSError as error:
            only = error.errno not in (errno.EACCES, errno.EAGAIN)  # else a disk without locks
        yield only


def link_or_copy(source: str, target: str) -> None:
    """A hard link, or a copy where there can be none."""
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)


def map_array(path: Path) -> "np.ndarray":
    """Map a .npy file of a KB; its values are read when they are used.

    RAISES (TermlinkError): TL505 if it is missing or no .npy file.
    """
    import numpy as np

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, OSError) as error:
        # numpy takes what it does not know for a pickle, which says nothing to a reader
        known = isinstance(error, OSError) and error.strerror
        raise TermlinkError("TL505", path=path, reason=known or "it is no .npy file") from error
    # an ndarray view of the map: np.memmap's own indexing is several times slower
    return array.view(np.ndarray)


def save_arrays(folder: Path, arrays: "Mapping[str, np.ndarray]") -> None:
    """Write one .npy per array, to be mapped by `map_array`."""
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def write_json(path: Path, data: Any) -> None:
    """Write indented JSON, atomically; floats keep all their digits (srsly's are cut to nine)."""
    with atomic_file(path) as part:
        part.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf8")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    RAISES (TermlinkError): TL001/TL005/TL008 if there is none, TL003 if it cannot be parsed.
    """
    require_file(path)
    try:
        return json.loads(path.read_text(encoding="utf8"))
    except ValueError as error:
        raise TermlinkError("TL003", path=path, reason=error) from error
