"""`docs.jsonl`, with every field that a line has (DESIGN.md, section 3)."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...errors import TermlinkError
from ...files import require_file
from ..mentions import parse_doc
from .model import CorpusDoc, CorpusEntity, Report, mention_text, usual_cardinality
from .offsets import RawMention, place_mentions

_DOC_FIELDS = ("doc_id", "text", "entities", "doc_concepts", "split")
_ENTITY_FIELDS = ("start", "end", "label", "concepts", "accept", "fragments", "text")


def read_jsonl(path: Path, report: Report) -> Iterator[CorpusDoc]:
    """Documents of a `docs.jsonl`; a line in another form is a reject."""
    with require_file(path).open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            with report.rejecting(None, f"line {number}"):
                yield _doc(path, number, _row(path, number, raw), report)


def _row(path: Path, number: int, raw: bytes) -> dict[str, Any]:
    try:
        row = json.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise TermlinkError("TL982", path=path, place=f"line {number}", reason="no JSON object")
    return row


def _doc(path: Path, number: int, row: dict[str, Any], report: Report) -> CorpusDoc:
    checked = parse_doc(path, number, row)
    mentions = []
    for i, (entity, given) in enumerate(
        zip(checked.entities, row.get("entities", ()), strict=True)
    ):
        extra = {key: value for key, value in given.items() if key not in _ENTITY_FIELDS}
        if extra.get("cardinality") == usual_cardinality(len(entity.concepts)):
            del extra["cardinality"]
        known = CorpusEntity(0, 0, entity.concepts, entity.label, entity.accept, extra=extra)
        spans = _fragments(path, number, given.get("fragments")) or [(entity.start, entity.end)]
        text = given.get("text")
        mentions.append(
            RawMention(f"line {number}, entity {i + 1}", spans, text if text else None, known)
        )
    text, entities = place_mentions(
        lambda unit: (checked.text, 0), mentions, path=path, doc_id=checked.doc_id, report=report
    )
    extra = {key: value for key, value in row.items() if key not in _DOC_FIELDS}
    return CorpusDoc(checked.doc_id, text, entities, checked.doc_concepts, checked.split, extra)


def _fragments(path: Path, number: int, value: Any) -> list[tuple[int, int]]:
    try:
        return [(int(start), int(end)) for start, end in value or ()]
    except (TypeError, ValueError):
        raise TermlinkError(
            "TL982", path=path, place=f"line {number}", reason="'fragments' are no pairs of offsets"
        ) from None


def write_jsonl(docs: Iterable[CorpusDoc], path: Path, report: Report) -> None:
    """Every field of every document; `text` and `cardinality` of an entity are added."""
    with path.open("w", encoding="utf8", newline="\n") as file:
        for doc in docs:
            with report.rejecting(doc.doc_id):
                file.write(json.dumps(_doc_row(doc), ensure_ascii=False) + "\n")


def _doc_row(doc: CorpusDoc) -> dict[str, Any]:
    row: dict[str, Any] = {"doc_id": doc.doc_id, "text": doc.text}
    if doc.split:
        row["split"] = doc.split
    row["entities"] = [_entity_row(doc, entity) for entity in doc.entities]
    if doc.doc_concepts is not None:
        row["doc_concepts"] = list(doc.doc_concepts)
    return {**row, **doc.extra}


def _entity_row(doc: CorpusDoc, entity: CorpusEntity) -> dict[str, Any]:
    row: dict[str, Any] = {
        "start": entity.start,
        "end": entity.end,
        "label": entity.label,
        "concepts": list(entity.concepts),
        "text": mention_text(doc.text, entity.start, entity.end, entity.fragments),
    }
    if usual := usual_cardinality(len(entity.concepts)):
        row["cardinality"] = usual
    if entity.accept:
        row["accept"] = [list(ids) for ids in entity.accept]
    if entity.fragments:
        row["fragments"] = [list(piece) for piece in entity.fragments]
    return {**row, **entity.extra}
