"""Figures of one mention: Hits@k, MRR and graded nDCG@k (DESIGN.md, section 7)."""

from collections.abc import Iterable, Sequence

import numpy as np

from .gains import Gains, dcgs

METRICS = ("hits@1", "hits@5", "hits@10", "mrr", "ndcg@1", "ndcg@5", "ndcg@10")
HITS_AT = (1, 5, 10)
NDCG_AT = (1, 5, 10)


def rank_of_first(ids: Sequence[str], gold: Iterable[str]) -> int:
    """Rank (from 1) of the first id that is among the gold ones, 0 where none is."""
    wanted = set(gold)
    return next((rank for rank, i in enumerate(ids, start=1) if i in wanted), 0)


def mention_figures(ids: Sequence[str], gold: Sequence[str], gains: Gains) -> np.ndarray:
    """Every metric of one mention, any of its gold ids being right.

    ids (Sequence[str]): Living ids found, best first.
    gold (Sequence[str]): Living gold ids; with several, any counts, and nDCG is the best over them.
        None at all makes every figure 0.
    gains (Gains): Graded gains.
    RETURNS (np.ndarray): (7,), in the order of METRICS. MRR is 1 / rank of the first right id, 0
        where it is not among the k searched.
    """
    rank = rank_of_first(ids, gold)
    figures = [float(0 < rank <= k) for k in HITS_AT] + [1 / rank if rank else 0.0]
    graded = [_ndcgs(ids, [g], gains) for g in gold]
    return np.array([*figures, *np.max(graded, axis=0, initial=0.0)] if graded else [0.0] * 7)


def mention_figures_all(
    ids: Sequence[str], golds: Sequence[Sequence[str]], gains: Gains
) -> np.ndarray:
    """Every metric of one mention of several gold concepts, all of which have to be found.

    With n gold concepts, Hits@k asks for all among the first max(k, n), MRR is 1 / (rank of the last
    of them - n + 1), so that a perfect list has 1 in both, and a candidate's gain for nDCG is the
    best over the gold concepts. With one concept each is what `mention_figures` says.

    golds (Sequence[Sequence[str]]): Per gold concept the living ids that are right for it. Of several
        the one ranked first stands for the concept, else the first. A concept without any, which
        the terminology does not know, is never found.
    RETURNS (np.ndarray): (7,), in the order of METRICS.
    """
    if len(golds) == 1:
        return mention_figures(ids, golds[0], gains)
    n, last = len(golds), 0
    chosen: list[str] = []
    for gold in golds:
        rank = rank_of_first(ids, gold)
        # past every list: one that is not found keeps all from being found
        last = max(last, rank or len(ids) + max(HITS_AT) + n)
        chosen += [ids[rank - 1]] if rank else gold[:1]
    found = bool(golds) and last <= len(ids)
    figures = [float(found and last <= max(k, n)) for k in HITS_AT]
    figures.append(1 / (last - n + 1) if found else 0.0)
    return np.array([*figures, *_ndcgs(ids, chosen, gains)])


def _ndcgs(ids: Sequence[str], gold: Sequence[str], gains: Gains) -> np.ndarray:
    """nDCG at NDCG_AT, (3,)."""
    if not gold:
        return np.zeros(len(NDCG_AT))
    at, n = np.array(NDCG_AT) - 1, max(NDCG_AT)
    known = gains.of_all(gold)
    found = dcgs([known.get(i, 0) for i in ids[:n]], n)
    return found[at] / gains.ideal(gold, n)[at]
