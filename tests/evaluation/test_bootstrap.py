import numpy as np
import pytest

from spacy_termlink.evaluation.bootstrap import (
    f1_interval,
    mean_intervals,
    percentile_interval,
    resample_weights,
)


def test_every_resample_draws_as_many_documents_as_there_are():
    weights = np.concatenate(list(resample_weights(7, n_resamples=150)))
    assert weights.shape == (150, 7)
    assert (weights.sum(axis=1) == 7).all()
    assert len(np.unique(weights, axis=0)) > 50


def test_equal_seeds_give_equal_intervals():
    values = np.random.default_rng(1).random((30, 2))
    documents = [f"d{i % 6}" for i in range(30)]
    assert mean_intervals(values, documents) == mean_intervals(values, documents)


def test_interval_of_a_known_case():
    # 100 documents of one mention each, half right: the mean of 100 coin flips, sd 0.05
    values = np.array([[1.0], [0.0]] * 50)
    low, high = mean_intervals(values, [str(i) for i in range(100)], n_resamples=4000)[0]
    assert low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.015)
    assert high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.015)


def test_documents_are_resampled_not_mentions():
    # ten mentions a document, all of a document alike: ten times fewer independent figures
    values = np.repeat([[1.0], [0.0]] * 5, 10, axis=0)
    wide = mean_intervals(values, [str(i // 10) for i in range(100)])[0]
    narrow = mean_intervals(values, [str(i) for i in range(100)])[0]
    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])


def test_one_document_gives_an_interval_without_width():
    values = np.array([[1.0], [0.0]])
    assert mean_intervals(values, ["d", "d"]) == [(0.5, 0.5)]


def test_f1_intervals_hold_the_figures():
    counts = np.array([[8, 2, 1], [5, 0, 3], [9, 4, 0], [2, 2, 2]])
    found = f1_interval(counts)
    assert found["precision"][0] < 24 / 32 < found["precision"][1]
    assert found["recall"][0] < 24 / 30 < found["recall"][1]
    assert found["f1"][0] < 48 / 62 < found["f1"][1]


def test_f1_of_empty_documents_follows_prf():
    assert f1_interval(np.array([[0, 0, 0]]))["f1"] == (1.0, 1.0)
    assert f1_interval(np.array([[0, 0, 3]]))["precision"] == (0.0, 0.0)


def test_percentiles():
    assert percentile_interval(np.arange(101.0), level=0.9) == pytest.approx((5.0, 95.0))
