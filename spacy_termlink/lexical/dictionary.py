"""The names of a terminology as a dictionary: finds those that a text holds, tolerant to spelling,
inflection and, where it is safe, word order.

Each word has a stem and a 64-bit hash of it; a name's key is the sum of its words' hashes, so that
neither order nor words as "of" count. The keys of all windows of a text come from one cumulative
sum. What a key proposes is then compared word by word (`compare`).
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np

from ..errors import TermlinkError
from ..files import atomic_folder, read_json, save_arrays, write_json
from .compare import SOFT, Compared, compare, name_words
from .shared import find_shared
from .stems import rules_fingerprint
from .words import HARD, Words, find_words

FORMAT_VERSION = 1
#: Longest window, in words; longer names are rare and no one writes them out.
MAX_WORDS = 16
_ARRAYS = ("keys", "rows", "vocabulary")
_BITS_PER_KEY = 16


class Match(NamedTuple):
    """A place in a text that names something.

    start, end (int): `text[start:end]` is the mention.
    rows (tuple[int, ...]): Rows of the names that are closest to it, ascending.
    distance (int): How far they are: 0 the same words, then inflection, order, derivation; only
        for comparing matches.
    """

    start: int
    end: int
    rows: tuple[int, ...]
    distance: int
    whole: str = ""


class Dictionary:
    """Names, to be found in texts. Immutable; any number of threads may use one.

    text_of (Callable[[int], str]): The name of a row, as the source writes it.
    """

    def __init__(
        self,
        keys: np.ndarray,
        rows: np.ndarray,
        vocabulary: np.ndarray,
        text_of: Callable[[int], str],
    ) -> None:
        self._keys = keys  # (n,) uint64, ascending
        self._rows = rows  # (n,) int32, name row of each key
        self._vocabulary = vocabulary  # (m,) uint64, ascending: hashes of all stems of names
        self._shift, self._bits = _bitmap(keys)
        self._name = lru_cache(maxsize=1 << 14)(lambda row: name_words(text_of(row)))

    def __len__(self) -> int:
        return len(self._keys)

    @classmethod
    def build(
        cls,
        names: Iterable[str],
        text_of: Callable[[int], str],
    ) -> "Dictionary":
        """Make the dictionary of all names.

        names (Iterable[str]): The names in the order of their rows.
        text_of (Callable[[int], str]): The name of a row; asked for when a match is checked.
        """
        keys, rows = array("Q"), array("i")  # millions of int objects would take ten times as much
        stems: set[int] = set()
        for row, name in enumerate(names):
            if not any(char.isalpha() for char in name):
                continue  # "1" says nothing
            hashes = find_words(name).hashes
            if 0 < len(hashes) <= MAX_WORDS and hashes.any():
                keys.append(int(hashes.sum()))
                rows.append(row)
                stems.update(hashes.tolist())
        key_array = np.frombuffer(keys, dtype=np.uint64)
        order = np.argsort(key_array, kind="stable")
        stems.discard(0)
        vocabulary = np.fromiter(stems, dtype=np.uint64, count=len(stems))
        vocabulary.sort()
        row_array = np.frombuffer(rows, dtype=np.int32)
        return cls(key_array[order], row_array[order], vocabulary, text_of)

    def save(self, folder: Path) -> None:
        """Write the dictionary's folder, atomically; the names themselves are not in it."""
        with atomic_folder(Path(folder)) as part:
            save_arrays(part, {name: getattr(self, f"_{name}") for name in _ARRAYS})
            meta = {
                "format_version": FORMAT_VERSION,
                "names": len(self),
                "rules": rules_fingerprint(),
            }
            write_json(part / "meta.json", meta)

    @classmethod
    def open(cls, folder: Path, text_of: Callable[[int], str]) -> "Dictionary":
        """Map what `save` wrote.

        RAISES (TermlinkError): TL001 or TL201 if it is none, or torn, or not `is_current`.
        """
        folder = Path(folder)
        meta = read_json(folder / "meta.json")
        if not cls.is_current(folder):
            raise TermlinkError("TL201", path=folder, reason="another release has made it")
        try:
            arrays = [
                np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False).view(np.ndarray)
                for name in _ARRAYS
            ]
        except (OSError, ValueError) as error:
            raise TermlinkError("TL201", path=folder, reason=str(error)) from error
        if not len(arrays[0]) == len(arrays[1]) == meta.get("names"):
            raise TermlinkError("TL201", path=folder, reason="a file of it is cut short")
        keys, rows, vocabulary = arrays
        return cls(keys, rows, vocabulary, text_of)

    @staticmethod
    def is_current(folder: Path) -> bool:
        """Whether this release takes words apart as the one did that saved the dictionary."""
        meta = read_json(Path(folder) / "meta.json")
        made_by = meta.get("format_version"), meta.get("rules")
        return made_by == (FORMAT_VERSION, rules_fingerprint())

    def find(self, mention: str, *, allowed: Optional[np.ndarray] = None) -> tuple[int, ...]:
        """Rows of the names that the whole of a mention stands for, the closest only, ascending.

        allowed (Optional[np.ndarray]): Rows that may be found, (n_names,) bool; None for all.
        """
        words = find_words(mention)
        n_words = len(words.forms)
        if not 0 < n_words <= MAX_WORDS:
            return ()
        found = self._check(mention, words, (0, n_words), int(words.hashes.sum()), allowed)
        return found.rows if found else ()

    def unknown_words(self, text: str) -> tuple[list[str], int]:
        """Words of a text that no name has in any form, and how many words it has that count."""
        words = find_words(text)
        unknown = np.flatnonzero(~self._known_words(words.hashes)).tolist()
        return [words.forms[i] for i in unknown], sum(map(bool, words.stems))

    def match(
        self, texts: Sequence[str], *, allowed: Optional[np.ndarray] = None
    ) -> list[list[Match]]:
        """For each text the names it holds, in its order, none overlapping another: of two that do,
        the longer one, then the closer one, then the first. One search for all texts.

        allowed (Optional[np.ndarray]): Rows that may be found, (n_names,) bool; None for all.
        """
        taken_apart = [find_words(text) for text in texts]
        lengths = [len(words.forms) for words in taken_apart]
        firsts = np.cumsum([0, *lengths])
        found: list[list[tuple[int, int, Match]]] = [[] for _ in texts]
        for start, n_words, key in self._windows(taken_apart):
            i = int(np.searchsorted(firsts, start, side="right")) - 1
            while not lengths[i]:
                i -= 1
            at = start - int(firsts[i])
            match = self._check(texts[i], taken_apart[i], (at, at + n_words), key, allowed)
            if match:
                found[i].append((at, at + n_words, match))
        chosen = []
        for text, words, matches in zip(texts, taken_apart, found, strict=True):
            longest = _longest(matches)
            shared = find_shared(
                text, words, [m[:2] for m in longest], lambda m: self.find(m, allowed=allowed)
            )
            chosen.append(sorted([m[2] for m in longest] + [Match(*found) for found in shared]))
        return chosen

    def _windows(self, texts: Sequence[Words]) -> Iterable[tuple[int, int, int]]:
        """(first word, number of words, key) of the windows that have the key of a name."""
        hashes = np.concatenate([words.hashes for words in texts]) if texts else np.empty(0)
        n_words = len(hashes)
        if not n_words or not len(self._keys):
            return
        gaps = np.concatenate([words.gaps for words in texts])
        known = self._known_words(hashes)
        # how far a window may reach from each word: to an unknown word or the end of the sentence
        stops = np.flatnonzero((gaps == HARD) | ~known | np.r_[False, ~known[:-1]])
        reach = np.append(stops, n_words)[np.searchsorted(stops, np.arange(n_words), side="right")]
        sums = np.zeros(n_words + 1, dtype=np.uint64)
        np.cumsum(hashes, out=sums[1:])  # wraps around, as the keys do
        starts = np.flatnonzero(known)
        for size in range(1, MAX_WORDS + 1):
            starts = starts[reach[starts] - starts >= size]
            if not len(starts):
                return
            keys = sums[starts + size] - sums[starts]
            for i in np.flatnonzero(self._may_hold(keys)).tolist():
                yield int(starts[i]), size, int(keys[i])

    def _known_words(self, hashes: np.ndarray) -> np.ndarray:
        if not len(self._vocabulary):
            return hashes == 0
        at = np.searchsorted(self._vocabulary, hashes)
        at[at == len(self._vocabulary)] = 0
        return (self._vocabulary[at] == hashes) | (hashes == 0)

    def _may_hold(self, keys: np.ndarray) -> np.ndarray:
        slots = (keys >> np.uint64(self._shift)).astype(np.int64)
        return (self._bits[slots >> 3] >> (slots & 7).astype(np.uint8)) & 1 == 1

    def _check(
        self,
        text: str,
        words: Words,
        window: tuple[int, int],
        key: int,
        allowed: Optional[np.ndarray],
    ) -> Optional[Match]:
        start, end = window
        at = int(np.searchsorted(self._keys, np.uint64(key)))
        best: Optional[Compared] = None
        rows: list[int] = []
        while at < len(self._keys) and int(self._keys[at]) == key:
            row = int(self._rows[at])
            at += 1
            if allowed is not None and not allowed[row]:
                continue
            compared = compare(self._name(row), text, words, start, end)
            if compared is not None and (best is None or compared < best):
                best, rows = compared, [row]
            elif compared is not None and compared == best:
                rows.append(row)
        if best is None:
            return None
        first, last = words.starts[start], words.ends[end - 1]
        if text[last : last + 1] in (")", "]") and best >= SOFT:
            last += any(char in "([" for char in text[first:last])
        return Match(first, last, tuple(sorted(rows)), best)


