"""The unfinished run: parts written aside in a folder beside the output, so that a killed run can
go on and the output itself appears only when it is whole.

The input is cut into parts by its order alone, so that a run on any number of processes, killed or
not, makes the same parts.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import pyarrow as pa

from ..errors import TermlinkError
from ..files import atomic_folder, begin_folder, only_process, read_json, sha256_file, write_json
from .core import REJECTS, Annotated, to_batch
from .notes import Note, Reject

MANIFEST, RESULT, LOCK = "manifest.json", "result.json", ".lock"
#: Names of what the folder holds, temporary ones included.
OURS = r"\.?(lock|part-\d{7}|output|manifest\.json)(\.[0-9a-f]{8}\.(part|old))?"
#: A part ends at so many notes or characters: bounds what is in memory and what a kill loses.
PART_NOTES = 256
PART_CHARS = 1_000_000

NOTES = pa.schema([("line", pa.int64()), ("note_id", pa.string()), ("text", pa.string())])


class Part(NamedTuple):
    """A run of notes of the input.

    number (int): From 0.
    notes (pa.RecordBatch): Columns of NOTES.
    rejects (list[Reject]): What the reader refused in this stretch.
    digest (str): sha256 over notes and rejects: the same stretch of the same input.
    """

    number: int
    notes: pa.RecordBatch
    rejects: list[Reject]
    digest: str

    @property
    def n_items(self) -> int:
        """Notes and rejects."""
        return self.notes.num_rows + len(self.rejects)


class PartResult(NamedTuple):
    """What a finished part says of itself; JSON beside its tables.

    number, digest: Of the part.
    n_annotated (int): Notes annotated.
    n_rejected (int): Notes refused.
    n_mentions (dict[str, int]): Rows per KB.
    n_nil (dict[str, int]): Rows per KB with NIL.
    assessed (bool): Whether any mention has an assertion.
    files (dict[str, str]): sha256 of each file beside it.
    """

    number: int
    digest: str
    n_annotated: int
    n_rejected: int
    n_mentions: dict[str, int]
    n_nil: dict[str, int]
    assessed: bool
    files: dict[str, str] = {}


def cut_parts(items: Iterable[Union[Note, Reject]]) -> Iterator[Part]:
    """Cut an input into parts; later notes with the id of an earlier one become rejects.

    Ids are remembered as 16-byte digests, about 100 bytes a note with Python's overhead.
    """
    seen: set[bytes] = set()
    number, chars = 0, 0
    stretch: list[Union[Note, Reject]] = []
    for item in items:
        if isinstance(item, Note):
            key = hashlib.blake2b(item.note_id.encode(), digest_size=16).digest()
            if key in seen:
                item = Reject(item.line, item.note_id, "duplicate_id")
            else:
                seen.add(key)
                chars += len(item.text)
        stretch.append(item)
        if len(stretch) >= PART_NOTES or chars >= PART_CHARS:
            yield _part(number, stretch)
            number, chars, stretch = number + 1, 0, []
    if stretch:
        yield _part(number, stretch)


def _part(number: int, items: Sequence[Union[Note, Reject]]) -> Part:
    notes = [item for item in items if isinstance(item, Note)]
    digest = hashlib.sha256(json.dumps([list(item) for item in items]).encode()).hexdigest()
    rejects = [item for item in items if isinstance(item, Reject)]
    return Part(number, to_batch(notes, NOTES), rejects, digest)


class PartFolder:
    """The folder of an unfinished run: `manifest.json` and a folder per finished part.

    path (Path): Beside the output.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Make the folder, if no run lies there, and keep other processes from it.

        RAISES (TermlinkError): TL002 if something else lies there, TL817 if another process has it.
        """
        if not (self.path / MANIFEST).exists():
            # without a manifest no part was begun, or it was left over while being deleted
            begin_folder(self.path, ours=OURS, kind="unfinished run")
        with only_process(self.path / LOCK) as only:
            if not only:
                raise TermlinkError("TL817", folder=self.path)
            yield

    def begin(self, manifest: dict[str, Any], *, resume: bool) -> dict[str, Any]:
        """Start a run in the folder held, or go on with one.

        manifest (dict): What the run depends on; "date" is taken over from the run begun.
        RETURNS (dict): The manifest in force.
        RAISES (TermlinkError): TL809 if a run lies there and `resume` is not set, TL810 if it was
            begun with something else, TL816 if its manifest is damaged.
        """
        if not (self.path / MANIFEST).exists():
            write_json(self.path / MANIFEST, manifest)
            return manifest
        if not resume:
            raise TermlinkError("TL809", folder=self.path)
        begun = _read_object(self.path / MANIFEST)
        if begun is None or manifest.keys() - begun.keys():
            raise TermlinkError("TL816", folder=self.path)
        for key in manifest:
            if key != "date" and begun.get(key) != manifest[key]:
                raise self.differs(f"{key} {begun.get(key)}, now {manifest[key]}")
        return begun

    def differs(self, difference: str) -> TermlinkError:
        """The error of a run resumed with something else."""
        return TermlinkError("TL810", folder=self.path, difference=difference)

    def finished(self) -> dict[int, PartResult]:
        """Finished parts by number; one that is damaged, by a crash of the machine or a full disk, is not
        among them, and will be done again.
        """
        folders = sorted(self.path.glob("part-*"))
        results = [_read_result(folder) for folder in folders]
        return {r.number: r for r in results if r and self.folder(r.number) in folders}

    def folder(self, number: int) -> Path:
        """Where a part lies."""
        return self.path / f"part-{number:07d}"

    def write(self, part: Part, annotated: Annotated, extra: dict[str, bytes]) -> PartResult:
        """Write a finished part, atomically.

        extra (dict[str, bytes]): Further files, for formats that need more than the annotations.
        """
        rejects = sorted([*part.rejects, *(Reject(**r) for r in annotated.rejects.to_pylist())])
        result = _result(part, annotated, len(rejects))
        with atomic_folder(self.folder(part.number)) as folder:
            _write_batch(folder / "annotations.arrow", annotated.annotations)
            _write_batch(folder / "rejects.arrow", to_batch(rejects, REJECTS))
            for name, content in extra.items():
                (folder / name).write_bytes(content)
            files = {path.name: _secure(path) for path in sorted(folder.iterdir())}
            write_json(folder / RESULT, result._replace(files=files)._asdict())
        return result._replace(files=files)

    def tables(self, name: str, n_parts: int) -> Iterator[pa.RecordBatch]:
        """The "annotations" or "rejects" of every part, in order."""
        for number in range(n_parts):
            with pa.ipc.open_file(pa.OSFile(str(self.folder(number) / f"{name}.arrow"))) as file:
                yield file.get_batch(0)

    def extras(self, name: str, n_parts: int) -> Iterator[bytes]:
        """A further file of every part, in order."""
        for number in range(n_parts):
            yield (self.folder(number) / name).read_bytes()

    def remove(self) -> None:
        """Delete what runs put into the folder, and the folder if that is all; manifest last, so that
        a kill leaves a run that can go on.
        """
        if not self.path.is_dir():
            return
        for entry in sorted(self.path.iterdir(), key=lambda entry: entry.name == MANIFEST):
            if re.fullmatch(OURS, entry.name):
                _delete(entry)
        with suppress(OSError):
            self.path.rmdir()


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _secure(path: Path) -> str:
    """Have a file on the disk before the rename that makes it count. RETURNS (str): sha256."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    return sha256_file(path)


