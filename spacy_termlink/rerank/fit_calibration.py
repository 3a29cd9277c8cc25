"""Fits a calibration to annotated mentions. The method is chosen by log loss on documents not fitted on."""

import hashlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from ..errors import TermlinkError
from ..types import Candidate
from .calibration import LEAST, THRESHOLD, Calibration, Linear, scoring_fingerprint
from .features import FIRST, NEXT, first_features, next_features

#: Parts that the documents are put into; each is predicted by a fit on the others.
FOLDS = 5
#: Mentions (of FOLDS documents), and among them right and wrong first candidates, without which nothing is fitted.
LEAST_MENTIONS, LEAST_OF_EACH = 100, 10
#: Inverse strength of the penalty on the weights of features of unit variance. The mentions of a
#: clinic repeat, so that what tells one of them is mistaken for what tells all: a strong penalty.
STRENGTH = 0.03
#: Features whose weights may not add up to less than nothing: a better score, all else equal, must
#: not make a candidate less probable.
RISING = ("score", "margin", "spread")
#: Digits kept of each number in the file: what differs from one machine to the next lies beyond.
DIGITS = 8

#: (features (B, F), right (B,) bool, documents (B,)) -> a part of the calibration.
Fit = Callable[[np.ndarray, np.ndarray, np.ndarray], Linear]


class FittedCalibration(NamedTuple):
    """A calibration, and how it does where it was not fitted.

    calibration (Calibration): Fitted on all mentions.
    held_out (np.ndarray): (B,) probability of each mention's first candidate by a fit without its
        document; 0 where the mention has no candidate.
    """

    calibration: Calibration
    held_out: np.ndarray


def fit_calibration(
    kb: Any,
    forms: Sequence[Sequence[str]],
    lists: Sequence[Sequence[Candidate]],
    ranks: Sequence[int],
    documents: Sequence[str],
    *,
    generator: str,
    about: Optional[dict[str, Any]] = None,
) -> FittedCalibration:
    """Fit on mentions whose concepts are known.

    kb (TermKB): The KB that gave the candidates.
    forms (Sequence[Sequence[str]]): Mention -> its forms, (B,).
    lists (Sequence[Sequence[Candidate]]): Mention -> candidates, best first, without probabilities.
    ranks (Sequence[int]): Rank of the first right candidate, from 1; 0 where none is right.
    documents (Sequence[str]): Document of each mention.
    generator (str): From `describe_generator`.
    about (Optional[dict]): Added to what the file says of its fitting.
    RETURNS (FittedCalibration): Equal input gives an equal one.
    RAISES (TermlinkError): TL612 for too few mentions or documents, or too few right or wrong among them.
    """
    found = np.array([i for i, candidates in enumerate(lists) if candidates], dtype=int)
    features = np.array([first_features(kb, forms[i], lists[i]) for i in found])
    right = np.array([ranks[i] == 1 for i in found], dtype=bool)
    places = np.array([documents[i] for i in found], dtype=object).astype(str)
    _require_enough(right, places)
    held_out = {name: _held_out(fit, features, right, places) for name, fit in METHODS.items()}
    losses = {name: log_loss(values, right) for name, values in held_out.items()}
    method = min(METHODS, key=lambda name: losses[name])
    calibration = Calibration(
        first=_rounded(METHODS[method](features, right, places)),
        following=_rounded(_fit_following(forms, lists, ranks)),
        generator=generator,
        encoder=kb.fingerprint,
        index=scoring_fingerprint(kb.meta),
        threshold=THRESHOLD,
        fitted={
            **(about or {}),
            "method": method,
            "mentions": len(found),
            "right": int(right.sum()),
            "documents": len(set(places.tolist())),
            "log_loss": {name: round(loss, 6) for name, loss in losses.items()},
        },
    )
    everywhere = np.zeros(len(lists))
    everywhere[found] = held_out[method]
    return FittedCalibration(calibration, everywhere)


def _require_enough(right: np.ndarray, documents: np.ndarray) -> None:
    n, n_right, n_documents = len(right), int(right.sum()), len(set(documents.tolist()))
    too_few = n < LEAST_MENTIONS or min(n_right, n - n_right) < LEAST_OF_EACH
    if too_few or n_documents < FOLDS or len(_folds(documents)) < 2:
        raise TermlinkError(
            "TL612",
            n=n,
            n_right=n_right,
            n_documents=n_documents,
            least=LEAST_MENTIONS,
            least_documents=FOLDS,
            least_each=LEAST_OF_EACH,
        )


def log_loss(probabilities: np.ndarray, right: np.ndarray) -> float:
    """Mean of -log of the probability given to what is the case."""
    return float(-np.log(np.where(right, probabilities, 1 - probabilities)).mean())


def fold_of(document: str) -> int:
    """Part that a document is in: the same in every run, whatever other documents there are."""
    return int.from_bytes(hashlib.sha256(document.encode("utf8")).digest()[:8], "big") % FOLDS


