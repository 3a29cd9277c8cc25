"""Calibration error and accuracy over coverage: by hand, and what must hold for all."""

import numpy as np
import pytest

from spacy_termlink.evaluation.reliability import (
    COVERAGES,
    accuracies,
    calibration_error,
    make_outcomes,
    outcomes_of,
    reliability_figures,
)
from spacy_termlink.evaluation.summary import summarize


def made(p, right, documents=None):
    return make_outcomes(p, right, documents or [f"d{i}" for i in range(len(p))])


def error(outcomes):
    return calibration_error(outcomes, np.ones(len(outcomes.right)))


def test_error_by_hand():
    # ten bins of one mention each: |0.05 - 0|, |0.15 - 0|, ... |0.95 - 1|
    p = [0.05 + i / 10 for i in range(10)]
    right = [False] * 5 + [True] * 5
    by_hand = sum([0.05, 0.15, 0.25, 0.35, 0.45, 0.45, 0.35, 0.25, 0.15, 0.05]) / 10
    assert error(made(p, right)) == pytest.approx(by_hand)
    # ten bins of two: what is wrong one way is made good the other way within a bin only
    pairs = made(np.repeat(p, 2), [True, False] * 10)
    assert error(pairs) == pytest.approx(sum(abs(x - 0.5) for x in p) / 10)


def test_a_calibrated_system_has_no_error_and_a_boastful_one_has():
    p = np.repeat([0.2, 0.8], 50)
    right = [i % 5 == 0 for i in range(50)] + [i % 5 != 0 for i in range(50)]
    assert error(made(p, right)) == pytest.approx(0)
    assert error(made(np.repeat([0.5, 0.9], 50), right)) == pytest.approx(0.2)


def test_equal_probabilities_share_what_is_right_whatever_the_order():
    p, right = [0.7] * 20 + [0.9] * 20, [True] * 14 + [False] * 6 + [True] * 18 + [False] * 2
    rng = np.random.default_rng(0)
    expected = accuracies(made(p, right), np.ones(40))
    for _ in range(5):
        order = rng.permutation(40)
        turned = made([p[i] for i in order], [right[i] for i in order])
        assert error(turned) == pytest.approx(0)
        assert accuracies(turned, np.ones(40)) == pytest.approx(expected)
    # half of all: the twenty at 0.9; 80 %: twelve of those at 0.7 more
    by_coverage = dict(zip(COVERAGES, expected, strict=True))
    assert by_coverage[0.5] == pytest.approx(18 / 20)
    assert by_coverage[0.8] == pytest.approx((18 + 12 * 0.7) / 32)
    assert by_coverage[1.0] == pytest.approx(32 / 40)


def test_weights_are_repeats():
    rng = np.random.default_rng(1)
    p, right = rng.uniform(size=50).round(1), rng.uniform(size=50) < 0.5
    weights = rng.integers(0, 4, 50)
    weights[:10] = 1
    outcomes = made(p, right)
    # a permutation took the mentions into ascending order: weigh them there
    repeated = made(np.repeat(outcomes.probabilities, weights), np.repeat(outcomes.right, weights))
    found = accuracies(outcomes, weights.astype(float))
    assert found == pytest.approx(accuracies(repeated, np.ones(weights.sum())))


def test_figures(monkeypatch):
    rng = np.random.default_rng(2)
    p = rng.uniform(size=1000)
    documents = [f"d{i % 30}" for i in range(1000)]
    figures = reliability_figures(
        made(p.tolist(), (rng.uniform(size=1000) < p).tolist(), documents)
    )
    assert (figures["n"], figures["n_documents"]) == (1000, 30)
    assert sum(b["n"] for b in figures["bins"]) == 1000
    assert [b["n"] for b in figures["bins"]] == [100] * 10
    edges = [edge for b in figures["bins"] for edge in (b["low"], b["high"])]
    assert edges == sorted(edges)
    assert figures["ece"] < 0.06
    assert figures["brier"] == pytest.approx(1 / 6, abs=0.02)  # of uniform p: mean p (1 - p)
    assert [c["coverage"] for c in figures["coverage"]] == list(COVERAGES)
    at_half = figures["coverage"][-1]
    assert at_half["accuracy"] == pytest.approx(0.75, abs=0.05)
    assert at_half["threshold"] == pytest.approx(0.5, abs=0.05)
    assert at_half["ci"][0] < at_half["gain"] < at_half["ci"][1]
    assert figures["ci"]["accuracy"][0] < figures["accuracy"] < figures["ci"]["accuracy"][1]


def test_a_single_document_and_a_single_mention():
    figures = reliability_figures(made([0.7], [True]))
    assert figures["ece"] == pytest.approx(0.3)
    assert figures["bins"] == [
        {"n": 1, "low": 0.7, "high": 0.7, "probability": 0.7, "accuracy": 1.0}
    ]


def test_without_calibration_there_are_no_figures(evaluate, mention):
    result = evaluate({"a": [("gold", 0.9)]}, [mention("a", "gold")])
    assert result.applies_to == "score"
    summary = summarize(result)
    assert summary["calibration"] is None
    assert summary["nil"]["applies_to"] == "score"


def test_nothing_found_and_nil_mentions_count(evaluate, mention):
    answers = {"a": [("gold", 0.9)], "nil": [("gold", 0.4)]}
    mentions = [mention("a", "gold"), mention("none", "gold"), mention("nil")]
    outcomes = outcomes_of(evaluate(answers, mentions))
    assert outcomes.probabilities.tolist() == [0.0, 0.4, 0.9]
    assert outcomes.right.tolist() == [False, False, True]
