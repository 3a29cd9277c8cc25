"""Numbers of a name with what they count: nerves, factors, stages, vitamins, vertebrae."""

import re
from collections.abc import Iterator

#: Words whose number is compared with the number of the same word only; others count as NUMBER.
HEADS = {
    "type": "type", "types": "type", "subtype": "type", "form": "type", "group": "type",
    "stage": "stage", "stages": "stage", "grade": "stage", "grades": "stage", "class": "stage",
    "degree": "stage", "phase": "phase", "category": "category", "nerve": "nerve",
    "nerves": "nerve", "factor": "factor", "factors": "factor", "trimester": "trimester",
    "week": "time", "weeks": "time", "year": "time", "years": "time", "month": "time",
    "months": "time", "day": "time", "days": "time", "hour": "time", "hours": "time",
}  # fmt: skip
NUMBER = "number"
#: Words between which and a letter there is no tie: "with a cough".
_LOOSE = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "is", "no", "not", "of", "on", "or",
     "the", "to", "with", "without")
)  # fmt: skip
ORDINALS = {
    "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6",
    "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10", "eleventh": "11", "twelfth": "12",
}  # fmt: skip
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([a-z]?)")
_LETTERED = re.compile(r"([a-z]{1,3})(\d+)")
_JOINING = frozenset(("and", "or", "to"))
#: How far the word that an ordinal counts may stand: "fourth cranial nerve".
_REACH = 2


def read_numbers(words: list[str]) -> dict[str, frozenset[str]]:
    """What is counted -> its numbers, each with what it is a part of: "3a" is 3 and 3a, "b12" after
    "vitamin" is b and b12, "0.3" also the "0 3" of a text with a space in it.

    words (list[str]): Of a normal form: Roman numbers after "type" and its kin are Arabic.
    """
    found: dict[str, frozenset[str]] = {}
    for counted, values in _read(words):
        found[counted] = found.get(counted, frozenset()) | values
    return found


def _read(words: list[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for i, word in enumerate(words):
        if len(word) > 1 and word.isalpha() and word not in ORDINALS:  # what nearly all are
            continue
        ordinal = ORDINALS.get(word) or _matched(_ORDINAL, word)
        before = words[i - 1] if i else ""
        if ordinal:
            yield _counted(words, i), frozenset((ordinal,))
        elif match := _NUMBER.fullmatch(word):
            yield _counted(words, i), frozenset((word, match[1], *match[1].split(".")))
        elif match := _LETTERED.fullmatch(word):
            if before == "vitamin":
                yield "vitamin", frozenset((match[1], word))
            yield match[1], frozenset((match[2],))
        elif len(word) == 1 and word.isalpha() and _is_tied(before):
            yield before, frozenset((word,))


def _is_tied(before: str) -> bool:
    return len(before) > 1 and not before.isdigit() and before not in _LOOSE


def _matched(pattern: re.Pattern, word: str) -> str:
    match = pattern.fullmatch(word)
    return match[1] if match else ""


def _counted(words: list[str], i: int) -> str:
    """What number i of a name counts: the head before it, or one that follows closely."""
    at = i - 1
    while at >= 0 and (words[at] in _JOINING or words[at][:1].isdigit()):
        at -= 1
    if at >= 0 and words[at] in HEADS:
        return HEADS[words[at]]
    for word in words[i + 1 : i + 1 + _REACH]:
        if word in HEADS:
            return HEADS[word]
    return NUMBER
