"""Triplet loss on Euclidean distances."""

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from .base import Loss, check_setting, check_shapes


def triplet(
    rows: Tensor,
    columns: Tensor,
    *,
    positive: Tensor,
    negative: Tensor,
    margin: float = 0.1,
) -> Tensor:
    """Mean hinge max(0, d(a, p) - d(a, n) + margin) over every positive with every negative of its
    anchor.

    rows, columns (Tensor): Embeddings, (A, D) and (C, D), taken as they are.
    positive, negative (Tensor): Masks of pairs, (A, C) bool.
    margin (float): In units of distance. Embeddings of length 1 lie at most 2.0 apart.
    RETURNS (Tensor): Scalar >= 0; exactly 0 when every negative is farther by the margin. The mean
        is over all triplets, those at 0 included.
    RAISES (TermlinkError): TL401 if the shapes do not fit.

    | rows | columns | positive | negative |
    |---|---|---|---|
    | anchors | positives, then negatives of the records | (i, i) | (i, A + i) for the paper's triplets |

    Relations: looks at one negative at a time and stops at the margin; the other losses weigh all
    negatives together and never stop.

    Source: Semantic Search for Large Scale Clinical Ontologies (seed 002), the objective function
    with m = 0.1, after Reimers and Gurevych 2019.
    """
    check_shapes(rows, columns, positive, negative)
    # differences, not squares expanded: those lose small distances, and near 0 is where it matters
    with torch.autocast(rows.device.type, enabled=False):
        distances = torch.cdist(
            rows.float(), columns.float(), compute_mode="donot_use_mm_for_euclid_dist"
        )  # (A, C)
    anchor, column = positive.nonzero(as_tuple=True)  # (P,) each
    hinge = functional.relu(
        distances[anchor, column][:, None] - distances[anchor] + margin
    )  # (P, C)
    used = negative[anchor]  # (P, C)
    return torch.where(used, hinge, 0.0).sum() / used.sum().clamp(min=1)


def make_triplet(margin: float = 0.1) -> Loss:
    """`triplet` with its settings.

    RAISES (TermlinkError): TL402 for a setting that does not fit.
    """
    check_setting(margin >= 0, "margin", margin, "a number, 0 or more")
    return partial(triplet, margin=margin)
