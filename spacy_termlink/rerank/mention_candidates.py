"""Candidates of mentions as they are decided on: with probabilities where the KB is calibrated."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from ..candidates.forms import generate_forms
from ..types import Candidate, CandidateGenerator
from .calibration import Calibration, describe_generator
from .features import NEIGHBOURS


class MentionCandidates:
    """A generator over a KB, and what the KB knows about its scores.

    A calibration counts for the generator that it was made for; the candidates of every other one
    have no probability, and its threshold is one on the score.

    kb (TermKB): The KB.
    generator (CandidateGenerator): Its recall stage.
    threshold (float): The KB's own, under which a mention is NIL.
    applies_to (str): "probability" or "score".
    RAISES (TermlinkError): TL610, TL611 for a calibration that is not the KB's.
    """

    def __init__(self, kb: Any, generator: CandidateGenerator) -> None:
        self._kb = kb
        self._generator = generator
        calibration: Optional[Calibration] = getattr(kb, "calibration", None)
        if calibration is not None and calibration.generator != describe_generator(generator):
            calibration = None
        self._calibration = calibration
        self.applies_to = "score" if calibration is None else "probability"
        self.threshold: float = (
            getattr(kb, "score_threshold", kb.threshold)
            if calibration is None
            else calibration.threshold
        )

    def generate(
        self, forms: Sequence[Sequence[str]], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """See `generate_forms`. Probabilities do not depend on k."""
        if self._calibration is None:
            return generate_forms(self._generator, forms, k=k, allowed=allowed)
        least = max(k, NEIGHBOURS)
        lists = generate_forms(self._generator, forms, k=least, allowed=allowed)
        return [found[:k] for found in self._calibration.apply(self._kb, forms, lists)]
