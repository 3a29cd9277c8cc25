"""Nearest names by vectors that are made in memory: what an encoder is worth without training, or
under another pooling, beside the KB's own."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Optional

import numpy as np

from ..encoders import load_encoder
from ..text import normalize
from ..types import Candidate, Encoder, KnowledgeBase
from .base import make_candidates, search_concepts, unique
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

    def generate(
        self, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """Nearest concepts; the score is the cosine. See `types.CandidateGenerator`."""
        kb, terminology = self.kb, self.kb.terminology
        strings, places = unique([normalize(mention) for mention in mentions])
        if not strings or not len(kb.names):
            return [[] for _ in mentions]
        vectors = self.embed(strings)
        index, known = self._index
        mask = known if allowed is None else known & kb.names.mask(terminology, allowed)

        def search(left: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
            return index.search(vectors[left], n=n, allowed_rows=None if mask.all() else mask)

        found = search_concepts(terminology, kb.names, search, len(strings), k=k, allowed=allowed)
        lists = make_candidates(terminology, found, tier=self.tier)
        told = [bool(string) and bool(v.any()) for string, v in zip(strings, vectors, strict=True)]
        return [list(lists[place]) if told[place] else [] for place in places]

    @cached_property
    def _index(self) -> tuple[DenseIndex, np.ndarray]:
        return self._build_index()

    def _build_index(self) -> tuple[DenseIndex, np.ndarray]:
        """Exact index of the unique names, and which of them have a vector."""
        names, terminology = self.kb.names, self.kb.terminology
        first = names.name_rows[names.offsets[:-1]].tolist()
        vectors = self.embed([terminology.name_normalized(row) for row in first])
        return build_index(vectors, "Flat"), np.linalg.norm(vectors, axis=1) > 0


class EncodedCandidates(NearestNames):
    """Nearest names under an encoder that is not the KB's (protocol `types.CandidateGenerator`).
    Encoder and vectors come at first use; the names of HPO take about 20 seconds.

    kb (KnowledgeBase): Its terminology and unique names are used.
    encoder (Optional[str]): Encoder folder, or a Hugging Face name in the local cache; None for the
        KB's own.
    pooling (str): "cls" or "mean", whatever the folder says.
    RAISES (TermlinkError): TL300 to TL303 at first use for an encoder that cannot be loaded.

    Source: the baselines "BERT CLS" and "BERT MEAN" of Ngo et al. 2021 (docs/methods.md), with the
    untrained encoder.
    """

    def __init__(self, kb: KnowledgeBase, *, encoder: Optional[str] = None, pooling: str) -> None:
        super().__init__(kb, self._encode, tier=pooling)
        self._path = encoder
        self._pooling = pooling

    @cached_property
    def _index(self) -> tuple[DenseIndex, np.ndarray]:
        if self._encoder.fingerprint == self.kb.encoder.fingerprint:
            return self.kb.index, np.ones(
                len(self.kb.names), dtype=bool
            )  # made by the same encoder
        return self._build_index()

    def _encode(self, texts: Sequence[str]) -> np.ndarray:
        return self._encoder.encode(texts)

    @cached_property
    def _encoder(self) -> Encoder:
        encoder = load_encoder(self._path) if self._path else self.kb.encoder
        return encoder.with_pooling(self._pooling)


def make_cls_candidates(
    encoder: Optional[str] = None,
) -> Callable[[KnowledgeBase], EncodedCandidates]:
    """`spacy-termlink.ClsCandidates.v1`.

    encoder (Optional[str]): See EncodedCandidates.
    """
    return partial(EncodedCandidates, encoder=encoder, pooling="cls")


def make_mean_candidates(
    encoder: Optional[str] = None,
) -> Callable[[KnowledgeBase], EncodedCandidates]:
    """`spacy-termlink.MeanCandidates.v1`.

    encoder (Optional[str]): See EncodedCandidates.
    """
    return partial(EncodedCandidates, encoder=encoder, pooling="mean")
