"""What a concept must be before a terminology takes it."""

import re
from itertools import chain
from pathlib import Path
from typing import Optional

from ..errors import TermlinkError
from ..types import NAME_KINDS, NIL
from .concept import Concept

_SURROGATE = re.compile("[\ud800-\udfff]")


def check_concept(concept: Concept, source: Path | str) -> None:
    """Refuse what a table of strings cannot hold, before any of it is written.

    source (Path | str): What it was read from.
    RAISES (TermlinkError): TL110.
    """
    if reason := _find_fault(concept):
        where = f"{source}, concept {concept.concept_id!r}"
        raise TermlinkError("TL110", where=where, reason=reason)


def _find_fault(concept: Concept) -> Optional[str]:
    names = concept.names
    texts = [
        concept.concept_id, concept.name, concept.definition, concept.language,
        concept.replaced_by or "", *concept.semantic_types, *concept.alt_ids,
        *chain.from_iterable(names), *chain.from_iterable(concept.relations),
        *chain.from_iterable(concept.xrefs),
    ]  # fmt: skip
    if _is_doubtful(texts) and (fault := next(filter(None, map(_fault_of_text, texts)), None)):
        return fault
    if concept.concept_id == NIL:
        return f"the id {NIL} stands for a mention without a concept"
    for name in names:
        if name.kind not in NAME_KINDS:
            return f"unknown kind {name.kind!r}; kinds are {', '.join(NAME_KINDS)}"
    return None


def _is_doubtful(texts: list[str]) -> bool:
    """Whether one of them must be looked at: a look at all at once is what millions can afford."""
    try:
        joined = "".join(texts)
    except TypeError:
        return True
    return "\0" in joined or (not joined.isascii() and _SURROGATE.search(joined) is not None)


def _fault_of_text(text: object) -> Optional[str]:
    if not isinstance(text, str):
        return f"expected text, found {text!r}"
    if "\0" in text:
        return f"a NUL in {text[:80]!r}"
    if not text.isascii() and _SURROGATE.search(text):
        return f"half of a surrogate pair, which is no character, in {text[:80]!r}"
    return None
