"""Protocols and small records that every rank shares."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Protocol

import numpy as np

if TYPE_CHECKING:  # names for the reader and mypy: at run time rank 0 imports nothing of ours
    from .candidates.faiss_index import DenseIndex
    from .candidates.names import UniqueNames
    from .lexical.dictionary import Dictionary
    from .lexical.misspelling import SpellingIndex
    from .lexical.ngram import NgramIndex
    from .terminology.store import Terminology

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
#: Tiers of candidates that the mention's own words name.
NAMED = ("exact", "spelling")


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

    @property
    def certainty(self) -> float:
        """What a threshold applies to: the probability where there is one, else the score."""
        return self.score if self.probability is None else self.probability

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

    def with_pooling(self, pooling: str) -> "Encoder":
        """The same weights under another pooling, "mean" or "cls"."""


class KnowledgeBase(Protocol):
    """What candidate generators need of a KB (`kb.TermKB` is one)."""

    @property
    def terminology(self) -> "Terminology":
        """Concepts and names."""

    @property
    def encoder(self) -> Encoder:
        """Encoder that made the vectors of the index."""

    @property
    def names(self) -> "UniqueNames":
        """Names of different normal form, the rows of both indexes."""

    @property
    def index(self) -> "DenseIndex":
        """Faiss index over the unique names."""

    @property
    def ngram(self) -> "NgramIndex":
        """Character n-gram index over the unique names."""

    @property
    def dictionary(self) -> "Dictionary":
        """Dictionary of all names, by keys of stems; its rows are name rows."""

    @property
    def spelling(self) -> "SpellingIndex":
        """Words of the names, by misspelled forms of them."""

    @property
    def mention_counts(self) -> Optional[np.ndarray]:
        """How often each name was an annotated mention of its concept, (n_names,); None: unknown."""

    @property
    def reranker(self) -> "Optional[Reranker]":
        """The reranker in its folder, loaded at first use; None where there is none."""

    @property
    def meta(self) -> dict[str, Any]:
        """The KB's meta.json: weights of the hybrid and its threshold are read from it."""


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


class Reranker(Protocol):
    """Reads a mention together with its candidates and orders them anew: the rerank stage."""

    @property
    def fingerprint(self) -> str:
        """Equal for equal scores: weights, settings."""

    @property
    def reads_context(self) -> bool:
        """Whether the mention's sentence plays a part."""

    def in_doubt(self, candidates: Sequence[Candidate]) -> bool:
        """Whether the first candidate is doubtful enough for the list to be reranked."""

    def rerank(
        self,
        mentions: Sequence[str],
        candidate_lists: Sequence[Sequence[Candidate]],
        *,
        contexts: Optional[Sequence[str]] = None,
    ) -> list[list[Candidate]]:
        """The same candidates of each mention, best first, with new scores. What is not in doubt may be
        given, too.

        mentions (Sequence[str]): As written, or the long form that the document gives, (B,).
        candidate_lists (Sequence[Sequence[Candidate]]): From the recall stage, best first, (B,).
        contexts (Optional[Sequence[str]]): The mentions' sentences, "" where there is none, (B,).
        """
