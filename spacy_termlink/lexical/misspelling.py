"""Words one slip of the pen away from a word of the names.

A word's deletions are the words left when one character is taken out. Two words one edit apart
(a character too many, too few, another one, or two swapped) share one, so looking up a word's own
deletions finds them without comparing it with the whole vocabulary (Garbe's symmetric deletes).
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

#: Shorter words have too many neighbours that are other words.
LEAST_LETTERS = 5
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
        folder.mkdir(parents=True, exist_ok=True)
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", self._arrays[name], allow_pickle=False)

    @classmethod
    def open(cls, folder: Path) -> "SpellingIndex":
        """Map the arrays of a saved index."""
        return cls(
            {
                name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False).view(
                    np.ndarray
                )
                for name in ARRAYS
            }
        )

    def correct(self, mention: str) -> str:
        """The mention with words that no name has replaced by the most frequent word one edit away.

        mention (str): Normal form.
        RETURNS (str): The mention itself where there is nothing to correct.
        """
        return " ".join([self._correct_word(word) for word in mention.split(" ")])

    def _correct_word(self, word: str) -> str:
        if not _indexed(word):
            return word
        best: tuple[int, str] = (0, word)
        for form in _forms(word):
            for i in self._at(_key(form)):
                known = self._word(i)
                if known == word:
                    return word
                if one_edit(known, word):
                    best = min(best, (-int(self._arrays["counts"][i]), known))
        return best[1]

    def _at(self, key: int) -> list[int]:
        first = int(np.searchsorted(self._keys, np.uint64(key)))
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


def _indexed(word: str) -> bool:
    return LEAST_LETTERS <= len(word) <= 40 and word.isalpha() and word.isascii()


def _deletions(word: str) -> Iterable[str]:
    return {word[:i] + word[i + 1 :] for i in range(len(word))}


def _forms(word: str) -> list[str]:
    return sorted({word, *_deletions(word)})


def _key(form: str) -> int:
    return int.from_bytes(hashlib.blake2b(form.encode(), digest_size=8).digest(), "little")
