"""What a T5's answers and the recall stage's scores are worth together, fitted on lists kept for it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .groups import LIKELY
from .lists import MentionList

#: Right candidates, and wrong ones, without which nothing is fitted.
LEAST = 30
#: Tier of the recall stage; candidates added for training only have others.
RECALL = "hybrid"
#: Thresholds that are tried, 0.95 to 0.001 by even steps of the log odds; the highest of the best is taken.
THRESHOLDS = (1 / (1 + np.exp(-np.arange(3.0, -7.0, -0.1)))).round(4)
#: Inverse strength of the penalty: hardly any, two weights are fitted on hundreds of candidates.
STRENGTH = 100.0


class Blend(NamedTuple):
    """P(right) = σ(share · o + weight · s + bias), o the log odds of yes against no, s the recall
    stage's score. As it stands here, the answer alone (seed 003).

    share, weight (float): 0 or more.
    bias (float): Of the sum.
    """

    share: float = 1.0
    weight: float = 0.0
    bias: float = 0.0

    def probabilities(self, odds: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """P(right) of candidates, (B,)."""
        return 1 / (1 + np.exp(-(self.share * odds + self.weight * scores + self.bias)))


def fit_blend(lists: Sequence[MentionList], odds: Sequence[np.ndarray]) -> Blend:
    """Logistic regression over the candidates that the recall stage has found.

    lists (Sequence[MentionList]): None of them trained on.
    odds (Sequence[np.ndarray]): Log odds of each list's candidates.
    RETURNS (Blend): The answer alone where there are too few candidates to fit on. What a fit would
        count against a candidate is left out: neither a yes nor a better score may do that.
    """
    from sklearn.linear_model import LogisticRegression

    parts = [_recalled(*pair) for pair in zip(lists, odds, strict=True)]
    if not parts:
        return Blend()
    asked, scores, right = map(np.concatenate, zip(*parts, strict=True))
    if min(right.sum(), len(right) - right.sum()) < LEAST:
        return Blend()
    features = np.stack([asked, scores], axis=1)
    used = np.ones(2, dtype=bool)
    while used.any():
        fit = LogisticRegression(C=STRENGTH, max_iter=1000).fit(features[:, used], right)
        if (fit.coef_ >= 0).all():
            weights = np.zeros(2)
            weights[used] = fit.coef_[0]
            return Blend(*np.round([*weights, float(fit.intercept_[0])], 6).tolist())
        used[np.flatnonzero(used)[int(fit.coef_.argmin())]] = False
    return Blend()


def fit_threshold(
    lists: Sequence[MentionList], odds: Sequence[np.ndarray], blend: Blend, *, nil_share: float
) -> float:
    """The probability under which a mention is NIL: where F1 of the links is best.

    lists, odds: As in `fit_blend`.
    nil_share (float): Share of mentions that name nothing, as it is trained with: a list without its
        right candidates is one.
    RETURNS (float): LIKELY where there are too few lists.
    """
    present, absent = [], []  # (firsts' probability, whether it is right, others accepted)
    for found, values in zip(lists, odds, strict=True):
        asked, scores, right = _recalled(found, values)
        p = blend.probabilities(asked, scores)
        present.append(_best(p, right))
        absent.append(_best(p[~right], right[~right]))
    if len(present) < LEAST:
        return LIKELY
    first, is_right, more = (np.array(column) for column in zip(*present, strict=True))
    nil_first, _, nil_more = (np.array(column) for column in zip(*absent, strict=True))
    weight = nil_share / (1 - nil_share) if nil_share < 1 else 1.0
    f1 = [
        2 * (is_right & (first >= t)).sum()
        / (len(present) + ((1 + more) * (first >= t)).sum()
           + weight * ((1 + nil_more) * (nil_first >= t)).sum())
        for t in THRESHOLDS.tolist()
    ]  # fmt: skip
    return float(THRESHOLDS[int(np.argmax(f1))])


def _recalled(found: MentionList, odds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log odds, scores and rightness of a list's candidates that the recall stage has found."""
    rows = np.array([i for i, c in enumerate(found.candidates) if c.tier == RECALL], dtype=np.int64)
    scores = np.array([c.score for c in found.candidates])
    return odds[rows], scores[rows], np.array(found.right, dtype=bool)[rows]


def _best(p: np.ndarray, right: np.ndarray) -> tuple[float, bool, int]:
    """Of a list the best probability, whether that candidate is right, and how many others are likely."""
    if not len(p):
        return 0.0, False, 0
    top = int(p.argmax())
    return float(p[top]), bool(right[top]), int((p >= LIKELY).sum() - (p[top] >= LIKELY))
