"""Altered copies of names that keep the meaning: case, word order, typing errors, spelling,
abbreviations. Only the anchor of a record is altered, the side that stands for a mention."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Optional

from ..spelling import american
from ..text import normalize
from .corpus import Corpus
from .records import Record

#: Neighbours of a key on the QWERTY keyboard.
_KEYS = {
    key: "".join(row[max(0, i - 1) : i] + row[i + 1 : i + 2])
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    for i, key in enumerate(row)
}
#: Parts of words, American -> British, where the other way round is safe to guess.
_BRITISH = {
    "anemi": "anaemi", "hemat": "haemat", "hemo": "haemo", "hemia": "haemia", "cemia": "caemia",
    "demia": "daemia", "lemia": "laemia", "kemi": "kaemi", "remia": "raemia", "edema": "oedema",
    "esoph": "oesoph", "estrogen": "oestrogen", "rrhea": "rrhoea", "pnea": "pnoea",
    "pediatr": "paediatr", "orthoped": "orthopaed", "gynec": "gynaec", "fetal": "foetal",
    "fetus": "foetus", "tumor": "tumour", "color": "colour", "behavior": "behaviour",
    "labor": "labour", "center": "centre", "fiber": "fibre", "sulf": "sulph", "etiolog": "aetiolog",
    "ization": "isation", "ized": "ised", "anesth": "anaesth", "cecum": "caecum", "fecal": "faecal",
    "paralyze": "paralyse", "gray": "grey", "mold": "mould", "celiac": "coeliac",
}  # fmt: skip
_PART = re.compile("|".join(sorted(_BRITISH, key=len, reverse=True)))
_WORD = re.compile(r"[^\W\d_]+")
#: A part of a comma-inverted name that begins so belongs where it stands.
_NO_INVERSION = re.compile(
    r"\b(?:and|or|nor|but|other|others|etc)\b"
    r"|^(?:with|without|due|in|of|not|to|by|from|for|on|at|as|including|excluding|except)\b",
    re.IGNORECASE,
)
MAX_INVERTED_PARTS = 3
#: Shorter words, mostly abbreviations and numbers, become other words by one wrong letter.
MIN_TYPO_WORD = 5


@dataclass(frozen=True)
class AugmentSettings:
    """The section [mining.augmentation].

    rate (float): Share of the records of a task with `augment = true` that get an altered copy.
    case (bool): Lower, upper or title case.
    inversion (bool): "Neoplasms, Lung" becomes "Lung Neoplasms".
    spelling (bool): British becomes American, American British.
    abbreviations (bool): A phrase inside the name becomes the abbreviation that a terminology of
        the run lists for it.
    typo_rate (float): Share of the letters that are mistyped, at least one; 0 for no such copies.
    """

    rate: float = 0.25
    case: bool = True
    inversion: bool = True
    spelling: bool = True
    abbreviations: bool = True
    typo_rate: float = 0.03


class Augmenter:
    """Makes altered copies of records.

    One alteration a copy. A copy whose anchor is held out, or the name of another concept, is not
    made.
    """

    def __init__(self, corpus: Corpus, settings: AugmentSettings) -> None:
        self.corpus = corpus
        self.settings = settings
        self._ways: list[Callable[[str, random.Random], Optional[str]]] = []
        if settings.case:
            self._ways.append(change_case)
        if settings.inversion:
            self._ways.append(lambda text, rng: invert_commas(text))
        if settings.spelling:
            self._ways.append(lambda text, rng: change_spelling(text))
        if settings.abbreviations and (short_of := find_short_forms(corpus)):
            self._ways.append(lambda text, rng: abbreviate(text, short_of))
        if settings.typo_rate:
            self._ways.append(lambda text, rng: mistype(text, rng, settings.typo_rate))

    def copies(self, record: Record, rng: random.Random) -> Iterator[Record]:
        """The altered copy of a record, or none.

        rng (random.Random): The random choices for this record.
        """
        if rng.random() >= self.settings.rate:
            return
        for way in rng.sample(self._ways, len(self._ways)):
            text = way(record.anchor, rng)
            if text and text != record.anchor:
                same_form = normalize(text) == normalize(record.anchor)
                if same_form or not self.corpus.is_taken(text, record.anchor_concept):
                    yield record._replace(anchor=text)
                    return


def change_case(text: str, rng: random.Random) -> Optional[str]:
    """Another case of the whole text; None where the text mixes cases inside a word ("mRNA"), which
    carry meaning there."""
    if any(word != word.capitalize() and word != word.lower() for word in _WORD.findall(text)):
        return None
    others = [way for way in (text.lower(), text.upper(), text.title()) if way != text]
    return rng.choice(others) if others else None


def invert_commas(text: str) -> Optional[str]:
    """The natural word order of a comma-inverted name; None where it does not look like one."""
    parts = text.split(", ")
    if not 2 <= len(parts) <= MAX_INVERTED_PARTS or "(" in text or ";" in text:
        return None
    if any(not part.strip() or _NO_INVERSION.search(part) for part in parts):
        return None
    return " ".join(reversed(parts))


def change_spelling(text: str) -> Optional[str]:
    """American for British spelling, else British for American; None where there is neither."""
    to_american = _WORD.sub(lambda match: _cased(american(match[0].lower()), match[0]), text)
    if to_american != text:
        return to_american
    to_british = _WORD.sub(lambda match: _british(match[0]), text)
    return to_british if to_british != text else None


def mistype(text: str, rng: random.Random, rate: float) -> Optional[str]:
    """Typing errors: two letters swapped, one left out, doubled, or hit beside; never the first
    letter of a word, nor in a short word or one with capitals inside.

    rate (float): Share of the letters, at least one.
    """
    places = [
        i
        for match in _WORD.finditer(text)
        if len(match[0]) >= MIN_TYPO_WORD and match[0][1:].islower()
        for i in range(match.start() + 1, match.end() - 1)
    ]
    if not places:
        return None
    chosen = [i for i in places if rng.random() < rate] or [rng.choice(places)]
    letters = list(text)
    for i in chosen:
        error = rng.randrange(4)
        if error == 0:
            letters[i], letters[i + 1] = letters[i + 1], letters[i]
        elif error == 1:
            letters[i] = ""
        elif error == 2:
            letters[i] *= 2
        else:
            letters[i] = rng.choice(_KEYS.get(letters[i], letters[i]) or letters[i])
    return "".join(letters)


def abbreviate(text: str, short_of: dict[str, str]) -> Optional[str]:
    """The text with its longest phrase that has an abbreviation replaced by it; None without one,
    and where the phrase is the whole text.

    short_of (dict[str, str]): Abbreviation by the normal form of the phrase.
    """
    words = text.split(" ")
    for length in range(len(words) - 1, 1, -1):
        for start in range(len(words) - length + 1):
            short = short_of.get(normalize(" ".join(words[start : start + length])))
            if short:
                return " ".join([*words[:start], short, *words[start + length :]])
    return None


def find_short_forms(corpus: Corpus) -> dict[str, str]:
    """Abbreviation of each name of two words or more whose concept lists one: the first of the
    concept's, if no other concept has it.

    RETURNS (dict[str, str]): By the name's normal form.
    """
    short_of: dict[str, str] = {}
    holders: dict[str, set[str]] = {}
    for item in corpus.walk():
        shorts = [name for name in item.names if name.kind == "abbreviation"]
        for short in shorts:
            holders.setdefault(short.text, set()).add(item.concept)
        for name in item.names if shorts else ():
            if name.kind in ("preferred", "exact") and " " in name.normalized:
                short_of.setdefault(name.normalized, shorts[0].text)
    return {long: short for long, short in short_of.items() if len(holders[short]) == 1}


def _british(word: str) -> str:
    lower = word.lower()
    found = _PART.sub(lambda match: _BRITISH[match[0]], lower)
    # the rules of the normal form are the judge: a guess they do not undo is no spelling
    return _cased(found, word) if american(found) == lower else word


def _cased(word: str, like: str) -> str:
    if word == like.lower():
        return like
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word.capitalize() if like[:1].isupper() else word
