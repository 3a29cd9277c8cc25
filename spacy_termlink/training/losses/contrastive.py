"""Supervised contrastive loss over all pairs of a batch."""

from functools import partial

from torch import Tensor
from torch.nn import functional

from .base import Loss, check_setting, check_shapes, cosines, log_sum_exp


def contrastive(
    rows: Tensor,
    columns: Tensor,
    *,
    positive: Tensor,
    negative: Tensor,
    temperature: float = 1 / 20,
) -> Tensor:
    """log(1 + sum over every positive pair and every negative pair of the batch of
    exp((cos_negative - cos_positive) / temperature)).

    rows, columns (Tensor): Embeddings, (A, D) and (C, D).
    positive, negative (Tensor): Masks of pairs, (A, C) bool. The pairs of all anchors are compared
        with each other: every positive pair is to be more alike than every negative pair.
    temperature (float): Divides the differences; the paper's best is 1/20.
    RETURNS (Tensor): Scalar > 0; 0 without a positive or without a negative pair.
    RAISES (TermlinkError): TL401 if the shapes do not fit.

    | rows | columns | positive | negative |
    |---|---|---|---|
    | mentions | standard names, then negatives of the records | label 1 | label 0 |

    Relations: `in_batch_nll` compares within an anchor, this one across anchors too, so that one
    threshold on the cosine fits all; `pair_cross_entropy` fixes that threshold beforehand.
    One number for the batch, not a mean: it grows with log(positives x negatives).

    Source: the recall stage of seed 003, equation 5. It prints the temperature outside the
    exponents, where it would cancel; here it divides the cosines.
    """
    check_shapes(rows, columns, positive, negative)
    scores = (cosines(rows, columns) / temperature).flatten()  # (A * C,)
    # the double sum is a product: sum of exp(negatives) times sum of exp(-positives)
    total = log_sum_exp(scores, negative.flatten()) + log_sum_exp(-scores, positive.flatten())
    return functional.softplus(total)


def make_contrastive(temperature: float = 1 / 20) -> Loss:
    """`contrastive` with its settings.

    RAISES (TermlinkError): TL402 for a setting that does not fit.
    """
    check_setting(temperature > 0, "temperature", temperature, "a number above 0")
    return partial(contrastive, temperature=temperature)