def _bitmap(keys: np.ndarray) -> tuple[int, np.ndarray]:
    """One bit for each slot of the top bits of a key: most windows are told apart by it alone."""
    n_bits = max(10, int(np.ceil(np.log2(max(1, len(keys)) * _BITS_PER_KEY))))
    shift = 64 - n_bits
    bits = np.zeros(1 << (n_bits - 3), dtype=np.uint8)
    slots = (keys >> np.uint64(shift)).astype(np.int64)
    np.bitwise_or.at(bits, slots >> 3, np.uint8(1) << (slots & 7).astype(np.uint8))
    return shift, bits


def _longest(matches: list[tuple[int, int, Match]]) -> list[tuple[int, int, Match]]:
    plain = [m for m in matches if m[2].distance < SOFT]
    chosen: list[tuple[int, int, Match]] = []
    taken: set[int] = set()
    for start, end, match in sorted(matches, key=lambda m: (m[0] - m[1], m[2].distance, m[0])):
        if match.distance >= SOFT and _is_list(start, end, plain):
            continue
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            chosen.append((start, end, match))
    return sorted(chosen)


def _is_list(start: int, end: int, plain: list[tuple[int, int, Match]]) -> bool:
    """Whether the comma in a match is rather one between mentions: another match reaches across
    its end, or each side of the comma is a match."""
    if any(m[0] < end < m[1] or m[0] < start < m[1] for m in plain):
        return True
    inside = [m for m in plain if start <= m[0] and m[1] <= end]
    return any(m[0] == start for m in inside) and any(m[1] == end for m in inside)
