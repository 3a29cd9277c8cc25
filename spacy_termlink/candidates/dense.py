"""Nearest names by embedding."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Optional

import numpy as np

from ..text import normalize
from ..types import Candidate, KnowledgeBase
from .base import checked, make_candidates, search_concepts, unique
from .faiss_index import DenseIndex, build_index


class NearestNames:
    """Concepts by the cosine of a mention's vector and those of the names.

    kb (KnowledgeBase): Its terminology and unique names are used.
    embed (Callable): Texts in normal form -> (N, D) float32, rows of norm 1, or 0 for a text that
        nothing is known of: it finds nothing, and as a name is never found.
    tier (str): Of the candidates.
    """

    def __init__(
        self, kb: KnowledgeBase, embed: Callable[[Sequence[str]], np.ndarray], *, tier: str
    ) -> None:
        self.kb = kb
        self.embed = embed
        self.tier = tier

    @checked
    def generate(
        self, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """Nearest concepts; the score is the cosine. See `types.CandidateGenerator`."""
        kb, terminology = self.kb, self.kb.terminology
        strings, places = unique([normalize(mention) for mention in mentions])
        if not strings or not len(kb.names):
            return [[] for _ in mentions]
        vectors = self.embed(strings)
        index, mask = self._index
        if allowed is not None:
            wanted = kb.names.mask(terminology, allowed)
            mask = wanted if mask is None else mask & wanted

        def search(left: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
            return index.search(vectors[left], n=n, allowed_rows=mask)

        found = search_concepts(terminology, kb.names, search, len(strings), k=k, allowed=allowed)
        lists = make_candidates(terminology, found, tier=self.tier)
        told = [bool(string) and bool(v.any()) for string, v in zip(strings, vectors, strict=True)]
        return [list(lists[place]) if told[place] else [] for place in places]

    @cached_property
    def _index(self) -> tuple[DenseIndex, Optional[np.ndarray]]:
        """Index of the unique names, and a mask of those that have a vector; None for all."""
        return self._build_index()

    def _build_index(self) -> tuple[DenseIndex, Optional[np.ndarray]]:
        vectors = self.embed(self.kb.names.texts(self.kb.terminology))
        known = np.linalg.norm(vectors, axis=1) > 0
        return build_index(vectors, "Flat"), None if known.all() else known


class DenseCandidates(NearestNames):
    """Concepts whose names lie nearest to the mention (protocol `types.CandidateGenerator`).

    kb (KnowledgeBase): Its encoder and index are used.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__(kb, self._encode, tier="dense")

    @cached_property
    def _index(self) -> tuple[DenseIndex, Optional[np.ndarray]]:
        return self.kb.index, None

    def _encode(self, texts: Sequence[str]) -> np.ndarray:
        return self.kb.encoder.encode(texts)


def make_dense_candidates() -> Callable[[KnowledgeBase], DenseCandidates]:
    """`spacy-termlink.DenseCandidates.v1`."""
    return DenseCandidates
