"""Precision, recall and F1 of the links over the threshold (figures 2 and 3 of seed 000, for links
in the place of pairs of names)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .bootstrap import f1_interval, sum_by_document
from .system import SystemResult

#: Digits of a threshold.
DIGITS = 4


@dataclass(frozen=True)
class ThresholdCurve:
    """What a threshold on the score costs and buys. A link is a first candidate whose score is not
    under the threshold; on a NIL mention every link is wrong.

    thresholds (np.ndarray): (T,) every score that occurs, to DIGITS digits, ascending.
    precision (np.ndarray): (T,) right links / links.
    recall (np.ndarray): (T,) right links / mentions with gold concepts.
    f1 (np.ndarray): (T,).
    """

    thresholds: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray


def threshold_curve(result: SystemResult) -> ThresholdCurve:
    """Every point of a system on a set, in one pass over the sorted scores.

    RETURNS (ThresholdCurve): T = 0 where nothing was found for any mention.
    """
    scores, right, _ = _links(result)
    order = np.argsort(-scores, kind="stable")
    scores, right = scores[order], right[order]
    last = (
        np.flatnonzero(np.r_[scores[1:] != scores[:-1], True]) if len(scores) else np.zeros(0, int)
    )
    tp = np.cumsum(right)[last]  # links at each score and above
    linked, n = last + 1, len(result.top_scores)
    precision, recall = tp / linked, tp / max(n, 1)
    f1 = 2 * tp / (linked + n)
    return ThresholdCurve(*(values[::-1] for values in (scores[last], precision, recall, f1)))


def best_threshold(result: SystemResult, curve: ThresholdCurve) -> dict[str, Any]:
    """The threshold of the best F1; of several the lowest. It is chosen on the set itself, so that
    its F1 is an upper bound of what a threshold fitted elsewhere gives.

    RETURNS (dict): "threshold" (None without links), "precision", "recall", "f1", "ci" (figure -> 95 %
        interval over documents, the threshold held), "n" mentions, NIL included.
    """
    n = len(result.top_scores) + len(result.nil_top_scores)
    if not len(curve.f1):
        return {"threshold": None, "precision": 0.0, "recall": 0.0, "f1": 0.0, "ci": {}, "n": n}
    at = int(np.argmax(curve.f1))
    scores, right, documents = _links(result, with_missing=True)
    linked = scores >= curve.thresholds[at]
    has_gold = np.arange(n) < len(result.top_scores)
    tp = linked & right
    counts = np.stack([tp, linked & ~right, has_gold & ~tp], axis=1).astype(float)
    by_document, _ = sum_by_document(counts, documents)
    return {
        "threshold": float(curve.thresholds[at]),
        "precision": float(curve.precision[at]),
        "recall": float(curve.recall[at]),
        "f1": float(curve.f1[at]),
        "ci": {name: list(interval) for name, interval in f1_interval(by_document).items()},
        "n": n,
    }


def _links(
    result: SystemResult, *, with_missing: bool = False
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Score of each mention's first candidate, whether it is right, and the document; mentions with
    gold concepts first. Those for which nothing was found are left out unless asked for."""
    # cosines of equal texts differ in the sixth digit: no threshold should tell them apart
    scores = np.r_[result.top_scores, result.nil_top_scores].round(DIGITS)
    right = np.r_[result.ranks == 1, np.zeros(len(result.nil_top_scores), dtype=bool)]
    documents = [*result.mention_set.documents, *result.mention_set.nil_documents]
    if with_missing:
        return scores, right, documents
    found = np.isfinite(scores)
    return scores[found], right[found], []
