"""What tells whether a candidate is right: numbers of a mention and its candidates, in a fixed order."""

from collections.abc import Sequence
from functools import lru_cache
from math import log
from typing import Optional

from ..candidates.spelled import misspelled_share
from ..lexical.stems import stem
from ..lexical.stopwords import content_words
from ..text import normalize
from ..types import Candidate, KnowledgeBase

#: Features of the first candidate.
FIRST = (
    "score",
    "margin",  # to the second candidate's score; the score where there is no second
    "tied",  # the second has the same score: an ambiguous name
    "spread",  # to the mean score of the candidates after the first, NEIGHBOURS at most
    "same_text",  # mention and name have one normal form
    "tier_exact",
    "tier_spelling",
    "kind_preferred",
    "kind_loose",  # narrow, broad, related: such names are names of other concepts, too
    "kind_annotated",
    "kind_abbreviation",
    "mention_covered",  # share of the mention's words that the name has
    "name_covered",  # share of the name's words that the mention has
    "words",  # log of their number
    "letters",  # log of the mention's length
    "short_form",  # the mention looks like an abbreviation that nothing spells out
    "long_form",  # the mention is one, or holds one, and its document spells it out
    "misspelled",  # share of the mention's words that are misspelled or unknown
    "same_case",  # the name is written as the mention is
    "short_exact",  # such an abbreviation, and a name: of this concept, or by chance
    "names",  # log of the number of names that the concept has: the ones written about have many
    "crowded",  # share of the next candidates that are not far behind
    "preferred_covered",  # as mention and name cover each other, for the preferred name
)
#: Features of a later candidate, given that none before it is right.
NEXT = ("score", "behind", "ahead", "rank", "mention_covered", "name_covered", "kind_preferred")
#: Candidates that the features look at: fewer would give other numbers for the same mention.
NEIGHBOURS = 5
#: Letters of a mention that may be an abbreviation.
SHORT_LETTERS = 6
LOOSE_KINDS = frozenset(("narrow", "broad", "related"))
#: How far behind the first score a candidate is near.
NEAR = 0.1
#: Texts whose words are kept: names come again and again.
KEPT = 1 << 13
_EQUAL = 1e-9


def first_features(
    kb: KnowledgeBase, forms: Sequence[str], candidates: Sequence[Candidate]
) -> list[float]:
    """FIRST of a mention.

    forms (Sequence[str]): The mention as written, then its long forms.
    candidates (Sequence[Candidate]): Best first, at least one.
    """
    top, others = candidates[0], [c.score for c in candidates[1:NEIGHBOURS]]
    margin = top.score - (others[0] if others else 0.0)
    normal = [_normal(form) for form in forms]
    matched = _normal(top.matched)
    words = content_words(normal[-1], normalized=True)
    exact = float(top.tier == "exact")
    short = float(len(forms) == 1 and is_short_form(forms[0]))
    n_names = len(kb.terminology.name_rows(kb.terminology.row(top.concept_id)))
    return [
        top.score,
        margin,
        float(margin < _EQUAL),
        top.score - (sum(others) / len(others) if others else 0.0),
        float(matched in normal),
        exact,
        float(top.tier == "spelling"),
        float(top.kind == "preferred"),
        float(top.kind in LOOSE_KINDS),
        float(top.kind == "annotated"),
        float(top.kind == "abbreviation"),
        *covered_shares(normal, matched),
        log(max(1, len(words))),
        log(max(1, len(normal[-1]))),
        short,
        float(len(forms) > 1),
        misspelled_share(kb, normal[-1]),
        float(top.matched in forms),
        exact * short,
        log(n_names),
        sum(top.score - score < NEAR for score in others) / (NEIGHBOURS - 1),
        min(covered_shares(normal, _normal(top.name))),
    ]


def next_features(forms: Sequence[str], candidates: Sequence[Candidate], place: int) -> list[float]:
    """NEXT of the candidate at a place, 1 or more."""
    candidate = candidates[place]
    normal = [_normal(form) for form in forms]
    return [
        candidate.score,
        candidates[0].score - candidate.score,
        candidates[place - 1].score - candidate.score,
        log(place),
        *covered_shares(normal, _normal(candidate.matched)),
        float(candidate.kind == "preferred"),
    ]


def is_short_form(mention: str) -> bool:
    """Whether a mention looks like an abbreviation: few letters, two capitals or more, one word."""
    letters = [char for char in mention if char.isalpha()]
    capitals = sum(char.isupper() for char in letters)
    return " " not in mention.strip() and len(letters) <= SHORT_LETTERS and capitals >= 2


def covered_shares(normal: Sequence[str], matched: str) -> tuple[float, float]:
    """Share of the mention's words that the name has, and of the name's that the mention has; of the
    form that is most alike. Words are compared by their stems.

    normal (Sequence[str]): Normal forms of the mention.
    matched (str): Normal form of the name.
    """
    name = _stems(matched)
    best: Optional[tuple[float, float]] = None
    for text in normal:
        mention = _stems(text)
        common = len(mention & name)
        shares = (common / max(1, len(mention)), common / max(1, len(name)))
        if best is None or sum(shares) > sum(best):
            best = shares
    return best or (0.0, 0.0)


@lru_cache(maxsize=KEPT)
def _stems(normal: str) -> frozenset[str]:
    return frozenset(stem(word) or word for word in content_words(normal, normalized=True))


_normal = lru_cache(maxsize=KEPT)(normalize)
