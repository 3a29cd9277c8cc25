"""Exact names: equal normal forms, looked up in the terminology."""

from collections.abc import Callable, Iterable, Sequence
from typing import Optional

import numpy as np

from ..lexical.capitals import is_other_plural, is_said, is_written_so
from ..terminology.store import Terminology
from ..text import normalize, variants
from ..types import Candidate, KnowledgeBase
from .base import checked, make_candidates
from .ranking import Ranked

#: Up to this many letters an upper-case name is taken for an abbreviation.
SHORT_NAME = 3
#: Score of a mention that says in other words what a name says.
OTHER_WORDS = 0.99


class ExactCandidates:
    """Concepts with a name equal to the mention (protocol `types.CandidateGenerator`).

    kb (KnowledgeBase): Only its terminology and dictionary are used.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    @checked
    def generate(
        self, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """Concepts named exactly so, score 1.0; see `types.CandidateGenerator`."""
        found = [exact_concepts(self.kb, m, normalize(m), allowed)[:k] for m in mentions]
        return make_candidates(self.kb.terminology, found, tier="exact")


def make_exact_candidates() -> Callable[[KnowledgeBase], ExactCandidates]:
    """`spacy-termlink.ExactCandidates.v1`."""
    return ExactCandidates


def exact_concepts(
    kb: KnowledgeBase, mention: str, normalized: str, allowed: Optional[np.ndarray] = None
) -> list[Ranked]:
    """Concepts named by the mention: by its normal form, else by the first variant of it (singular,
    plural) that is a name, both with score 1.0, if an abbreviation is written so (`is_said`); else by the dictionary, which knows other forms of
    words and other orders ("renal anomalies" is "abnormality of the kidney"), with score
    OTHER_WORDS. Sorted by kind, then id; several are left where a name is ambiguous.

    normalized (str): Normal form of the mention.
    """
    if not normalized:
        return []
    found = _named(kb.terminology, mention, normalized, allowed)
    if found:
        return found
    for variant in variants(normalized):
        if found := _named(kb.terminology, mention, variant, allowed):
            return found
    names = None if allowed is None else allowed[kb.terminology.concept_rows]
    rows = [
        row
        for row in kb.dictionary.find(mention, allowed=names)
        if not is_other_plural(kb.terminology.name_text(row), mention)
    ]
    return _by_concept(kb.terminology, rows, OTHER_WORDS)


def same_case_needed(name: str) -> bool:
    """Whether a name is a short abbreviation, which a mention must write the same way: "ALL" the
    leukaemia is not "all"."""
    letters = [c for c in name if c.isalpha()]
    return len(letters) <= SHORT_NAME and sum(c.isupper() for c in letters) >= 2


def _named(
    terminology: Terminology, mention: str, normalized: str, allowed: Optional[np.ndarray]
) -> list[Ranked]:
    alike, others = [], []  # an abbreviation in small letters counts where no name is written so
    for name_row in terminology.lookup(normalized, normalized=True):
        if allowed is not None and not allowed[terminology.concept_rows[name_row]]:
            continue
        name = terminology.name_text(name_row)
        if same_case_needed(name) and name not in mention:
            continue
        if is_written_so(name, mention):
            alike.append(name_row)
        elif is_said(name, mention):
            others.append(name_row)
    return _by_concept(terminology, alike or others, 1.0)


def _by_concept(terminology: Terminology, rows: Iterable[int], score: float) -> list[Ranked]:
    best: dict[int, Ranked] = {}
    for name_row in rows:
        concept = int(terminology.concept_rows[name_row])
        ranked = (score, int(terminology.kinds[name_row]), concept, name_row)
        if concept not in best or ranked < best[concept]:
            best[concept] = ranked
    return sorted(best.values(), key=lambda ranked: ranked[1:])
