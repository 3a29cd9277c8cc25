"""Offsets as a source counts them, to characters, each checked against the mention's text.

Corpora count in characters, in UTF-8 bytes or in UTF-16 units (Java, JavaScript), mostly without
saying so. The unit of a document is the one under which most mentions stand where the source says; of
equals the first of these.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np

from ...errors import TermlinkError
from .model import CorpusEntity, Report, mention_text

UNITS = ("characters", "bytes", "utf16")


class RawMention(NamedTuple):
    """A mention before its offsets are understood.

    place (str): Where the source has it, for messages.
    spans (Sequence[tuple[int, int]]): Start and end of each piece, in the source's unit.
    text (Optional[str]): The mention's text in the source, None where it gives none.
    entity (CorpusEntity): All but the offsets.
    """

    place: str
    spans: Sequence[tuple[int, int]]
    text: Optional[str]
    entity: CorpusEntity


def length_in(text: str, unit: str) -> int:
    """Length of a text in a unit."""
    if unit == "bytes":
        return len(text.encode("utf8", "surrogatepass"))
    if unit == "utf16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text)


def place_mentions(
    assemble: Callable[[str], tuple[str, int]],
    mentions: Sequence[RawMention],
    *,
    path: Path,
    doc_id: str,
    report: Report,
) -> tuple[str, tuple[CorpusEntity, ...]]:
    """Text and entities of a document; mentions whose offsets are wrong become rejects.

    assemble (Callable[[str], tuple[str, int]]): Text of the document if offsets are in this unit, and
        how much speaks against it: passages are mostly one character apart.
    RETURNS (tuple[str, tuple[CorpusEntity, ...]]): With offsets in characters.
    RAISES (TermlinkError): What `assemble` raises for characters, if no unit fits better.
    """
    found: list[tuple[int, int, int, str, list[Optional[CorpusEntity]]]] = []
    failure: Optional[TermlinkError] = None
    for rank, unit in enumerate(UNITS):
        try:
            text, n_odd = assemble(unit)
        except TermlinkError as error:
            failure = failure or error
            continue
        placed = _place(text, unit, mentions)
        n_wrong = sum(entity is None for entity in placed)
        found.append((n_wrong, n_odd, rank, text, placed))
        if text.isascii():
            break
    if not found:
        assert failure is not None
        raise failure
    _, _, rank, text, placed = min(found, key=lambda entry: entry[:3])
    unit = UNITS[rank]
    if not text.isascii():
        report.units[unit] += 1
    for mention, entity in zip(mentions, placed, strict=True):
        if entity is None:
            wrong = TermlinkError(
                "TL981", path=path, doc_id=doc_id, place=mention.place,
                offsets=";".join(f"{s}:{e}" for s, e in mention.spans), length=len(text),
            )  # fmt: skip
            report.reject(doc_id, mention.place, wrong)
    return text, tuple(entity for entity in placed if entity is not None)


def _place(text: str, unit: str, mentions: Sequence[RawMention]) -> list[Optional[CorpusEntity]]:
    at = _character_of(text, unit)
    return [_entity(text, at, mention) for mention in mentions]


def _entity(
    text: str, at: Callable[[int], Optional[int]], mention: RawMention
) -> Optional[CorpusEntity]:
    pairs = [(at(start), at(end)) for start, end in sorted(mention.spans)]
    spans = [(s, e) for s, e in pairs if s is not None and e is not None and s < e]
    if not spans or len(spans) < len(mention.spans):
        return None
    if any(a[1] > b[0] for a, b in zip(spans, spans[1:], strict=False)):
        return None
    start, end = spans[0][0], spans[-1][1]
    fragments = tuple(_joined(text, spans))
    if len(fragments) == 1:
        fragments = ()
    if mention.text is not None:
        whole = text[start:end]
        written = {_blank(mention_text(text, start, end, f)) for f in (spans, fragments)}
        if _blank(mention.text) not in written | {_blank(whole)}:
            return None
    e = mention.entity
    return CorpusEntity(start, end, e.concepts, e.label, e.accept, fragments, e.extra)


def _joined(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pieces with nothing but a line break between are one: BRAT cuts mentions at line ends."""
    joined = [spans[0]]
    for start, end in spans[1:]:
        between = text[joined[-1][1] : start]
        if not between or (not between.strip() and "\n" in between):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _blank(text: str) -> str:
    """Formats of one line per mention write line breaks and tabs as spaces."""
    return "".join(" " if char.isspace() else char for char in text)


def _character_of(text: str, unit: str) -> Callable[[int], Optional[int]]:
    """Offset in a unit -> offset in characters; None outside the text or inside a character."""
    if unit == "characters" or text.isascii():
        return lambda offset: offset if 0 <= offset <= len(text) else None
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    if unit == "bytes":
        widths = 1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF)
    else:
        widths = 1 + (codes > 0xFFFF)
    starts = np.concatenate([[0], np.cumsum(widths)])

    def find(offset: int) -> Optional[int]:
        row = int(np.searchsorted(starts, offset))
        return row if row < len(starts) and starts[row] == offset else None

    return find
