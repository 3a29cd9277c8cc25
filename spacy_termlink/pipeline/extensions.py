"""The attributes behind `span._` and `doc._`, and reading them back."""

from typing import Any, Dict, Optional

from spacy.tokens import Doc, Span

#: Values are plain JSON, so that they survive `Doc.to_bytes`, DocBin and worker processes.
SPAN_EXTENSIONS: Dict[str, Any] = {
    "kb_ents": [],
    "kb_group": [],
    "term_candidates": [],
    "term_links": {},
}
DOC_EXTENSIONS: Dict[str, Any] = {"term_abbreviations": []}


def set_extensions() -> None:
    """Register our extensions; one that exists already (scispaCy's `kb_ents`, the user's) stays."""
    for owner, extensions in ((Span, SPAN_EXTENSIONS), (Doc, DOC_EXTENSIONS)):
        for name, default in extensions.items():
            if not owner.has_extension(name):
                owner.set_extension(name, default=default)


def find_link(span: Span, linker: str) -> Optional[Dict[str, Any]]:
    """What one linker found for a span: its entry in `span._.term_links`.

    spaCy keys extension values by offsets alone, so that two spans at the same place share them.
    Where their labels differ, the entry of the first holds the others' under "by_label".

    span (Span): A span a linker has seen.
    linker (str): The linker's component name.
    RETURNS (Optional[Dict[str, Any]]): kb_id, kb_ents, kb_group and candidates; None if the linker
        has not seen the span.
    """
    entry = span._.term_links.get(linker)
    if entry is None:
        return None
    return entry.get("by_label", {}).get(span.label_, entry)
