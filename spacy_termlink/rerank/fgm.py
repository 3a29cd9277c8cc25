"""Adversarial training on the embedding table (FGM; T. Miyato et al., Adversarial training methods for
semi-supervised text classification, ICLR 2017; seed 003, section 2.2.3; DESIGN.md, section 7)."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def perturbed(table: Tensor, epsilon: float) -> Iterator[bool]:
    """Move an embedding table by r = epsilon * g / |g| for a while, where g is its gradient.

    A backward pass inside adds the adversarial gradient to the clean one; afterwards the table has
    its old values, bit for bit. A table that is also the output layer moves there, too.

    table (Tensor): The weights, (V, D), with the gradient of the clean pass.
    epsilon (float): Length of the step over all rows together.
    YIELDS (bool): Whether it moved: not without a gradient, or where that is 0 or no number.
    """
    gradient = table.grad
    norm = 0.0 if gradient is None else float(torch.linalg.vector_norm(gradient.float()))
    if gradient is None or not 0 < norm < float("inf"):
        yield False
        return
    old = table.detach().clone()
    with torch.no_grad():
        table.add_(gradient, alpha=epsilon / norm)
    try:
        yield True
    finally:
        with torch.no_grad():
            table.copy_(old)
