import numpy as np
import pytest
from scipy.stats import spearmanr

from spacy_termlink.evaluation.pairs import CHUNK, Pairs, spearman, spearman_interval


def pairs(labels, scores, mentions=None):
    mentions = range(len(labels)) if mentions is None else mentions
    return Pairs(np.array(labels), np.array(scores, float), np.array(mentions))


def test_pairs_by_hand(evaluate, mention):
    answers = {
        "a": [("gold", 0.9), ("x", 0.7), ("y", 0.6)],
        "b": [("x", 0.8), ("gold", 0.75)],
        "c": [("gold", 0.5)],
        "d": [("x", 0.5)],
        "e": [("gold", 0.4), ("cousin", 0.3), ("x", 0.2)],
    }
    mentions = [mention(text, "gold") for text in "abc"]
    mentions += [mention("d", "OTHER:1"), mention("e", "gold", "cousin")]
    found = evaluate(answers, mentions).pairs
    assert list(zip(found.mentions.tolist(), found.labels.tolist(), found.scores.tolist())) == [
        (0, 1, 0.9), (0, 0, 0.7),
        (1, 1, 0.75), (1, 0, 0.8),
        (2, 1, 0.5),  # nothing wrong was found
        # the terminology does not know the gold concept of "d"
        (4, 1, 0.4), (4, 1, 0.3), (4, 0, 0.2),
    ]  # fmt: skip


def test_a_concept_that_was_not_found_is_searched_for(evaluate, mention, make_table):
    class Ranked(make_table):
        def generate(self, mentions, *, k, allowed=None):
            found = super().generate(mentions, k=99 if allowed is not None else k)
            return found if allowed is None else [c[-1:] for c in found]

    others = [(f"x{i}", 0.9 - i / 100) for i in range(10)]
    answers = {"a": [*others, ("gold", 0.2)], "b": [*others, ("gold", 0.85)], "c": others}
    table = Ranked(answers)
    found = evaluate(table, [mention(text, "gold") for text in "abc"]).pairs
    # never more than the last of the ten found has; 0 where nothing is found
    assert found.scores[found.labels == 1].tolist() == pytest.approx([0.2, 0.81, 0.0])


def test_one_search_for_many_missing_concepts(evaluate, mention, make_table):
    table = make_table({})
    evaluate(table, [mention(str(i), "gold") for i in range(CHUNK + 1)])
    assert [len(asked) for asked, _, masked in table.asked if masked] == [CHUNK, 1]


def test_spearman_agrees_with_scipy():
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.integers(2, size=40)
        scores = np.round(rng.random(40) + 0.3 * labels, 1)  # many ties
        expected = spearmanr(labels, scores).statistic
        assert spearman(pairs(labels, scores)) == pytest.approx(expected, abs=1e-12)


def test_spearman_of_halves_told_apart():
    # both halves tie among the labels: less than 1
    assert spearman(pairs([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])) == pytest.approx(0.8**0.5)


@pytest.mark.parametrize("given", [([], []), ([1, 1], [0.1, 0.2]), ([0, 1], [0.5, 0.5])])
def test_spearman_of_one_kind_is_undefined(given):
    assert spearman(pairs(*given)) is None
    assert spearman_interval(pairs(*given), ["d", "e"]) is None


def test_interval_resamples_documents():
    rng = np.random.default_rng(0)
    labels = np.tile([1, 0], 200)
    scores = rng.random(400) + 0.5 * labels
    mentions = np.repeat(np.arange(200), 2)
    found = pairs(labels, scores, mentions)
    low, high = spearman_interval(found, [str(i) for i in range(200)])
    assert low < spearman(found) < high < low + 0.2
    # as the figure of the resampled pairs themselves
    drawn = rng.integers(200, size=(1000, 200))
    rhos = [
        spearmanr(labels.reshape(-1, 2)[d].ravel(), scores.reshape(-1, 2)[d].ravel()).statistic
        for d in drawn
    ]
    assert (low, high) == pytest.approx(tuple(np.percentile(rhos, [2.5, 97.5])), abs=0.02)
