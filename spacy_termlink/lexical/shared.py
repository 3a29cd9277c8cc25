"""Mentions that share words: in "palmar and plantar pits" the first mention is "palmar pits"."""

from collections.abc import Callable, Iterator

from .compare import has_noun_after
from .words import HARD, PLAIN, Words

Window = tuple[int, int]
_AND = frozenset(("and", "or"))
#: Words of a mention that its neighbour lacks; and mentions in a row.
_MAX_OWN, _MAX_ROW = 2, 5


def find_shared(
    text: str,
    words: Words,
    windows: list[Window],
    find: Callable[[str], tuple[int, ...]],
) -> Iterator[tuple[int, int, tuple[int, ...], int, str]]:
    """Mentions beside those found, before or behind "and", "or" or a comma, that are names once the
    words they share with it are added.

    windows (list[Window]): First word and end of each mention found, in order.
    find (Callable[[str], tuple[int, ...]]): Rows of the names that a mention stands for.
    YIELDS (tuple): start, end, rows, 0 and the mention in full; see dictionary.Match.
    """
    if _AND.isdisjoint(words.forms):
        return
    for i, (start, end) in enumerate(windows):
        left = windows[i - 1][1] if i else 0
        right = windows[i + 1][0] if i + 1 < len(windows) else len(words.forms)
        if end - start > 1:
            yield from _before(text, words, (start, end), left, find)
            yield from _behind(text, words, (start, end), right, find)


def _before(
    text: str, words: Words, window: Window, left: int, find: Callable
) -> Iterator[tuple[int, int, tuple[int, ...], int, str]]:
    """A, B in "A, B and C pits"."""
    start, end = window
    at = start
    for _ in range(_MAX_ROW):
        own_end = _own_end(words, at, left, first=at == start)
        found = None
        for n_own in range(1, _MAX_OWN + 1):
            own_start = own_end - n_own
            if own_start < left or not _together(words, own_start, own_end):
                break
            for shared in range(start + 1, end):
                whole = (
                    f"{_text(text, words, own_start, own_end)} {_text(text, words, shared, end)}"
                )
                if rows := find(whole):
                    found = own_start, rows, whole
                    break
        if found is None:
            return
        at, rows, whole = found
        yield words.starts[at], words.ends[own_end - 1], rows, 0, whole


def _behind(
    text: str, words: Words, window: Window, right: int, find: Callable
) -> Iterator[tuple[int, int, tuple[int, ...], int, str]]:
    """B in "hypopigmentation of A or B"."""
    start, end = window
    at = end + 1
    if end >= right or words.forms[end] not in _AND or words.gaps[end] == HARD:
        return
    for n_own in range(_MAX_OWN, 0, -1):
        if at + n_own > right or not _together(words, at, at + n_own):
            continue
        if has_noun_after(words, at + n_own):  # "patellar dysplasia and abnormal clavicles"
            continue
        for shared in range(end - 1, start, -1):
            whole = f"{_text(text, words, start, shared)} {_text(text, words, at, at + n_own)}"
            if rows := find(whole):
                yield words.starts[at], words.ends[at + n_own - 1], rows, 0, whole
                return


def _own_end(words: Words, at: int, left: int, *, first: bool) -> int:
    """Where the mention before `at` ends: left of "and" or a comma; `left` if there is none."""
    if at - 1 > left and words.forms[at - 1] in _AND and HARD not in words.gaps[at - 1 : at + 1]:
        return at - 1
    return at if not first and at > left and words.gaps[at] not in (PLAIN, HARD) else left


def _together(words: Words, start: int, end: int) -> bool:
    return all(words.stems[start:end]) and not (words.gaps[start + 1 : end] != PLAIN).any()


def _text(text: str, words: Words, start: int, end: int) -> str:
    return text[words.starts[start] : words.ends[end - 1]]
