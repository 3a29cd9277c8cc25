import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from spacy_termlink.evaluation.gains import Gains, dcg, dcgs, ndcg


def test_gains_by_distance(terminology):
    assert Gains(terminology).of("gold") == {
        "gold": 3, "parent": 2, "child": 2, "grand": 1, "grandchild": 1, "sibling": 1, "uncle": 1,
    }  # fmt: skip


def test_gains_of_a_root(terminology):
    assert Gains(terminology).of("root") == {"root": 3, "grand": 2, "uncle": 1, "parent": 1}


def test_gains_of_several_golds_are_the_best(terminology):
    found = Gains(terminology).of_all(["gold", "uncle"])
    assert (found["gold"], found["uncle"]) == (3, 3)
    assert (found["grand"], found["cousin"], found["parent"]) == (2, 2, 2)


def test_seed_example():
    # seed 002: itself, sibling, parent, uncle, grandparent, where the ideal is 3, 2, 1, 1, 1
    assert ndcg([3, 1, 2, 1, 1], [1, 1, 1, 2, 3], 5) == pytest.approx(0.976, abs=0.0006)


@pytest.mark.parametrize("k", [1, 5, 10])
def test_ndcg_agrees_with_scikit_learn(k):
    rng = np.random.default_rng(k)
    for _ in range(50):
        gains, scores = rng.choice([0, 0, 0, 1, 2, 3], size=30), rng.random(30)
        if gains.any():
            ranked = gains[np.argsort(-scores)]
            expected = ndcg_score([gains], [scores], k=k)
            assert ndcg(ranked.tolist(), gains.tolist(), k) == pytest.approx(expected, abs=1e-9)


def test_ndcg_counts_what_was_not_found():
    assert ndcg([2], [3, 2], 5) == pytest.approx(2 / (3 + 2 / np.log2(3)))
    assert ndcg([], [3], 5) == 0.0
    assert ndcg([0, 0], [], 5) == 0.0


def test_dcg_of_a_short_list_is_padded():
    assert dcgs([3, 2], 4) == pytest.approx([3, 3 + 2 / np.log2(3)] + [3 + 2 / np.log2(3)] * 2)
    assert dcgs([3, 2, 1], 1) == pytest.approx([3])
    assert dcg([]) == 0.0


def test_ideal_of_more_ranks_after_fewer(terminology):
    gains = Gains(terminology)
    assert gains.ideal(["gold"], 1) == pytest.approx([3])
    assert gains.ideal(["gold"], 3) == pytest.approx(dcgs([3, 2, 2], 3))
    assert gains.ideal(["gold"], 2) == pytest.approx(dcgs([3, 2], 2))
