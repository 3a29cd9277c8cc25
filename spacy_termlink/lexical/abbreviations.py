"""Abbreviations that a text defines itself: "long form (short form)" and "short form (long form)".

A. S. Schwartz, M. A. Hearst: A simple algorithm for identifying abbreviation definitions in
biomedical text. Pacific Symposium on Biocomputing 2003, 451-462.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

#: A short form has 2 to 10 characters and at most two words.
MAX_SHORT = 10
#: No long form is longer than this (20 words at most, by the rule on words); it keeps time linear.
MAX_LONG = 400

_BRACKET = re.compile(r"[()\[\]]")
_OPENING = {"(": ")", "[": "]", '"': '"', "'": "'"}
_CLOSING = {")": "(", "]": "["}
# no sentence ends after "St." or "vs."
_SENTENCE_END = re.compile(r"(?<=[^\W_]{3})[.!?]\s|[)\]][.!?]\s|\n\s*\n")
_CLAUSE = re.compile(r"[,;]\s|\s[(\[]")
_WORDS = re.compile(r"[\s-]+")
_WORD = re.compile(r"[^\W_]+")


class Abbreviation(NamedTuple):
    """A definition found in a text.

    short (str): As "NF1".
    long (str): As "neurofibromatosis type 1".
    short_start, short_end, long_start, long_end (int): `text[start:end]` is the form.
    """

    short: str
    long: str
    short_start: int
    short_end: int
    long_start: int
    long_end: int


def find_abbreviations(text: str) -> list[Abbreviation]:
    """All definitions of a text, in its order, by the rules of Schwartz and Hearst.

    Both brackets are read, () and []. In "short form (long form)" the short form must hold a
    capital or a digit. Time is linear in the text, whatever it holds.
    """
    found = []
    for start, end in _bracketed(text):
        abbreviation = _before_brackets(text, start, end) or _in_brackets(text, start, end)
        if abbreviation:
            found.append(abbreviation)
    return sorted(found, key=lambda a: min(a.short_start, a.long_start))


def long_forms(abbreviations: Iterable[Abbreviation]) -> dict[str, str]:
    """Long form of each short form; the first definition counts. A plural short form ("ASDs") is
    listed in the singular too, and the other way round, with the same long form.
    """
    forms: dict[str, str] = {}
    for abbreviation in abbreviations:
        forms.setdefault(abbreviation.short, abbreviation.long)
    for short, long in list(forms.items()):
        if short[-1] == "s" and short[-2].isupper():
            forms.setdefault(short[:-1], long)
        elif short[-1].isupper():
            forms.setdefault(f"{short}s", long)
    return forms


def expand(mention: str, forms: Mapping[str, str]) -> str:
    """The mention with the document's abbreviations written out: the whole of it ("GDD"), else the
    words in capitals in it ("HCV infection"). The mention itself where there is none.

    forms (Mapping[str, str]): Short form -> long form, from `long_forms`.
    """
    if mention in forms:
        return forms[mention]

    def long_form(match: re.Match) -> str:
        long = forms.get(match[0], "") if sum(char.isupper() for char in match[0]) > 1 else ""
        return long if long and long.lower() not in mention.lower() else match[0]

    return _WORD.sub(long_form, mention)


def _bracketed(text: str) -> Iterator[tuple[int, int]]:
    """Offsets of what stands between each pair of brackets; brackets without a partner are
    passed over."""
    opened: list[int] = []
    for match in _BRACKET.finditer(text):
        char, at = match.group(), match.start()
        if char in "([":
            opened.append(at)
        elif opened:
            if text[opened[-1]] == _CLOSING[char]:
                yield opened.pop() + 1, at
            else:  # "( ]": neither has a partner
                opened.pop()


def _before_brackets(text: str, start: int, end: int) -> Abbreviation | None:
    """long form (short form): the content up to a comma or semicolon is the short form."""
    head = text[start : min(end, start + MAX_SHORT + 8)]
    clause = _CLAUSE.search(head)
    short = (head[: clause.start()] if clause else head).strip(" \t\r\n\"'")
    if not _is_short_form(short) or (not clause and end - start > len(head)):
        return None
    short_start = text.index(short, start)
    long_end = start - 1
    window_start = _window_start(text, long_end, len(short))
    window = text[window_start:long_end].rstrip(" \t\r\n,;:\"'")
    best = _best_long_form(short, window)
    if best is None:
        return None
    long_end = window_start + len(window)
    return Abbreviation(
        short, window[best:], short_start, short_start + len(short), window_start + best, long_end
    )


def _in_brackets(text: str, start: int, end: int) -> Abbreviation | None:
    """short form (long form): the last word, or else the last two words, before the bracket."""
    if end - start > MAX_LONG:
        return None
    before = text[max(0, start - 1 - 3 * MAX_SHORT) : start - 1].rstrip()
    words = before.split()
    content = text[start:end]
    clause = _CLAUSE.search(content)
    for n_words in (1, 2):
        if len(words) < n_words:
            break
        at = before.rindex(words[-n_words])
        short = before[at:].lstrip("\"'([")
        if not _is_short_form(short) or short.lower() == short:
            continue
        short_end = max(0, start - 1 - 3 * MAX_SHORT) + len(before)
        for long in (content, content[: clause.start()] if clause else ""):
            best = _best_long_form(short, long.rstrip())
            if best is not None:
                return Abbreviation(
                    short, long.rstrip()[best:], short_end - len(short), short_end,
                    start + best, start + len(long.rstrip()),
                )  # fmt: skip
    return None


def _is_short_form(short: str) -> bool:
    return (
        2 <= len(short) <= MAX_SHORT
        and short[0].isalnum()
        and any(char.isalpha() for char in short)
        and len(short.split()) <= 2
    )


def _window_start(text: str, end: int, short_length: int) -> int:
    """Where the longest possible long form that ends at `end` starts: in the same sentence, and
    at most min(|A| + 5, 2 |A|) words back."""
    floor = max(0, end - MAX_LONG)
    window = text[floor:end]
    cut = 0
    for match in _SENTENCE_END.finditer(window):
        cut = match.end()
    if floor and not cut:  # the window starts inside a word
        space = re.search(r"\s", window)
        cut = space.end() if space else len(window)
    words = list(re.finditer(r"\S+", window[cut:]))
    most = min(short_length + 5, 2 * short_length)
    return floor + cut + (words[-most].start() if len(words) > most else 0)


def _best_long_form(short: str, window: str) -> int | None:
    """Where in the window the shortest long form starts: from the right, each letter or digit of
    the short form is sought in turn, and its first one must begin a word. None if there is none, or
    if it breaks the paper's limits."""
    at = len(window)
    for i in range(len(short) - 1, -1, -1):
        char = short[i].lower()
        if not char.isalnum():
            continue
        at -= 1
        while at >= 0 and (
            window[at].lower() != char or (i == 0 and at > 0 and window[at - 1].isalnum())
        ):
            at -= 1
        if at < 0:
            return None
    start = max(window.rfind(" ", 0, at), window.rfind("\n", 0, at), window.rfind("\t", 0, at)) + 1
    while window[start] in _OPENING and _OPENING[window[start]] not in window[start + 1 :]:
        start += 1  # a quote or bracket that closes elsewhere
    long = window[start:]
    letters = sum(char.isalnum() for char in short)
    n_words = len([word for word in _WORDS.split(long) if word])
    if len(long) <= len(short) or n_words > min(letters + 5, 2 * letters):
        return None
    if re.search(rf"(?<![^\W_]){re.escape(short)}(?![^\W_])", long, re.IGNORECASE):
        return None  # the short form itself, used before
    return start
