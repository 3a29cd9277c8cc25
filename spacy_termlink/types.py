"""Protocols and small records that every rank shares."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Protocol

import numpy as np

#: What a link is when no concept fits (the decision, not a missing value).
NIL = "NIL"

#: Kinds of names, best first: among equal scores the earlier kind wins (DESIGN.md, section 3).
NAME_KINDS = (
    "preferred",
    "exact",
    "narrow",
    "broad",
    "related",
    "abbreviation",
    "layperson",
    "annotated",
)


class Candidate(NamedTuple):
    """A concept proposed for a mention.

    concept_id (str): Native id of a living concept.
    name (str): The concept's preferred name.
    matched (str): The name of the concept that matched best.
    kind (str): Kind of the matched name, one of NAME_KINDS.
    score (float): Larger is better; 1.0 is an exact match. Comparable within one KB.
    tier (str): Which method found it: exact, dense, ngram, hybrid, bm25, ...
    probability (Optional[float]): Calibrated probability of being right, None without calibration.
    """

    concept_id: str
    name: str
    matched: str
    kind: str
    score: float
    tier: str
    probability: Optional[float] = None

    def to_json(self) -> dict[str, Any]:
        """The dict of `ent._.term_candidates`: plain JSON values only."""
        return {
            "id": self.concept_id,
            "name": self.name,
            "matched": self.matched,
            "kind": self.kind,
            "score": self.score,
            "probability": self.probability,
            "tier": self.tier,
        }


class Encoder(Protocol):
    """Turns texts into unit-norm embeddings; names and mentions go through the same one."""

    @property
    def width(self) -> int:
        """Columns of an embedding, D."""

    @property
    def fingerprint(self) -> str:
        """sha256 over weights, tokenizer and pooling: equal means equal embeddings."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Embeddings of the texts, (N, D) float32 with rows of norm 1, in the order given."""


class CandidateGenerator(Protocol):
    """Every recall method: exact, dense, ngram, hybrid, and the baselines."""

    def generate(
        self, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """For each mention up to k distinct concepts, best first, ties by (score, kind, id).

        mentions (Sequence[str]): Raw mention strings, (B,).
        k (int): Distinct concepts wanted.
        allowed (Optional[np.ndarray]): Boolean mask over concept rows, (n_concepts,); others are
            left out inside the search, so k allowed concepts still come back.
        RETURNS (list[list[Candidate]]): B lists; an empty one where nothing matches.
        """
