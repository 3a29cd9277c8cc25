"""From one corpus format to another: `termlink convert-corpus`."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

from ...errors import TermlinkError
from ...files import atomic_file, atomic_folder
from .bioc_files import read_bioc, write_bioc
from .brat import read_brat, write_brat
from .docbin import read_docbin, write_docbin
from .jsonl import read_jsonl, write_jsonl
from .model import CorpusDoc, CorpusEntity, Report, usual_cardinality
from .pubtator import read_pubtator, write_pubtator

#: Characters of context to each side of a mention, within its line.
CONTEXT = 200


#: Suffixes that no file of another format has.
_CLEAR = (".jsonl", ".spacy", ".xml", ".pubtator")


class Format(NamedTuple):
    """A corpus format.

    suffixes (tuple[str, ...]): File names it is recognised by; "" is a folder.
    read (Callable): `read(path, report, prefix=...)` yields documents.
    write (Callable): `write(docs, path, report)`.
    """

    suffixes: tuple[str, ...]
    read: Callable[..., Iterator[CorpusDoc]]
    write: Callable[..., None]


def _read_jsonl(path: Path, report: Report, *, prefix: str = "") -> Iterator[CorpusDoc]:
    return read_jsonl(path, report)  # its ids are ours already


FORMATS = {
    "pubtator": Format((".pubtator", ".txt"), read_pubtator, write_pubtator),
    "bioc": Format((".xml", ".json"), read_bioc, write_bioc),
    "brat": Format(("",), read_brat, write_brat),
    "jsonl": Format((".jsonl",), _read_jsonl, write_jsonl),
    "spacy": Format((".spacy",), read_docbin, write_docbin),
}


class Summary(NamedTuple):
    """What a conversion did.

    source_format, format (str): Of the source and of what was written.
    n_docs, n_entities, n_nil (int): Written; mentions without a concept are among the entities.
    report (Report): What was left out.
    """

    source_format: str
    format: str
    n_docs: int
    n_entities: int
    n_nil: int
    report: Report


def format_of(path: Path) -> Optional[str]:
    """Format that a path's name tells, None if it tells none."""
    suffix = "" if path.is_dir() else path.suffix.lower()
    return next((name for name, form in FORMATS.items() if suffix in form.suffixes), None)


def choose_formats(
    source: Path, out: Path, source_format: Optional[str], out_format: Optional[str]
) -> tuple[str, str]:
    """Formats of source and output: as asked for, else as their names tell.

    `source_format` is taken for the output's where the source's own name speaks against it and the
    output's does not: `docs.jsonl --format pubtator -o out` can mean nothing else.
    RAISES (TermlinkError): TL980 if neither tells.
    """
    named = format_of(source) if source.is_dir() or source.suffix.lower() in _CLEAR else None
    contradicts = source_format and not out_format and named not in (None, source_format)
    if contradicts and (format_of(out) in (None, source_format) or not out.suffix):
        source_format, out_format = named, source_format
    found = source_format or format_of(source)
    wanted = out_format or format_of(out)
    for path, form, option in ((source, found, "--format"), (out, wanted, "--to")):
        if form not in FORMATS:
            raise TermlinkError("TL980", path=path, option=option, known=", ".join(FORMATS))
    return str(found), str(wanted)


def convert_corpus(
    source: Path,
    out: Path,
    *,
    source_format: Optional[str] = None,
    out_format: Optional[str] = None,
    prefix: str = "",
    mentions: Optional[Path] = None,
    progress: Callable[[int], Any] = lambda n: None,
) -> Summary:
    """Read a corpus in one format, check every offset, write it in another.

    A document or mention that cannot be read or written is left out and stands in the report; what
    the target has no place for is counted there.

    source (Path): File, or a folder of BRAT.
    out (Path): File or folder to write; replaced as a whole.
    source_format, out_format (Optional[str]): Of FORMATS; None goes by the names.
    prefix (str): Put before concept ids that have none, as "MESH".
    mentions (Optional[Path]): A `mentions.jsonl` to write, too.
    progress (Callable): Called with 1 for each document read.
    RETURNS (Summary): Counts and report.
    RAISES (TermlinkError): TL001 no source, TL980 no such format, TL983 no document, TL002 where a
        folder of something else lies in the place of the output.
    """
    if not source.exists():
        raise TermlinkError("TL001", path=source)
    found, wanted = choose_formats(source, out, source_format, out_format)
    report = Report()
    counted = _Counted(FORMATS[found].read(source, report, prefix=prefix), report, progress)
    if wanted == "brat":
        _check_replaceable(out)
    with (atomic_folder if wanted == "brat" else atomic_file)(out) as part:
        target = part if wanted == "brat" else part.with_name(part.name + out.suffix)
        try:
            FORMATS[wanted].write(counted.docs(mentions), target, report)
            if not counted.n_docs and not report.rejects:
                raise TermlinkError("TL983", path=source)
            if target != part:
                target.replace(part)
        finally:
            if target != part:
                target.unlink(missing_ok=True)
    return Summary(found, wanted, counted.n_docs, counted.n_entities, counted.n_nil, report)