def _read_object(path: Path) -> Optional[dict[str, Any]]:
    try:
        read = read_json(path)
    except (TermlinkError, OSError):
        return None
    return read if isinstance(read, dict) else None


def _read_result(folder: Path) -> Optional[PartResult]:
    """The result of a part, None if it or one of its files is not as it was written."""
    try:
        result = PartResult(**(_read_object(folder / RESULT) or {}))
        found = {path.name: sha256_file(path) for path in folder.iterdir() if path.name != RESULT}
        whole = isinstance(result.number, int) and bool(found) and found == result.files
    except (TypeError, OSError):
        return None
    return result if whole else None


def _result(part: Part, annotated: Annotated, n_rejected: int) -> PartResult:
    n_mentions: dict[str, int] = {}
    n_nil: dict[str, int] = {}
    rows = annotated.annotations
    for kb, concept_id in zip(rows["kb"].to_pylist(), rows["concept_id"].to_pylist(), strict=True):
        n_mentions[kb] = n_mentions.get(kb, 0) + 1
        n_nil[kb] = n_nil.get(kb, 0) + (concept_id == "NIL")
    assessed = rows["assertion"].null_count < rows.num_rows
    return PartResult(
        part.number, part.digest, annotated.n_annotated, n_rejected, n_mentions, n_nil, assessed
    )


def _write_batch(path: Path, batch: pa.RecordBatch) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
