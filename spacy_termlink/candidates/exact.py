"""Exact names: equal normal forms, looked up in the terminology."""

from collections.abc import Callable, Sequence
from typing import Optional

import numpy as np

from ..terminology.store import Terminology
from ..text import normalize, variants
from ..types import Candidate, KnowledgeBase
from .base import Ranked, make_candidates

#: Up to this many letters an upper-case name is taken for an abbreviation.
SHORT_NAME = 3


class ExactCandidates:
    """Concepts with a name equal to the mention (protocol `types.CandidateGenerator`).

    kb (KnowledgeBase): Only its terminology is used.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    def generate(
        self, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """Concepts named exactly so, score 1.0; see `types.CandidateGenerator`."""
        terminology = self.kb.terminology
        return [
            make_candidates(
                terminology, exact_concepts(terminology, mention, allowed)[:k], tier="exact"
            )
            for mention in mentions
        ]


def make_exact_candidates() -> Callable[[KnowledgeBase], ExactCandidates]:
    """`spacy-termlink.ExactCandidates.v1`."""
    return ExactCandidates


def exact_concepts(
    terminology: Terminology, mention: str, allowed: Optional[np.ndarray] = None
) -> list[Ranked]:
    """Concepts named by the mention: by its normal form, else by the first variant of it (singular,
    plural) that is a name. Sorted by kind, then id; several are left where a name is ambiguous."""
    normalized = normalize(mention)
    if not normalized:
        return []
    found = _named(terminology, mention, normalized, allowed)
    if found:
        return found
    for variant in variants(normalized):
        if found := _named(terminology, mention, variant, allowed):
            return found
    return []


def same_case_needed(name: str) -> bool:
    """Whether a name is a short abbreviation, which a mention must write the same way: "ALL" the
    leukaemia is not "all"."""
    letters = [c for c in name if c.isalpha()]
    return len(letters) <= SHORT_NAME and sum(c.isupper() for c in letters) >= 2


def _named(
    terminology: Terminology, mention: str, normalized: str, allowed: Optional[np.ndarray]
) -> list[Ranked]:
    best: dict[int, Ranked] = {}
    for name_row in terminology.lookup(normalized, normalized=True):
        concept = int(terminology.concept_rows[name_row])
        if allowed is not None and not allowed[concept]:
            continue
        name = terminology.name_text(name_row)
        if same_case_needed(name) and name not in mention:
            continue
        ranked = (1.0, int(terminology.kinds[name_row]), concept, name_row)
        if concept not in best or ranked < best[concept]:
            best[concept] = ranked
    return sorted(best.values(), key=lambda ranked: ranked[1:])
