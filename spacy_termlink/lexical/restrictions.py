"""Whether a name adds a restriction that its mention lacks: "family history of stroke" for "history of
stroke", "hyponatremia of newborn" for "hyponatremia", "hepatitis A" for "hepatitis".

All texts are in normal form. The tables are English.
"""

from functools import lru_cache
from typing import NamedTuple

from .decisive import body_part_stems
from .numbers import HEADS, ORDINALS, read_numbers
from .stems import stem


class Restriction(NamedTuple):
    """A restriction.

    words (tuple[str, ...]): Beginnings of the words by which a name makes it.
    hints (tuple[str, ...]): Beginnings of words that do not say it outright, but of which a mention
        with one may mean it.
    """

    words: tuple[str, ...]
    hints: tuple[str, ...]


RESTRICTIONS = (
    Restriction(("family",), ("famil", "father", "mother", "parent", "brother", "sister", "sibling",
                              "relative", "heredit", "inherit")),
    Restriction(("newborn", "neonat", "perinat", "fetal", "fetus"),
                ("infant", "infancy", "bab", "birth", "congenit", "antenat", "prenat", "prematur",
                 "preterm", "child", "intrauterine", "matern", "gestat", "pregnan")),
    Restriction(("congenit",), ("birth", "born", "inborn", "neonat", "newborn", "infan", "heredit",
                                "inherit", "prenat", "fetal", "malform", "anomal", "defect", "agenes",
                                "atresia", "dysplas", "hypoplas", "aplas", "genetic", "familial")),
    Restriction(("postproc", "intraop", "postop", "iatrogen", "postsurg"),
                ("surg", "operat", "proced", "ectom", "ostom", "complication", "transplant")),
    Restriction(("gestational", "puerper", "obstetr", "postpartum", "pregnan", "childbirth"),
                ("gravid", "gestat", "matern", "deliver", "labor", "birth", "partum", "partal",
                 "partial", "eclamp", "mother", "trimester", "lactat")),
    Restriction(("traumatic",), ("trauma", "injur", "fractur", "accident", "lacer", "ruptur", "wound",
                                 "amput", "concuss", "contus")),
)  # fmt: skip

#: Words that name what is counted, and say nothing without their number.
_COUNTED = HEADS.keys() | {"component", "chain"}
#: Numbers of what is often meant where none is given.
_FIRST = frozenset(("1", "i", "first"))
#: Chromosomes: "x linked".
_LINKED = frozenset(("x", "y"))
#: Words that mean the same without the number of their name: "COVID-19".
_WHOLE = frozenset(("covid",))


def adds_restriction(text: str, name: str) -> bool:
    """Whether a name makes a restriction of which a mention has no word, is of one number or letter of
    what the mention names ("immunodeficiency 2" for "immunodeficiency"), or of a second body part
    ("enlarged liver and spleen" for "enlarged spleen").

    text, name (str): Normal forms.
    """
    if any(not _is_hinted(text, found) for found in _restrictions(name)):
        return True
    pairs, numbers = _joined_parts(name), _numbers(name)
    if not (pairs or numbers):
        return False
    said = {stem(word) for word in text.split(" ")}
    if numbers and not _numbers(text) - _LINKED and not said & _WHOLE:
        added = {word for word in name.split(" ") if stem(word) not in said} - _COUNTED
        if added and added <= numbers and not added <= _FIRST | _LINKED:
            return True
    return any(len(said & pair) == 1 for pair in pairs)


@lru_cache(maxsize=16384)
def _restrictions(name: str) -> tuple[Restriction, ...]:
    words = name.split(" ")
    return tuple(r for r in RESTRICTIONS if any(word.startswith(r.words) for word in words))


@lru_cache(maxsize=16384)
def _numbers(name: str) -> frozenset[str]:
    """Numbers, ordinals and letters by which a name is one of several."""
    words = name.split(" ")
    return frozenset().union(*read_numbers(words).values(), ORDINALS.keys() & set(words))


@lru_cache(maxsize=16384)
def _joined_parts(name: str) -> tuple[frozenset[str], ...]:
    """Stems of two different body parts that "and" joins."""
    words = name.split(" ")
    pairs = (
        frozenset((stem(words[i - 1]), stem(words[i + 1])))
        for i in range(1, len(words) - 1)
        if words[i] == "and"
    )
    return tuple(pair for pair in pairs if len(pair) == 2 and pair <= body_part_stems())


def _is_hinted(text: str, restriction: Restriction) -> bool:
    wanted = (*restriction.words, *restriction.hints)
    return any(word.startswith(wanted) for word in text.split(" "))
