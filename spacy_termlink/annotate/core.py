"""The core: a record batch of notes in, a record batch of annotations out. No file, no process.

The batch command, Spark and Ray, and any other engine that hands out Arrow record batches call the
same function.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Optional, Union

import pyarrow as pa
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..errors import TermlinkError
from ..pipeline.extensions import find_link
from ..pipeline.term_linker import TermLinker
from ..types import NIL
from .assertion import find_assessors, get_assertion, get_section
from .notes import Note, Reject, check_note
from .unfit import find_unfit

#: One row per mention and KB. Offsets are characters (code points) into the note as given.
ANNOTATIONS = pa.schema(
    [
        pa.field("note_id", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("label", pa.string(), nullable=False),
        pa.field("kb", pa.string(), nullable=False),
        pa.field("release", pa.string()),
        pa.field("concept_id", pa.string()),
        pa.field("concept_name", pa.string()),
        pa.field("matched", pa.string()),
        pa.field("score", pa.float64()),
        pa.field("probability", pa.float64()),
        pa.field("tier", pa.string()),
        pa.field("assertion", pa.string()),
        pa.field("section", pa.string()),
    ]
)
REJECTS = pa.schema(
    [
        pa.field("line", pa.int64(), nullable=False),
        pa.field("note_id", pa.string()),
        pa.field("code", pa.string(), nullable=False),
        pa.field("component", pa.string()),
        pa.field("error", pa.string()),
    ]
)
#: A batch of docs that the pipeline gets ends at so many notes or characters: short notes are taken
#: together, a long one does not make others wait in memory.
BATCH_SIZE = 128
BATCH_CHARS = 200_000
OnDoc = Callable[[str, Doc, list[dict[str, Any]]], None]


class Linker(NamedTuple):
    """A `term_linker` of a pipeline.

    name (str): The component's name.
    kb, release, licence (str): Of its KB.
    url (str): Template of its concepts' pages on the web, "" if there are none.
    spans_key (Optional[str]): Span group it links, None for `doc.ents`.
    source (str): What its terminology was read from.
    """

    name: str
    kb: str
    release: str
    licence: str
    url: str = ""
    spans_key: Optional[str] = None
    source: str = ""


class Annotated(NamedTuple):
    """What became of a batch of notes: every note has its rows in `annotations` (none, where nothing
    was found in it) or one row in `rejects`.

    annotations (pa.RecordBatch): Columns of ANNOTATIONS, then those carried through: notes in the
        order given, then by offsets, then linkers in pipeline order.
    rejects (pa.RecordBatch): Columns of REJECTS.
    n_annotated (int): Notes that went through the pipeline.
    """

    annotations: pa.RecordBatch
    rejects: pa.RecordBatch
    n_annotated: int


def find_linkers(nlp: Language) -> list[Linker]:
    """The `term_linker` components of a pipeline, in its order; opens their KBs.

    RAISES (TermlinkError): What opening a KB raises.
    """
    linkers = []
    for name, component in nlp.pipeline:
        if isinstance(component, TermLinker):
            kb, key = component.kb, component.cfg["spans_key"]
            url, source = (kb.terminology.meta.get(field, "") for field in ("url", "source"))
            linkers.append(Linker(name, kb.name, kb.release, kb.licence, url, key, source))
    return linkers


def annotate_batch(
    nlp: Language,
    batch: pa.RecordBatch,
    *,
    text_field: str = "text",
    id_field: str = "note_id",
    line_field: Optional[str] = "line",
    carry: Sequence[str] = (),
    linkers: Optional[Sequence[Linker]] = None,
    on_doc: Optional[OnDoc] = None,
) -> Annotated:
    """Annotate the notes of a record batch.

    A note that the pipeline fails on is rejected alone; the others of the batch are annotated as if
    it had not been there. No exception's message is kept, it could quote the note.

    nlp (Language): A pipeline with `term_linker` components.
    batch (pa.RecordBatch): Has the two fields.
    text_field, id_field (str): Fields of the text (string) and of the id (string or integer).
    line_field (Optional[str]): Field that numbers the notes for the rejects; where it is missing, or
        None, they are numbered from 1.
    carry (Sequence[str]): Fields whose values are repeated in every row of their note.
    linkers (Optional[Sequence[Linker]]): From `find_linkers`, to find them once for many batches.
    on_doc (Optional[OnDoc]): Called with (note_id, doc, rows) for each annotated note, in order.
    RETURNS (Annotated): Annotations and rejects.
    RAISES (TermlinkError): TL861 if a field to carry has the name of a column of the result.
    """
    check_carried(carry)
    linkers = find_linkers(nlp) if linkers is None else linkers
    assessed = find_assessors(nlp)
    rows: list[tuple] = []
    rejects: list[Reject] = []
    places: list[int] = []  # row of the batch that each row comes from
    n_annotated = 0
    notes = list(_notes(nlp, batch, text_field, id_field, line_field))
    for place, (note, doc) in enumerate(_process(nlp, notes)):
        if isinstance(doc, Reject):
            rejects.append(doc)
            continue
        n_annotated += 1
        of_doc = list(_rows(note, doc, linkers, assessed))
        rows.extend(of_doc)
        places.extend([place] * len(of_doc))
        if on_doc is not None:
            on_doc(
                note.note_id, doc, [dict(zip(ANNOTATIONS.names, r, strict=True)) for r in of_doc]
            )
    annotations = beside(to_batch(rows, ANNOTATIONS), batch.select(list(carry)), places)
    return Annotated(annotations, to_batch(rejects, REJECTS), n_annotated)


def check_carried(carry: Sequence[str], result: Sequence[str] = tuple(ANNOTATIONS.names)) -> None:
    """Refuse a field that could not be told from another, or from a column of the result.

    RAISES (TermlinkError): TL861.
    """
    for name in carry:
        if name in result or carry.count(name) > 1:
            raise TermlinkError("TL861", field=name)


def beside(batch: pa.RecordBatch, carried: pa.RecordBatch, places: Sequence[int]) -> pa.RecordBatch:
    """The columns of a batch, then those carried, of the rows that its own rows come from."""
    taken = [column.take(pa.array(places, type=pa.int64())) for column in carried.columns]
    fields = [*batch.schema, *carried.schema]
    return pa.RecordBatch.from_arrays([*batch.columns, *taken], schema=pa.schema(fields))


def _notes(
    nlp: Language, batch: pa.RecordBatch, text_field: str, id_field: str, line_field: Optional[str]
) -> Iterator[Union[Note, Reject]]:
    numbered = line_field in batch.schema.names
    lines = batch.column(line_field).to_pylist() if numbered else range(1, batch.num_rows + 1)
    columns = _values(batch.column(id_field)), _values(batch.column(text_field))
    for line, note_id, text in zip(lines, *columns, strict=True):
        if isinstance(note_id, _NotUtf8) or isinstance(text, _NotUtf8):
            yield Reject(line, note_id if isinstance(note_id, str) else None, "not_utf8")
            continue
        note = check_note(line, note_id, text)
        if isinstance(note, Note) and (code := find_unfit(nlp, note.text)):
            note = Reject(line, note.note_id, code)
        yield note


class _NotUtf8:
    """In the place of a string whose bytes are none: Arrow and Spark do not check what they take."""


def _values(column: pa.Array) -> list[Any]:
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return _NotUtf8()


def _process(
    nlp: Language, notes: Sequence[Union[Note, Reject]]
) -> Iterator[tuple[Any, Union[Doc, Reject]]]:
    """Each note with its doc or its reject, in order."""
    docs = _docs(nlp, [note for note in notes if isinstance(note, Note)])
    for note in notes:
        yield note, note if isinstance(note, Reject) else next(docs)


def _docs(nlp: Language, notes: Sequence[Note]) -> Iterator[Union[Doc, Reject]]:
    """Docs of a batch; after a failure, one note at a time, to find whose it is."""
    for part in _batches(notes):
        try:
            docs = list(nlp.pipe([note.text for note in part], batch_size=BATCH_SIZE))
            complete = len(docs) == len(part)  # an error handler of the user's drops docs
        except TermlinkError:  # about the KB or the settings, not about a note
            raise
        except Exception:
            complete = False
        if complete:
            yield from (_checked(note, doc) for note, doc in zip(part, docs, strict=True))
        else:
            yield from (_doc_alone(nlp, note) for note in part)


def _batches(notes: Sequence[Note]) -> Iterator[list[Note]]:
    """Cut by BATCH_SIZE and BATCH_CHARS."""
    for start, stop in stretches([len(note.text) for note in notes], BATCH_SIZE, BATCH_CHARS):
        yield list(notes[start:stop])


def stretches(sizes: Sequence[int], most: int, most_size: int) -> Iterator[tuple[int, int]]:
    """Start and stop of stretches of up to `most` items, of up to `most_size` together where there is
    more than one."""
    start = total = 0
    for i, size in enumerate(sizes):
        if i > start and (i - start == most or total + size > most_size):
            yield start, i
            start, total = i, 0
        total += size
    if start < len(sizes):
        yield start, len(sizes)


def _doc_alone(nlp: Language, note: Note) -> Union[Doc, Reject]:
    running = "tokenizer"
    try:
        doc = nlp.make_doc(note.text)
        for name, component in nlp.pipeline:
            running = name
            doc = component(doc)
            if not isinstance(doc, Doc):  # what spaCy's own return after an error handler took it
                return Reject(note.line, note.note_id, "component_failed", running)
    except TermlinkError:
        raise
    except Exception as error:
        kind = type(error).__name__
        return Reject(note.line, note.note_id, "component_failed", running, kind)
    return _checked(note, doc)


def _checked(note: Note, doc: Doc) -> Union[Doc, Reject]:
    if doc.text != note.text:
        return Reject(note.line, note.note_id, "offsets_shifted")
    return doc


def _rows(
    note: Note, doc: Doc, linkers: Sequence[Linker], assessed: bool
) -> Iterator[tuple[Any, ...]]:
    """Rows of a document, by offsets, then in the order of the linkers."""
    found = [
        (span.start_char, span.end_char, i, _row(note.note_id, span, linker, assessed))
        for i, linker in enumerate(linkers)
        for span in _spans(doc, linker)
    ]
    return (row for *_, row in sorted(found, key=lambda item: item[:3]))


def _spans(doc: Doc, linker: Linker) -> Sequence[Span]:
    if linker.spans_key is None:
        return doc.ents
    return list(doc.spans[linker.spans_key]) if linker.spans_key in doc.spans else []


def _row(note_id: str, span: Span, linker: Linker, assessed: bool) -> tuple[Any, ...]:
    link = find_link(span, linker.name) or {}
    concept_id = link.get("kb_id")
    top: dict[str, Any] = {}
    if concept_id not in (None, NIL):
        top = next((c for c in link["candidates"] if c["id"] == concept_id), {})
    return (
        note_id,
        span.start_char,
        span.end_char,
        span.text,
        span.label_,
        linker.kb,
        linker.release or None,
        concept_id,
        top.get("name"),
        top.get("matched"),
        top.get("score"),
        top.get("probability"),
        top.get("tier"),
        get_assertion(span) if assessed else None,
        get_section(span),
    )


def to_batch(rows: Sequence[tuple], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as a record batch, none as an empty one."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
