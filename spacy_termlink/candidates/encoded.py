"""Nearest names by vectors that are made in memory: what an encoder is worth without training, or
under another pooling, beside the KB's own."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Optional

import numpy as np

from ..encoders import load_encoder
from ..types import Encoder, KnowledgeBase
from .dense import NearestNames
from .faiss_index import DenseIndex


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
    def _index(self) -> tuple[DenseIndex, Optional[np.ndarray]]:
        if self._encoder.fingerprint == self.kb.encoder.fingerprint:
            return self.kb.index, None  # made by the same encoder
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
