"""The output formats: each takes a finished run and writes the output, atomically."""

import csv
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pyarrow as pa
import pyarrow.parquet as pq
from spacy.tokens import Doc, DocBin

from ..errors import TermlinkError
from ..files import atomic_file, find_target, is_special
from .core import ANNOTATIONS, Linker
from .fhir import bundle, is_uncoded
from .html import render_note, write_page
from .omop import NOTE_NLP, note_nlp_row
from .omop_concepts import Wanted, read_concepts, want
from .parts import PartFolder


class Finished(NamedTuple):
    """A run of which every part is done.

    parts (PartFolder): Where they lie.
    n_parts (int): How many.
    linkers (Sequence[Linker]): Of the pipeline.
    date (str): Day the run was begun, ISO 8601.
    assessed (bool): Whether a component assessed assertion.
    omop_concepts (Optional[Path]): OMOP's CONCEPT.csv, for the format omop.
    """

    parts: PartFolder
    n_parts: int
    linkers: Sequence[Linker]
    date: str
    assessed: bool
    omop_concepts: Optional[Path] = None


def write_jsonl(run: Finished, path: Path) -> None:
    """One JSON object a row, with every column of ANNOTATIONS."""
    with path.open("w", encoding="utf8", newline="\n") as file:
        for batch in run.parts.tables("annotations", run.n_parts):
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())


def write_parquet(run: Finished, path: Path) -> None:
    """One Parquet file, a row group per part."""
    with pq.ParquetWriter(path, ANNOTATIONS) as writer:
        for batch in run.parts.tables("annotations", run.n_parts):
            if batch.num_rows:
                writer.write_batch(batch)


