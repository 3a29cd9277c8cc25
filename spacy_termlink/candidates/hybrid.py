"""Exact names first, then embeddings and n-grams together."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Optional

import numpy as np

from ..text import normalize
from ..types import Candidate, KnowledgeBase
from .base import Ranked, make_candidates, search_concepts, unique
from .exact import exact_concepts

#: Names that each side proposes per concept wanted; the other side scores them too.
NAMES_PER_CONCEPT = 3


class HybridCandidates:
    """Exact, dense and n-gram candidates in one list (protocol `types.CandidateGenerator`).

    kb (KnowledgeBase): Its meta.json holds the weight of the dense score.
    exact (bool): Look for an exact name first.
    """

    def __init__(self, kb: KnowledgeBase, *, exact: bool = True) -> None:
        self.kb = kb
        self.exact = exact

    def generate(
        self, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """See `types.CandidateGenerator`. An exact hit has score 1.0, all others less."""
        strings, places = unique(mentions)
        exact = [
            exact_concepts(self.kb, string, allowed) if self.exact else [] for string in strings
        ]
        similar = self._similar([normalize(string) for string in strings], k, allowed)
        lists = [self._join(hits, ranked, k) for hits, ranked in zip(exact, similar, strict=True)]
        return [list(lists[place]) for place in places]

    def _join(self, exact: list[Ranked], ranked: list[Ranked], k: int) -> list[Candidate]:
        terminology = self.kb.terminology
        hits = {concept for _, _, concept, _ in exact}
        first = make_candidates(terminology, exact[:k], tier="exact")
        most = min((score for score, *_ in exact), default=1.0) - 1e-6  # what is named comes first
        rest = [(min(r[0], most), *r[1:]) for r in ranked if r[2] not in hits]
        return (first + make_candidates(terminology, rest[:k], tier="hybrid"))[:k]

    def _similar(
        self, strings: list[str], k: int, allowed: Optional[np.ndarray]
    ) -> list[list[Ranked]]:
        kb = self.kb
        mask = None if allowed is None else kb.names.mask(kb.terminology, allowed)
        vectors = kb.encoder.encode(strings)
        weight = np.float32(kb.meta["hybrid"]["dense_weight"])

        def search(left: list[int], n: int) -> tuple[np.ndarray, np.ndarray]:
            texts = [strings[i] for i in left]
            dense, _ = kb.index.search(vectors[left], n=n, allowed_rows=mask)
            lexical, _ = kb.ngram.search(texts, n=n, allowed_rows=mask)
            rows = merge_rows(dense, lexical)  # (B, 2n)
            cosine = kb.index.scores_of(vectors[left], rows)
            shared = kb.ngram.scores_of(kb.ngram.vectors(texts), rows)
            score = weight * cosine + (1 - weight) * shared
            # only an exact name scores 1.0
            return rows, np.where(rows < 0, -1, np.clip(score, 0, 0.999999))

        return search_concepts(kb.terminology, kb.names, search, len(strings), k=k, allowed=allowed)


def make_hybrid_candidates(exact: bool = True) -> Callable[[KnowledgeBase], HybridCandidates]:
    """`spacy-termlink.HybridCandidates.v1`.

    exact (bool): Look for an exact name first. False ranks by the scores alone.
    """
    return partial(HybridCandidates, exact=exact)


def merge_rows(dense: np.ndarray, lexical: np.ndarray) -> np.ndarray:
    """Union of two (B, n) lists of rows per mention, each row once, -1 where there is none."""
    rows = np.concatenate([dense, lexical], axis=1)
    rows.sort(axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = -1
    return rows
