"""Annotated documents, `docs.jsonl` (DESIGN.md, section 3), and what its rows share with those of
`mentions.jsonl`. Every rank reads them: the pipeline for training, the evaluation as gold.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from .errors import TermlinkError
from .files import require_file


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


def read_docs(
    path: Path, *, split: Optional[str] = None, as_gold: bool = False
) -> list[AnnotatedDoc]:
    """Read a `docs.jsonl`.

    split (Optional[str]): Keep only this one.
    as_gold (bool): Refuse a document without the field "entities": that nobody annotated it is not
        that nothing is in it. Where only texts are wanted, it may be missing.
    RETURNS (list[AnnotatedDoc]): In the file's order.
    RAISES (TermlinkError): TL901 for a line in another form or a second document of one id, TL902
        where no document has the split.
    """
    path = Path(path)
    docs: list[AnnotatedDoc] = []
    seen: set[str] = set()
    for line, row in read_rows(path):
        doc = parse_doc(path, line, row)
        if as_gold and "entities" not in row:
            raise bad_row(path, line, "'entities' is missing; write [] where there is none")
        if doc.doc_id in seen:
            raise bad_row(path, line, f"doc_id '{doc.doc_id}' appears twice")
        seen.add(doc.doc_id)
        docs.append(doc)
    return keep_rows(path, docs, "split", split)


def parse_doc(path: Path, line: int, row: dict[str, Any]) -> AnnotatedDoc:
    """A document from a row of `docs.jsonl`.

    RAISES (TermlinkError): TL901, naming path and line, for a row in another form.
    """
    doc_id = get_text(path, line, row, "doc_id", required=True)
    text = get_text(path, line, row, "text", required=True)
    entities = row.get("entities", [])
    if not isinstance(entities, list) or not all(isinstance(e, dict) for e in entities):
        raise bad_row(path, line, "'entities' must be a list of objects")
    doc_concepts = None
    if row.get("doc_concepts") is not None:
        doc_concepts = get_ids(path, line, row, "doc_concepts")
    return AnnotatedDoc(
        doc_id=doc_id,
        text=text,
        entities=tuple(_entity(path, line, entity, len(text)) for entity in entities),
        doc_concepts=doc_concepts,
        split=get_text(path, line, row, "split"),
    )


def _entity(path: Path, line: int, row: dict[str, Any], length: int) -> Entity:
    start, end = (get_offset(path, line, row, name) for name in ("start", "end"))
    if start is None or end is None or not start < end <= length:
        raise bad_row(path, line, f"an entity has offsets {start}:{end} in a text of {length}")
    concepts = get_ids(path, line, row, "concepts", required=True)
    label = get_text(path, line, row, "label")
    return Entity(start, end, concepts, label, get_accept(path, line, row))


def keep_rows(path: Path, rows: list, field: str, value: Optional[str]) -> list:
    """Those whose field has a value; all without one.

    RAISES (TermlinkError): TL902 where none has it, with the values there are.
    """
    if value is None:
        return rows
    kept = [row for row in rows if getattr(row, field) == value]
    if not kept:
        counts = Counter(getattr(row, field) for row in rows)
        found = ", ".join(f"'{name}' ({n})" if name else f"none given ({n})"
                          for name, n in sorted(counts.items()))  # fmt: skip
        raise TermlinkError("TL902", path=path, field=field, value=value, found=found)
    return kept


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
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
                raise bad_row(path, line, f"not JSON ({reason})") from None
            if not isinstance(row, dict):
                raise bad_row(path, line, "not a JSON object")
            n_rows += 1
            yield line, row
    if not n_rows:
        raise TermlinkError("TL005", path=path)


def get_text(
    path: Path, line: int, row: dict[str, Any], name: str, *, required: bool = False
) -> str:
    """A field that is a string, "" where it may be and is missing.

    RAISES (TermlinkError): TL901, as the others, for a value of another form.
    """
    value = row.get(name)
    if value is None and not required:
        return ""
    if value is None:
        raise bad_row(path, line, f"'{name}' is missing")
    if not isinstance(value, str):
        raise bad_row(path, line, f"'{name}' is not a string")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise bad_row(path, line, f"'{name}' holds half of a surrogate pair, which is no text")
    return value


def get_ids(
    path: Path, line: int, row: dict[str, Any], name: str, *, required: bool = False
) -> tuple[str, ...]:
    """A field that is a list of concept ids, each once."""
    value: Any = row.get(name)
    if value is None and not required:
        return ()
    if value is None:
        raise bad_row(path, line, f"'{name}' is missing")
    if not isinstance(value, list) or not all(isinstance(i, str) and i for i in value):
        raise bad_row(path, line, f"'{name}' must be a list of concept ids")
    for concept_id in value:
        get_text(path, line, {name: concept_id}, name)
    return tuple(dict.fromkeys(value))


def get_accept(path: Path, line: int, row: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    """The field "accept": per concept the equally right ids."""
    accept = row.get("accept") or []
    if accept and (not isinstance(accept, list) or len(accept) != len(row["concepts"])):
        raise bad_row(path, line, "'accept' must hold one list of ids per gold concept")
    lists = [get_ids(path, line, {"accept": ids}, "accept") for ids in accept]
    # a concept that is written twice is one, as `get_ids` reads it, and so are its lists
    joined: dict[str, dict[str, None]] = {}
    for concept, ids in zip(row["concepts"] if lists else (), lists, strict=True):
        joined.setdefault(concept, {}).update(dict.fromkeys(ids))
    return tuple(map(tuple, joined.values()))


def get_offset(path: Path, line: int, row: dict[str, Any], name: str) -> Optional[int]:
    """A field that is an offset, None where it is missing."""
    value = row.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise bad_row(path, line, f"'{name}' is not an offset")
    return value


def bad_row(path: Path, line: int, reason: str) -> TermlinkError:
    """The error of a line in another form."""
    return TermlinkError("TL901", path=path, line=line, reason=reason)
