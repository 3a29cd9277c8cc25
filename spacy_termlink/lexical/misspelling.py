"""Words one slip of the pen away from a word of the names.

A word's deletions are the words left when one character is taken out. Two words one edit apart
(a character too many, too few, another one, or two swapped) share one, so looking up a word's own
deletions finds them without comparing it with the whole vocabulary (Garbe's symmetric deletes).
"""

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Optional

import numpy as np

from ..files import map_array, save_arrays

#: Shorter words have too many neighbours that are other words.
LEAST_LETTERS = 5
#: The same for taking a word for a misspelling on its own evidence.
LEAST_LETTERS_SLIP = 7
#: Letters of a beginning or an ending that words share because it means something.
PART_LETTERS = 4
ARRAYS = ("letters", "offsets", "counts", "keys", "words")


class SpellingIndex:
    """Words of names, found by misspelled forms of them.

    arrays (dict[str, np.ndarray]): letters (UTF-8 of all words), offsets (n + 1,), counts (n,): names
        that have the word; keys (m,) uint64 ascending, words (m,): hash of a word or one of its
        deletions, and the word.
    """

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._arrays = arrays
        self._keys = arrays["keys"]
        self._suggested = lru_cache(maxsize=1 << 15)(self._suggest)

    @classmethod
    def build(cls, names: Sequence[str]) -> "SpellingIndex":
        """Index the words of names.

        names (Sequence[str]): Normal forms.
        """
        found = Counter(word for name in names for word in set(name.split()) if _indexed(word))
        words = sorted(found)
        pairs = sorted((_key(form), i) for i, word in enumerate(words) for form in _forms(word))
        encoded = [word.encode() for word in words]
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in encoded], out=offsets[1:])
        return cls(
            {
                "letters": np.frombuffer(b"".join(encoded), dtype=np.uint8),
                "offsets": offsets,
                "counts": np.array([found[word] for word in words], dtype=np.int32),
                "keys": np.array([key for key, _ in pairs], dtype=np.uint64),
                "words": np.array([i for _, i in pairs], dtype=np.int32),
            }
        )

    def save(self, folder: Path) -> None:
        """Write one .npy per array."""
        save_arrays(folder, self._arrays)

    @classmethod
    def open(cls, folder: Path) -> "SpellingIndex":
        """Map the arrays of a saved index.

        RAISES (TermlinkError): TL505, naming a file that is damaged.
        """
        return cls({name: map_array(folder / f"{name}.npy") for name in ARRAYS})

    def suggest(self, word: str) -> Optional[str]:
        """The most frequent word one edit away from a word that no name has.

        word (str): Of a normal form.
        RETURNS (Optional[str]): None for a word of the names, a short word, and one without
            neighbour.
        """
        return self._suggested(word)

    def _suggest(self, word: str) -> Optional[str]:
        if not _indexed(word) or any(self._word(i) == word for i in self._at(_key(word))):
            return None
        found: set[tuple[int, str]] = set()
        for form in _forms(word):
            for i in self._at(_key(form)):
                known = self._word(i)
                if one_edit(known, word):
                    found.add((-int(self._arrays["counts"][i]), known))
        return min(found)[1] if found else None

    def is_slip(self, word: str, suggestion: str) -> bool:
        """Whether a word can only be the suggestion misspelled, not a word that the names lack.

        It cannot be told of a short word, of one that starts with another letter (few slips do:
        acellular, cellular), and of one whose changed letters stand in a part that other words
        begin or end with: dysphasia is no misspelled dysphagia, since aphasia ends so too.
        """
        if len(word) < LEAST_LETTERS_SLIP or word[0] != suggestion[0]:
            return False
        first, end = _changed(word, suggestion)
        start = word[: max(PART_LETTERS, end)]
        ending = word[min(len(word) - PART_LETTERS, first) :]
        return not (
            (len(start) < len(word) and _is_shared(self._sorted, start, suggestion))
            or (
                len(ending) < len(word)
                and _is_shared(self._reversed, ending[::-1], suggestion[::-1])
            )
        )

    @cached_property
    def _sorted(self) -> list[str]:
        return [self._word(i) for i in range(len(self._arrays["counts"]))]

    @cached_property
    def _reversed(self) -> list[str]:
        return sorted(word[::-1] for word in self._sorted)

    def _at(self, key: int) -> list[int]:
        first = bisect_left(self._keys.data, key)
        last = first
        while last < len(self._keys) and int(self._keys[last]) == key:
            last += 1
        return self._arrays["words"][first:last].tolist()

    def _word(self, i: int) -> str:
        start, end = self._arrays["offsets"][i : i + 2].tolist()
        return self._arrays["letters"][start:end].tobytes().decode()


def one_edit(a: str, b: str) -> bool:
    """Whether two different words are one insertion, deletion, substitution or swap apart."""
    if len(a) == len(b):
        places = [i for i in range(len(a)) if a[i] != b[i]]
        swap = len(places) == 2 and places[1] == places[0] + 1
        i = places[0] if places else 0
        return len(places) == 1 or (swap and a[i] == b[i + 1] and a[i + 1] == b[i])
    short, long = sorted((a, b), key=len)
    return len(long) - len(short) == 1 and short in _deletions(long)


def _changed(word: str, known: str) -> tuple[int, int]:
    """Where a word differs from another: `word[first:end]`; where a letter is missing or too many,
    with the letters on both sides."""
    shortest = min(len(word), len(known))
    first = next((i for i in range(shortest) if word[i] != known[i]), shortest)
    same = next((i for i in range(shortest - first) if word[-1 - i] != known[-1 - i]), None)
    end = len(word) - (shortest - first if same is None else same)
    beside = len(word) != len(known)
    return max(0, first - beside), min(len(word), max(first, end) + beside)


def _is_shared(words: list[str], prefix: str, but: str) -> bool:
    """Whether a word other than `but` has the prefix; words sorted."""
    i = bisect_left(words, prefix)
    return any(word.startswith(prefix) and word != but for word in words[i : i + 2])


def _indexed(word: str) -> bool:
    return LEAST_LETTERS <= len(word) <= 40 and word.isalpha() and word.isascii()


def _deletions(word: str) -> Iterable[str]:
    return {word[:i] + word[i + 1 :] for i in range(len(word))}


def _forms(word: str) -> list[str]:
    return sorted({word, *_deletions(word)})


def _key(form: str) -> int:
    return int.from_bytes(hashlib.blake2b(form.encode(), digest_size=8).digest(), "little")
