"""Scores of positive and negative pairs, and how well they tell the two apart (seed 003)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..candidates.forms import generate_forms
from ..terminology import Terminology
from ..types import Candidate, CandidateGenerator
from .bootstrap import percentile_interval, resample_weights
from .mention_set import MentionSet

#: Mentions whose gold concepts are searched for together.
CHUNK = 16

#: Place of a pair, mention, living ids of the gold concept.
Missed = tuple[int, int, tuple[str, ...]]


@dataclass(frozen=True)
class Pairs:
    """Pairs of a mention and a concept, the concept by its best name; P of them.

    labels (np.ndarray): (P,) 1 where the concept is a gold one, else 0.
    scores (np.ndarray): (P,) the system's score of the pair.
    mentions (np.ndarray): (P,) index of the mention in `MentionSet.mentions`.
    """

    labels: np.ndarray
    scores: np.ndarray
    mentions: np.ndarray


def score_pairs(
    terminology: Terminology,
    generator: CandidateGenerator,
    mention_set: MentionSet,
    candidates: Sequence[list[Candidate]],
    ids: Sequence[list[str]],
    *,
    k: int,
) -> Pairs:
    """One positive pair per mention and gold concept that the terminology knows, and one negative
    pair per such mention: its best wrong candidate.

    A pair's score is the system's: that of the concept's name that fits best. A gold concept that is
    not among the k candidates is searched for alone; it is given no more than the last of the k has,
    behind which it must lie, and 0 where the system finds nothing in common.

    candidates (Sequence[list[Candidate]]): (N,) lists of k or fewer.
    ids (Sequence[list[str]]): Their living ids.
    """
    labels: list[int] = []
    scores: list[float] = []
    places: list[int] = []
    missed: list[Missed] = []
    for i, (golds, found) in enumerate(zip(mention_set.golds, candidates, strict=True)):
        known = [gold for gold in golds if gold]
        for gold in known:
            score = next((c.score for c, j in zip(found, ids[i], strict=True) if j in gold), None)
            if score is None:
                missed.append((len(scores), i, gold))
            labels.append(1)
            scores.append(score or 0.0)
            places.append(i)
        right = {j for gold in known for j in gold}
        wrong = next((c.score for c, j in zip(found, ids[i], strict=True) if j not in right), None)
        if known and wrong is not None:
            labels.append(0)
            scores.append(wrong)
            places.append(i)
    values = np.array(scores, dtype=float)
    for first in range(0, len(missed), CHUNK):
        _score_missed(terminology, generator, mention_set, missed[first : first + CHUNK], values)
    for pair, i, _ in missed:
        if len(candidates[i]) >= k:
            values[pair] = min(values[pair], candidates[i][-1].score)
    return Pairs(np.array(labels, dtype=int), values, np.array(places, dtype=int))


def _score_missed(
    terminology: Terminology,
    generator: CandidateGenerator,
    mention_set: MentionSet,
    missed: list[Missed],
    values: np.ndarray,
) -> None:
    """Fill in scores of gold concepts; the concepts of several mentions are searched together, which
    costs one search instead of many."""
    rows = sorted({terminology.row(i) for _, _, gold in missed for i in gold})
    allowed = np.zeros(terminology.n_concepts, dtype=bool)
    allowed[rows] = True
    forms = [mention_set.forms[i] for _, i, _ in missed]
    lists = generate_forms(generator, forms, k=len(rows), allowed=allowed)
    for (pair, _, gold), found in zip(missed, lists, strict=True):
        values[pair] = max((c.score for c in found if c.concept_id in gold), default=0.0)


def spearman(pairs: Pairs) -> Optional[float]:
    """Spearman's rank correlation of label and score (seed 003, equation 7; DESIGN.md, section 7),
    equal scores having the mean of their ranks.

    RETURNS (Optional[float]): -1 to 1; None where all labels or all scores are equal.
    """
    if not len(pairs.labels):
        return None
    rho = float(_spearmans(pairs, np.ones((1, len(pairs.labels))))[0])
    return None if np.isnan(rho) else rho


def spearman_interval(pairs: Pairs, documents: Sequence[str]) -> Optional[tuple[float, float]]:
    """95 % interval of `spearman`, documents resampled.

    documents (Sequence[str]): Document of each mention of the set, (N,).
    RETURNS (Optional[tuple[float, float]]): None where `spearman` is.
    """
    if spearman(pairs) is None:
        return None
    names = np.array(documents, dtype=object)[pairs.mentions].astype(str)
    _, groups = np.unique(names, return_inverse=True)
    rhos = [
        _spearmans(pairs, weights[:, groups].astype(float))
        for weights in resample_weights(int(groups.max()) + 1)
    ]
    return percentile_interval(np.concatenate(rhos))


def _spearmans(pairs: Pairs, weights: np.ndarray) -> np.ndarray:
    """Spearman's coefficient with each pair there as often as a weight says, (R,).

    weights (np.ndarray): (R, P) counts.
    """
    order = np.argsort(pairs.scores, kind="stable")
    scores, labels, weights = pairs.scores[order], pairs.labels[order], weights[:, order]
    starts = np.flatnonzero(np.r_[True, scores[1:] != scores[:-1]])  # of groups of equal scores
    n_equal = np.add.reduceat(weights, starts, axis=1)  # (R, groups)
    n_positive = np.add.reduceat(weights * labels, starts, axis=1)
    ranks = np.cumsum(n_equal, axis=1) - (n_equal - 1) / 2
    n = n_equal.sum(axis=1)
    mean, share = (n + 1) / 2, n_positive.sum(axis=1) / n
    # a label has two values, so that its ranks are a linear function of it: Pearson's coefficient
    # of label and rank of the score is Spearman's
    covariance = (n_positive * ranks).sum(axis=1) / n - share * mean
    variance = (n_equal * ranks**2).sum(axis=1) / n - mean**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return covariance / np.sqrt(variance * share * (1 - share))
