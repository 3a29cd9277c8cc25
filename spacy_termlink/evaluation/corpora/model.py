"""What every format is read into: a document, its entities, and what could not be kept."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

from ...errors import TermlinkError

#: Between the ids of one mention, in formats that have one field for them.
SEPARATORS = re.compile(r"[|;,+]")
#: An id of a sequence variant ("c|SUB|A|1298|C") holds the separator itself.
_VARIANT = re.compile(r"[cgmnpr]\|")
#: What stands for "no concept" in such a field.
NO_CONCEPT = ("", "-", "-1")


@dataclass(frozen=True)
class CorpusEntity:
    """An annotated mention.

    start, end (int): Character offsets of the whole, gaps included.
    concepts (tuple[str, ...]): Gold ids; empty for NIL.
    label (str): Entity label, or "".
    accept (tuple[tuple[str, ...], ...]): Per concept the equally right ids, or empty.
    fragments (tuple[tuple[int, int], ...]): Offsets of the pieces of a discontinuous mention, in
        the text's order; empty for one in one piece.
    extra (dict): What else the source says of it, as JSON values: "cardinality", "assertion", ...
    """

    start: int
    end: int
    concepts: tuple[str, ...] = ()
    label: str = ""
    accept: tuple[tuple[str, ...], ...] = ()
    fragments: tuple[tuple[int, int], ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CorpusDoc:
    """An annotated document.

    doc_id, text (str): As in the source.
    entities (tuple[CorpusEntity, ...]): In the source's order.
    doc_concepts (Optional[tuple[str, ...]]): Concepts of the document as a whole, None where not given.
    split (str): Or "".
    extra (dict): What else the source says of it, as JSON values.
    """

    doc_id: str
    text: str
    entities: tuple[CorpusEntity, ...] = ()
    doc_concepts: Optional[tuple[str, ...]] = None
    split: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


class Rejected(NamedTuple):
    """A document or mention that was left out; never with a word of its text.

    doc_id (Optional[str]): Its document, None where that is unknown.
    place (str): Where in the document or file, as "line 12", "T3", "entity 2".
    code (str): Of the message.
    reason (str): The message.
    """

    doc_id: Optional[str]
    place: str
    code: str
    reason: str


class Report:
    """What a conversion leaves out, so that nothing is lost without a word.

    rejects (list[Rejected]): In the source's order.
    lost (Counter): What the target format cannot hold, or the reader does not read -> how often.
    units (Counter): Unit in which offsets were found ("characters", ...) -> documents.
    """

    def __init__(self) -> None:
        self.rejects: list[Rejected] = []
        self.lost: Counter[str] = Counter()
        self.units: Counter[str] = Counter()

    def reject(self, doc_id: Optional[str], place: str, error: TermlinkError) -> None:
        """Note a document or mention that is left out."""
        self.rejects.append(Rejected(doc_id, place, error.code, str(error)))

    @contextmanager
    def rejecting(self, doc_id: Optional[str], place: str = "document") -> Iterator[None]:
        """Turn an error of the block into a reject."""
        try:
            yield
        except TermlinkError as error:
            self.reject(doc_id, place, error)

    @contextmanager
    def parsing(self, path: Any, place: str, form: str) -> Iterator[None]:
        """Where the file's values have other types than its format says, and a library passes them on:
        what Python makes of them is TL982.

        form (str): The format, for the message.
        RAISES (TermlinkError): TL982.
        """
        try:
            yield
        except TermlinkError:
            raise
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            reason = f"not {form} ({type(error).__name__})"
            raise TermlinkError("TL982", path=path, place=place, reason=reason) from None

    def lose(self, what: str, n: int = 1) -> None:
        """Count what is not kept."""
        if n:
            self.lost[what] += n

    def lose_fields(
        self, doc: CorpusDoc, *, keep: Callable[[str, Optional[CorpusEntity]], bool]
    ) -> None:
        """Count the fields of a document that a format has no place for.

        keep (Callable): Whether a field ("split", "accept", "fragments", the name of an extra) is kept
            of an entity, or of the document (None).
        """
        present: list[tuple[str, Optional[CorpusEntity]]] = []
        present += [("doc_concepts", None)] * (doc.doc_concepts is not None)
        present += [(name, None) for name in (*(["split"] if doc.split else []), *doc.extra)]
        for entity in doc.entities:
            given = [name for name in ("accept", "fragments") if getattr(entity, name)]
            present += [(name, entity) for name in (*given, *entity.extra)]
        for name, entity_or_doc in present:
            if not keep(name, entity_or_doc):
                self.lose(name if entity_or_doc else f"{name} of documents")


def split_ids(field_text: str, *, prefix: str = "") -> tuple[tuple[str, ...], dict[str, Any]]:
    """Concept ids of one field, and their cardinality where it is not the usual one of their number.

    "A|B", "A;B" and "A,B" are a composite mention, "A+B" one meaning that takes several concepts
    (NCBI Disease). "-", "-1" and nothing are NIL.
    prefix (str): Put before an id that has none, as "MESH" before "D003920"; "" leaves ids as they are.
    RETURNS (tuple): Ids, and {"cardinality": "conjunct+"} or {}.
    """
    field_text = field_text.strip()
    if _VARIANT.match(field_text):
        return (field_text,), {}
    parts = [part.strip() for part in SEPARATORS.split(field_text)]
    ids = tuple(dict.fromkeys(with_prefix(p, prefix) for p in parts if p not in NO_CONCEPT))
    conjunct = len(ids) > 1 and "+" in field_text
    return ids, {"cardinality": "conjunct+"} if conjunct else {}


def usual_cardinality(n_concepts: int) -> str:
    """What a mention of so many concepts is where nothing else is said; it is not kept as an extra."""
    return ("", "single", "composite")[min(n_concepts, 2)]


def with_prefix(concept_id: str, prefix: str) -> str:
    """An id with a prefix, where it has none and one is asked for."""
    return f"{prefix}:{concept_id}" if prefix and ":" not in concept_id else concept_id


def join_ids(entity: CorpusEntity) -> str:
    """The inverse of `split_ids`; "-" for NIL."""
    mark = "+" if entity.extra.get("cardinality") == "conjunct+" else "|"
    return mark.join(entity.concepts) or "-"


def joins_back(entity: CorpusEntity) -> bool:
    """Whether `split_ids` gives the ids of `join_ids` again, white space around them, too."""
    joined = join_ids(entity)
    return joined == joined.strip() and split_ids(joined)[0] == entity.concepts


def mention_text(text: str, start: int, end: int, fragments: Sequence[tuple[int, int]]) -> str:
    """A mention as written; pieces of a discontinuous one joined by spaces, as BRAT does."""
    return " ".join(text[s:e] for s, e in fragments or [(start, end)])


def pack(values: dict[str, Any]) -> str:
    """JSON of the values that say something, "" if none does; for a format's free field."""
    said = {k: v for k, v in values.items() if v not in (None, "", (), [], {})}
    return json.dumps(said, ensure_ascii=False, sort_keys=True) if said else ""


def unpack(packed: Optional[str], place: str, path: Any) -> dict[str, Any]:
    """The inverse of `pack`.

    RAISES (TermlinkError): TL982 if it is no JSON object.
    """
    if not packed:
        return {}
    try:
        values = json.loads(packed)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise TermlinkError("TL982", path=path, place=place, reason="its termlink field is no JSON")
    return values


def tuples(lists: Any) -> tuple[tuple, ...]:
    """Nested lists of JSON as tuples."""
    return tuple(tuple(values) for values in lists or ())
