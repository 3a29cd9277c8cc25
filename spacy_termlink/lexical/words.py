"""Words of a text, with offsets, as names are compared by: normal form, stem, hash, gap before."""

import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..text import HEADS, arabic, normalize
from .stems import stem

#: What lies between two words: nothing that matters, a comma or bracket, the end of a sentence.
PLAIN, SOFT, HARD = 0, 1, 2

_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_ONE_CJK = re.compile(f"[{_CJK}]")
# a word, with the point or slash inside a number and possessive 's; a Chinese or Japanese
# character; a sign that can change what a name says
_WORD = re.compile(
    f"[{_CJK}]"
    f"|(?:(?![{_CJK}])[^\\W_])+(?:(?<=\\d)[./](?=\\d)[^\\W_]+)*(?:['\u2019]s(?![^\\W_]))?"
    r"|\+/-|[+<>%=\u00b1\u2264\u2265\u2191\u2193]|(?<=[^\W_]\d)-(?![^\W_])"
)
_PLAIN = re.compile(r"[\s\-\u2010-\u2015\u2212'\u2019_]*")
_NEW_PARAGRAPH = re.compile(r"\n\s*(?:\n|[^\w\s]|[A-Z0-9])")
_HARD = re.compile(
    r"[.;:!?\u3002\uff1b\uff1a\uff01\uff1f\u2022|](?:\s|$)|[\u3002\uff1b\uff1f\uff01]"
)
#: Written with a hyphen or in one word: "pre-auricular".
_PREFIXES = frozenset(
    ("ab", "anti", "brady", "brachy", "bi", "cardio", "cerebro", "co", "cranio", "dys", "endo",
     "epi", "extra", "gastro", "hemi", "hydro", "hyper", "hypo", "infra", "inter", "intra", "macro",
     "mega", "micro", "mid", "musculo", "myo", "neuro", "nephro", "oculo", "oligo", "oro", "pan",
     "para", "peri", "poly", "post", "pre", "pseudo", "retro", "semi", "sub", "supra", "tachy",
     "trans", "tri", "ultra", "under", "uni", "uro", "ventriculo")
)  # fmt: skip
_SIGNS = {"+": "+", "+/-": "\u00b1", "-": "negative"}


class Words(NamedTuple):
    """The words of a text; all lists have one entry a word.

    starts, ends (list[int]): `text[starts[i]:ends[i]]` is word i.
    forms (list[str]): Normal form.
    stems (list[str]): Stem; "" for a word that takes no part in the comparison.
    hashes (np.ndarray): Hash of the stem, 0 for "", (n,) uint64.
    gaps (np.ndarray): PLAIN, SOFT or HARD: what stands before the word, (n,) uint8; HARD for the first.
    """

    starts: list[int]
    ends: list[int]
    forms: list[str]
    stems: list[str]
    hashes: np.ndarray
    gaps: np.ndarray


def find_words(text: str) -> Words:
    """Take a text apart; the same for names and for documents, so that equal names look equal."""
    starts: list[int] = []
    ends: list[int] = []
    forms: list[str] = []
    gaps: list[int] = []
    end, numbered = 0, False
    for match in _WORD.finditer(text):
        start = match.start()
        surface = match.group()
        gap = text[end:start]
        glued = surface == "+" and not gap and forms and not text[start + 1 : start + 2].isalnum()
        if gap == "-" and forms and forms[-1] in _PREFIXES and surface[0].isalpha():
            forms[-1] += _form(surface)
            end = ends[-1] = match.end()
            continue
        form = "positive" if glued else _form(surface if len(surface) < 99 else surface[:99] + "~")
        gaps.append(
            (PLAIN if gap in (" ", "", "-") else _gap(gap, text[start])) if starts else HARD
        )
        end = match.end()
        starts.append(start)
        ends.append(end)
        forms.append(form)
        numbered = numbered or form in HEADS or form[:2] in ("ii", "vi", "xi")
    if numbered:
        forms = arabic(forms)
    stems = [stem(form) for form in forms]
    hashes = np.fromiter((_hash(s) for s in stems), dtype=np.uint64, count=len(stems))
    return Words(starts, ends, forms, stems, hashes, np.array(gaps, dtype=np.uint8))


def is_cjk(form: str) -> bool:
    """Whether a word is a Chinese or Japanese character."""
    return len(form) == 1 and _ONE_CJK.match(form) is not None


@lru_cache(maxsize=1 << 17)
def _form(surface: str) -> str:
    return _SIGNS.get(surface) or normalize(surface).replace(" ", "")


@lru_cache(maxsize=1 << 17)
def _hash(word: str) -> int:
    if not word:
        return 0
    digest = hashlib.blake2b(word.encode("utf8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") | 1


def _gap(between: str, next_char: str) -> int:
    if "\n" in between and _NEW_PARAGRAPH.search(between + next_char):
        return HARD
    if _PLAIN.fullmatch(between):
        return PLAIN
    return HARD if len(between) > 8 or _HARD.search(between) else SOFT
