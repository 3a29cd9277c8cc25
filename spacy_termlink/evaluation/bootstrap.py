"""Bootstrap intervals over documents: mentions of one document are not independent."""

from collections.abc import Iterator, Sequence

import numpy as np

N_RESAMPLES = 1000
LEVEL = 0.95
SEED = 0
#: Resamples weighed at once: bounds the (resamples, documents) matrix for large sets.
BLOCK = 64

Interval = tuple[float, float]


def resample_weights(
    n_documents: int, *, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> Iterator[np.ndarray]:
    """Draws of documents with replacement, as counts, a block of draws at a time.

    n_documents (int): Documents of the set, G.
    n_resamples (int): Draws, R.
    seed (int): Equal seeds give equal draws, so that two systems are compared on the same ones.
    YIELDS (np.ndarray): (up to BLOCK, G) counts; each row sums to G.
    """
    rng = np.random.default_rng(seed)
    shares = np.full(n_documents, 1.0 / n_documents)
    for first in range(0, n_resamples, BLOCK):
        yield rng.multinomial(n_documents, shares, size=min(BLOCK, n_resamples - first))


def percentile_interval(values: np.ndarray, *, level: float = LEVEL) -> Interval:
    """Middle `level` of the resampled figures (percentile method).

    values (np.ndarray): One figure per resample, (R,); undefined ones (NaN) are left out.
    RETURNS (Interval): Lower and upper end.
    """
    tail = 100 * (1 - level) / 2
    low, high = np.nanpercentile(values, [tail, 100 - tail])
    return float(low), float(high)


def sum_by_document(values: np.ndarray, documents: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Sums and numbers of mentions per document.

    values (np.ndarray): A figure per mention and metric, (B, M).
    documents (Sequence[str]): Document of each mention, (B,).
    RETURNS (tuple[np.ndarray, np.ndarray]): Sums (G, M) and numbers (G,), documents in sorted order.
    """
    _, groups = np.unique(np.asarray(documents, dtype=object).astype(str), return_inverse=True)
    n = np.bincount(groups)
    sums = np.zeros((len(n), values.shape[1]))
    np.add.at(sums, groups, values)
    return sums, n


def mean_intervals(
    values: np.ndarray, documents: Sequence[str], *, n_resamples: int = N_RESAMPLES
) -> list[Interval]:
    """Interval of each metric's mean over mentions, documents resampled.

    values (np.ndarray): (B, M), B >= 1. The difference of two systems' values, mention by mention,
        gives the interval of the paired difference.
    documents (Sequence[str]): Document of each mention, (B,). With one document only every resample
        is the same and the interval has no width: it says nothing then.
    RETURNS (list[Interval]): M intervals.
    """
    return [
        percentile_interval(column)
        for column in resampled_means(values, documents, n_resamples=n_resamples).T
    ]


def resampled_means(
    values: np.ndarray, documents: Sequence[str], *, n_resamples: int = N_RESAMPLES
) -> np.ndarray:
    """Mean over mentions of each metric in every resample of the documents.

    values (np.ndarray), documents (Sequence[str]): As for `mean_intervals`.
    RETURNS (np.ndarray): (R, M).
    """
    sums, n = sum_by_document(values, documents)
    return np.concatenate(
        [
            (weights @ sums) / (weights @ n)[:, None]
            for weights in resample_weights(len(n), n_resamples=n_resamples)
        ]
    )


def f1_interval(counts: np.ndarray, *, n_resamples: int = N_RESAMPLES) -> dict[str, Interval]:
    """Intervals of precision, recall and F1, documents resampled.

    counts (np.ndarray): True positives, false positives, false negatives per document, (G, 3).
    RETURNS (dict[str, Interval]): "precision", "recall", "f1".
    """
    totals = np.concatenate(
        [w @ counts for w in resample_weights(len(counts), n_resamples=n_resamples)]
    ).astype(float)
    tp, fp, fn = totals.T
    with np.errstate(invalid="ignore"):
        figures = {
            "precision": tp / (tp + fp),
            "recall": tp / (tp + fn),
            "f1": 2 * tp / (2 * tp + fp + fn),
        }
    # a resample in which a ratio is undefined counts as `counts.prf` defines it
    nothing = (tp + fp + fn) == 0
    return {
        name: percentile_interval(np.where(np.isnan(values), np.where(nothing, 1.0, 0.0), values))
        for name, values in figures.items()
    }
