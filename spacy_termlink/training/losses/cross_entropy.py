"""Cross-entropy on pairs, the baseline of seed 003."""

from functools import partial

from torch import Tensor
from torch.nn import functional

from .base import Loss, check_setting, check_shapes, cosines, masked_mean


def pair_cross_entropy(
    rows: Tensor,
    columns: Tensor,
    *,
    positive: Tensor,
    negative: Tensor,
    base: float = 0.5,
    temperature: float = 1 / 20,
) -> Tensor:
    """Binary cross-entropy of each pair by itself: a pair is alike with probability
    sigmoid((cos - base) / temperature).

    rows, columns (Tensor): Embeddings, (A, D) and (C, D).
    positive, negative (Tensor): Masks of pairs, (A, C) bool: labels 1 and 0.
    base (float): Cosine at which a pair is as likely alike as not.
    temperature (float): Divides the difference from it.
    RETURNS (Tensor): Half the mean over the positive pairs and half the mean over the negative ones,
        >= 0: what repeating the positives to balance gives (seed 003, section 3.1). A half without
        pairs is 0.
    RAISES (TermlinkError): TL401 if the shapes do not fit.

    | rows | columns | positive | negative |
    |---|---|---|---|
    | mentions | standard names, then negatives of the records | label 1 | label 0 |

    Relations: judges the value of each cosine; `contrastive` only their order. The paper does not
    print its cross-entropy; a classifier on top of the two embeddings would have weights of its
    own, which are no part of an encoder.

    Source: the loss that table 9 of seed 003 compares equation 5 with.
    """
    check_shapes(rows, columns, positive, negative)
    logits = (cosines(rows, columns) - base) / temperature  # (A, C)
    alike = masked_mean(functional.softplus(-logits), positive)
    different = masked_mean(functional.softplus(logits), negative)
    return (alike + different) / 2


def make_pair_cross_entropy(base: float = 0.5, temperature: float = 1 / 20) -> Loss:
    """`pair_cross_entropy` with its settings.

    RAISES (TermlinkError): TL402 for a setting that does not fit.
    """
    check_setting(temperature > 0, "temperature", temperature, "a number above 0")
    check_setting(-1 < base < 1, "base", base, "a cosine between -1 and 1")
    return partial(pair_cross_entropy, base=base, temperature=temperature)
