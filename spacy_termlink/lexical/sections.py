"""Headings of a note's sections: "FAMILY HISTORY:", "ALLERGIES". What stands under one means something
else than under another."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

#: Words of a heading in capitals, and letters of it.
MOST_WORDS, LEAST_LETTERS = 7, 3
#: Titles that are headings in small letters, too, where a colon or the line's end follows. "Blood
#: pressure: 120/80" is a value, not a section.
TITLES = frozenset(
    """
    allergies|assessment|assessment and plan|assessment/plan|chief complaint|current medications
    diagnosis|diagnoses|discharge diagnosis|discharge medications|discharge instructions|exam
    examination|family history|family medical history|findings|follow-up|followup|history
    history of present illness|hospital course|hpi|imaging|impression|instructions|laboratory data
    labs|medical history|medications|objective|past history|past medical history
    past surgical history|physical exam|physical examination|plan|present illness|problem list
    procedure|procedures|reason for visit|recommendations|results|review of systems|ros
    social history|subjective|surgical history|vital signs|vitals
    """.replace("\n", "|")
    .replace("    ", "")
    .strip("|")
    .split("|")
)
_LINE = re.compile(
    r"^[ \t]*(?P<title>[^\W\d_][^\n:]{1,60}?)[ \t]*(?P<colon>:|(?=\n|\Z))", re.MULTILINE
)


class Section(NamedTuple):
    """A heading and what stands under it, up to the next one.

    title (str): The heading as written, without its colon.
    heading (int): Where the heading begins.
    start, end (int): What stands under it.
    """

    title: str
    heading: int
    start: int
    end: int


def find_sections(text: str) -> list[Section]:
    """The sections of a note, in order; what stands before the first heading is in none.

    A heading begins a line. It is in capitals, and a colon or the line's end follows; or it is one of
    TITLES, whatever its case.
    """
    found = [match for match in _LINE.finditer(text) if _is_heading(match["title"])]
    ends = [*(match.start() for match in found[1:]), len(text)][: len(found)]
    return [
        Section(match["title"], match.start("title"), match.end(), end)
        for match, end in zip(found, ends, strict=True)
    ]


def section_of(sections: Sequence[Section], offset: int) -> str:
    """Title of the section that an offset lies in, "" for none."""
    place = bisect_right([section.start for section in sections], offset) - 1
    return sections[place].title if place >= 0 and offset < sections[place].end else ""


def under_heading(title: str, sentence: str) -> str:
    """A sentence with the heading that it stands under, if it does not hold it itself."""
    return f"{title}: {sentence}" if title and title not in sentence else sentence


def _is_heading(title: str) -> bool:
    words = title.split()
    if " ".join(words).casefold() in TITLES:
        return True
    letters = [char for char in title if char.isalpha()]
    return title.isupper() and len(words) <= MOST_WORDS and len(letters) >= LEAST_LETTERS
