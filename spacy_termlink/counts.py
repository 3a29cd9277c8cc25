"""Precision, recall and F1 from counts, the one place where the empty cases are defined."""

from typing import NamedTuple


class PRF(NamedTuple):
    """Precision, recall, F1 with the counts they come from.

    The empty cases: with nothing predicted, precision is 0 unless there was nothing to find either;
    with nothing to find and nothing predicted all three are 1.0; otherwise an undefined ratio is 0.
    """

    precision: float
    recall: float
    f1: float
    tp: int
    fp: int
    fn: int


def prf(tp: int, fp: int, fn: int) -> PRF:
    """P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn).

    tp, fp, fn (int): Counts >= 0.
    RETURNS (PRF): See there for the empty cases.
    """
    if tp + fp + fn == 0:
        return PRF(1.0, 1.0, 1.0, 0, 0, 0)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    return PRF(precision, recall, 2 * tp / (2 * tp + fp + fn), tp, fp, fn)
