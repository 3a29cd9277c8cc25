"""Plain tables of names: csv, tsv or jsonl, one name a line (DESIGN.md, section 3)."""

import csv
import io
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from ...errors import TermlinkError
from ...types import NAME_KINDS
from ..concept import Concept, Name, Relation
from ._input import read_lines

REQUIRED = ("concept_id", "name")
LISTS = ("semantic_types", "parents", "alt_ids")
COLUMNS = (*REQUIRED, "kind", "language", *LISTS, "definition")

Row = tuple[int, dict[str, object]]  # line number, column -> value


def read_table(path: Path) -> Iterator[Concept]:
    """Yield the concepts of a table whose lines are names; the lines of a concept need not lie
    together, and what they say of it (types, parents, other ids, definition) is put together.

    The preferred name is the first line of kind preferred, else the concept's first line; a further
    preferred name is kept as exact. A line without a kind is exact, without a language en. In tsv a
    quote is a character like any other; csv is quoted as RFC 4180 says; jsonl has the columns as
    keys, its lists as arrays or separated by "|".

    path (Path): File that ends in .csv, .tsv, .txt (as .tsv) or .jsonl.
    RAISES (TermlinkError): TL111 for a missing column, TL108 with the line for a bad row.
    """
    concepts: dict[str, Concept] = {}
    defined: dict[str, int] = {}  # concept id -> line of its definition
    for line, row in _rows(path):
        values = _check(row, path, line)
        concept = concepts.setdefault(
            str(values["concept_id"]), Concept(str(values["concept_id"]), "")
        )
        _add(concept, values)
        _define(concept, str(values["definition"]), defined, path, line)
    if not concepts:
        raise TermlinkError("TL106", path=path)
    for concept in concepts.values():
        _choose_preferred(concept)
        yield concept


def _rows(path: Path) -> Iterator[Row]:
    lines = read_lines(path)
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        return _json_rows(lines, path)
    if suffix == ".csv":
        return _csv_rows(path)
    if suffix in (".tsv", ".txt"):
        cells = ((number, line.split("\t")) for number, line in lines if line.strip())
        return _with_header(cells, path)
    reason = f"its name ends in '{suffix}', expected .csv, .tsv, .txt or .jsonl"
    raise TermlinkError("TL105", path=path, format="table", reason=reason)


def _csv_rows(path: Path) -> Iterator[Row]:
    csv.field_size_limit(sys.maxsize)  # the default refuses a cell of 128 KB
    # the csv module puts quoted fields that hold a line break together, so it reads from the whole
    text = "\n".join(line for _, line in read_lines(path))
    reader = csv.reader(io.StringIO(text), strict=True)

    def cells() -> Iterator[tuple[int, list[str]]]:
        while True:
            try:
                row = next(reader, None)
            except csv.Error as error:
                reason = f"not valid csv ({error})"
                raise TermlinkError(
                    "TL108", path=path, line=reader.line_num, reason=reason
                ) from None
            if row is None:
                return
            if row:
                yield reader.line_num, row

    return _with_header(cells(), path)


def _with_header(cells: Iterator[tuple[int, list[str]]], path: Path) -> Iterator[Row]:
    number, header = next(cells, (1, []))
    header = [column.strip() for column in header]
    for column in COLUMNS:
        if column in REQUIRED and column not in header:
            found = ", ".join(header)[:200]
            raise TermlinkError("TL111", path=path, line=number, column=column, found=found)
        if header.count(column) > 1:
            reason = f"two columns '{column}'"
            raise TermlinkError("TL108", path=path, line=number, reason=reason)
    if others := [column for column in header if column not in COLUMNS]:
        warnings.warn(f"{path}: columns not read: {', '.join(others)}", stacklevel=2)
    for number, row in cells:
        if len(row) > len(header):
            reason = f"{len(row)} fields, the header has {len(header)}"
            raise TermlinkError("TL108", path=path, line=number, reason=reason)
        yield number, dict(zip(header, row, strict=False))


def _json_rows(lines: Iterator[tuple[int, str]], path: Path) -> Iterator[Row]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            reason = f"not valid JSON ({error})"
            raise TermlinkError("TL108", path=path, line=number, reason=reason) from None
        except RecursionError:
            reason = "JSON nested too deeply"
            raise TermlinkError("TL108", path=path, line=number, reason=reason) from None
        if not isinstance(row, dict):
            reason = "not a JSON object"
            raise TermlinkError("TL108", path=path, line=number, reason=reason)
        for column in REQUIRED:
            if column not in row:
                found = ", ".join(map(str, row))[:200]
                raise TermlinkError("TL111", path=path, line=number, column=column, found=found)
        yield number, row


def _check(row: dict[str, object], path: Path, line: int) -> dict[str, object]:
    """The row with every column of COLUMNS, its text stripped and its lists as lists."""
    values: dict[str, object] = {}
    for column in COLUMNS:
        value = row.get(column)
        try:
            values[column] = _list(value) if column in LISTS else _text(value)
        except ValueError as error:
            reason = f"{column}: {error}"
            raise TermlinkError("TL108", path=path, line=line, reason=reason) from None
    for column in REQUIRED:
        if not values[column]:
            raise TermlinkError("TL108", path=path, line=line, reason=f"{column} is empty")
    kind = values["kind"] = values["kind"] or "exact"
    if kind not in NAME_KINDS:
        reason = f"unknown kind '{kind}'; kinds are {', '.join(NAME_KINDS)}"
        raise TermlinkError("TL108", path=path, line=line, reason=reason)
    values["language"] = values["language"] or "en"
    return values


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        # an id of digits read as a number has lost its zeros: "00" is not 0
        raise ValueError(f"expected text, found {json.dumps(value)[:80]}")
    if "\0" in value:
        raise ValueError("a NUL, which is no character of a text")
    if not value.isascii():
        try:
            value.encode("utf8")
        except UnicodeEncodeError:
            raise ValueError("half of a surrogate pair, which is no character") from None
    return value.strip()


def _list(value: object) -> list[str]:
    items = value if isinstance(value, list) else _text(value).split("|")
    return [text for item in items if (text := _text(item))]


def _add(concept: Concept, values: dict) -> None:
    concept.names.append(Name(values["name"], values["kind"], values["language"]))
    for column, found in (
        ("semantic_types", concept.semantic_types),
        ("alt_ids", concept.alt_ids),
    ):
        found += [value for value in values[column] if value not in found]
    parents = [Relation("is_a", parent) for parent in values["parents"]]
    concept.relations += [relation for relation in parents if relation not in concept.relations]


def _define(
    concept: Concept, definition: str, defined: dict[str, int], path: Path, line: int
) -> None:
    if not definition or definition == concept.definition:
        return
    if concept.definition:
        reason = f"another definition of '{concept.concept_id}' than on line {defined[concept.concept_id]}"
        raise TermlinkError("TL108", path=path, line=line, reason=reason)
    concept.definition = definition
    defined[concept.concept_id] = line


def _choose_preferred(concept: Concept) -> None:
    kinds = [name.kind for name in concept.names]
    first = kinds.index("preferred") if "preferred" in kinds else 0
    preferred = concept.names.pop(first)
    concept.name, concept.language = preferred.text, preferred.language
    concept.names = [
        Name(n.text, "exact", n.language) if n.kind == "preferred" else n for n in concept.names
    ]
