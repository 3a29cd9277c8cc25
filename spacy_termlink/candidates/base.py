"""What the generators share: unique mentions, growing searches, candidates from name rows."""

import functools
from collections.abc import Callable, Sequence
from itertools import islice, repeat
from typing import Any, Optional, TypeVar

import numpy as np

from ..errors import TermlinkError
from ..terminology.store import Terminology
from ..types import NAME_KINDS, Candidate
from .names import UniqueNames
from .ranking import Ranked, rank_concepts

#: (rows (B, n), scores (B, n)) for the mentions at these places and n rows wanted.
Search = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]

Generate = TypeVar("Generate", bound=Callable[..., Any])


def checked(generate: Generate) -> Generate:
    """A `generate` (`types.CandidateGenerator`) that looks at what it is asked first: k is at most the
    number of concepts, which is all there can be; Faiss takes no longer numbers than 64 bits.

    RAISES (TermlinkError): TL509 for one string, whose letters would be the mentions.
    """

    @functools.wraps(generate)
    def wrapped(
        self: Any, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        if isinstance(mentions, (str, bytes)):
            raise TermlinkError("TL509", found=type(mentions).__name__)
        most = max(1, self.kb.terminology.n_concepts)
        return generate(self, mentions, k=min(k, most), allowed=allowed)

    return wrapped  # type: ignore[return-value]


def make_candidates(
    terminology: Terminology, lists: Sequence[Sequence[Ranked]], *, tier: str
) -> list[list[Candidate]]:
    """Candidates of lists of ranked concepts; the tables are read once for all of them."""
    flat = [found for ranked in lists for found in ranked]
    concepts, name_rows = [found[2] for found in flat], [found[3] for found in flat]
    made = map(
        Candidate,
        terminology.concept_ids(concepts),
        terminology.preferred_names(concepts),
        terminology.name_texts(name_rows),
        (NAME_KINDS[found[1]] for found in flat),
        (round(found[0], 6) for found in flat),
        repeat(tier),
    )
    return [list(islice(made, len(ranked))) for ranked in lists]


def search_concepts(
    terminology: Terminology,
    names: UniqueNames,
    search: Search,
    n_mentions: int,
    *,
    k: int,
    allowed: Optional[np.ndarray] = None,
    support: float = 0.0,
    least: int = 16,
) -> list[list[Ranked]]:
    """Search with growing n until k distinct concepts are found for every mention; see
    `rank_concepts`.

    least (int): Names searched for at first, however small k is.
    """
    found: list[list[Ranked]] = [[] for _ in range(n_mentions)]
    left, n = np.arange(n_mentions), min(len(names), max(3 * k, least))
    while len(left):
        rows, scores = search(left, n)
        lists = rank_concepts(
            terminology, names, rows, scores, k=k, allowed=allowed, support=support
        )
        for place, ranked in zip(left.tolist(), lists, strict=True):
            found[place] = ranked
        # one that has no full row left has been answered by all that there is
        short = np.array([len(ranked) < k for ranked in lists]) & ((rows >= 0).sum(axis=1) >= n)
        if n >= len(names):
            break
        left, n = left[short], min(len(names), 4 * n)
    return found


def unique(mentions: Sequence[str]) -> tuple[list[str], list[int]]:
    """Distinct strings in order of appearance, and for each mention the place of its own."""
    place: dict[str, int] = {}
    places = [place.setdefault(mention, len(place)) for mention in mentions]
    return list(place), places
