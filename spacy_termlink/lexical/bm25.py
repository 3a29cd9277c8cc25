"""BM25 over texts: which of them share rare words with a query."""

from collections.abc import Iterable, Sequence
from math import log1p

import numpy as np

from ..errors import MissingExtraError
from ..text import normalize


class Bm25Index:
    """BM25 (Lucene's variant, k1 = 1.5, b = 0.75) over the words of normal forms.

    n_texts (int): Texts in the index.
    """

    def __init__(self, texts: Sequence[str], *, normalized: bool = False) -> None:
        """Build the index in memory.

        texts (Sequence[str]): One document each, (N,).
        normalized (bool): They are in normal form already.
        RAISES (MissingExtraError): TL004 without bm25s.
        """
        try:
            import bm25s
        except ImportError:
            raise MissingExtraError("TL004", library="bm25s", extra="train") from None
        self.n_texts = len(texts)
        self._vocab: dict[str, int] = {}
        ids = [
            [self._vocab.setdefault(word, len(self._vocab)) for word in _words(text, normalized)]
            for text in texts
        ]
        self._bm25 = bm25s.BM25(backend="numpy")
        if self._vocab:
            self._bm25.index((ids, self._vocab), show_progress=False)

    def search(
        self, queries: Sequence[str], *, n: int, normalized: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """The n best texts of each query.

        queries (Sequence[str]): Texts to search with, (B,).
        normalized (bool): They are in normal form already.
        RETURNS (tuple[np.ndarray, np.ndarray]): Rows (B, n), -1 where fewer texts share a word, and
            scores (B, n), 0 there; best first, equal scores by row.
        """
        rows = np.full((len(queries), n), -1, dtype=np.int64)
        scores = np.zeros((len(queries), n), dtype=np.float32)
        for i, query in enumerate(queries):
            found = self.scores(_words(query, normalized))
            best = _top(found, n)
            rows[i, : len(best)], scores[i, : len(best)] = best, found[best]
        return rows, scores

    def scores(self, words: Iterable[str]) -> np.ndarray:
        """Score of every text for the words of a query, each counted once, (N,) float32."""
        ids = {self._vocab[word] for word in words if word in self._vocab}
        if not ids:
            return np.zeros(self.n_texts, dtype=np.float32)
        return self._bm25.get_scores_from_ids(sorted(ids))

    def most(self, words: Iterable[str]) -> float:
        """What no text's score for these words can reach: the sum of their inverse document
        frequencies, log(1 + (N - n + 0.5) / (n + 0.5)) for a word in n of N texts."""
        bounds = self._bm25.scores["indptr"] if self._vocab else np.zeros(1, dtype=np.int64)
        total = 0.0
        for word in sorted(set(words)):
            place = self._vocab.get(word)
            n = 0 if place is None else int(bounds[place + 1] - bounds[place])
            total += log1p((self.n_texts - n + 0.5) / (n + 0.5))
        return total


def _top(scores: np.ndarray, n: int) -> np.ndarray:
    """Rows of the n best scores above zero. Ties at the border go to the smaller row: which ones
    argpartition keeps depends on the processor."""
    rows = np.flatnonzero(scores > 0)
    if n < len(rows):
        border = np.partition(scores[rows], len(rows) - n)[len(rows) - n]
        rows = rows[scores[rows] >= border]
    return rows[np.argsort(-scores[rows], kind="stable")][:n]


def _words(text: str, normalized: bool) -> list[str]:
    return (text if normalized else normalize(text)).split()
