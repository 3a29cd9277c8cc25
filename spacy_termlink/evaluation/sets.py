"""Precision, recall and F1 of the sets of concepts that mentions are linked to: several for a mention that
names several (seed 003, section 3.4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..counts import prf
from .bootstrap import f1_interval, sum_by_document
from .system import SystemResult


def set_counts(found: Sequence[str], golds: Sequence[Sequence[str]]) -> tuple[int, int, int]:
    """True positives, false positives and false negatives of one mention.

    found (Sequence[str]): Living ids that it is linked to, each once.
    golds (Sequence[Sequence[str]]): Per gold concept the living ids that are right for it. One id
        answers for one concept only.
    """
    left = list(found)
    tp = 0
    for gold in golds:
        match = next((concept_id for concept_id in left if concept_id in gold), None)
        if match is not None:
            left.remove(match)
            tp += 1
    return tp, len(left), len(golds) - tp


def set_figures(result: SystemResult) -> dict[str, Any]:
    """Micro averages over all mentions, those without a concept included: what is linked there is wrong.

    RETURNS (dict): "precision", "recall", "f1", "tp", "fp", "fn", "ci" and "threshold"; the same without
        the last under "several", of the mentions with several gold concepts alone.
    """
    mention_set = result.mention_set
    golds = [*mention_set.golds, *[() for _ in result.nil_groups]]
    groups = [*result.groups, *result.nil_groups]
    documents = [*mention_set.documents, *mention_set.nil_documents]
    counts = np.array(
        [set_counts(*pair) for pair in zip(groups, golds, strict=True)], dtype=int
    ).reshape(-1, 3)
    several = [i for i, gold in enumerate(golds) if len(gold) > 1]
    return {
        **_figures(counts, documents),
        "threshold": result.threshold,
        "several": _figures(counts[several], [documents[i] for i in several]),
    }


def _figures(counts: np.ndarray, documents: Sequence[str]) -> dict[str, Any]:
    tp, fp, fn = (int(count) for count in counts.sum(axis=0))
    found = prf(tp, fp, fn)
    intervals: dict[str, list[float]] = {}
    if len(counts):
        by_document, _ = sum_by_document(counts, documents)
        intervals = {name: list(ci) for name, ci in f1_interval(by_document).items()}
    return {**found._asdict(), "ci": intervals}