def _check_replaceable(out: Path) -> None:
    """A folder that holds anything but BRAT files is not replaced."""
    if not out.exists():
        return
    files = [p for p in out.rglob("*") if p.is_file()] if out.is_dir() else [out]
    if any(path.suffix not in (".txt", ".ann") for path in files) or (
        files and not any(path.suffix == ".ann" for path in files)
    ):
        raise TermlinkError("TL002", path=out, kind="BRAT folder")


class _Counted:
    """Documents on their way from reader to writer: each id once, counted, mentions written."""

    def __init__(self, docs: Iterator[CorpusDoc], report: Report, progress: Callable) -> None:
        self._docs = docs
        self._report = report
        self._progress = progress
        self.n_docs = self.n_entities = self.n_nil = 0

    def docs(self, mentions: Optional[Path]) -> Iterator[CorpusDoc]:
        if mentions is None:
            yield from self._checked()
            return
        with atomic_file(mentions) as part, part.open("w", encoding="utf8", newline="\n") as file:
            for doc in self._checked():
                n_rejects = len(self._report.rejects)
                yield doc
                if len(self._report.rejects) == n_rejects:  # written
                    for row in mention_rows(doc):
                        file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _checked(self) -> Iterator[CorpusDoc]:
        seen: set[str] = set()
        for doc in self._docs:
            self._progress(1)
            if doc.doc_id in seen:
                error = TermlinkError("TL984", doc_id=doc.doc_id, format="any format",
                                      reason="another document has its id")  # fmt: skip
                self._report.reject(doc.doc_id, "document", error)
                continue
            seen.add(doc.doc_id)
            try:  # JSON can name half of a surrogate pair, in any field
                json.dumps(doc, default=vars, ensure_ascii=False).encode("utf8")
            except UnicodeEncodeError:
                error = TermlinkError("TL984", doc_id=doc.doc_id, format="any format",
                                      reason="it holds half of a surrogate pair, which is no text")  # fmt: skip
                self._report.reject(doc.doc_id, "document", error)
                continue
            n_rejects = len(self._report.rejects)
            yield doc
            if len(self._report.rejects) == n_rejects:
                self.n_docs += 1
                self.n_entities += len(doc.entities)
                self.n_nil += sum(not entity.concepts for entity in doc.entities)


def mention_rows(doc: CorpusDoc) -> Iterator[dict[str, Any]]:
    """Lines of `mentions.jsonl`: the mentions of a document, with its line as context."""
    for number, entity in enumerate(doc.entities):
        row: dict[str, Any] = {
            "id": f"{doc.doc_id}:{number}",
            "text": doc.text[entity.start : entity.end],
            "context": _context(doc.text, entity),
            "doc_id": doc.doc_id,
            "start": entity.start,
            "end": entity.end,
            "label": entity.label,
            "concepts": list(entity.concepts),
        }
        cardinality = entity.extra.get("cardinality") or usual_cardinality(len(entity.concepts))
        optional = {"cardinality": cardinality, "split": doc.split,
                    "accept": [list(ids) for ids in entity.accept]}  # fmt: skip
        if row["text"].strip():
            yield {**row, **{key: value for key, value in optional.items() if value}}


def _context(text: str, entity: CorpusEntity) -> str:
    left = text.rfind("\n", 0, entity.start) + 1
    right = text.find("\n", entity.end)
    right = len(text) if right < 0 else right
    return text[max(left, entity.start - CONTEXT) : min(right, entity.end + CONTEXT)]
