"""Mentions that name several things at once: "cleft lip and palate", "breast or ovarian cancer",
"阑尾切除术+肠粘连松解术"."""

import re

#: Words of a mention, at most, that is looked at: more are a sentence.
MAX_WORDS = 16
_CJK = "\u3400-\u9fff"
#: What stands between whole procedures in Chinese notes; a plus in other texts only with spaces.
_CHINESE = re.compile(f"[＋，。；]|(?<=[{_CJK}）)])\\s*[+,;]|[+,;](?=[{_CJK}（(])")
_PLUS = re.compile(r"\s\+\s")
_JOIN = re.compile(
    r"\s*,?\s+(?:and/or|and|or|as well as)\s+|\s+&\s+|(?<=[a-zA-Z])\s?/\s?(?=[a-zA-Z])", re.I
)
_COMMA = re.compile(r"\s*,\s+")
_OPENING, _CLOSING = "([（【{", ")]）】}"


def split_coordination(text: str) -> list[list[str]]:
    """Ways to read a mention as several names, each a list of two parts or more.

    What stands before the first member or after the last may belong to all of them: "cleft lip and
    palate" is a cleft lip and a cleft palate, "breast or ovarian cancer" has one head. Which way is
    right only the terminology can tell, so all are given: those that share something first.
    Nothing is divided inside brackets.

    RETURNS (list[list[str]]): Without repeats; empty where nothing is coordinated.
    """
    separated = _members(text, _CHINESE if _CHINESE.search(text) else _PLUS)
    if len(separated) > 1:
        return [separated]
    if len(text.split()) > MAX_WORDS or not _outside(text, _JOIN):
        return []
    # a comma without a conjunction turns a name round: "cancer, ovarian"
    members = [part.split() for piece in _members(text, _JOIN) for part in _members(piece, _COMMA)]
    if len(members) < 2:
        return []
    ways = [*_shared_heads(members), *_shared_beginnings(members), members]
    return list(map(list, dict.fromkeys(tuple(" ".join(part) for part in way) for way in ways)))


def _shared_heads(members: list[list[str]]) -> list[list[list[str]]]:
    """The last member's words from the i-th on belong to all."""
    last = members[-1]
    return [[*(m + last[i:] for m in members[:-1]), last] for i in range(1, len(last))]


def _shared_beginnings(members: list[list[str]]) -> list[list[list[str]]]:
    """The first member's words up to the j-th belong to all."""
    first = members[0]
    return [[first, *(first[:j] + m for m in members[1:])] for j in range(len(first) - 1, 0, -1)]


def _members(text: str, separator: re.Pattern) -> list[str]:
    """What separators outside brackets leave, without empty parts."""
    parts, start = [], 0
    for match in _outside(text, separator):
        parts.append(text[start : match.start()])
        start = match.end()
    return [part.strip() for part in (*parts, text[start:]) if any(map(str.isalnum, part))]


def _outside(text: str, separator: re.Pattern) -> list[re.Match]:
    """Matches that are in no bracket."""
    depths, depth = [], 0
    for char in text:
        depth += (char in _OPENING) - (char in _CLOSING)
        depths.append(depth)
    return [match for match in separator.finditer(text) if depths[match.start()] <= 0]
