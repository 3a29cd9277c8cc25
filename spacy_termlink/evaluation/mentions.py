"""Reads evaluation files, `mentions.jsonl` and `docs.jsonl` (DESIGN.md, section 3), line by line."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from ..errors import TermlinkError
from ..files import require_file

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

    @property
    def gold(self) -> frozenset[str]:
        """Every id that counts as right, as written in the file."""
        return frozenset(self.concepts).union(*self.accept)


@dataclass(frozen=True)
class Entity:
    """A span with its concepts, gold or predicted.

    start, end (int): Character offsets.
    concepts (tuple[str, ...]): Concept ids; empty for NIL.
    label (str): Entity label, or "".
    accept (tuple[tuple[str, ...], ...]): Per concept the equally right ids, or empty.
    """

    start: int
    end: int
    concepts: tuple[str, ...]
    label: str = ""
    accept: tuple[tuple[str, ...], ...] = ()

    @property
    def gold(self) -> frozenset[str]:
        """Every id that counts as right."""
        return frozenset(self.concepts).union(*self.accept)


@dataclass(frozen=True)
class AnnotatedDoc:
    """A document with its entities.

    doc_id (str): Its id.
    text (str): Its text.
    entities (tuple[Entity, ...]): In the file's order.
    doc_concepts (Optional[tuple[str, ...]]): Concepts of the document as a whole, None where the
        file gives none (then those of the entities stand for it).
    split (str): As in the file, or "".
    """

    doc_id: str
    text: str
    entities: tuple[Entity, ...] = ()
    doc_concepts: Optional[tuple[str, ...]] = None
    split: str = ""


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
    rows = [_mention(path, line, row) for line, row in _read_jsonl(path)]
    mentions = [mention for mention, marked_noid in rows if noid or not marked_noid]
    mentions = _keep(path, mentions, "split", split)
    mentions = _keep(path, mentions, "label", label)
    if cardinality == "single":
        mentions = [m for m in mentions if m.cardinality == "single" or not m.concepts]
    if not mentions:
        filters = f"split={split}, label={label}, cardinality={cardinality}, noid={noid}"
        raise TermlinkError("TL904", path=path, filters=filters)
    return mentions


def read_docs(path: Path, *, split: Optional[str] = None) -> list[AnnotatedDoc]:
    """Read a `docs.jsonl`.

    split (Optional[str]): Keep only this one.
    RETURNS (list[AnnotatedDoc]): In the file's order.
    RAISES (TermlinkError): TL901 for a line in another form or a second document of one id, TL902
        where no document has the split.
    """
    path = Path(path)
    docs: list[AnnotatedDoc] = []
    seen: set[str] = set()
    for line, row in _read_jsonl(path):
        doc = parse_doc(path, line, row)
        if doc.doc_id in seen:
            raise _bad(path, line, f"doc_id '{doc.doc_id}' appears twice")
        seen.add(doc.doc_id)
        docs.append(doc)
    return _keep(path, docs, "split", split)


def _keep(path: Path, rows: list, field: str, value: Optional[str]) -> list:
    if value is None:
        return rows
    kept = [row for row in rows if getattr(row, field) == value]
    if not kept:
        counts = Counter(getattr(row, field) for row in rows)
        found = ", ".join(f"'{name}' ({n})" if name else f"none given ({n})"
                          for name, n in sorted(counts.items()))  # fmt: skip
        raise TermlinkError("TL902", path=path, field=field, value=value, found=found)
    return kept


def _read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number (from 1) and object of each line that is not blank."""
    with require_file(path).open("rb") as file:
        n_rows = 0
        for line, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            try:
                row = json.loads(raw)
            except (ValueError, RecursionError) as error:
                # never the text itself: it may be a patient's
                kind = "not UTF-8" if isinstance(error, UnicodeDecodeError) else "beyond its limits"
                reason = getattr(error, "msg", kind)
                raise _bad(path, line, f"not JSON ({reason})") from None
            if not isinstance(row, dict):
                raise _bad(path, line, "not a JSON object")
            n_rows += 1
            yield line, row
    if not n_rows:
        raise TermlinkError("TL005", path=path)


