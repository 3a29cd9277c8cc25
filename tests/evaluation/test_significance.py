import numpy as np
import pytest
from scipy.stats import ttest_rel

from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.ranking import METRICS
from spacy_termlink.evaluation.significance import bootstrap_p, compare_results, paired_t_test


@pytest.fixture
def two(evaluate, mention):
    mentions = [mention(str(i), "gold", doc_id=f"d{i}") for i in range(20)]
    good = {str(i): [("gold", 1.0)] for i in range(20)}
    bad = {str(i): [("gold", 1.0)] for i in range(10)}
    return evaluate(good, mentions, name="good"), evaluate(bad, mentions, name="bad")


def test_paired_difference(two):
    found = compare_results(*two)
    assert list(found) == list(METRICS)
    hits = found["hits@1"]
    assert hits["difference"] == pytest.approx(0.5)
    assert 0 < hits["ci"][0] < 0.5 < hits["ci"][1] < 1
    assert hits["p"] == pytest.approx(2 / 1001)
    expected = ttest_rel([1] * 20, [1] * 10 + [0] * 10)
    assert hits["t_test"] == pytest.approx(
        {"t": expected.statistic, "df": 19, "p": expected.pvalue}
    )
    # a document a mention: both tests are one
    assert hits["t_test_documents"] == pytest.approx(hits["t_test"])
    assert compare_results(*two[::-1])["hits@1"]["difference"] == pytest.approx(-0.5)


def test_a_system_against_itself(two):
    assert compare_results(two[0], two[0])["mrr"] == {
        "difference": 0.0,
        "ci": [0.0, 0.0],
        "p": 1.0,
        "t_test": {"t": 0.0, "df": 19, "p": 1.0},
        "t_test_documents": {"t": 0.0, "df": 19, "p": 1.0},
    }


def test_results_on_other_mentions_are_refused(two, evaluate, mention):
    with pytest.raises(TermlinkError, match="TL920.*good and other"):
        compare_results(two[0], evaluate({}, [mention("0", "gold")], name="other"))


def test_without_mentions_there_is_nothing_to_compare(evaluate, mention):
    found = evaluate({}, [mention("nil")])
    assert compare_results(found, found) == {}


def test_documents_are_the_units_of_the_second_t_test(evaluate, mention):
    mentions = [mention(f"{d}{i}", "gold", doc_id=d) for d in "ab" for i in range(d == "a" or 9)]
    first = evaluate({"a0": [("gold", 1.0)], "b0": [("gold", 1.0)]}, mentions)
    found = compare_results(first, evaluate({}, mentions))["hits@1"]
    assert (found["t_test"]["df"], found["t_test_documents"]["df"]) == (9, 1)
    expected = ttest_rel([1, 1 / 9], [0, 0])  # mean of each document
    assert found["t_test_documents"]["p"] == pytest.approx(expected.pvalue)


def test_bootstrap_p_by_hand():
    # three of nine resamples show no gain: 2 * (1 + 3) / 10
    assert bootstrap_p(np.array([1, 1, 1, 1, 1, 1, 0, -1, -1])) == pytest.approx(0.8)
    assert bootstrap_p(np.array([0.0, 0.0])) == 1.0
    assert bootstrap_p(np.array([1e-17, -1e-17])) == 1.0
    assert bootstrap_p(np.full(999, -2.0)) == pytest.approx(2 / 1000)


def test_bootstrap_p_under_no_difference_is_uniform():
    """Of many comparisons of equal systems about one in ten has p below 0.1."""
    rng = np.random.default_rng(0)
    low = 0
    for _ in range(300):
        values = rng.normal(size=50)
        means = values[rng.integers(50, size=(400, 50))].mean(axis=1)
        low += bootstrap_p(means) < 0.1
    assert 0.06 < low / 300 < 0.16


def test_t_test_of_nothing():
    assert paired_t_test(np.array([1.0])) is None
    assert paired_t_test(np.array([])) is None
    # every unit differs by the same: t would be infinite
    assert paired_t_test(np.array([1.0, 1.0])) is None
