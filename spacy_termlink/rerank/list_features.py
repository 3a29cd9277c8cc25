"""What tells a right candidate from its rivals without reading it: numbers of a list's candidates, in
a fixed order; the cross-encoder adds to their weighted sum."""

from collections.abc import Sequence
from math import log

import numpy as np

from ..text import normalize
from ..types import Candidate, KnowledgeBase
from .features import LOOSE_KINDS, covered_shares

#: Features of a candidate.
LIST = (
    "score",  # the recall stage's
    "rank",  # log of its place there, from 1
    "kind_preferred",
    "kind_loose",  # narrow, broad, related: such names are names of other concepts, too
    "mention_covered",  # share of the mention's words that the matched name has
    "name_covered",  # share of the matched name's words that the mention has
    "preferred_covered",  # the lesser of both, of the preferred name
    "names",  # log of the number of names that the concept has: the ones written about have many
    "some",  # 1: what any candidate has over none
)


def list_features(kb: KnowledgeBase, mention: str, candidates: Sequence[Candidate]) -> np.ndarray:
    """LIST of each candidate, (K, F). The row of NIL, which is not among them, is all zeros.

    kb (KnowledgeBase): Knows the candidates.
    mention (str): As the reranker reads it.
    candidates (Sequence[Candidate]): As the recall stage proposes them, best first.
    """
    normal = [normalize(mention)]
    terminology = kb.terminology
    rows = []
    for place, c in enumerate(candidates):
        n_names = len(terminology.name_rows(terminology.row(c.concept_id)))
        rows.append(
            [
                c.score,
                log(place + 1),
                float(c.kind == "preferred"),
                float(c.kind in LOOSE_KINDS),
                *covered_shares(normal, normalize(c.matched)),
                min(covered_shares(normal, normalize(c.name))),
                log(max(1, n_names)),
                1.0,
            ]
        )
    return np.array(rows, dtype=np.float64).reshape(-1, len(LIST))


def fit_list_weights(
    features: Sequence[np.ndarray],
    right: Sequence[np.ndarray],
    *,
    offsets: Sequence[np.ndarray] = (),
    penalty: float = 1.0,
) -> np.ndarray:
    """Weights of features by conditional logit: -log of the softmax share of the right candidates, of
    NIL where there is none, summed, plus a penalty on the weights of features of unit variance.

    features (Sequence[np.ndarray]): Of each list, (K, F).
    right (Sequence[np.ndarray]): Of each list, (K,) bool.
    offsets (Sequence[np.ndarray]): Added to the sums, (K,); () is none.
    RETURNS (np.ndarray): (F,).
    """
    from scipy.optimize import minimize

    n, most = len(features), max(map(len, features))
    width = features[0].shape[1]
    x = np.zeros((n, most + 1, width))  # the last column is NIL
    mask, gold = np.zeros((n, most + 1), dtype=bool), np.zeros((n, most + 1), dtype=bool)
    base = np.zeros((n, most + 1))
    for i, (rows, flags) in enumerate(zip(features, right, strict=True)):
        x[i, : len(rows)], mask[i, : len(rows)], gold[i, : len(rows)] = rows, True, flags
        if len(offsets):
            base[i, : len(rows)] = offsets[i]
    mask[:, most] = True
    gold[:, most] = ~gold.any(axis=1)
    scale = np.where((deviation := x[mask].std(axis=0)) > 0, deviation, 1.0)
    x /= scale

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        sums = np.where(mask, x @ weights + base, -np.inf)
        shares = np.exp(sums - sums.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        of_gold = np.where(gold, shares, 0.0)
        total = np.maximum(of_gold.sum(axis=1, keepdims=True), 1e-12)
        gradient = np.einsum("nk,nkf->f", shares - of_gold / total, x)
        value = -np.log(total).sum() + penalty * (weights @ weights) / 2
        return float(value), gradient + penalty * weights

    found = minimize(loss, np.zeros(width), jac=True, method="L-BFGS-B")
    return found.x / scale
