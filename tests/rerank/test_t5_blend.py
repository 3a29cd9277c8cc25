import numpy as np
import pytest

from spacy_termlink.rerank.lists import make_list
from spacy_termlink.rerank.t5_blend import Blend, fit_blend, fit_threshold
from spacy_termlink.types import Candidate


def make_lists(n, *, seed=0, tier="hybrid"):
    """Lists of two candidates; of ten the first, with the better score, is right seven times."""
    rng = np.random.default_rng(seed)
    lists, odds = [], []
    for number in range(n):
        scores = np.sort(rng.random(2))[::-1]
        candidates = [
            Candidate(f"T:{i}", "n", "n", "exact", float(scores[i]), tier) for i in (0, 1)
        ]
        lists.append(make_list(f"m{number}", candidates, {f"T:{int(rng.random() > 0.7)}"}))
        odds.append(rng.normal(size=2))
    return lists, odds


def test_as_it_stands_it_is_the_answer():
    odds, scores = np.array([0.0, np.log(3)]), np.array([0.9, 0.1])
    assert Blend().probabilities(odds, scores).tolist() == pytest.approx([0.5, 0.75])


def test_the_weights_that_made_the_answers_are_found():
    """What is right is drawn by the formula itself."""
    lists, odds = make_lists(4000)
    rng, true = np.random.default_rng(1), Blend(0.8, 3.0, -2.0)
    drawn = []
    for found, o in zip(lists, odds, strict=True):
        chances = true.probabilities(o, np.array([c.score for c in found.candidates]))
        drawn.append(found._replace(right=tuple((rng.random(2) < chances).tolist())))
    assert fit_blend(drawn, odds) == pytest.approx(true, abs=0.2)


def test_neither_a_yes_nor_a_better_score_counts_against_a_candidate():
    lists, odds = make_lists(300)
    against = [
        np.where(found.right, -1.0, 1.0) + 0.5 * o for found, o in zip(lists, odds, strict=True)
    ]
    blend = fit_blend(lists, against)
    assert blend.share == 0
    assert blend.weight > 0


def test_few_lists_and_candidates_of_training_alone_fit_nothing():
    assert fit_blend([], []) == Blend()
    assert fit_blend(*make_lists(20)) == Blend()
    assert fit_blend(*make_lists(300, tier="random")) == Blend()


def test_the_threshold_is_where_f1_is_best():
    """Scores are probabilities here; the first is right above 0.6 and wrong below. Without its right
    candidate a list's best is at 0.3 at most."""
    blend = Blend(1.0, 0.0, 0.0)
    lists, odds = [], []
    for number, p in enumerate(np.linspace(0.2, 0.95, 76)):
        candidates = [Candidate(f"T:{i}", "n", "n", "exact", 0.5, "hybrid") for i in (0, 1)]
        lists.append(make_list(f"m{number}", candidates, {"T:0"} if p > 0.6 else set()))
        chances = np.array([p, 0.1])
        odds.append(np.log(chances / (1 - chances)))
    assert 0.55 <= fit_threshold(lists, odds, blend, nil_share=0.9) <= 0.61
    right = [found._replace(right=(True, False)) for found in lists]
    assert fit_threshold(right, odds, blend, nil_share=0.0) == pytest.approx(0.2, abs=0.02)
    assert fit_threshold(right[:5], odds[:5], blend, nil_share=0.0) == 0.5