def _mention(path: Path, line: int, row: dict[str, Any]) -> tuple[Mention, bool]:
    text = _text(path, line, row, "text", required=True)
    if not text.strip():
        raise _bad(path, line, "'text' is empty")
    concepts = _ids(path, line, row, "concepts", required=True)
    given = row.get("cardinality")
    if given is not None and given not in CARDINALITIES:
        raise _bad(path, line, f"'cardinality' is none of {', '.join(CARDINALITIES)}")
    start, end = (_offset(path, line, row, name) for name in ("start", "end"))
    mention = Mention(
        id=_text(path, line, row, "id") or f"line {line}",
        text=text,
        concepts=concepts,
        accept=_accept(path, line, row),
        doc_id=_text(path, line, row, "doc_id"),
        label=_text(path, line, row, "label"),
        split=_text(path, line, row, "split"),
        context=_text(path, line, row, "context"),
        cardinality=given or ("noid", "single", "composite")[min(len(concepts), 2)],
        start=start,
        end=end,
    )
    return mention, given == "noid"


def parse_doc(path: Path, line: int, row: dict[str, Any]) -> AnnotatedDoc:
    """A document from a row of `docs.jsonl`.

    RAISES (TermlinkError): TL901, naming path and line, for a row in another form.
    """
    doc_id = _text(path, line, row, "doc_id", required=True)
    text = _text(path, line, row, "text", required=True)
    entities = row.get("entities", [])
    if not isinstance(entities, list) or not all(isinstance(e, dict) for e in entities):
        raise _bad(path, line, "'entities' must be a list of objects")
    doc_concepts = None
    if row.get("doc_concepts") is not None:
        doc_concepts = _ids(path, line, row, "doc_concepts")
    return AnnotatedDoc(
        doc_id=doc_id,
        text=text,
        entities=tuple(_entity(path, line, entity, len(text)) for entity in entities),
        doc_concepts=doc_concepts,
        split=_text(path, line, row, "split"),
    )


def _entity(path: Path, line: int, row: dict[str, Any], length: int) -> Entity:
    start, end = (_offset(path, line, row, name) for name in ("start", "end"))
    if start is None or end is None or not start < end <= length:
        raise _bad(path, line, f"an entity has offsets {start}:{end} in a text of {length}")
    concepts = _ids(path, line, row, "concepts", required=True)
    label = _text(path, line, row, "label")
    return Entity(start, end, concepts, label, _accept(path, line, row))


def _text(path: Path, line: int, row: dict[str, Any], name: str, *, required: bool = False) -> str:
    value = row.get(name)
    if value is None and not required:
        return ""
    if value is None:
        raise _bad(path, line, f"'{name}' is missing")
    if not isinstance(value, str):
        raise _bad(path, line, f"'{name}' is not a string")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise _bad(path, line, f"'{name}' holds half of a surrogate pair, which is no text")
    return value


def _ids(
    path: Path, line: int, row: dict[str, Any], name: str, *, required: bool = False
) -> tuple[str, ...]:
    value: Any = row.get(name)
    if value is None and not required:
        return ()
    if value is None:
        raise _bad(path, line, f"'{name}' is missing")
    if not isinstance(value, list) or not all(isinstance(i, str) and i for i in value):
        raise _bad(path, line, f"'{name}' must be a list of concept ids")
    for concept_id in value:
        _text(path, line, {name: concept_id}, name)
    return tuple(dict.fromkeys(value))


def _accept(path: Path, line: int, row: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    accept = row.get("accept") or []
    if accept and (not isinstance(accept, list) or len(accept) != len(row["concepts"])):
        raise _bad(path, line, "'accept' must hold one list of ids per gold concept")
    return tuple(_ids(path, line, {"accept": ids}, "accept") for ids in accept)


def _offset(path: Path, line: int, row: dict[str, Any], name: str) -> Optional[int]:
    value = row.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise _bad(path, line, f"'{name}' is not an offset")
    return value


def _bad(path: Path, line: int, reason: str) -> TermlinkError:
    return TermlinkError("TL901", path=path, line=line, reason=reason)