def write_omop(run: Finished, path: Path) -> Optional[int]:
    """Rows of OMOP CDM 5.4's note_nlp as csv; see `omop` and `omop_concepts`.

    RETURNS (Optional[int]): Mentions that have a concept of OMOP, None without its vocabulary file.
    """
    file = run.omop_concepts
    concepts = {} if file is None else read_concepts(file, _linked(run))
    n_rows = n_known = 0
    with path.open("w", encoding="utf8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(NOTE_NLP)
        for batch in run.parts.tables("annotations", run.n_parts):
            for row in batch.to_pylist():
                n_rows += 1
                n_known += (row["kb"], row["concept_id"]) in concepts
                writer.writerow(note_nlp_row(n_rows, row, concepts, run.date))
    return None if file is None else n_known


def _linked(run: Finished) -> list[Wanted]:
    """The concepts of the run, each once."""
    found: dict[tuple[str, str], None] = {}
    for batch in run.parts.tables("annotations", run.n_parts):
        found.update(dict.fromkeys(_kbs_and_ids(batch)))
    names = {linker.kb: (linker.kb, linker.source) for linker in run.linkers}
    return [want(kb, id_, names[kb]) for kb, id_ in sorted(key for key in found if key[1])]


def _kbs_and_ids(batch: pa.RecordBatch) -> Iterator[tuple[str, str]]:
    return zip(*(batch.column(name).to_pylist() for name in ("kb", "concept_id")), strict=True)


def write_spacy(run: Finished, path: Path) -> None:
    """A DocBin with user data: `_.kb_ents` and the rest, and the note's id in
    `doc.user_data["note_id"]`. The format is one object: it is built in memory.
    """
    merged = DocBin(store_user_data=True)
    for data in run.parts.extras("docs.spacy", run.n_parts):
        # from_bytes keeps its own idea of whether there is user data, and merge refuses another
        merged.merge(DocBin(store_user_data=True).from_bytes(data))
    path.write_bytes(merged.to_bytes())


def write_fhir(run: Finished, path: Path) -> int:
    """A FHIR Bundle a line, one for every note, also for those without a mention; see `fhir`.

    RETURNS (int): Linked mentions without a coding, since FHIR refuses their id.
    """
    with path.open("wb") as file:
        file.writelines(run.parts.extras("bundles.ndjson", run.n_parts))
    sources = {linker.kb: linker.source for linker in run.linkers}
    return sum(
        is_uncoded(concept_id, sources.get(kb, ""))
        for batch in run.parts.tables("annotations", run.n_parts)
        for kb, concept_id in _kbs_and_ids(batch)
    )


def write_html(run: Finished, path: Path) -> None:
    """A page of its own, by displaCy; see `html`."""
    fragments = (data.decode() for data in run.parts.extras("notes.html", run.n_parts))
    with path.open("w", encoding="utf8", newline="\n") as file:
        write_page(file, fragments, run.linkers, assessed=run.assessed)


class Format(NamedTuple):
    """An output format.

    suffixes (tuple[str, ...]): File names it is recognised by.
    write (Callable): Writes a finished run to a path.
    """

    suffixes: tuple[str, ...]
    write: Callable[[Finished, Path], Any]


FORMATS = {
    "jsonl": Format((".jsonl", ".ndjson"), write_jsonl),
    "parquet": Format((".parquet",), write_parquet),
    "spacy": Format((".spacy",), write_spacy),
    "omop": Format((".csv",), write_omop),
    "fhir": Format((".fhir",), write_fhir),
    "html": Format((".html", ".htm"), write_html),
}


def find_format(path: Path, name: str | None) -> str:
    """Format by name, else by the file's suffix.

    RAISES (TermlinkError): TL804 if neither tells.
    """
    if name is None:
        suffix = path.suffix.lower()
        name = next((n for n, f in FORMATS.items() if suffix in f.suffixes), "")
    if name not in FORMATS:
        raise TermlinkError("TL804", path=path, known=", ".join(FORMATS))
    return name


class Extras:
    """Collects what a format needs of the docs themselves, part by part.

    format (str): One of FORMATS.
    linkers (Sequence[Linker]): Of the pipeline.
    """

    def __init__(self, format: str, linkers: Sequence[Linker]) -> None:  # noqa: A002
        self._format = format
        self._linkers = linkers
        self._docs = DocBin(store_user_data=True)
        self._notes: list[str] = []

    def add(self, note_id: str, doc: Doc, rows: Sequence[dict[str, Any]]) -> None:
        """Take a doc.

        rows (Sequence[dict[str, Any]]): Its annotations.
        """
        if self._format == "spacy":
            doc.user_data["note_id"] = note_id
            self._docs.add(doc)
        elif self._format == "fhir":
            self._notes.append(bundle(note_id, rows, self._linkers) + "\n")
        elif self._format == "html":
            self._notes.append(render_note(note_id, doc.text, rows, self._linkers))

    def files(self) -> dict[str, bytes]:
        """File name -> content."""
        if self._format == "spacy":
            return {"docs.spacy": self._docs.to_bytes()}
        if self._format == "fhir":
            return {"bundles.ndjson": "".join(self._notes).encode()}
        if self._format == "html":
            return {"notes.html": "".join(self._notes).encode()}
        return {}


def write_output(run: Finished, path: Path, name: str) -> Any:
    """Write the output of a finished run in a format; the file appears when it is whole.

    It is written in the folder of the parts, so that a kill leaves no half of it elsewhere.

    RETURNS (Any): What the format's function returns.
    """
    return _write_whole(run, path, FORMATS[name].write)


def write_rejects(run: Finished, path: Path) -> None:
    """One JSON object a refused note: line, note_id, code, component, error; no word of the note."""
    _write_whole(run, path, _write_rejects)


def _write_rejects(run: Finished, path: Path) -> None:
    with path.open("w", encoding="utf8", newline="\n") as file:
        for batch in run.parts.tables("rejects", run.n_parts):
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())


def _write_whole(run: Finished, path: Path, write: Callable[[Finished, Path], Any]) -> Any:
    whole = run.parts.path / "output"
    with atomic_file(whole) as part:
        returned = write(run, part)
    if not is_special(path):
        target = find_target(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            whole.replace(target)
            return returned
    with atomic_file(path) as part:  # a pipe, or on another disk, as the reject file may be
        shutil.copyfile(whole, part)
    return returned
