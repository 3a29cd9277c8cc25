"""The spans a component works on, and how an id is made to stay on one."""

import warnings
from typing import Any, Dict, List, Optional

from spacy.strings import StringStore
from spacy.tokens import Doc, Span

from ..errors import MESSAGES


def get_spans(doc: Doc, spans_key: Optional[str]) -> List[Span]:
    """The spans of `doc.ents`, or of a span group; none if the document lacks the group."""
    if spans_key is None:
        return list(doc.ents)
    return list(doc.spans[spans_key]) if spans_key in doc.spans else []


def warn_of_missing_group(doc: Doc, spans_key: Optional[str], name: str) -> None:
    """Say that a document lacks the group, which a recogniser sets even where it finds nothing."""
    if spans_key is not None and spans_key not in doc.spans:
        found = ", ".join(doc.spans) or "no group"
        warnings.warn(MESSAGES["TL707"].format(name=name, key=spans_key, found=found), stacklevel=4)


def set_kb_id(span: Span, kb_id: str, *, spans_key: Optional[str], i: int) -> None:
    """Set a span's `kb_id` where the document keeps it: on the tokens, or in the group.

    i (int): The span's place in the group.
    """
    key = _add_string(span.doc.vocab.strings, kb_id)
    if spans_key is None:
        for token in span:  # `doc.ents` is made anew from the tokens at each access
            token.ent_kb_id = key
    else:
        span.kb_id = key
        span.doc.spans[spans_key][i] = span  # a group hands out copies


def _permanent() -> Dict[str, Any]:
    setting: Dict[str, Any] = {"allow_transient": False}
    try:
        StringStore().add("", **setting)
    except TypeError:  # spaCy 3.7 has no memory zones
        return {}
    return setting


_PERMANENT = _permanent()


def _add_string(strings: StringStore, text: str) -> int:
    # an id outlives a memory zone: users keep them
    return strings.add(text, **_PERMANENT)
