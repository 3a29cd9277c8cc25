"""Calibrates a KB on annotated mentions: what `termlink calibrate` does."""

from collections.abc import Callable
from typing import Any, NamedTuple, Optional

from ..candidates import make_generator
from ..rerank.calibration import Calibration
from ..rerank.fit_calibration import fit_calibration
from ..rerank.mention_candidates import MentionCandidates, describe_stages
from .mention_set import MentionSet
from .ranking import rank_of_first
from .reliability import make_outcomes, reliability_figures
from .system import K, living_ids

#: Mentions searched at once, between two looks at the progress.
CHUNK = 256


class Calibrated(NamedTuple):
    """What a fit gave.

    calibration (Calibration): For the KB.
    figures (dict): `reliability_figures` of the mentions, each predicted by a fit without its document.
    """

    calibration: Calibration
    figures: dict[str, Any]


def calibrate(
    kb: Any,
    mention_set: MentionSet,
    *,
    about: Optional[dict[str, Any]] = None,
    progress: Optional[Callable[[int], Any]] = None,
) -> Calibrated:
    """Fit a calibration to the mentions of a set, those without a concept included: of the hybrid's
    candidates, reranked where the KB has a reranker.

    kb (TermKB): The KB; a calibration that it has already plays no part.
    about (Optional[dict]): Added to what the file says of its fitting.
    progress (Optional[Callable[[int], Any]]): Told how many mentions more are searched.
    RAISES (TermlinkError): TL612 for too few mentions.
    """
    generator, reranker = make_generator("hybrid", kb), kb.reranker
    proposed = MentionCandidates(kb, generator, reranker, calibrated=False)
    forms = [*mention_set.forms, *mention_set.nil_forms]
    contexts = [*mention_set.contexts, *mention_set.nil_contexts]
    documents = [*mention_set.documents, *mention_set.nil_documents]
    golds = [*mention_set.any_gold, *[[] for _ in mention_set.nil_forms]]
    lists = []
    for start in range(0, len(forms), CHUNK):
        chunk = forms[start : start + CHUNK]
        part = contexts[start : start + CHUNK] if proposed.reads_context else None
        lists += proposed.generate(chunk, k=K, contexts=part)
        if progress is not None:
            progress(len(chunk))
    ids = [living_ids(kb.terminology, candidates) for candidates in lists]
    ranks = [rank_of_first(*pair) for pair in zip(ids, golds, strict=True)]
    fitted = fit_calibration(
        kb,
        forms,
        lists,
        ranks,
        documents,
        generator=describe_stages(generator, reranker),
        about=about,
    )
    outcomes = make_outcomes(fitted.held_out.tolist(), [rank == 1 for rank in ranks], documents)
    return Calibrated(fitted.calibration, reliability_figures(outcomes))
