"""What Spark and Ray have in common: the core on the record batches that an engine hands out."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Union

import pyarrow as pa
import pyarrow.compute as pc
from spacy.language import Language

from ..errors import MissingExtraError, TermlinkError
from .core import (
    ANNOTATIONS,
    Annotated,
    annotate_batch,
    beside,
    check_carried,
    find_linkers,
    stretches,
)
from .parts import PART_CHARS, PART_NOTES
from .pipelines import load_pipeline
from .privacy import withhold_errors, withhold_messages

#: What a refused note has beside its id, where rejects are asked for; null in the row of a mention.
REJECT_FIELDS = {"reject": "code", "reject_component": "component", "reject_error": "error"}

Pipeline = Union[str, Path, Sequence[Union[str, Path]]]


class Task(NamedTuple):
    """What the processes of an engine are told.

    pipeline (tuple[str, ...]): KB folders, or one saved pipeline; see `load_pipeline`.
    text, id (str): Columns of text and id.
    carry (tuple[str, ...]): Columns whose values are repeated in every row of their note.
    rejects (bool): Give a row for each refused note, too.
    """

    pipeline: tuple[str, ...]
    text: str
    id: str
    carry: tuple[str, ...]
    rejects: bool


def make_task(
    pipeline: Pipeline, columns: Sequence[str], *, text: str, id: str, rejects: bool  # noqa: A002
) -> Task:  # fmt: skip
    """A task on the notes of a table; all columns but text and id are carried through.

    pipeline (Pipeline): One path or several; what exists here becomes absolute, since the processes
        of an engine work in other folders.
    columns (Sequence[str]): Of the table.
    RAISES (TermlinkError): TL860 if text or id is not a column, TL861 if a column has the name of a
        column of the result, or there are two of one name.
    """
    for name, what in ((text, "text"), (id, "id")):
        if name not in columns:
            found = ", ".join(f"'{column}'" for column in columns[:20]) or "none"
            raise TermlinkError("TL860", name=name, found=found, what=what)
    check_carried([name for name in columns if name in (text, id)], result=())
    carry = tuple(name for name in columns if name not in (text, id))
    check_carried(carry, result=[*ANNOTATIONS.names, *(REJECT_FIELDS if rejects else ())])
    paths = [pipeline] if isinstance(pipeline, (str, Path)) else list(pipeline)
    return Task(tuple(_absolute(path) for path in paths), text, id, carry, rejects)


def _absolute(path: Union[str, Path]) -> str:
    return str(Path(path).resolve()) if Path(path).exists() else str(path)


def result_fields(task: Task) -> list[pa.Field]:
    """Fields of the result, but for those carried through."""
    if not task.rejects:
        return list(ANNOTATIONS)
    rejects = [pa.field(name, pa.string()) for name in REJECT_FIELDS]
    return [field.with_nullable(True) for field in ANNOTATIONS] + rejects


def annotate_slices(task: Task, nlp: Language, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Annotate a record batch, whatever its size, a stretch of notes at a time.

    RAISES (TermlinkError): TL811 for an unexpected exception, its message withheld.
    """
    linkers = find_linkers(nlp)
    for notes in _slices(batch, task.text):
        with withhold_errors("The pipeline"), withhold_messages():
            found = annotate_batch(
                nlp, notes, text_field=task.text, id_field=task.id, line_field=None,
                carry=task.carry, linkers=linkers,
            )  # fmt: skip
        yield from _result(task, notes, found)


def _slices(batch: pa.RecordBatch, text: str) -> Iterator[pa.RecordBatch]:
    """Stretches of PART_NOTES notes and PART_CHARS bytes of text."""
    column = batch.column(text)
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    lengths = pc.binary_length(column).to_pylist() if is_text else [0] * len(column)
    sizes = [length or 0 for length in lengths]
    for start, stop in stretches(sizes, PART_NOTES, PART_CHARS):
        yield batch.slice(start, stop - start)


def _result(task: Task, notes: pa.RecordBatch, found: Annotated) -> Iterator[pa.RecordBatch]:
    """The rows of the mentions, and where asked for those of the refused notes."""
    if not task.rejects:
        yield found.annotations
        return
    fields = result_fields(task)
    schema = pa.schema([*fields, *(notes.schema.field(name) for name in task.carry)])
    n_rows, n_rejects = found.annotations.num_rows, found.rejects.num_rows
    yield _with_nulls(found.annotations, schema, n_rows)
    renamed = {name: found.rejects.column(code) for name, code in REJECT_FIELDS.items()}
    columns = {"note_id": found.rejects.column("note_id"), **renamed}
    refused = pa.RecordBatch.from_pydict(columns)
    lines = found.rejects.column("line").to_pylist()
    carried = notes.select(list(task.carry))
    refused = beside(refused, carried, [line - 1 for line in lines])
    yield _with_nulls(refused, schema, n_rejects)


def _with_nulls(batch: pa.RecordBatch, schema: pa.Schema, n_rows: int) -> pa.RecordBatch:
    known = set(batch.schema.names)
    columns = [
        batch.column(f.name) if f.name in known else pa.nulls(n_rows, f.type) for f in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@lru_cache(maxsize=1)
def load_once(pipeline: tuple[str, ...]) -> Language:
    """The pipeline of this process: loaded by the first batch, kept for those that follow."""
    return load_pipeline(pipeline)


def missing(error: ImportError, extra: str) -> MissingExtraError:
    """The error of an engine that is not installed."""
    return MissingExtraError("TL004", library=error.name or extra, extra=extra)
