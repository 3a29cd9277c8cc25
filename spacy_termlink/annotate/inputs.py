"""Streams notes from jsonl, csv, parquet, a folder of .txt or of such files, or stdin."""

import csv
import json
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Optional, Union

from ..errors import TermlinkError
from ..files import require_file
from .notes import Note, Reject, bad_characters, check_note

#: Field names tried, in this order, where none is asked for.
TEXT_FIELDS = ("text", "note_text")
ID_FIELDS = ("note_id", "doc_id", "id")
STDIN = "-"
#: Characters of the lines of a csv record; what is longer is taken for a quote that was never closed.
#: No pipeline takes so long a note.
MOST_CSV_CHARS = 1 << 24
KINDS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}

Item = Union[Note, Reject]
Row = tuple[int, Union[dict[str, Any], Reject]]


class NoteSource:
    """An input of notes.

    path (str): File, folder, or "-".
    text_field, id_field (Optional[str]): Fields asked for; None takes the first of TEXT_FIELDS and
        ID_FIELDS that the first readable row has. A folder of .txt has no fields: the id is the path
        below the folder without the suffix. The files of a folder without a .txt are read one after
        another, in the order of their paths.
    RAISES (TermlinkError): TL001, TL005 or TL801 if there is no such input.
    """

    def __init__(
        self, path: str, *, text_field: Optional[str] = None, id_field: Optional[str] = None
    ) -> None:
        self.path = path
        self.text_field = text_field
        self.id_field = id_field
        self.kind = self._find_kind()

    def _find_kind(self) -> str:
        if self.path == STDIN:
            if sys.stdin is None:  # closed by the shell: `<&-`
                raise TermlinkError("TL803", path="stdin, which is closed,", found="")
            return "stdin"
        path = Path(self.path)
        if path.is_dir():
            # where there is a .txt, the folder is one of .txt, and an output may lie beside them
            return "tables" if _table_files(path) and not _text_files(path) else "folder"
        require_file(path)
        if path.suffix.lower() not in KINDS:
            raise TermlinkError("TL801", path=path)
        return KINDS[path.suffix.lower()]

    def count(self) -> Optional[int]:
        """How many notes there are, for the progress bar: None on stdin, about right for csv."""
        path = Path(self.path)
        if self.kind == "stdin":
            return None
        if self.kind == "folder":
            return len(_text_files(path))
        if self.kind == "tables":
            return sum(source.count() or 0 for source in self._sources())
        if self.kind == "parquet":
            return _open_parquet(path).metadata.num_rows
        with path.open("rb") as file:
            return sum(1 for line in file if line.strip()) - (self.kind == "csv")

    def left_out(self) -> dict[str, int]:
        """Files of a folder that are not read, by suffix in small letters ("" for none); but for hidden
        ones and those that begin with `_`."""
        folder = Path(self.path)
        if self.kind not in ("folder", "tables"):
            return {}
        read = set(_text_files(folder) if self.kind == "folder" else _table_files(folder))
        others = (path for path in _files(folder) if path not in read and path.name[0] not in "._")
        return dict(sorted(Counter(map(_whole_suffix, others)).items()))

    def read(self) -> Iterator[Item]:
        """Every note in order, and a reject in the place of each that is none.

        RAISES (TermlinkError): TL802 or TL815 if a field is missing or there twice, TL803 if there is no
            note at all, TL819 for JSON that is no jsonl.
        """
        n_items = 0
        for item in self._items():
            n_items += 1
            yield item
        if not n_items:
            found = describe_files(self.left_out())
            raise TermlinkError(
                "TL803", path=self.path, found=f" (it has {found})" if found else ""
            )

    def _items(self) -> Iterator[Item]:
        if self.kind == "folder":
            return self._read_folder()
        return self._read_tables() if self.kind == "tables" else self._read_rows()

    def _sources(self) -> Iterator["NoteSource"]:
        for path in _table_files(Path(self.path)):
            yield NoteSource(str(path), text_field=self.text_field, id_field=self.id_field)

    def _read_tables(self) -> Iterator[Item]:
        """Lines are numbered through, as if the files were one."""
        items = (item for source in self._sources() for item in source._read_rows())
        for number, item in enumerate(items, start=1):
            yield item._replace(line=number)

    def _rows(self) -> Iterator[Row]:
        path = Path(self.path)
        if self.kind == "stdin":
            yield from _json_rows(sys.stdin.buffer, "stdin")
        elif self.kind == "jsonl":
            with path.open("rb") as file:
                yield from _json_rows(file, self.path)
        elif self.kind == "csv":
            yield from _csv_rows(path, self._choose)
        else:
            yield from _parquet_rows(path, self._choose)

    def _read_rows(self) -> Iterator[Item]:
        fields: Optional[tuple[str, str]] = None
        for line, row in self._rows():
            if isinstance(row, Reject):
                yield row
                continue
            fields = fields or self._choose(list(row))
            text_field, id_field = fields
            yield check_note(line, row.get(id_field), row.get(text_field))

    def _choose(self, found: Sequence[str]) -> tuple[str, str]:
        """Text and id field among the names of the columns, or of the first row."""
        chosen = []
        for asked, usual, option in (
            (self.text_field, TEXT_FIELDS, "--text-field"),
            (self.id_field, ID_FIELDS, "--id-field"),
        ):
            wanted = (asked,) if asked else usual
            field = next((name for name in wanted if name in found), None)
            if found.count(field or "") > 1:
                raise TermlinkError("TL815", path=self.path, field=field, option=option)
            if field is None:
                names = " or ".join(f"'{name}'" for name in wanted)
                shown = ", ".join(f"'{name}'" for name in found[:20]) or "none"
                raise TermlinkError(
                    "TL802", path=self.path, wanted=names, found=shown, option=option
                )
            chosen.append(field)
        return chosen[0], chosen[1]

    def _read_folder(self) -> Iterator[Item]:
        folder = Path(self.path)
        for line, path in enumerate(_text_files(folder), start=1):
            note_id = path.relative_to(folder).with_suffix("").as_posix()
            if bad := bad_characters(note_id):  # a file name in another encoding
                yield Reject(line, None, bad)
                continue
            try:
                # bytes, so that line ends stay as they are and offsets fit the file
                text = path.read_bytes().decode("utf8")
            except UnicodeDecodeError:
                yield Reject(line, note_id, "not_utf8")
            else:
                yield check_note(line, note_id, text)