def fit_logistic(features: np.ndarray, right: np.ndarray, documents: np.ndarray) -> Linear:
    """Logistic regression on all features, with an L2 penalty."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if right.all() or not right.any():  # in a fold, all documents of one kind
        return _constant(right, features.shape[1])
    free = np.ptp(features, axis=0) > 0  # the deviation of equal numbers need not be 0
    while True:
        mean, scale = features.mean(axis=0), np.where(free, features.std(axis=0), 1.0)
        unit = np.where(free, (features - mean) / scale, 0.0)
        model = LogisticRegression(C=STRENGTH, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(unit, right)
        weights = np.where(free, model.coef_[0] / scale, 0.0)
        falling = _falling(weights, free)
        if falling is None:
            break
        free[falling] = False
    return Linear(tuple(weights.tolist()), float(model.intercept_[0] - weights @ mean))


def _falling(weights: np.ndarray, free: np.ndarray) -> Optional[int]:
    """The feature to leave out where a better score would lower the probability, None if it rises."""
    if len(weights) != len(FIRST):
        return None
    places = [FIRST.index(name) for name in RISING]
    worst = min(places, key=lambda i: weights[i])
    # without rounding: a sum of nothing is exactly 0
    return worst if sum(weights[i] for i in places) < 0 and free[worst] else None


def fit_isotonic(features: np.ndarray, right: np.ndarray, documents: np.ndarray) -> Linear:
    """Isotonic regression on the score alone."""
    weights = tuple(float(name == "score") for name in FIRST)
    return Linear(weights, 0.0, _knots(features[:, FIRST.index("score")], right))


def fit_both(features: np.ndarray, right: np.ndarray, documents: np.ndarray) -> Linear:
    """Isotonic regression on the sums of logistic ones that have not seen the document."""
    sums = np.zeros(len(right))
    for train, test in _folds(documents):
        part = fit_logistic(features[train], right[train], documents[train])
        sums[test] = features[test] @ np.array(part.weights) + part.intercept
    return fit_logistic(features, right, documents)._replace(knots=_knots(sums, right))


#: Tried in this order; of equal ones the first is taken.
METHODS: dict[str, Fit] = {
    "logistic": fit_logistic,
    "logistic + isotonic": fit_both,
    "isotonic": fit_isotonic,
}


def _knots(sums: np.ndarray, right: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Centered isotonic regression (Oron and Flournoy 2017): a block of equal shares is a knot at the
    mean of its sums, so that a better sum is never worth the same."""
    from sklearn.isotonic import IsotonicRegression

    shares = IsotonicRegression().fit_transform(sums, right.astype(float))
    _, blocks = np.unique(shares.round(12), return_inverse=True)
    n = np.bincount(blocks)
    x = np.bincount(blocks, sums) / n
    # a block of right ones only is not certain
    y = np.maximum.accumulate((np.bincount(blocks, right) + 0.5) / (n + 1))
    return tuple(x.tolist()), tuple(y.tolist())


def _folds(documents: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """(train, test) masks, none of them empty; one document more or less changes no other's part."""
    parts = np.array([fold_of(document) for document in documents.tolist()])
    masks = [parts == part for part in range(FOLDS)]
    return [(~test, test) for test in masks if test.any() and not test.all()]


def _held_out(
    fit: Fit, features: np.ndarray, right: np.ndarray, documents: np.ndarray
) -> np.ndarray:
    values = np.zeros(len(right))
    for train, test in _folds(documents):
        values[test] = fit(features[train], right[train], documents[train]).probabilities(
            features[test]
        )
    return values


def _fit_following(
    forms: Sequence[Sequence[str]], lists: Sequence[Sequence[Candidate]], ranks: Sequence[int]
) -> Linear:
    """Of the candidates before which none is right, which is. Where hardly any is, all have one
    share (`_constant`)."""
    rows, right = [], []
    for mention, candidates, rank in zip(forms, lists, ranks, strict=True):
        for place in range(1, rank or len(candidates)):
            rows.append(next_features(mention, candidates, place))
            right.append(place == rank - 1)
    labels = np.array(right, dtype=bool)
    if min(labels.sum(), (~labels).sum()) < LEAST_OF_EACH:
        return _constant(labels, len(NEXT))
    return fit_logistic(np.array(rows), labels, np.zeros(0))


def _constant(right: np.ndarray, n_features: int) -> Linear:
    """One share for all, a half added to both counts."""
    share = (right.sum() + 0.5) / (len(right) + 1)
    return Linear((0.0,) * n_features, float(np.log(share / (1 - share))))


def _rounded(part: Linear) -> Linear:
    def cut(values: Sequence[float]) -> tuple[float, ...]:
        return tuple(float(f"{value:.{DIGITS}g}") for value in values)

    knots = None
    if part.knots is not None:
        x, y = cut(part.knots[0]), np.clip(cut(part.knots[1]), LEAST, 1 - LEAST).tolist()
        knots = x, tuple(y)
    return Linear(cut(part.weights), cut((part.intercept,))[0], knots)
