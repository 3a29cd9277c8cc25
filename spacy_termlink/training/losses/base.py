"""What the losses share: checks, similarities, sums over a mask that stay finite."""

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from ...errors import TermlinkError

#: Stands for minus infinity in a sum of exponentials. The true one has no gradient: exp(-inf + inf)
#: is not a number, and a row without a negative would poison the batch.
NOTHING = -1e30
#: Shortest embedding that is divided by its length as it is.
SHORTEST = 1e-8


class Loss(Protocol):
    """A loss with its settings, as a registered function returns it."""

    def __call__(
        self, rows: Tensor, columns: Tensor, *, positive: Tensor, negative: Tensor
    ) -> Tensor:
        """Scalar >= 0, smaller where positives are nearer than negatives.

        rows, columns (Tensor): Embeddings, (A, D) and (C, D), of any float type.
        positive, negative (Tensor): Masks of pairs, (A, C) bool.
        RAISES (TermlinkError): TL401 if the shapes do not fit.
        """


def check_shapes(rows: Tensor, columns: Tensor, positive: Tensor, negative: Tensor) -> None:
    """Refuse inputs that would broadcast to something else than meant.

    RAISES (TermlinkError): TL401, with what is wrong.
    """
    if rows.dim() != 2 or not rows.shape[0]:
        raise TermlinkError("TL401", what="rows", found=tuple(rows.shape), expected="(A, D)")
    width = rows.shape[1]
    if columns.dim() != 2 or columns.shape[1] != width or not columns.shape[0]:
        expected = f"(C, {width})"
        raise TermlinkError("TL401", what="columns", found=tuple(columns.shape), expected=expected)
    expected = f"({rows.shape[0]}, {columns.shape[0]}) bool"
    for what, mask in (("positive", positive), ("negative", negative)):
        if mask.shape != (rows.shape[0], columns.shape[0]) or mask.dtype != torch.bool:
            found = f"{tuple(mask.shape)} {str(mask.dtype).removeprefix('torch.')}"
            raise TermlinkError("TL401", what=what, found=found, expected=expected)


def check_setting(good: bool, field: str, value: object, expected: str) -> None:
    """Refuse a setting of a loss.

    RAISES (TermlinkError): TL402.
    """
    if not good:
        raise TermlinkError("TL402", field=field, value=value, expected=expected)


def inner_products(rows: Tensor, columns: Tensor) -> Tensor:
    """Inner products (A, C) in float32, under autocast too: an exponential with beta = 50 of a
    bfloat16 similarity is off by a tenth."""
    with torch.autocast(rows.device.type, enabled=False):
        return rows.float() @ columns.float().T


def cosines(rows: Tensor, columns: Tensor) -> Tensor:
    """Cosine similarities (A, C) in float32."""
    return inner_products(_unit(rows), _unit(columns))


def log_sum_exp(values: Tensor, mask: Tensor) -> Tensor:
    """log of the sum of exp(values) over the mask, along the last axis; NOTHING over none."""
    return torch.where(mask, values, NOTHING).logsumexp(dim=-1)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the mask; 0 over none, without waiting for a GPU to say so."""
    return torch.where(mask, values, 0.0).sum() / mask.sum().clamp(min=1)


def _unit(embeddings: Tensor) -> Tensor:
    return functional.normalize(embeddings.float(), dim=-1, eps=SHORTEST)
