"""Nearest names by embedding."""

from collections.abc import Callable, Sequence
from typing import Optional

import numpy as np

from ..text import normalize
from ..types import Candidate, KnowledgeBase
from .base import make_candidates, search_concepts, unique


class DenseCandidates:
    """Concepts whose names lie nearest to the mention (protocol `types.CandidateGenerator`).

    kb (KnowledgeBase): Its encoder and index are used.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    def generate(
        self, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """Nearest concepts; the score is the cosine. See `types.CandidateGenerator`."""
        kb, terminology = self.kb, self.kb.terminology
        strings, places = unique([normalize(mention) for mention in mentions])
        if not strings or not len(kb.names):
            return [[] for _ in mentions]
        vectors = kb.encoder.encode(strings)
        mask = None if allowed is None else kb.names.mask(terminology, allowed)

        def search(left: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
            return kb.index.search(vectors[left], n=n, allowed_rows=mask)

        found = search_concepts(terminology, kb.names, search, len(strings), k=k, allowed=allowed)
        lists = make_candidates(terminology, found, tier="dense")
        return [list(lists[place]) if strings[place] else [] for place in places]


def make_dense_candidates() -> Callable[[KnowledgeBase], DenseCandidates]:
    """`spacy-termlink.DenseCandidates.v1`."""
    return DenseCandidates
