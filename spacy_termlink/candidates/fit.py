"""Fits the weight of the hybrid and the default threshold on the terminology's own synonyms.

A synonym is looked for with its own row left out. Once its concept is still there under other names
and should come first; once the concept is gone too, and nothing should be linked. No evaluation set
is touched.
"""

from typing import NamedTuple, Union

import numpy as np

from ..lexical.ngram import NgramIndex
from ..terminology.store import Terminology
from .faiss_index import DenseIndex
from .hybrid import N_NAMES, SUPPORT, combine, merge_rows
from .names import UniqueNames
from .ranking import Ranked, rank_concepts
from .shards import VectorShards

#: Synonyms looked for.
N_SYNONYMS = 1500
#: Weights of the dense score that are tried. The names that a terminology lists are more alike than
#: what people write, so the n-grams look better on them than they are: none below 0.7 is tried.
WEIGHTS = (0.7, 0.75, 0.8)
#: Where there are fewer synonyms than this, nothing can be fitted and the defaults stay.
LEAST_SYNONYMS = 50
#: Mentions without a concept, for each one with: about what annotated corpora hold.
ABSENT_PER_PRESENT = 1 / 3
DEFAULT_WEIGHT, DEFAULT_THRESHOLD = 0.75, 0.5


class Fitted(NamedTuple):
    """What is written to the KB's meta.json.

    dense_weight (float): Share of the dense score in the hybrid's.
    threshold (float): Score under which a mention is NIL.
    n_synonyms (int): How many synonyms it was fitted on; 0 for the defaults.
    hits (float): Share of them whose concept came first.
    """

    dense_weight: float
    threshold: float
    n_synonyms: int
    hits: float


def fit_hybrid(
    terminology: Terminology,
    names: UniqueNames,
    texts: list[str],
    vectors: Union[np.ndarray, VectorShards],
    index: DenseIndex,
    ngram: NgramIndex,
) -> Fitted:
    """Weight and threshold of the hybrid.

    texts (list[str]): Normal form of each index row.
    vectors (np.ndarray, VectorShards): (N, D), of the same.
    """
    sample = _sample(terminology, names)
    if len(sample) < LEAST_SYNONYMS:
        return Fitted(DEFAULT_WEIGHT, DEFAULT_THRESHOLD, 0, 0.0)
    picked = [texts[row] for row in sample]
    dense, _ = index.search(vectors[sample], n=N_NAMES)
    queries = ngram.vectors(picked)
    lexical, _ = ngram.search(queries, n=N_NAMES)
    rows = merge_rows(dense, lexical)
    rows[rows == sample[:, None]] = -1
    cosine = np.einsum("bd,bmd->bm", vectors[sample], vectors[np.maximum(rows, 0)])
    shared = ngram.scores_of(queries, rows)
    gold = [_concepts(terminology, names, row) for row in sample]

    def search(weight: float, kept: np.ndarray) -> list[list[Ranked]]:
        scores = combine(cosine, shared, np.float32(weight))
        return rank_concepts(terminology, names, kept, scores, k=10, support=SUPPORT)

    found = {weight: search(weight, rows) for weight in WEIGHTS}
    weight = max(WEIGHTS, key=lambda w: (_mrr(found[w], gold), -w))
    absent = rows.copy()
    for i, concepts in enumerate(gold):
        own = [_concepts(terminology, names, row) & concepts for row in rows[i]]
        absent[i, [bool(both) for both in own]] = -1
    right = np.array([bool(r) and r[0][2] in g for r, g in zip(found[weight], gold, strict=True)])
    present_scores = np.array([r[0][0] if r else 0.0 for r in found[weight]])
    absent_scores = np.array([r[0][0] if r else 0.0 for r in search(weight, absent)])
    threshold = fit_threshold(present_scores, right, absent_scores, ABSENT_PER_PRESENT)
    return Fitted(weight, threshold, len(sample), round(float(right.mean()), 4))


def _sample(terminology: Terminology, names: UniqueNames) -> np.ndarray:
    """Rows of synonyms whose concept has another row, evenly spread."""
    first = names.name_rows[names.offsets[:-1]]
    concepts = terminology.concept_rows[first]
    single = np.diff(names.offsets) == 1
    n_rows = np.bincount(concepts, minlength=terminology.n_concepts)
    fit = np.flatnonzero(single & (terminology.kinds[first] > 0) & (n_rows[concepts] > 1))
    if len(fit) <= N_SYNONYMS:
        return fit
    return fit[np.linspace(0, len(fit) - 1, N_SYNONYMS).astype(np.int64)]


def _concepts(terminology: Terminology, names: UniqueNames, row: int) -> set[int]:
    return set() if row < 0 else set(terminology.concept_rows[names.rows(row)].tolist())


def _mrr(found: list[list[Ranked]], gold: list[set[int]]) -> float:
    ranks = (
        next((1 / rank for rank, r in enumerate(ranked, 1) if r[2] in concepts), 0.0)
        for ranked, concepts in zip(found, gold, strict=True)
    )
    return sum(ranks) / len(gold)


def fit_threshold(
    present: np.ndarray, right: np.ndarray, absent: np.ndarray, weight: float = 1.0
) -> float:
    """Score at which F1 of the links is best; a link of a mention without a concept is wrong.

    present (np.ndarray): Best scores of mentions that have a concept, (N,).
    right (np.ndarray): Whether the candidate with it is that concept, (N,) bool.
    absent (np.ndarray): Best scores of mentions that have none, (M,).
    weight (float): Of each of these.
    """
    best, chosen = -1.0, DEFAULT_THRESHOLD
    for threshold in np.arange(0.3, 0.96, 0.01).round(2):
        tp = int((right & (present >= threshold)).sum())
        linked = (present >= threshold).sum() + weight * (absent >= threshold).sum()
        f1 = 2 * tp / (linked + len(present))
        if f1 > best:
            best, chosen = f1, float(threshold)
    return chosen
