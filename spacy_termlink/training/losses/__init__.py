"""Losses: each a pure function of embeddings and of masks that say which pairs it may use.

All have one signature, so that any of them serves any task, with gradient caching and with
columns gathered from other processes:

    loss(rows, columns, positive=..., negative=...) -> scalar

| what | shape | meaning |
|---|---|---|
| rows | (A, D) | embeddings of the anchors |
| columns | (C, D) | embeddings of everything an anchor is compared with |
| positive | (A, C) bool | pairs that belong together |
| negative | (A, C) bool | pairs that may be opposed |

A pair that is in neither mask takes no part: an anchor with itself, two names of one concept or of
its equals (`mining.Equivalents.barred_mask`), a concept with a cross-reference. No pair may be in
both. A loss without a usable pair is 0 with a gradient of zeros.

| records | loss |
|---|---|
| pairs | InBatchNLL, Contrastive, PairCrossEntropy |
| pairs with negatives, or negatives of a refresh | all; Triplet with the record's own negative only |
| names with concept labels, several a concept | MultiSimilarity |
"""

from .base import Loss

__all__ = ["Loss"]
