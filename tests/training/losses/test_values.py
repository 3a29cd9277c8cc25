"""Values worked out by hand from the formulas of DESIGN.md, section 7."""

from math import exp, log

import pytest
import torch

from spacy_termlink.training.losses.contrastive import contrastive
from spacy_termlink.training.losses.cross_entropy import pair_cross_entropy
from spacy_termlink.training.losses.in_batch_nll import in_batch_nll
from spacy_termlink.training.losses.multi_similarity import mine_pairs, multi_similarity
from spacy_termlink.training.losses.triplet import triplet

# one anchor; cosines to the columns are 0.8, 0.6, 0.0, inner products 1.6, 1.8, 0
ANCHOR = torch.tensor([[1.0, 0.0]])
COLUMNS = torch.tensor([[1.6, 1.2], [1.8, 2.4], [0.0, 1.0]])
FIRST = torch.tensor([[True, False, False]])
OTHERS = torch.tensor([[False, True, True]])


def value(loss, positive=FIRST, negative=OTHERS, **settings):
    return float(loss(ANCHOR, COLUMNS, positive=positive, negative=negative, **settings))


def test_in_batch_nll_takes_inner_products():
    expected = -log(exp(1.6) / (exp(1.6) + exp(1.8) + exp(0)))
    assert value(in_batch_nll) == pytest.approx(expected, rel=1e-6)


def test_in_batch_nll_with_cosines_and_a_temperature():
    expected = -log(exp(8) / (exp(8) + exp(6) + exp(0)))
    got = value(in_batch_nll, similarity="cosine", temperature=0.1)
    assert got == pytest.approx(expected, rel=1e-6)


def test_in_batch_nll_is_the_mean_over_the_anchors():
    eye = torch.eye(2)
    diagonal = torch.eye(2, dtype=torch.bool)
    scores = 3 * eye  # inner products 3 on the diagonal, 0 beside
    got = in_batch_nll(scores, eye, positive=diagonal, negative=~diagonal)
    assert float(got) == pytest.approx(log(1 + exp(-3)), rel=1e-6)


def test_in_batch_nll_does_not_oppose_two_positives():
    both = torch.tensor([[True, True, False]])
    third = torch.tensor([[False, False, True]])
    expected = (log(1 + exp(-1.6)) + log(1 + exp(-1.8))) / 2
    assert value(in_batch_nll, both, third) == pytest.approx(expected, rel=1e-6)


def test_multi_similarity_with_every_pair_kept():
    # margin 0.3: the positive 0.8 is within 0.3 of the nearest negative 0.6; of the negatives only
    # 0.6 is within 0.3 of 0.8
    expected = log(1 + exp(-2 * 0.3)) / 2 + log(1 + exp(50 * 0.1)) / 50
    assert value(multi_similarity, margin=0.3) == pytest.approx(expected, rel=1e-5)


def test_multi_similarity_mines_the_hard_pairs_only():
    # margin 0.1: 0.6 + 0.1 < 0.8, the positive is far enough ahead of every negative
    assert value(multi_similarity) == 0


def test_the_miner_keeps_what_is_within_the_margin():
    scores = torch.tensor([[0.9, 0.5, 0.55, 0.35, 0.45]])
    positive = torch.tensor([[True, True, False, False, False]])
    kept_positive, kept_negative = mine_pairs(scores, positive, ~positive, margin=0.1)
    # nearest negative 0.55: 0.9 > 0.65 is easy. Farthest positive 0.5: 0.35 < 0.4 is easy.
    assert kept_positive.tolist() == [[False, True, False, False, False]]
    assert kept_negative.tolist() == [[False, False, True, False, True]]


def test_triplet_is_the_hinge_on_euclidean_distances():
    anchor = torch.tensor([[0.0, 0.0]])
    columns = torch.tensor([[3.0, 4.0], [0.0, 4.5]])  # 5.0 and 4.5 away
    masks = {"positive": FIRST[:, :2], "negative": OTHERS[:, :2]}
    assert float(triplet(anchor, columns, **masks, margin=0.1)) == pytest.approx(0.6, rel=1e-6)


def test_triplet_of_a_perfect_triplet_is_zero_and_of_the_worst_is_not():
    # sentence-transformers 5.0 to 5.3 had it the other way round
    anchor = torch.tensor([[0.0, 0.0]])
    columns = torch.tensor([[0.0, 0.0], [10.0, 0.0]])
    masks = {"positive": FIRST[:, :2], "negative": OTHERS[:, :2]}
    swapped = {"positive": OTHERS[:, :2], "negative": FIRST[:, :2]}
    assert float(triplet(anchor, columns, **masks, margin=5.0)) == 0
    assert float(triplet(anchor, columns, **swapped, margin=5.0)) == 15


def test_triplet_counts_triplets_at_zero_in_the_mean():
    anchor = torch.tensor([[0.0]])
    columns = torch.tensor([[1.0], [0.5], [9.0]])
    got = triplet(anchor, columns, positive=FIRST, negative=OTHERS, margin=0.1)
    assert float(got) == pytest.approx(0.6 / 2, rel=1e-6)


def test_triplet_with_a_zero_margin_and_equal_distances_is_zero():
    anchor = torch.zeros(1, 2, requires_grad=True)
    columns = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    masks = {"positive": FIRST[:, :2], "negative": OTHERS[:, :2]}
    loss = triplet(anchor, columns, **masks, margin=0.0)
    loss.backward()
    assert float(loss.detach()) == 0
    assert torch.isfinite(anchor.grad).all()


def test_contrastive_divides_the_cosines_by_the_temperature():
    expected = log(1 + exp((0.6 - 0.8) * 20) + exp((0.0 - 0.8) * 20))
    assert value(contrastive) == pytest.approx(expected, rel=1e-4)
    warmer = log(1 + exp(-0.2 / 0.5) + exp(-0.8 / 0.5))
    assert value(contrastive, temperature=0.5) == pytest.approx(warmer, rel=1e-6)


def test_contrastive_compares_pairs_of_different_anchors():
    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    positive = torch.tensor([[True, False, False], [False, False, True]])  # 0.8, 1.0
    negative = torch.tensor([[False, True, False], [False, False, False]])  # 0.6
    expected = log(1 + exp(0.6 - 0.8) + exp(0.6 - 1.0))
    got = contrastive(rows, COLUMNS, positive=positive, negative=negative, temperature=1.0)
    assert float(got) == pytest.approx(expected, rel=1e-6)


def test_pair_cross_entropy_weighs_both_labels_the_same():
    alike = log(1 + exp(-(0.8 - 0.5) / 0.5))
    different = (log(1 + exp((0.6 - 0.5) / 0.5)) + log(1 + exp((0.0 - 0.5) / 0.5))) / 2
    got = value(pair_cross_entropy, base=0.5, temperature=0.5)
    assert got == pytest.approx((alike + different) / 2, rel=1e-5)
