"""Candidates of mentions as they are decided on: reranked where they are in doubt, and with
probabilities where the KB is calibrated."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from ..candidates.forms import generate_forms
from ..candidates.hybrid import completed
from ..types import Candidate, CandidateGenerator, Reranker
from .calibration import Calibration, describe_generator
from .features import NEIGHBOURS
from .rerankers import K


class MentionCandidates:
    """A generator over a KB, what reranks its candidates, and what the KB knows about their scores.

    A calibration counts for the generator and the reranker that it was made for; the candidates of
    every other one have no probability, and its threshold is one on the score.

    kb (KnowledgeBase): The KB.
    generator (CandidateGenerator): Its recall stage.
    reranker (Optional[Reranker]): Its rerank stage; None for none.
    calibrated (bool): Give probabilities where the KB has a calibration for these.
    threshold (float): Under which a mention is NIL: that of the calibration, else of a reranker whose
        scores are on a scale of their own, else the KB's.
    applies_to (str): "probability" or "score".
    n_mentions, n_reranked (int): Mentions asked for so far, and those of them that were reranked.
    RAISES (TermlinkError): TL610, TL611 for a calibration that is not the KB's.
    """

    def __init__(
        self,
        kb: Any,
        generator: CandidateGenerator,
        reranker: Optional[Reranker] = None,
        *,
        calibrated: bool = True,
    ) -> None:
        self._kb = kb
        self._reranker = reranker
        calibration: Optional[Calibration] = getattr(kb, "calibration", None)
        described = describe_stages(generator, reranker)
        if not calibrated or (calibration is not None and calibration.generator != described):
            calibration = None
        self._calibration = calibration
        # a probability depends on how far the other candidates are
        self._generator = generator if calibration is None else completed(generator)
        self.applies_to = "score" if calibration is None else "probability"
        own: Optional[float] = getattr(reranker, "threshold", None)
        if calibration is not None:
            own = calibration.threshold
        self.threshold: float = getattr(kb, "score_threshold", kb.threshold) if own is None else own
        self.n_mentions = self.n_reranked = 0

    @property
    def reads_context(self) -> bool:
        """Whether the sentences of mentions play a part."""
        return self._reranker is not None and self._reranker.reads_context

    @property
    def every(self) -> bool:
        """Whether a score is the probability of its own candidate, so that several may be right: says
        the reranker, and a calibration takes its place."""
        return self._calibration is None and getattr(self._reranker, "every", False)

    def generate(
        self,
        forms: Sequence[Sequence[str]],
        *,
        k: int,
        allowed: Optional[np.ndarray] = None,
        contexts: Optional[Sequence[str]] = None,
    ) -> list[list[Candidate]]:
        """See `generate_forms`. Neither probabilities nor the order of reranked candidates depend on k.

        contexts (Optional[Sequence[str]]): The mentions' sentences, for the reranker, (B,).
        """
        least = max(
            k,
            0 if self._calibration is None else NEIGHBOURS,
            0 if self._reranker is None else K,
        )
        lists = generate_forms(self._generator, forms, k=least, allowed=allowed)
        if self._reranker is not None:
            lists = self._rerank(self._reranker, forms, lists, contexts)
        if self._calibration is not None:
            lists = self._calibration.apply(self._kb, forms, lists)
        return lists if least == k else [found[:k] for found in lists]

    def _rerank(
        self,
        reranker: Reranker,
        forms: Sequence[Sequence[str]],
        lists: list[list[Candidate]],
        contexts: Optional[Sequence[str]],
    ) -> list[list[Candidate]]:
        """The first K candidates of the mentions in doubt in a new order; those behind them stay behind."""
        doubtful = [i for i, found in enumerate(lists) if reranker.in_doubt(found)]
        self.n_mentions += len(lists)
        self.n_reranked += len(doubtful)
        if not doubtful:
            return lists
        made = reranker.rerank(
            [forms[i][-1] for i in doubtful],
            [lists[i][:K] for i in doubtful],
            contexts=None if contexts is None else [contexts[i] for i in doubtful],
        )
        for i, found in zip(doubtful, made, strict=True):
            last = found[-1].score
            rest = [c._replace(score=min(c.score, last)) for c in lists[i][K:]]
            lists[i] = [*found, *rest]
        return lists


def describe_stages(generator: CandidateGenerator, reranker: Optional[Reranker]) -> str:
    """What tells stages of other scores apart: see `describe_generator`, and the reranker's fingerprint."""
    name = describe_generator(generator)
    return name if reranker is None else f"{name}, {type(reranker).__name__} {reranker.fingerprint}"
