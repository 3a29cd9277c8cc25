"""Whether one system is better than another on the same mentions: paired tests."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from scipy import stats

from ..errors import TermlinkError
from .bootstrap import percentile_interval, resampled_means, sum_by_document
from .ranking import METRICS
from .system import SystemResult


def compare_results(first: SystemResult, second: SystemResult) -> dict[str, dict[str, Any]]:
    """Paired difference of two systems on the same mentions, metric by metric.

    RETURNS (dict): Metric -> "difference" (mean of first - second), "ci" (its 95 % bootstrap interval
        over documents; one that leaves out 0 is a difference beyond what the choice of documents
        explains), "p" (`bootstrap_p` of the same resamples), "t_test" over mentions (seed 002) and
        "t_test_documents" over the documents' means (see `paired_t_test`). {} without mentions.
    RAISES (TermlinkError): TL920 if they are results on different mentions.
    """
    sets = first.mention_set, second.mention_set
    if sets[0].mentions != sets[1].mentions:
        raise TermlinkError("TL920", first=first.name, second=second.name)
    return compare_figures(first.figures - second.figures, sets[0].documents)


def compare_figures(values: np.ndarray, documents: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`compare_results` of differences, one row per mention.

    values (np.ndarray): (N, 7), columns as METRICS.
    documents (Sequence[str]): (N,).
    """
    if not len(values):
        return {}
    means = resampled_means(values, documents)
    sums, n = sum_by_document(values, documents)
    by_document = sums / n[:, None]
    return {
        metric: {
            "difference": float(values[:, i].mean()),
            "ci": list(percentile_interval(means[:, i])),
            "p": bootstrap_p(means[:, i]),
            "t_test": paired_t_test(values[:, i]),
            "t_test_documents": paired_t_test(by_document[:, i]),
        }
        for i, metric in enumerate(METRICS)
    }


def bootstrap_p(differences: np.ndarray) -> float:
    """Two-sided p of the paired bootstrap: twice the share of resamples in which the better system is
    not better, the observed one counted in, so that it is never 0 (Davison and Hinkley 1997, 4.4).

    differences (np.ndarray): Mean difference in every resample, (R,).
    RETURNS (float): 2 / (R + 1) to 1.
    """
    # a resample of equal mentions gives 1e-17 where it should give 0
    values = np.where(np.abs(differences) < 1e-12, 0.0, differences)
    fewer = min(int((values <= 0).sum()), int((values >= 0).sum()))
    return min(1.0, 2 * (1 + fewer) / (len(values) + 1))


def paired_t_test(differences: np.ndarray) -> Optional[dict[str, float]]:
    """Two-sided t-test of the mean difference being 0 (Student 1908).

    differences (np.ndarray): One per unit, (n,). Units are taken to be independent.
    RETURNS (Optional[dict[str, float]]): "t", "df" = n - 1 and "p"; None with fewer than two units
        or where all differences are equal and not 0. Where all are 0, t is 0 and p is 1.
    """
    n = len(differences)
    if n < 2:
        return None
    spread = float(differences.std(ddof=1))
    if spread < 1e-12:
        same = abs(float(differences.mean())) < 1e-12
        return {"t": 0.0, "df": n - 1, "p": 1.0} if same else None
    t = float(differences.mean() / (spread / np.sqrt(n)))
    return {"t": t, "df": n - 1, "p": float(2 * stats.t.sf(abs(t), n - 1))}
