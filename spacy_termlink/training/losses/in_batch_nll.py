"""Negative log-likelihood over the batch."""

from functools import partial
from typing import Literal

from torch import Tensor
from torch.nn import functional

from .base import (
    Loss,
    check_setting,
    check_shapes,
    cosines,
    inner_products,
    log_sum_exp,
    masked_mean,
)


def in_batch_nll(
    rows: Tensor,
    columns: Tensor,
    *,
    positive: Tensor,
    negative: Tensor,
    similarity: Literal["inner", "cosine"] = "inner",
    temperature: float = 1.0,
) -> Tensor:
    """Mean over the positive pairs of -log(exp(s_p) / (exp(s_p) + sum over negatives of exp(s_n))).

    rows, columns (Tensor): Embeddings, (A, D) and (C, D).
    positive, negative (Tensor): Masks of pairs, (A, C) bool. Several positives of an anchor each
        have a softmax of their own: none is the negative of another.
    similarity (str): "inner" for inner products of the embeddings as they are, as the paper;
        "cosine" for embeddings of length 1.
    temperature (float): Similarities are divided by it. Cosines lie in [-1, 1]: with 1.0 the loss
        of a perfect pair among 32 is still log(1 + 31 exp(-2)) = 1.65; 0.05 is usual.
    RETURNS (Tensor): Scalar >= 0.
    RAISES (TermlinkError): TL401 if the shapes do not fit.

    | rows | columns | positive | negative |
    |---|---|---|---|
    | mentions | names of their concepts, then hard negatives | (i, i) | all that is not barred |

    Relations: with one positive and one negative a row it is `contrastive` on that row; multiple
    negatives ranking loss, InfoNCE and NT-Xent (with cosines) are other names of it.

    Source: Zero-shot Medical Entity Retrieval without Annotation (seed 001), the mean negative log
    likelihood of section "Optimization" and the softmax after it; there all other columns of the
    batch are negatives.
    """
    check_shapes(rows, columns, positive, negative)
    compare = inner_products if similarity == "inner" else cosines
    scores = compare(rows, columns) / temperature  # (A, C)
    against = log_sum_exp(scores, negative)  # (A,)
    return masked_mean(functional.softplus(against[:, None] - scores), positive)


def make_in_batch_nll(
    similarity: Literal["inner", "cosine"] = "inner", temperature: float = 1.0
) -> Loss:
    """`in_batch_nll` with its settings.

    RAISES (TermlinkError): TL402 for a setting that does not fit.
    """
    known = ("inner", "cosine")
    check_setting(similarity in known, "similarity", similarity, f"one of {', '.join(known)}")
    check_setting(temperature > 0, "temperature", temperature, "a number above 0")
    return partial(in_batch_nll, similarity=similarity, temperature=temperature)
