"""Concepts that share rare words with the mention: the keyword search that an encoder has to beat."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Optional

import numpy as np

from ..lexical.bm25 import Bm25Index
from ..lexical.stopwords import content_words
from ..types import Candidate, KnowledgeBase
from .base import checked, make_candidates, unique
from .ranking import Ranked


class Bm25Candidates:
    """BM25 over concepts (protocol `types.CandidateGenerator`): a concept's document is all its
    names, stop words left out on both sides.

    The score is BM25's divided by what the mention's words could reach at most (`Bm25Index.most`):
    the order is the same, and the scores of a short and of a long mention can be compared.

    kb (KnowledgeBase): Its terminology is used; the index is built in memory at first use.
    RAISES (MissingExtraError): TL004 without bm25s.

    Source: the baseline "Elasticsearch BM25" of Ngo et al. 2021 (docs/methods.md).
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    @checked
    def generate(
        self, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """Concepts with the best scores; `matched` is the name that shares the largest part of its
        words with the mention. See `types.CandidateGenerator`."""
        strings, places = unique([" ".join(content_words(mention)) for mention in mentions])
        found = [self._rank(string.split(), k, allowed) for string in strings]
        lists = make_candidates(self.kb.terminology, found, tier="bm25")
        return [list(lists[place]) for place in places]

    @cached_property
    def _index(self) -> Bm25Index:
        terminology = self.kb.terminology
        words = [
            content_words(n, normalized=True) for n in terminology.names["normalized"].to_pylist()
        ]
        rows = map(terminology.name_rows, range(terminology.n_concepts))
        texts = [" ".join(word for row in own for word in words[row]) for own in rows]
        return Bm25Index(texts, normalized=True)

    def _rank(self, words: list[str], k: int, allowed: Optional[np.ndarray]) -> list[Ranked]:
        scores = self._index.scores(words)
        if allowed is not None:
            scores = np.where(allowed, scores, np.float32(0))
        found = np.flatnonzero(scores > 0)
        if len(found) > k:
            # with all that tie with the last one: which of them stay is said by the order below
            border = np.partition(scores[found], len(found) - k)[len(found) - k]
            found = found[scores[found] >= border]
        if not len(found):
            return []
        most = self._index.most(words)
        ranked = [
            (float(scores[concept]) / most, *self._matched(words, concept))
            for concept in found.tolist()
        ]
        return sorted(ranked, key=lambda r: (-r[0], *r[1:]))[:k]

    def _matched(self, words: list[str], concept: int) -> tuple[int, int, int]:
        """Kind of the concept's name that is most like the mention, concept row, name row."""
        terminology, wanted = self.kb.terminology, Counter(words)

        def order(row: int) -> tuple[float, int, int]:
            own = Counter(content_words(terminology.name_normalized(row), normalized=True))
            shared = (own & wanted).total() / max(1, (own | wanted).total())
            return -shared, int(terminology.kinds[row]), row

        _, kind, row = min(map(order, terminology.name_rows(concept)))
        return kind, concept, row


def make_bm25_candidates() -> Callable[[KnowledgeBase], Bm25Candidates]:
    """`spacy-termlink.Bm25Candidates.v1`."""
    return Bm25Candidates
