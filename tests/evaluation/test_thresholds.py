"""Precision, recall and F1 over the threshold, by hand and against a count at every threshold."""

from types import SimpleNamespace

import numpy as np
import pytest

from spacy_termlink.counts import prf
from spacy_termlink.evaluation.thresholds import best_threshold, threshold_curve

NONE = -np.inf


def made(ranks, scores, nil_scores=()):
    n, m = len(ranks), len(nil_scores)
    return SimpleNamespace(
        ranks=np.array(ranks, dtype=int),
        top_scores=np.array(scores, dtype=float),
        nil_top_scores=np.array(nil_scores, dtype=float),
        mention_set=SimpleNamespace(
            documents=[f"d{i % 3}" for i in range(n)], nil_documents=["nil"] * m
        ),
    )


def test_curve_by_hand():
    # right at 0.9 and 0.5, wrong at 0.7, one not found at all, one NIL mention linked at 0.5
    curve = threshold_curve(made([1, 2, 1, 0], [0.9, 0.7, 0.5, NONE], [0.5]))
    assert curve.thresholds.tolist() == [0.5, 0.7, 0.9]
    assert curve.precision.tolist() == [2 / 4, 1 / 2, 1.0]
    assert curve.recall.tolist() == [2 / 4, 1 / 4, 1 / 4]
    assert curve.f1 == pytest.approx([4 / 8, 2 / 6, 2 / 5])


def test_curve_is_the_count_at_every_threshold():
    rng = np.random.default_rng(0)
    ranks = rng.integers(0, 3, 200)
    result = made(ranks, rng.integers(0, 20, 200) / 20, rng.integers(0, 20, 40) / 20)
    curve = threshold_curve(result)
    assert curve.thresholds.tolist() == sorted({*result.top_scores, *result.nil_top_scores})
    for i, threshold in enumerate(curve.thresholds):
        linked = result.top_scores >= threshold
        tp = int((linked & (ranks == 1)).sum())
        n_linked = int(linked.sum() + (result.nil_top_scores >= threshold).sum())
        expected = prf(tp, n_linked - tp, 200 - tp)
        found = curve.precision[i], curve.recall[i], curve.f1[i]
        assert found == pytest.approx((expected.precision, expected.recall, expected.f1))


def test_best_threshold_and_its_interval():
    result = made([1, 1, 2, 1], [0.9, 0.8, 0.6, 0.6])
    best = best_threshold(result, threshold_curve(result))
    # at 0.6: tp 3, linked 4, n 4: F1 6/8; at 0.8: tp 2, linked 2: 4/6
    assert (best["threshold"], best["f1"], best["n"]) == (0.6, 0.75, 4)
    assert best["ci"]["f1"][0] <= 0.75 <= best["ci"]["f1"][1]


def test_nothing_found():
    result = made([0, 0], [NONE, NONE])
    curve = threshold_curve(result)
    assert len(curve.f1) == 0
    assert best_threshold(result, curve)["threshold"] is None
