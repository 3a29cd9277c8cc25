"""The sentence around a span, for a reranker that reads it."""

import re
from typing import List

from spacy.tokens import Doc, Span

from ..lexical.sections import find_sections, section_of, under_heading

#: Characters kept on each side of a mention: a reranker reads few tokens, and a note may be one line.
REACH = 200
#: Where a sentence ends in a document that no component has divided: notes break lines between
#: statements, and a full stop is followed by a capital or a digit.
_END = re.compile(r"\n|(?<=[.;!?])\s+(?=[A-Z0-9])")


def get_sentences(doc: Doc, spans: List[Span]) -> List[str]:
    """The sentence of each span, cut at REACH characters on each side: spaCy's where a component has
    set the boundaries, else from one break of a line or end of a sentence to the next. The heading of
    the section that it stands in comes before it: "FAMILY HISTORY: Mother had seizures."

    doc (Doc): The document.
    spans (List[Span]): Spans of it.
    RETURNS (List[str]): (B,), without blanks at the ends.
    """
    text = doc.text
    known = doc.has_annotation("SENT_START")
    sections = find_sections(text) if spans else []
    sentences = []
    for span in spans:
        if known:
            start, end = span.sent.start_char, span.sent.end_char
        else:
            start, end = _around(text, span.start_char, span.end_char)
        start, end = max(start, span.start_char - REACH), min(end, span.end_char + REACH)
        title = section_of(sections, span.start_char)
        sentences.append(under_heading(title, " ".join(text[start:end].split())))
    return sentences


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    left, right = max(0, start - REACH), min(len(text), end + REACH)
    before = [match.end() for match in _END.finditer(text, left, start) if match.end() <= start]
    after = _END.search(text, end, right)
    return (before[-1] if before else left), (after.start() if after else right)
