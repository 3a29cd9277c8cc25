"""What the generators share: unique mentions, growing searches, candidates from name rows."""

from collections.abc import Callable, Iterable, Sequence
from typing import Optional

import numpy as np

from ..terminology.store import Terminology
from ..types import NAME_KINDS, Candidate
from .names import UniqueNames, collapse

#: (rows (B, n), scores (B, n)) for the mentions at these places and n rows wanted.
Search = Callable[[list[int], int], tuple[np.ndarray, np.ndarray]]
#: (score, kind, concept row, name row)
Ranked = tuple[float, int, int, int]


def make_candidates(
    terminology: Terminology, ranked: Iterable[Ranked], *, tier: str
) -> list[Candidate]:
    """Candidates of ranked concepts."""
    return [
        Candidate(
            concept_id=terminology.concept_id(concept),
            name=terminology.preferred_name(concept),
            matched=terminology.name_text(name_row),
            kind=NAME_KINDS[kind],
            score=round(float(score), 6),
            tier=tier,
        )
        for score, kind, concept, name_row in ranked
    ]


def search_concepts(
    terminology: Terminology,
    names: UniqueNames,
    search: Search,
    n_mentions: int,
    *,
    k: int,
    allowed: Optional[np.ndarray] = None,
) -> list[list[Ranked]]:
    """Search with growing n until k distinct concepts are found for every mention."""
    found: list[list[Ranked]] = [[] for _ in range(n_mentions)]
    left, n = list(range(n_mentions)), min(len(names), max(4 * k, 16))
    while left:
        rows, scores = search(left, n)
        short = []
        for place, row, score in zip(left, rows, scores, strict=True):
            kept = row >= 0
            found[place] = collapse(
                terminology, names, row[kept].tolist(), score[kept].tolist(), allowed=allowed
            )[:k]
            if len(found[place]) < k and kept.all() and n < len(names):
                short.append(place)
        left, n = short, min(len(names), 4 * n)
    return found


def unique(mentions: Sequence[str]) -> tuple[list[str], list[int]]:
    """Distinct strings in order of appearance, and for each mention the place of its own."""
    place: dict[str, int] = {}
    places = [place.setdefault(mention, len(place)) for mention in mentions]
    return list(place), places
