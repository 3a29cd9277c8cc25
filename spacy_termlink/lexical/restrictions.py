"""Whether a name adds a restriction that its mention lacks: "family history of stroke" for "history of
stroke", "hyponatremia of newborn" for "hyponatremia", "hepatitis A" for "hepatitis".

All texts are in normal form. The tables are English.
"""

from collections.abc import Collection
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


_FAMILY = (
    "famil", "father", "mother", "parent", "brother", "sister", "sibling", "relative", "heredit", "inherit"
)  # fmt: skip
RESTRICTIONS = (
    Restriction(("family",), _FAMILY),
    Restriction(("history",), ("past", "prior", "previous", "former", "old", "hx", "ago", *_FAMILY)),
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

#: Words behind which a name says with what, or from what, it is the thing.
_ADDING = frozenset(("with", "due"))
_EMPTY = frozenset(("a", "an", "the", "and", "or"))
#: Words that name what is counted, and say nothing without their number.
_COUNTED = HEADS.keys() | {"component", "chain"}
#: Numbers of what is often meant where none is given.
_FIRST = frozenset(("1", "i", "first"))
#: Chromosomes: "x linked".
_LINKED = frozenset(("x", "y"))
#: Words that mean the same without the number of their name: "COVID-19".
_WHOLE = frozenset(("covid",))


def adds_restriction(text: str, name: str) -> bool:
    """Whether a name makes a restriction of which a mention has no word, adds with what or due to what
    ("morbid obesity due to excess calories" for "morbid obesity"), is of one number or letter of
    what the mention names ("immunodeficiency 2" for "immunodeficiency"), or of a second body part
    ("enlarged liver and spleen" for "enlarged spleen").

    text, name (str): Normal forms.
    """
    if any(not _is_hinted(text, found) for found in _restrictions(name)):
        return True
    pairs, numbers, additions = _joined_parts(name), _numbers(name), _additions(name)
    if not (pairs or numbers or additions):
        return False
    said = {stem(word) for word in text.split(" ")}
    return (
        any(said.isdisjoint(added) for added in additions)
        or _is_one_of_several(text, name, said)
        or any(len(said & pair) == 1 for pair in pairs)
    )


def is_residual(words: Collection[str], name: str) -> bool:
    """Whether a name is the rest of what a mention names: "other specified appendicitis" is no answer to
    "appendicitis", whose own names are others.

    words (Collection[str]): Of the mention's normal form.
    name (str): Normal form.
    """
    if not name.startswith("other "):
        return False
    rest = name.removeprefix("other ").removeprefix("specified ").split(" ")
    return {stem(word) for word in rest} == {stem(word) for word in words}


def _is_one_of_several(text: str, name: str, said: set[str]) -> bool:
    """Whether a name has the mention's words, of the stems `said`, and a number that it does not say."""
    numbers = _numbers(name)
    if not numbers or _numbers(text) - _LINKED or said & _WHOLE:
        return False
    added = {word for word in name.split(" ") if stem(word) not in said} - _COUNTED
    return bool(added) and added <= numbers and not added <= _FIRST | _LINKED


@lru_cache(maxsize=16384)
def _restrictions(name: str) -> tuple[Restriction, ...]:
    words = name.split(" ")
    return tuple(r for r in RESTRICTIONS if any(word.startswith(r.words) for word in words))


@lru_cache(maxsize=16384)
def _additions(name: str) -> tuple[frozenset[str], ...]:
    """Stems of what follows "with" and "due to", up to the next of these or an "of" behind it."""
    found: list[set[str]] = []
    within = False
    for word in name.replace("due to", "due").split(" "):
        if word in _ADDING:
            found.append(set())
            within = True
        elif word == "of":
            within = within and not found[-1]
        elif within:
            found[-1].add(stem(word))
    return tuple(frozenset(added) for words in found if (added := words - _EMPTY))


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