def describe_files(left_out: dict[str, int]) -> str:
    """What `NoteSource.left_out` gives, in words: "2 .tsv, 1 .jsonl.gz", "" for none."""
    return ", ".join(f"{n} {suffix or 'without a suffix'}" for suffix, n in left_out.items())


def _whole_suffix(path: Path) -> str:
    packed = path.suffix.lower() in (".gz", ".bz2", ".xz", ".zst", ".zip")
    return "".join(path.suffixes[-2:] if packed else path.suffixes[-1:]).lower()


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _text_files(folder: Path) -> list[Path]:
    return sorted(path for path in _files(folder) if path.suffix.lower() == ".txt")


def _table_files(folder: Path) -> list[Path]:
    """Files of notes below a folder; not what programs write beside theirs: hidden, `_`, empty."""
    return sorted(
        path
        for path in _files(folder)
        if path.suffix.lower() in KINDS and path.name[0] not in "._" and path.stat().st_size
    )


def _json_rows(lines: Iterable[bytes], path: str) -> Iterator[Row]:
    """RAISES (TermlinkError): TL819 for an array, or an object over several lines."""
    full = _full_lines(lines)
    head = list(islice(full, 2))
    first = head[0][1].strip() if head else b""
    opens = first.startswith(b"[") or first == b"{"
    # a single bad line has a good one behind it
    if opens and isinstance(_json_row(*head[-1]), Reject):
        raise TermlinkError("TL819", path=path)
    for number, raw in chain(head, full):
        yield number, _json_row(number, raw)


def _full_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, raw in enumerate(lines, start=1):
        raw = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if raw.strip():
            yield number, raw


def _json_row(number: int, raw: bytes) -> Union[dict[str, Any], Reject]:
    try:
        row = json.loads(raw.decode("utf8"))
    except UnicodeDecodeError:
        return Reject(number, None, "not_utf8")
    except (ValueError, RecursionError):
        return Reject(number, None, "broken_json")
    return row if isinstance(row, dict) else Reject(number, None, "not_an_object")


def _csv_rows(path: Path, choose: Any) -> Iterator[Row]:
    csv.field_size_limit(sys.maxsize)  # the default refuses a field of 128 KB, a long note
    # surrogateescape: one note that is not UTF-8 must not end the reading of the others
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        lines = _CsvLines(file)
        reader = csv.reader(lines, strict=True)
        header: Optional[list[str]] = None
        while True:
            number = lines.begin_record()
            try:
                cells = next(reader, None)
            except csv.Error:
                if header is None:  # what follows is a note, and no error may quote it
                    choose([])
                lines.go_back()
                yield number, Reject(number, None, "broken_row")
                continue
            if cells is None:
                return
            if header is None:
                header = cells
                choose(header)
            elif cells:
                yield number, _csv_row(number, header, cells)


class _CsvLines:
    """The lines of a csv file, which can be read again from the second line of a record on.

    A quote that is never closed makes one record of its line and all that follow, up to the next
    quote: they are notes of their own.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._again: deque[str] = deque()
        self._record: list[str] = []
        self._size = self._n_read = 0

    def __iter__(self) -> "_CsvLines":
        return self

    def __next__(self) -> str:
        if self._size > MOST_CSV_CHARS:  # so that what is kept fits in memory
            raise csv.Error
        line = self._again.popleft() if self._again else next(self._lines)
        self._record.append(line)
        self._size += len(line)
        self._n_read += 1
        return line

    def begin_record(self) -> int:
        """Let the record before go. RETURNS (int): Number of the next line."""
        self._record.clear()
        self._size = 0
        return self._n_read + 1

    def go_back(self) -> None:
        """To the line behind the first of the record."""
        behind = self._record[1:]
        self._again.extendleft(reversed(behind))
        self._n_read -= len(behind)


def _csv_row(number: int, header: list[str], cells: list[str]) -> Union[dict[str, Any], Reject]:
    if len(cells) != len(header):
        return Reject(number, None, "broken_row")
    if any("\udc80" <= char <= "\udcff" for cell in cells for char in cell):
        return Reject(number, None, "not_utf8")
    return dict(zip(header, cells, strict=True))


def _open_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    with _named_parquet(path):
        return pq.ParquetFile(path)


@contextmanager
def _named_parquet(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise TermlinkError("TL813", path=path, reason=reason) from None


def _batches(file: Any, path: Path, fields: list[str]) -> Iterator[Any]:
    with _named_parquet(path):
        yield from file.iter_batches(batch_size=256, columns=fields)


def _parquet_rows(path: Path, choose: Any) -> Iterator[Row]:
    file = _open_parquet(path)
    fields = list(dict.fromkeys(choose(file.schema_arrow.names)))
    number = 0
    for batch in _batches(file, path, fields):
        for row in range(batch.num_rows):
            number += 1
            try:
                values = [column[row].as_py() for column in batch.columns]
            except UnicodeDecodeError:  # Arrow does not check the strings that it reads
                yield number, Reject(number, None, "not_utf8")
            else:
                yield number, dict(zip(batch.schema.names, values, strict=True))
