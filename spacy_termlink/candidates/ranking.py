"""From scored names to ranked concepts (DESIGN.md, section 3), for a whole batch at once."""

from typing import Any, Optional

import numpy as np

from ..terminology.store import Terminology
from .names import UniqueNames

#: (score, kind, concept row, name row)
Ranked = tuple[float, int, int, int]
#: Names of a concept whose scores support it, the best one among them.
SUPPORTING = 3
#: How far below its best name a concept with one name only is taken to be supported.
UNSUPPORTED = 0.1


def rank_concepts(
    terminology: Terminology,
    names: UniqueNames,
    rows: np.ndarray,
    scores: np.ndarray,
    *,
    k: int,
    allowed: Optional[np.ndarray] = None,
    support: float = 0.0,
) -> list[list[Ranked]]:
    """Concepts of scored index rows: the best over a concept's names counts; ties by kind, then by
    concept row, which orders as the id does.

    rows (np.ndarray): (B, M) index rows, -1 where there is none.
    scores (np.ndarray): (B, M) float32.
    k (int): Concepts wanted.
    allowed (Optional[np.ndarray]): Boolean mask over concept rows.
    support (float): Weight of how far the concept's next names fall behind its best one. A single
        name can be close by chance; three that are close are seldom wrong.
    RETURNS (list[list[Ranked]]): For each mention up to k concepts, best first.
    """
    place: Any
    score: Any
    place, column = np.nonzero(rows >= 0)
    row = rows[place, column]
    starts = names.offsets[row]
    lengths = names.offsets[row + 1] - starts
    ends = np.cumsum(lengths)
    at = np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)
    name_rows = names.name_rows[at].astype(np.int64)
    place = np.repeat(place, lengths)
    score = np.repeat(scores[rows >= 0].astype(np.float64), lengths)
    concepts = terminology.concept_rows[name_rows]
    if allowed is not None:
        kept = allowed[concepts]
        name_rows, place, score, concepts = (
            array[kept] for array in (name_rows, place, score, concepts)
        )
    kinds = terminology.kinds[name_rows]
    # groups of (mention, concept), in each the best name first
    order = np.lexsort((name_rows, kinds, -score, concepts, place))
    name_rows, place, score, concepts, kinds = (
        array[order] for array in (name_rows, place, score, concepts, kinds)
    )
    new = np.ones(len(order), dtype=bool)
    new[1:] = (place[1:] != place[:-1]) | (concepts[1:] != concepts[:-1])
    first = np.flatnonzero(new)
    best = score[first]
    if support:
        best = best - support * _shortfall(score, first)
    place, concepts, kinds, name_rows = (a[first] for a in (place, concepts, kinds, name_rows))
    order = np.lexsort((concepts, kinds, -best, place))
    bounds = np.searchsorted(place[order], np.arange(len(rows) + 1))
    return [
        list(
            zip(
                best[chosen].tolist(),
                kinds[chosen].tolist(),
                concepts[chosen].tolist(),
                name_rows[chosen].tolist(),
                strict=True,
            )
        )
        for chosen in (
            order[bounds[i] : min(bounds[i] + k, bounds[i + 1])] for i in range(len(rows))
        )
    ]


def _shortfall(score: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Best score of each group less the mean of its SUPPORTING best; UNSUPPORTED for a single one."""
    sizes = np.diff(np.append(first, len(score)))
    total = score[first].copy()
    for i in range(1, SUPPORTING):
        more = sizes > i
        total[more] += score[first[more] + i]
    mean = total / np.minimum(sizes, SUPPORTING)
    return np.where(sizes == 1, UNSUPPORTED, score[first] - mean)
