"""Reads evaluation files: `mentions.jsonl` here, `docs.jsonl` in `annotated` (DESIGN.md, section 3)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from ..annotated import (
    AnnotatedDoc,
    Entity,
    bad_row,
    get_accept,
    get_ids,
    get_offset,
    get_text,
    keep_rows,
    parse_doc,
    read_docs,
    read_rows,
)
from ..errors import TermlinkError

__all__ = ["AnnotatedDoc", "Entity", "Mention", "parse_doc", "read_docs", "read_mentions"]

CARDINALITIES = ("single", "composite", "conjunct+", "noid")


@dataclass(frozen=True)
class Mention:
    """One annotated mention.

    id (str): Its id, or "line N" where the file gives none.
    text (str): The mention as written.
    concepts (tuple[str, ...]): Gold concept ids; empty for a NIL mention.
    accept (tuple[tuple[str, ...], ...]): Per gold concept the equally right ids, or empty.
    doc_id (str): Document it comes from, or "".
    label, split, context, cardinality (str): As in the file. Where the file gives no cardinality, one
        gold concept is "single", several are "composite" and none is "noid".
    record_ids (tuple[str, ...]): What a `heldout.jsonl` adds: ids of the right answers in names.jsonl,
        where those are others.
    start, end (Optional[int]): Offsets into the document, None where unknown.
    """

    id: str
    text: str
    concepts: tuple[str, ...]
    accept: tuple[tuple[str, ...], ...] = ()
    doc_id: str = ""
    label: str = ""
    split: str = ""
    context: str = ""
    cardinality: str = "single"
    start: Optional[int] = None
    end: Optional[int] = None
    record_ids: tuple[str, ...] = ()

    @property
    def gold(self) -> frozenset[str]:
        """Every id that counts as right, as written in the file."""
        return frozenset(self.concepts).union(*self.accept)


def read_mentions(
    path: Path,
    *,
    split: Optional[str] = None,
    label: Optional[str] = None,
    cardinality: str = "all",
    noid: bool = False,
) -> list[Mention]:
    """Read a `mentions.jsonl`, whole or filtered.

    split, label (Optional[str]): Keep only these; None keeps all.
    cardinality (str): "single" keeps mentions of one concept (and NIL mentions, which are reported
        apart); "all" keeps every mention.
    noid (bool): Keep rows whose cardinality is given as "noid" too, as NIL mentions.
    RETURNS (list[Mention]): In the file's order.
    RAISES (TermlinkError): TL901 for a line in another form, TL902 or TL904 where a filter leaves
        none.
    """
    path = Path(path)
    rows = [_mention(path, line, row) for line, row in read_rows(path)]
    mentions = [mention for mention, marked_noid in rows if noid or not marked_noid]
    mentions = keep_rows(path, mentions, "split", split)
    mentions = keep_rows(path, mentions, "label", label)
    if cardinality == "single":
        mentions = [m for m in mentions if m.cardinality == "single" or not m.concepts]
    if not mentions:
        filters = f"split={split}, label={label}, cardinality={cardinality}, noid={noid}"
        raise TermlinkError("TL904", path=path, filters=filters)
    return mentions


def _mention(path: Path, line: int, row: dict[str, Any]) -> tuple[Mention, bool]:
    text = get_text(path, line, row, "text", required=True)
    if not text.strip():
        raise bad_row(path, line, "'text' is empty")
    concepts = get_ids(path, line, row, "concepts", required=True)
    given = row.get("cardinality")
    if given is not None and given not in CARDINALITIES:
        raise bad_row(path, line, f"'cardinality' is none of {', '.join(CARDINALITIES)}")
    start, end = (get_offset(path, line, row, name) for name in ("start", "end"))
    mention = Mention(
        id=get_text(path, line, row, "id") or f"line {line}",
        text=text,
        concepts=concepts,
        accept=get_accept(path, line, row),
        doc_id=get_text(path, line, row, "doc_id"),
        label=get_text(path, line, row, "label"),
        split=get_text(path, line, row, "split"),
        context=get_text(path, line, row, "context"),
        cardinality=given or ("noid", "single", "composite")[min(len(concepts), 2)],
        start=start,
        end=end,
        record_ids=get_ids(path, line, row, "record_ids"),
    )
    return mention, given == "noid"
