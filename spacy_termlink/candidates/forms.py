"""One mention in several forms (as written, and its long form): the better answer is kept."""

from collections.abc import Sequence
from typing import Optional

import numpy as np

from ..types import NAMED, Candidate, CandidateGenerator

#: Tier of a concept that the letters of an abbreviation name, where its long form has answers.
LETTERS = "abbreviation"


def generate_forms(
    generator: CandidateGenerator,
    forms: Sequence[Sequence[str]],
    *,
    k: int,
    allowed: Optional[np.ndarray] = None,
) -> list[list[Candidate]]:
    """Candidates of mentions that have one or more forms.

    Each distinct string of the batch is generated once. Of a mention's answers, every concept keeps
    its best score. What a document itself writes out says more than the letters, which name other
    things elsewhere: no answer to the abbreviation counts for more than the best one to its long
    form, and among equal scores the long form's stands first, then the order of the answer. Nor is
    what the letters name a name that the mention says (tier LETTERS): a reranker would put it first.

    forms (Sequence[Sequence[str]]): Mention -> its forms, as written first: [mention, long form...].
    RETURNS (list[list[Candidate]]): For each mention up to k candidates, best first.
    """
    strings = list(dict.fromkeys(form for mention in forms for form in mention))
    answers = dict(zip(strings, generator.generate(strings, k=k, allowed=allowed), strict=True))
    return [_merge([answers[form] for form in mention], k) for mention in forms]


def _merge(answers: Sequence[list[Candidate]], k: int) -> list[Candidate]:
    if len(answers) == 1:
        return list(answers[0])
    best: dict[str, tuple[float, int, int, Candidate]] = {}
    long_form_found = any(answers[1:])
    most = max((c.score for candidates in answers[1:] for c in candidates), default=1.0)
    for place, candidates in enumerate(answers):
        for rank, found in enumerate(candidates):
            candidate = found._replace(score=min(found.score, most))
            if place == 0 and long_form_found and found.tier in NAMED:
                candidate = candidate._replace(tier=LETTERS)
            order = (-candidate.score, -place, rank, candidate)
            if found.concept_id not in best or order[:3] < best[found.concept_id][:3]:
                best[found.concept_id] = order
    return [order[3] for order in sorted(best.values(), key=lambda order: order[:3])][:k]
