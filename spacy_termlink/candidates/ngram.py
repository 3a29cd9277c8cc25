"""Nearest names by shared character n-grams."""

from collections.abc import Callable, Sequence
from typing import Optional

import numpy as np

from ..text import normalize
from ..types import Candidate, KnowledgeBase
from .base import checked, make_candidates, search_concepts, unique


class NgramCandidates:
    """Concepts whose names share the most character n-grams with the mention (protocol
    `types.CandidateGenerator`).

    kb (KnowledgeBase): Its n-gram index is used.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    @checked
    def generate(
        self, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """Most similar concepts; the score is the cosine of the TF-IDF rows. See
        `types.CandidateGenerator`."""
        kb, terminology = self.kb, self.kb.terminology
        strings, places = unique([normalize(mention) for mention in mentions])
        queries = kb.ngram.vectors(strings)
        mask = None if allowed is None else kb.names.mask(terminology, allowed)

        def search(left: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
            return kb.ngram.search(queries[left], n=n, allowed_rows=mask)

        found = search_concepts(terminology, kb.names, search, len(strings), k=k, allowed=allowed)
        lists = make_candidates(terminology, found, tier="ngram")
        return [list(lists[place]) for place in places]


def make_ngram_candidates() -> Callable[[KnowledgeBase], NgramCandidates]:
    """`spacy-termlink.NgramCandidates.v1`."""
    return NgramCandidates
