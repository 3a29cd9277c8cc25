"""Names as a note may write them: other word order, plural or singular, an abbreviated word, a typo
outside the word that decides. The meaning stays."""

from collections.abc import Callable
from typing import Optional

from ..lexical.decisive import STAGE_HEADS, TYPE_HEADS
from ..lexical.stems import is_adjective
from ..mining.augment import MIN_TYPO_WORD, mistype
from ..mining.draws import draws
from ..spelling import plurals, singulars

#: Words beside which the order of the others matters.
_TIED = frozenset(
    ("and", "or", "with", "without", "no", "not", "to", "by", "from", "due", "than", "in", "on", "at", "for")
)  # fmt: skip
#: Endings of words that have no other number, or another one than English rules give.
_NO_PLURAL = ("us", "is", "ss", "ia", "ism", "ity", "ics", "ing")
LEAST_LETTERS = 4
#: As clinicians write them.
_SHORT = {
    "type": "T", "grade": "gr", "stage": "st", "class": "cl", "left": "lt", "right": "rt",
    "bilateral": "bilat", "acute": "ac", "chronic": "chr", "increased": "incr", "decreased": "decr",
    "elevated": "elev", "moderate": "mod", "severe": "sev", "congenital": "cong", "with": "w/",
    "without": "w/o", "abnormal": "abn", "primary": "prim", "secondary": "sec",
}  # fmt: skip
#: Of these the number is written without a space: T2, not T 2.
_GLUED = ("type",)

Alteration = Callable[[list[str], int], Optional[str]]


def reorder(words: list[str], at: int) -> Optional[str]:
    """Inverted word order: "leukemia, acute" for "acute leukemia", "type 2 diabetes" for "diabetes
    type 2", "liver abnormality" for "abnormality of the liver".

    words (list[str]): Words of a normal form.
    at (int): Which of them decides; every alteration takes it, this one changes no word.
    RETURNS (Optional[str]): None where the order matters, or there is but one word.
    """
    if len(words) < 2 or not _TIED.isdisjoint(words) or words.count("of") > 1:
        return None
    if "of" in words:
        i = words.index("of")
        rest = words[i + 1 :]
        return " ".join([*(rest[1:] if rest[:1] == ["the"] else rest), *words[:i]])
    heads = TYPE_HEADS | STAGE_HEADS
    if len(words) > 2 and words[-2] in heads:
        return " ".join([*words[-2:], *words[:-2]])
    if len(words) > 2 and words[0] in heads:
        return " ".join([*words[2:], *words[:2]])
    return f"{words[-1]}, {' '.join(words[:-1])}"


def change_number(words: list[str], at: int) -> Optional[str]:
    """Singular for plural or plural for singular of the last word; None where it decides, is an
    adjective or has no other number."""
    word = words[-1]
    if at == len(words) - 1 or len(word) < LEAST_LETTERS or not word.isalpha():
        return None
    if is_adjective(word) or word.endswith(_NO_PLURAL):
        return None
    other = next(iter(singulars(word) or plurals(word)), None)
    return None if other is None else " ".join([*words[:-1], other])


def shorten(words: list[str], at: int) -> Optional[str]:
    """The first word that clinicians abbreviate in its short form, "T2 diabetes" for "type 2
    diabetes"; None without one. It may be the word that decides."""
    for i, word in enumerate(words):
        if word in _SHORT:
            glued = word in _GLUED and i + 1 < len(words) and words[i + 1][0].isdigit()
            short = _SHORT[word] + words[i + 1] if glued else _SHORT[word]
            return " ".join([*words[:i], short, *words[i + 1 + glued :]])
    return None


def misspell(words: list[str], at: int) -> Optional[str]:
    """One slip of the pen in another word than the one that decides; None where all are short. The
    same words always get the same slip."""
    rng = draws("contrast", *words)
    places = [
        i
        for i, word in enumerate(words)
        if i != at and len(word) >= MIN_TYPO_WORD and word.isalpha()
    ]
    if not places:
        return None
    i = rng.choice(places)
    typed = mistype(words[i], rng, 0.0)  # at the least rate, one slip
    return (
        None if typed in (None, words[i]) else " ".join([*words[:i], typed or "", *words[i + 1 :]])
    )


#: Form of a mention -> how it is made of a name.
ALTERATIONS: dict[str, Alteration] = {
    "word order": reorder,
    "number": change_number,
    "abbreviation": shorten,
    "typo": misspell,
}
