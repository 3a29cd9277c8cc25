"""Overlap degree: how many words of a mention the names of its gold concept hold (seed 002)."""

from collections.abc import Sequence, Set

import numpy as np

from ..lexical.stopwords import STOP_WORDS
from ..lexical.words import find_words
from ..terminology import Terminology

#: Bands of the degree, the lower bound left out: no shared word has a band of its own.
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
BANDS = ("0", *(f"({low:g}, {high:g}]" for low, high in zip(EDGES[:-1], EDGES[1:], strict=True)))
#: Band of a mention without a degree: no word in it, or a gold concept the terminology has not.
NO_BAND = "none"


def tokens(text: str) -> frozenset[str]:
    """Distinct words of a text in normal form, without stop words and signs; a Chinese or Japanese
    character is a word. Where nothing else is left, stop words stay: "WAS" is a syndrome."""
    words = frozenset(f for f in find_words(text).forms if any(char.isalnum() for char in f))
    return words - STOP_WORDS or words


def overlap_degrees(
    terminology: Terminology,
    queries: Sequence[Sequence[str]],
    golds: Sequence[Sequence[str]],
    *,
    without: Set[str] = frozenset(),
) -> np.ndarray:
    """Degree of every mention: |tokens of query and of any name| / |tokens of query| (seed 002;
    DESIGN.md, section 7), over all names of the gold concept.

    queries (Sequence[Sequence[str]]): (N,) lists: what each mention is searched by.
    golds (Sequence[Sequence[str]]): (N,) lists of living gold ids.
    without (Set[str]): Normal forms of names that do not count, since they are not searched.
    RETURNS (np.ndarray): (N,): the highest over a mention's queries and its gold concepts; NaN
        where there is no gold concept, or no query has a token.
    """
    held: dict[str, frozenset[str]] = {}
    for gold_id in {i for gold in golds for i in gold}:
        rows = [
            row
            for row in terminology.name_rows(terminology.row(gold_id))
            if not without or terminology.name_normalized(row) not in without
        ]
        held[gold_id] = frozenset().union(*(tokens(terminology.name_text(r)) for r in rows))
    degrees = np.full(len(golds), np.nan)
    for i, (forms, gold) in enumerate(zip(queries, golds, strict=True)):
        wanted = [found for found in map(tokens, forms) if found]
        values = [len(w & held[g]) / len(w) for w in wanted for g in gold]
        if values:
            degrees[i] = max(values)
    return degrees


def bands(degrees: np.ndarray) -> list[str]:
    """Band of each degree: one of BANDS, or NO_BAND for NaN.

    degrees (np.ndarray): (N,).
    """
    # a share such as 3/5 is the float nearest to it, as the edge is: no tolerance needed
    places = np.searchsorted(EDGES, degrees, side="left")
    return [
        NO_BAND if missing else BANDS[place]
        for place, missing in zip(places.tolist(), np.isnan(degrees).tolist(), strict=True)
    ]
