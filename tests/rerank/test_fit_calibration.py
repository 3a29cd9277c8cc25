"""What is fitted is what the data were made with, and the same each time."""

import numpy as np
import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.rerank import fit_calibration as module
from spacy_termlink.rerank.features import FIRST
from spacy_termlink.rerank.fit_calibration import fit_calibration, fold_of, log_loss

GENERATOR = "HybridCandidates"


def fit(kb, mentions, **more):
    return fit_calibration(kb, *mentions[:4], generator=GENERATOR, **more)


def test_known_probabilities_are_found_again(kb, mentions, other_mentions):
    calibration = fit(kb, mentions).calibration
    forms, lists, ranks, _, chance = other_mentions
    found = calibration.apply(kb, forms, lists)
    first = np.array([candidates[0].probability for candidates in found])
    assert np.abs(first - chance).mean() < 0.02
    assert np.abs(first - chance).max() < 0.1
    second = np.array([candidates[1].probability for candidates in found])
    assert np.abs(second - np.minimum((1 - chance) / 2, chance)).mean() < 0.02
    assert max(candidates[2].probability for candidates in found) < 0.05  # never right


def test_isotonic_finds_what_no_logistic_function_is(kb, mentions):
    forms, lists, _, documents, _ = mentions
    score = np.array([candidates[0].score for candidates in lists])
    chance = np.where(score < 0.5, 0.1, np.where(score < 0.8, 0.5, 0.95))
    ranks = (np.random.default_rng(5).uniform(size=len(score)) < chance).astype(int).tolist()
    fitted = fit(kb, (forms, lists, ranks, documents))
    losses = fitted.calibration.fitted["log_loss"]
    assert fitted.calibration.fitted["method"] == min(losses, key=losses.get) != "logistic"
    found = fitted.calibration.apply(kb, forms, lists)
    first = np.array([candidates[0].probability for candidates in found])
    assert np.abs(first - chance).mean() < 0.05  # at a step it is interpolated


@pytest.mark.parametrize("method", module.METHODS)
def test_a_better_score_is_never_less_probable(kb, mentions, monkeypatch, method):
    monkeypatch.setattr(module, "METHODS", {method: module.METHODS[method]})
    calibration = fit(kb, mentions).calibration
    lists = [
        [c._replace(score=score * (1.0 if place == 0 else 0.5)) for place, c in enumerate(row)]
        for row, score in zip(mentions[1][:200], np.linspace(0.2, 1, 200).tolist(), strict=True)
    ]
    found = calibration.apply(kb, [["abcdefgh"]] * 200, lists)
    first = [candidates[0].probability for candidates in found]
    assert first == sorted(first)
    assert first[-1] - first[0] > 0.5


def test_weights_that_would_lower_a_better_score_are_left_out(kb, mentions):
    forms, lists, ranks, documents, _ = mentions
    turned = [0 if rank == 1 else 1 for rank in ranks]  # the better the score, the wronger
    features = np.array(
        [module.first_features(kb, *pair) for pair in zip(forms, lists, strict=True)]
    )
    right = np.array(turned) == 1
    part = module.fit_logistic(features, right, np.array(documents))
    assert sum(part.weights[FIRST.index(name)] for name in module.RISING) >= 0


def test_same_mentions_same_file(kb, mentions):
    once, again = fit(kb, mentions), fit(kb, mentions)
    assert once.calibration.to_json() == again.calibration.to_json()
    assert once.held_out.tolist() == again.held_out.tolist()
    order = np.random.default_rng(0).permutation(len(mentions[0])).tolist()
    turned = fit(kb, tuple([column[i] for i in order] for column in mentions[:4]))
    assert turned.held_out == pytest.approx(once.held_out[order], abs=1e-3)


def test_held_out_probabilities_know_nothing_of_their_document(kb, mentions):
    forms, lists, ranks, documents, _ = mentions
    before = fit(kb, mentions).held_out
    there = [i for i, document in enumerate(documents) if fold_of(document) == 0]
    assert 0 < len(there) < len(documents)
    turned = list(ranks)
    for i in there:
        turned[i] = 0 if ranks[i] == 1 else 1
    after = fit(kb, (forms, lists, turned, documents)).held_out
    assert after[there] == pytest.approx(before[there], abs=1e-12)
    assert np.abs(after - before).max() > 0.05


def test_what_it_was_fitted_on_is_told(kb, mentions):
    fitted = fit(kb, mentions, about={"set": "notes.jsonl"}).calibration.fitted
    assert fitted["set"] == "notes.jsonl"
    assert (fitted["mentions"], fitted["documents"]) == (4000, 40)
    assert fitted["right"] == sum(rank == 1 for rank in mentions[2])
    assert set(fitted["log_loss"]) == set(module.METHODS)


def test_mentions_without_candidates_have_no_part(kb, mentions):
    forms, lists, ranks, documents, _ = mentions
    more = (
        [*forms, ["qqq"]],
        [*lists, []],
        [*ranks, 0],
        [*documents, "d0"],
    )
    fitted = fit(kb, more)
    assert fitted.held_out[-1] == 0
    assert fitted.calibration.to_json() == fit(kb, mentions).calibration.to_json()


@pytest.mark.parametrize("change", ["few", "right", "wrong", "documents"])
def test_too_little_to_fit_on_is_an_error(kb, mentions, change):
    forms, lists, ranks, documents = (column[:300] for column in mentions[:4])
    if change == "few":
        forms, lists, ranks, documents = (c[:99] for c in (forms, lists, ranks, documents))
    elif change == "documents":
        documents = ["d0"] * len(forms)
    else:
        ranks = [1 if change == "right" else 2] * len(forms)
    with pytest.raises(TermlinkError, match="TL612"):
        fit(kb, (forms, lists, ranks, documents))


def test_log_loss_by_hand():
    loss = log_loss(np.array([0.5, 0.75, 0.25]), np.array([True, True, False]))
    assert loss == pytest.approx((np.log(2) + 2 * np.log(4 / 3)) / 3)
