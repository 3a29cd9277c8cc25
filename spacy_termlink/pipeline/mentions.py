"""What each span of a document is searched as."""

from typing import Any, Dict, Iterable, List, Optional, Tuple

from spacy.tokens import Doc, Span

from ..lexical.abbreviations import Abbreviation, expand, find_abbreviations, long_forms

Forms = Tuple[str, ...]  # the mention, then its long form if it has one

_WHOLES_KEY = "term_mentions"
ABBREVIATIONS_KEY: Any = ("._.", "term_abbreviations", None, None)


def get_forms(
    doc: Doc, spans: List[Span], *, spans_key: Optional[str], resolve_abbreviations: bool
) -> List[Forms]:
    """What each span is searched as: its text and, where that is or holds an abbreviation of this
    document, the text with its long form. A span that shares words with its neighbour ("palmar" in
    "palmar and plantar pits") is searched as the whole that a `term_matcher` has put together, of the
    same group: another KB may have "palmar" for a name.

    The long form comes from `doc._.term_abbreviations` where a component has set it, else from
    scispaCy's `span._.long_form` where that is set. In a document that no component has searched
    for abbreviations, it comes from the text by the algorithm that `term_abbreviations` uses.

    spans_key (Optional[str]): Group of the spans; None for `doc.ents`.
    """
    wholes = doc.user_data.get(_WHOLES_KEY, {}).get(_group(spans_key), {})
    texts = [wholes.get(_place(span), span.text) for span in spans]
    if not (spans and resolve_abbreviations):
        return [(text,) for text in texts]
    searched = ABBREVIATIONS_KEY in doc.user_data
    table = get_long_forms(doc)
    forms: List[Forms] = []
    for span, text in zip(spans, texts, strict=True):
        expanded, scispacy = expand(text, table), _scispacy_long_form(span)
        known = expanded if expanded != text else ""
        long_form = (known or scispacy) if searched else (scispacy or known)
        forms.append((text, long_form) if long_form else (text,))
    return forms


def set_whole_mentions(
    doc: Doc,
    wholes: Iterable[Tuple[Span, str]],
    *,
    written: Iterable[Span],
    spans_key: Optional[str],
) -> None:
    """Keep what spans stand for in full, for `get_forms`; plain JSON in `doc.user_data`.

    wholes (Iterable[Tuple[Span, str]]): Spans, each with its whole; "" for none.
    written (Iterable[Span]): Those of them (the same objects) that count: they are in the document.
    spans_key (Optional[str]): Their group; None for `doc.ents`.
    """
    group, kept = _group(spans_key), doc.user_data.get(_WHOLES_KEY, {})
    there = set(map(id, written))
    new = {_place(span): whole for span, whole in wholes if id(span) in there}
    found = {place: whole for place, whole in {**kept.get(group, {}), **new}.items() if whole}
    if found or group in kept:
        doc.user_data[_WHOLES_KEY] = {**kept, group: found}


def _group(spans_key: Optional[str]) -> str:
    return "ents" if spans_key is None else f"spans/{spans_key}"


def _place(span: Span) -> str:
    return f"{span.start_char}:{span.end_char}"


def get_long_forms(doc: Doc) -> Dict[str, str]:
    """Long form of each abbreviation that the document defines: from `doc._.term_abbreviations`
    where a component has set it, else from the text."""
    # in user_data, because an empty list tells "none found" from "nobody looked"
    rows = doc.user_data.get(ABBREVIATIONS_KEY)
    if rows is None:
        return long_forms(find_abbreviations(doc.text))
    return long_forms([Abbreviation(*row) for row in rows])


def _scispacy_long_form(span: Span) -> str:
    if not Span.has_extension("long_form"):
        return ""
    return str(span._.long_form or "")  # a Span, or its text in serialisable mode
