"""FGM on a model of two tokens, by hand: loss = w . x with x the mean of both embeddings, squared."""

import pytest
import torch

from spacy_termlink.rerank.fgm import perturbed

W = torch.tensor([3.0, 4.0])


def loss_of(table):
    return (table.mean(dim=0) @ W) ** 2


def test_gradients_of_both_passes_are_added_and_the_table_restored():
    table = torch.nn.Parameter(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    before = table.detach().clone()
    loss_of(table).backward()
    # s = mean . W = 0.5 * 3 + 0.5 * 4 = 3.5; d loss / d row = 2 s W / 2 = 3.5 W
    clean = torch.stack([3.5 * W, 3.5 * W])
    assert torch.allclose(table.grad, clean)
    with perturbed(table, 0.5) as moved:
        assert moved
        # r = 0.5 g / |g|, |g| = 3.5 * 5 * sqrt(2): each row moves by 0.5 W / (5 sqrt(2))
        step = 0.5 * W / (5 * 2**0.5)
        assert torch.allclose(table, before + torch.stack([step, step]))
        loss_of(table).backward()
    # s' = 3.5 + step . W = 3.5 + 0.5 * 25 / (5 sqrt(2))
    moved_s = 3.5 + 2.5 / 2**0.5
    assert torch.allclose(table.grad, clean + torch.stack([moved_s * W, moved_s * W]))
    assert torch.equal(table.detach(), before)


def test_the_adversarial_loss_is_not_smaller_to_first_order():
    table = torch.nn.Parameter(torch.randn(2, 2, generator=torch.Generator().manual_seed(1)))
    clean = loss_of(table)
    clean.backward()
    with perturbed(table, 1e-3):
        assert loss_of(table) > clean


@pytest.mark.parametrize("gradient", [None, 0.0, float("nan"), float("inf")])
def test_without_a_usable_gradient_nothing_moves(gradient):
    table = torch.nn.Parameter(torch.ones(2, 2))
    if gradient is not None:
        table.grad = torch.full((2, 2), gradient)
    with perturbed(table, 1.0) as moved:
        assert not moved
        assert torch.equal(table.detach(), torch.ones(2, 2))


def test_the_table_is_restored_after_an_error():
    table = torch.nn.Parameter(torch.ones(2, 2))
    table.grad = torch.ones(2, 2)
    with pytest.raises(RuntimeError), perturbed(table, 1.0):
        raise RuntimeError
    assert torch.equal(table.detach(), torch.ones(2, 2))
