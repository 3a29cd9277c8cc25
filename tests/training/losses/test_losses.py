"""What holds for every loss."""

import math

import pytest
import torch

from spacy_termlink.errors import TermlinkError
from spacy_termlink.registry import losses as registry


def masks(positive, negative):
    return {"positive": torch.tensor(positive), "negative": torch.tensor(negative)}


def at_angle(*degrees):
    """Rows of length 1 at these angles: the cosine of two is that of their difference."""
    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float32))
    return torch.stack([angles.cos(), angles.sin()], dim=1)


ONE_OF_EACH = masks([[True, False]], [[False, True]])


@pytest.mark.parametrize("positive", [58.0, 62.0, 75.0])
def test_a_better_pair_costs_less_than_a_worse_one(loss, positive):
    anchor = at_angle(0)
    better = loss(anchor, at_angle(positive - 5, 61), **ONE_OF_EACH)
    worse = loss(anchor, at_angle(positive + 5, 61), **ONE_OF_EACH)
    assert better < worse


def test_a_nearer_negative_costs_more(loss):
    anchor = at_angle(0)
    costs = [float(loss(anchor, at_angle(40, n), **ONE_OF_EACH)) for n in (60, 42, 30, 10)]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_a_pair_in_no_mask_takes_no_part(loss, batch):
    embeddings, _, positive, negative = batch
    barred = negative.clone()
    barred[0, 5] = barred[5, 0] = False
    embeddings[5] = embeddings[0] * 1.01  # the hardest negative there could be
    with_it = loss(embeddings, embeddings, positive=positive, negative=negative)
    without = loss(embeddings, embeddings, positive=positive, negative=barred)
    assert without < with_it

    # exactly: a column in no mask could as well not be there
    one_more = torch.cat([embeddings, embeddings[:1] * 1.01])
    wide = [torch.cat([mask, mask.new_zeros(8, 1)], dim=1) for mask in (positive, negative)]
    longer = loss(embeddings, one_more, positive=wide[0], negative=wide[1])
    torch.testing.assert_close(longer, with_it)


def gradient(loss, rows, columns, positive, negative):
    rows = rows.clone().requires_grad_()
    columns = columns.clone().requires_grad_()
    value = loss(rows, columns, positive=positive, negative=negative)
    value.backward()
    return value.detach(), rows.grad, columns.grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_gradient_is_finite_where_all_embeddings_are_the_same(loss, batch, dtype):
    _, _, positive, negative = batch
    same = torch.ones(8, 5, dtype=dtype)
    value, *grads = gradient(loss, same, same, positive, negative)
    assert math.isfinite(value)
    assert all(torch.isfinite(grad).all() for grad in grads)


def test_one_concept_in_the_batch_has_no_negative_and_a_finite_gradient(loss, batch):
    embeddings, _, _, _ = batch
    positive = ~torch.eye(8, dtype=torch.bool)
    negative = torch.zeros(8, 8, dtype=torch.bool)
    value, *grads = gradient(loss, embeddings, embeddings, positive, negative)
    assert math.isfinite(value)
    assert all(torch.isfinite(grad).all() for grad in grads)


def test_no_usable_pair_costs_nothing_and_trains_nothing(loss, batch):
    embeddings, _, _, _ = batch
    none = torch.zeros(8, 8, dtype=torch.bool)
    value, *grads = gradient(loss, embeddings, embeddings, none, none)
    assert value == 0
    assert all((grad == 0).all() for grad in grads)


def test_an_anchor_without_negatives_does_not_poison_the_others(loss, batch):
    embeddings, _, positive, negative = batch
    negative[0] = False
    value, *grads = gradient(loss, embeddings, embeddings, positive, negative)
    assert math.isfinite(value)
    assert all(torch.isfinite(grad).all() for grad in grads)
    assert any((grad != 0).any() for grad in grads)


def test_embeddings_far_apart_stay_finite(loss, batch):
    embeddings, _, positive, negative = batch
    far = embeddings * 1e3  # unnormalised inner products of 1e6
    value, *grads = gradient(loss, far, far, positive, negative)
    assert math.isfinite(value)
    assert all(torch.isfinite(grad).all() for grad in grads)


def test_the_gradient_is_the_slope(loss, batch):
    embeddings, _, positive, negative = batch
    _, grad, _ = gradient(loss, embeddings, embeddings.detach(), positive, negative)
    step = torch.zeros_like(embeddings)
    step[1, 2] = 1e-2
    up, down = (
        loss(embeddings + sign * step, embeddings, positive=positive, negative=negative)
        for sign in (1, -1)
    )
    assert float((up - down) / 2e-2) == pytest.approx(float(grad[1, 2]), rel=0.05, abs=1e-3)


def test_autocast_does_not_round_the_similarities(loss, batch):
    embeddings, _, positive, negative = batch
    plain = loss(embeddings, embeddings, positive=positive, negative=negative)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = loss(embeddings, embeddings, positive=positive, negative=negative)
    assert cast == plain


def test_the_order_of_the_columns_changes_nothing(loss, batch):
    embeddings, _, positive, negative = batch
    order = torch.tensor([3, 1, 7, 0, 6, 2, 5, 4])
    plain = loss(embeddings, embeddings, positive=positive, negative=negative)
    mixed = loss(
        embeddings, embeddings[order], positive=positive[:, order], negative=negative[:, order]
    )
    torch.testing.assert_close(mixed, plain)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"rows": torch.zeros(5)}, "rows"),
        ({"rows": torch.zeros(0, 2)}, "rows"),
        ({"columns": torch.zeros(2, 3)}, "columns"),
        ({"positive": torch.zeros(2, 2, dtype=torch.bool)}, "positive"),
        ({"negative": torch.zeros(1, 2)}, "negative"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(loss, change, what):
    given = {"rows": at_angle(0), "columns": at_angle(1, 2), **ONE_OF_EACH, **change}
    rows, columns = given.pop("rows"), given.pop("columns")
    with pytest.raises(TermlinkError, match=rf"TL401.*{what} has shape"):
        loss(rows, columns, **given)


def test_every_loss_is_registered_with_its_defaults(batch):
    embeddings, _, positive, negative = batch
    names = {name for name in registry.get_all() if name.startswith("spacy-termlink.")}
    assert names == {
        f"spacy-termlink.{name}.v1"
        for name in ("Contrastive", "InBatchNLL", "MultiSimilarity", "PairCrossEntropy", "Triplet")
    }
    for name in names:
        value = registry.get(name)()(embeddings, embeddings, positive=positive, negative=negative)
        assert value > 0


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Contrastive", {"temperature": 0.0}),
        ("InBatchNLL", {"temperature": -1.0}),
        ("InBatchNLL", {"similarity": "euclid"}),
        ("MultiSimilarity", {"alpha": 0.0}),
        ("MultiSimilarity", {"margin": -0.1}),
        ("PairCrossEntropy", {"base": 1.0}),
        ("Triplet", {"margin": -1.0}),
    ],
)
def test_a_setting_that_does_not_fit_is_refused(name, settings):
    (field,) = settings
    with pytest.raises(TermlinkError, match=f"TL402.*{field}"):
        registry.get(f"spacy-termlink.{name}.v1")(**settings)
