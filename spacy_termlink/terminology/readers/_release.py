"""Files of a licensed release, read where they lie and column by column: a folder, .gz parts, or the
zip as delivered."""

import gzip
import io
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pyarrow as pa
import pyarrow.csv as pa_csv

from ...errors import TermlinkError

BLOCK_BYTES = 8 << 20


class Member(NamedTuple):
    """A file of a release.

    name (str): Its base name, without ".gz".
    place (str): Where it lies in the release, for messages and the order of parts.
    open (Callable): Opens it for reading bytes, decompressed.
    """

    name: str
    place: str
    open: Callable[[], Any]


class Release:
    """A folder or zip of a release, and the zips in a folder.

    Nothing is unpacked to disk, and nothing outside of the folder is read: a link that leads out of it
    is no member.

    path (Path): The folder or zip.
    format (str): What it should be, for messages.
    """

    def __init__(self, path: Path, format: str) -> None:  # noqa: A002
        self.path = path
        self.format = format
        self.members = sorted(self._members(), key=lambda member: member.place)

    def _members(self) -> Iterator[Member]:
        if not self.path.is_dir():
            yield from self._zipped(self.path)
            return
        root = self.path.resolve()
        for file in sorted(self.path.rglob("*")):
            if not file.is_file() or not file.resolve().is_relative_to(root):
                continue
            if file.suffix == ".zip":
                yield from self._zipped(file)
            else:
                yield _member(
                    file.name, file.relative_to(self.path).as_posix(), partial(file.open, "rb")
                )

    def _zipped(self, path: Path) -> Iterator[Member]:
        try:
            archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError) as error:
            reason = f"neither a folder nor a whole zip ({error})"
            raise TermlinkError("TL105", path=path, format=self.format, reason=reason) from None
        for info in archive.infolist():
            if not info.is_dir():
                name = os.path.basename(info.filename)  # noqa: PTH119 - a name in a zip is no path
                yield _member(name, f"{path.name}/{info.filename}", partial(archive.open, info))

    def find(self, pattern: str) -> list[Member]:
        """Members whose base name matches a pattern as a whole."""
        return [m for m in self.members if re.fullmatch(pattern, m.name)]

    def require(self, pattern: str, file: str) -> list[Member]:
        """As `find`, but there must be one.

        file (str): What to call it in the message.
        RAISES (TermlinkError): TL140 if there is none.
        """
        if found := self.find(pattern):
            return found
        raise TermlinkError("TL140", path=self.path, format=self.format, file=file)

    def read(
        self,
        members: Sequence[Member],
        *,
        delimiter: str,
        columns: Sequence[str],
        keep: Sequence[str],
        header: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Rows of one table, in batches; the members are parts of one stream of bytes.

        columns (Sequence[str]): All columns of the table, in order.
        keep (Sequence[str]): Those wanted.
        header (bool): The first line holds the names of the columns.
        RAISES (TermlinkError): TL141 for rows in another form, what is no UTF-8, a damaged zip.
        """
        if not members:
            return
        try:
            with io.BufferedReader(_Joined(members), BLOCK_BYTES) as stream:
                yield from pa_csv.open_csv(
                    stream,
                    pa_csv.ReadOptions(
                        column_names=columns, block_size=BLOCK_BYTES, skip_rows=int(header)
                    ),
                    # a quote is a character like any other
                    pa_csv.ParseOptions(delimiter=delimiter, quote_char=False, double_quote=False),
                    pa_csv.ConvertOptions(
                        include_columns=keep, column_types=dict.fromkeys(keep, pa.string())
                    ),
                )
        except (pa.ArrowException, zipfile.BadZipFile, OSError, EOFError) as error:
            # of a bad row the message cites the row: the start says enough
            reason = " ".join(str(error).split())[:120]
            raise TermlinkError(
                "TL141", path=self.path, file=members[0].place, reason=reason
            ) from None


def _member(name: str, place: str, opened: Callable[[], Any]) -> Member:
    if name.endswith(".gz"):
        return Member(name[:-3], place, lambda: gzip.open(opened()))  # noqa: SIM115 - closed by the user
    return Member(name, place, opened)


class _Joined(io.RawIOBase):
    """The members' bytes, one after the other; an official part may end within a line."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._left = list(members)
        self._open: Optional[Any] = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._open is None:
                if not self._left:
                    return 0
                self._open = self._left.pop(0).open()
            if data := self._open.read(len(buffer)):
                buffer[: len(data)] = data
                return len(data)
            self._open.close()
            self._open = None
