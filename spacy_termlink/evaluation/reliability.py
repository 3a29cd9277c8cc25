"""How well probabilities say what share of the first candidates is right, and what accuracy is left
when the doubtful ones are put aside. docs/calibration.md defines every figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bootstrap import percentile_interval, resample_weights
from .system import SystemResult

#: Bins of equal mass.
N_BINS = 10
#: Shares of the mentions that are answered, the most probable first.
COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5)


@dataclass(frozen=True)
class Outcomes:
    """Probabilities of first candidates, ascending, and what became of them.

    probabilities (np.ndarray): (N,); 0 where nothing was found.
    right (np.ndarray): (N,) bool; False for a mention without a concept.
    documents (np.ndarray): (N,) row of each mention's document.
    """

    probabilities: np.ndarray
    right: np.ndarray
    documents: np.ndarray


def make_outcomes(
    probabilities: Sequence[float], right: Sequence[bool], documents: Sequence[str]
) -> Outcomes:
    """Outcomes of mentions in any order: the figures do not depend on it."""
    values = np.asarray(probabilities, dtype=float)
    order = np.argsort(values, kind="stable")
    _, groups = np.unique(np.asarray(documents, dtype=object).astype(str), return_inverse=True)
    return Outcomes(values[order], np.asarray(right, dtype=bool)[order], groups[order])


def outcomes_of(result: SystemResult) -> Outcomes:
    """Outcomes of a system's mentions, those without a concept among them."""
    mention_set, n_nil = result.mention_set, len(result.nil_top_scores)
    probabilities = np.r_[result.top_scores, result.nil_top_scores]
    return make_outcomes(
        np.where(np.isfinite(probabilities), probabilities, 0.0),  # type: ignore[arg-type]
        [*(result.ranks == 1), *[False] * n_nil],
        [*mention_set.documents, *mention_set.nil_documents],
    )


def reliability_figures(outcomes: Outcomes) -> dict[str, Any]:
    """Calibration error, reliability table and accuracy over coverage.

    RETURNS (dict): "n", "n_documents", "mean_probability", "accuracy", "ece" (expected calibration
        error, N_BINS bins of equal mass), "brier", "ci" ("ece", "accuracy": 95 % intervals over
        documents), "bins" ("n", "low", "high", "probability", "accuracy" of each, ascending),
        "coverage" ("coverage", "threshold", "accuracy", "gain" over full coverage, "ci" of the gain).
    """
    p, right = outcomes.probabilities, outcomes.right
    n = len(p)
    everyone = np.ones(n)
    return {
        "n": n,
        "n_documents": len(set(outcomes.documents.tolist())),
        "mean_probability": float(p.mean()),
        "accuracy": float(right.mean()),
        "ece": calibration_error(outcomes, everyone),
        "brier": float(((p - right) ** 2).mean()),
        "ci": {
            "ece": _interval(outcomes, lambda w: [calibration_error(outcomes, w)])[0],
            "accuracy": _interval(outcomes, lambda w: [float(w @ right) / float(w.sum())])[0],
        },
        "bins": _bins(outcomes),
        "coverage": _coverage(outcomes),
    }


def calibration_error(outcomes: Outcomes, weights: np.ndarray) -> float:
    """Expected calibration error: mean over bins, by their mass, of |mean probability - share right|.

    weights (np.ndarray): (N,) how often each mention counts.
    """
    mass, probability, right = _sums(outcomes, weights)
    return float(np.abs(probability - right).sum() / mass.sum())


def accuracies(outcomes: Outcomes, weights: np.ndarray) -> list[float]:
    """Accuracy of the most probable mentions, at each of COVERAGES. Of mentions of one probability a
    part counts as it does on average."""
    right = _shared(outcomes, weights)[::-1]
    mass = np.r_[0.0, np.cumsum(weights[::-1])]
    hits = np.r_[0.0, np.cumsum(right)]
    answered = np.array(COVERAGES) * mass[-1]
    return (np.interp(answered, mass, hits) / answered).tolist()


def _sums(outcomes: Outcomes, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass, sum of probabilities and number right of each bin."""
    ends = np.cumsum(weights)
    places = ((ends - weights / 2) / ends[-1] * N_BINS).astype(int).clip(0, N_BINS - 1)
    right = _shared(outcomes, weights)
    return tuple(  # type: ignore[return-value]
        np.bincount(places, values, minlength=N_BINS)
        for values in (weights, weights * outcomes.probabilities, right)
    )


def _shared(outcomes: Outcomes, weights: np.ndarray) -> np.ndarray:
    """Number right at each place, shared out evenly among mentions of one probability."""
    p = outcomes.probabilities
    starts = np.flatnonzero(np.r_[True, p[1:] != p[:-1]])
    mass = np.add.reduceat(weights, starts)
    hits = np.add.reduceat(weights * outcomes.right, starts)
    share = np.divide(hits, mass, out=np.zeros_like(hits), where=mass > 0)
    return weights * np.repeat(share, np.diff(np.r_[starts, len(p)]))


def _bins(outcomes: Outcomes) -> list[dict[str, Any]]:
    n, p = len(outcomes.probabilities), outcomes.probabilities
    mass, probability, right = _sums(outcomes, np.ones(n))
    ends = np.cumsum(mass).astype(int)
    return [
        {
            "n": int(mass[i]),
            "low": float(p[ends[i] - int(mass[i])]),
            "high": float(p[ends[i] - 1]),
            "probability": float(probability[i] / mass[i]),
            "accuracy": float(right[i] / mass[i]),
        }
        for i in range(N_BINS)
        if mass[i]
    ]


def _coverage(outcomes: Outcomes) -> list[dict[str, Any]]:
    n, p = len(outcomes.probabilities), outcomes.probabilities
    found = accuracies(outcomes, np.ones(n))
    gains = _interval(outcomes, lambda weights: _gains(accuracies(outcomes, weights)))
    return [
        {
            "coverage": coverage,
            "threshold": float(p[min(n - 1, round((1 - coverage) * n))]),
            "accuracy": accuracy,
            "gain": gain,
            "ci": interval,
        }
        for coverage, accuracy, gain, interval in zip(
            COVERAGES, found, _gains(found), gains, strict=True
        )
    ]


def _gains(found: list[float]) -> list[float]:
    return [accuracy - found[0] for accuracy in found]


def _interval(
    outcomes: Outcomes, figures: Callable[[np.ndarray], list[float]]
) -> list[list[float]]:
    """95 % interval of each figure, documents resampled."""
    n_documents = int(outcomes.documents.max()) + 1
    rows = [
        figures(weights[outcomes.documents].astype(float))
        for block in resample_weights(n_documents)
        for weights in block
    ]
    return [list(percentile_interval(column)) for column in np.array(rows).T]
