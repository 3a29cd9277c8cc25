"""Averages of a system's figures: over all mentions, by group, with intervals over documents."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..counts import prf
from .bootstrap import f1_interval, mean_intervals, sum_by_document
from .mistakes import count_mistakes, describe_mentions
from .overlap import BANDS, NO_BAND, bands
from .pairs import spearman, spearman_interval
from .ranking import METRICS
from .reliability import outcomes_of, reliability_figures
from .sets import set_figures
from .system import SystemResult

#: Group of mentions that the file gives no split or label.
NOT_GIVEN = "not given"
#: What mentions are grouped by, each a `by_` field of the summary.
GROUPINGS = ("split", "label", "cardinality", "overlap")


def summarize(result: SystemResult, *, rows: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Every figure of one system on one set; docs/evaluation.md defines them.

    rows (Sequence[dict]): What `describe_mentions` gave, where it is there already.
    RETURNS (dict): METRICS (None where no mention has gold concepts), "ci" (metric -> 95 % interval),
        "n" and "n_documents" of the mentions with gold concepts, "mentions_per_second",
        "n_reranked" (None without a reranker), "n_unknown_gold" (mentions counted as misses because the terminology knows no gold id) and
        "unknown_gold" (those ids), "nil", "calibration" (None where the threshold applies to the
        score), "all", "several", "sets", "spearman", "by_split", "by_label", "by_cardinality", "by_overlap"
        and "errors".
    """
    mention_set = result.mention_set
    searched = len(mention_set.mentions) + len(mention_set.nil_mentions)
    return {
        **mean_figures(result.figures, mention_set.documents),
        "mentions_per_second": searched / result.seconds if result.seconds else None,
        "n_reranked": result.n_reranked,
        "n_unknown_gold": sum(not any(golds) for golds in mention_set.golds),
        "unknown_gold": mention_set.unknown,
        "nil": nil_figures(result),
        "calibration": (
            reliability_figures(outcomes_of(result)) if result.applies_to == "probability" else None
        ),
        "all": mean_figures(result.figures_all, mention_set.documents),
        "several": several_figures(result),
        "sets": set_figures(result),
        "spearman": spearman_figures(result),
        **{f"by_{name}": group_figures(result, groups_of(result, name)) for name in GROUPINGS},
        "errors": count_mistakes(list(rows) or describe_mentions(result)),
    }


def mean_figures(figures: np.ndarray, documents: Sequence[str]) -> dict[str, Any]:
    """Means over mentions with their intervals.

    figures (np.ndarray): (N, 7), columns as METRICS.
    documents (Sequence[str]): (N,).
    RETURNS (dict): METRICS, "n", "ci", "n_documents". Without mentions every metric is None and "ci"
        is empty.
    """
    n = len(figures)
    means: dict[str, Any] = dict.fromkeys(METRICS)
    intervals: dict[str, list[float]] = {}
    if n:
        means = dict(zip(METRICS, figures.mean(axis=0).tolist(), strict=True))
        bounds = mean_intervals(figures, documents)
        intervals = dict(zip(METRICS, map(list, bounds), strict=True))
    return {**means, "n": n, "ci": intervals, "n_documents": len(set(documents))}


def groups_of(result: SystemResult, name: str) -> dict[str, list[int]]:
    """Mentions by group, the groups in the order to show them in.

    name (str): One of GROUPINGS.
    RETURNS (dict[str, list[int]]): Group -> indexes of its mentions; bands as BANDS, then NO_BAND,
        other groups sorted, then NOT_GIVEN. Groups without mentions are left out.
    """
    mention_set = result.mention_set
    values = (
        bands(mention_set.overlap)
        if name == "overlap"
        else [getattr(mention, name) or NOT_GIVEN for mention in mention_set.mentions]
    )
    order = [*BANDS, NO_BAND] if name == "overlap" else sorted(set(values) - {NOT_GIVEN})
    places: dict[str, list[int]] = {group: [] for group in (*order, NOT_GIVEN)}
    for i, value in enumerate(values):
        places[value].append(i)
    return {group: held for group, held in places.items() if held}


def group_figures(result: SystemResult, groups: dict[str, list[int]]) -> dict[str, dict[str, Any]]:
    """`mean_figures` of each group."""
    documents = result.mention_set.documents
    return {
        group: mean_figures(result.figures[places], [documents[i] for i in places])
        for group, places in groups.items()
    }


def several_figures(result: SystemResult) -> dict[str, Any]:
    """Mentions of several gold concepts alone.

    RETURNS (dict): "n", "any" (one of the concepts is enough) and "all" (see `mention_figures_all`),
        both `mean_figures`.
    """
    mention_set = result.mention_set
    places = [i for i, golds in enumerate(mention_set.golds) if len(golds) > 1]
    documents = [mention_set.documents[i] for i in places]
    return {
        "n": len(places),
        "any": mean_figures(result.figures[places], documents),
        "all": mean_figures(result.figures_all[places], documents),
    }


def nil_figures(result: SystemResult) -> dict[str, Any]:
    """How well the threshold tells mentions that have no concept.

    A mention is predicted NIL where nothing is found or the first candidate is under the KB's
    threshold, by its probability or its score.
    Mentions with gold concepts are the negatives, also where the terminology does not know them.

    RETURNS (dict): "n" NIL mentions, "accuracy" (share of them predicted NIL), "threshold", "applies_to"
        (what it is one of), "n_refused" (mentions with gold concepts predicted NIL), and "precision", "recall", "f1", "tp", "fp", "fn"
        with "ci". The three and the accuracy are None where the set has no NIL mention.
    """
    mention_set, n = result.mention_set, len(result.nil_top_scores)
    is_nil = np.r_[np.ones(n), np.zeros(len(result.top_scores))]
    scores = np.r_[result.nil_top_scores, result.top_scores]
    said_nil = scores < result.threshold
    counts = np.stack([is_nil * said_nil, (1 - is_nil) * said_nil, is_nil * ~said_nil], axis=1)
    tp, fp, fn = (int(count) for count in counts.sum(axis=0))
    figures: dict[str, Any] = dict.fromkeys(("precision", "recall", "f1"))
    intervals: dict[str, list[float]] = {}
    if n:
        found = prf(tp, fp, fn)
        figures = {"precision": found.precision, "recall": found.recall, "f1": found.f1}
        documents = [*mention_set.nil_documents, *mention_set.documents]
        by_document, _ = sum_by_document(counts, documents)
        intervals = {name: list(ci) for name, ci in f1_interval(by_document).items()}
    return {
        "n": n,
        "accuracy": tp / n if n else None,
        "threshold": result.threshold,
        "applies_to": result.applies_to,
        "n_refused": fp,
        **figures,
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "ci": intervals,
    }


def spearman_figures(result: SystemResult) -> dict[str, Any]:
    """Rank correlation of label and score over positive and negative pairs.

    RETURNS (dict): "rho" (None without pairs of both kinds), "ci", "n_positive", "n_negative".
    """
    pairs = result.pairs
    interval = spearman_interval(pairs, result.mention_set.documents)
    return {
        "rho": spearman(pairs),
        "ci": None if interval is None else list(interval),
        "n_positive": int(pairs.labels.sum()),
        "n_negative": int((1 - pairs.labels).sum()),
    }
