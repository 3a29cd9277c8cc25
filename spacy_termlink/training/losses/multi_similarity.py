"""Multi-similarity loss with its miner."""

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from .base import Loss, check_setting, check_shapes, cosines, log_sum_exp


def multi_similarity(
    rows: Tensor,
    columns: Tensor,
    *,
    positive: Tensor,
    negative: Tensor,
    alpha: float = 2.0,
    beta: float = 50.0,
    base: float = 0.5,
    margin: float = 0.1,
) -> Tensor:
    """Mean over the anchors of
    1/alpha log(1 + sum over P of exp(-alpha (s - base)))
    + 1/beta log(1 + sum over N of exp(beta (s - base))),
    with cosines s and the pairs P and N that the miner keeps.

    rows, columns (Tensor): Embeddings, (A, D) and (C, D).
    positive, negative (Tensor): Masks of pairs, (A, C) bool, before mining.
    alpha, beta (float): Weights of positive and negative pairs.
    base (float): Similarity around which pairs are weighed.
    margin (float): The miner keeps a negative that is nearer than the farthest positive less the
        margin, and a positive that is farther than the nearest negative plus the margin.
    RETURNS (Tensor): Scalar >= 0; an anchor without a kept pair counts with 0.
    RAISES (TermlinkError): TL401 if the shapes do not fit.

    | rows | columns | positive | negative |
    |---|---|---|---|
    | names | the same names, and those of a refresh | same concept, itself excluded | another concept, not barred |

    Relations: uses several positives of an anchor at once, which `in_batch_nll` and `triplet` take
    one by one. An anchor without any negative has no hard positive either and adds nothing.

    Source: Wang et al. 2019, Multi-Similarity Loss with General Pair Weighting, equations 11 and 12
    (miner) and 15; CODER++ (seed 000) uses it with the settings of CODER.
    """
    check_shapes(rows, columns, positive, negative)
    scores = cosines(rows, columns)  # (A, C)
    positive, negative = mine_pairs(scores, positive, negative, margin=margin)
    pull = functional.softplus(log_sum_exp(-alpha * (scores - base), positive)) / alpha  # (A,)
    push = functional.softplus(log_sum_exp(beta * (scores - base), negative)) / beta  # (A,)
    return (pull + push).mean()


def mine_pairs(
    scores: Tensor, positive: Tensor, negative: Tensor, *, margin: float
) -> tuple[Tensor, Tensor]:
    """The pairs that still teach something: masks of hard positives and hard negatives.

    scores (Tensor): Similarities, (A, C).
    positive, negative (Tensor): Masks of pairs, (A, C) bool.
    margin (float): See `multi_similarity`.
    """
    with torch.no_grad():
        infinity = torch.inf
        farthest = torch.where(positive, scores, infinity).amin(dim=1, keepdim=True)  # (A, 1)
        nearest = torch.where(negative, scores, -infinity).amax(dim=1, keepdim=True)  # (A, 1)
        # an anchor with pairs of one sort only compares with infinity: all of its pairs go
        hard_positive = positive & (scores - margin < nearest)
        hard_negative = negative & (scores + margin > farthest)
        return hard_positive, hard_negative


def make_multi_similarity(
    alpha: float = 2.0, beta: float = 50.0, base: float = 0.5, margin: float = 0.1
) -> Loss:
    """`multi_similarity` with its settings.

    RAISES (TermlinkError): TL402 for a setting that does not fit.
    """
    for field, value in (("alpha", alpha), ("beta", beta)):
        check_setting(value > 0, field, value, "a number above 0")
    check_setting(margin >= 0, "margin", margin, "a number, 0 or more")
    return partial(multi_similarity, alpha=alpha, beta=beta, base=base, margin=margin)
