"""Exact names first, then misspelled ones, then embeddings and n-grams together."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Optional, Union

import numpy as np

from ..lexical.capitals import is_abbreviation, is_said
from ..lexical.guard import judge
from ..text import normalize, variants
from ..types import Candidate, CandidateGenerator, KnowledgeBase
from .answers import KeptAnswers
from .base import checked, make_candidates, search_concepts, unique
from .exact import exact_concepts
from .ranking import Ranked
from .spelled import doubtful_score, is_lookalike, misspelled_share, spelled_concepts

#: Weight of a concept's next names (`ranking.rank_concepts`).
SUPPORT = 0.2
#: Names that each side proposes, at least: with few of them the support, and with it the score,
#: would depend on k.
N_NAMES = 48
#: Scores of the exact tier lie above.
MOST = 0.97
#: Weight of the dense score for a mention of misspelled words only, which n-grams find better.
MISSPELLED_WEIGHT = 0.2
#: Concepts ranked at least: one whose name says the opposite goes behind others.
LEAST_CONCEPTS = 8
#: Answers kept in memory, 15 MB with ten candidates each.
KEPT_ANSWERS = 4096


class HybridCandidates:
    """Exact, dense and n-gram candidates in one list (protocol `types.CandidateGenerator`).

    kb (KnowledgeBase): Its meta.json holds the weight of the dense score.
    exact (bool): Look for an exact name first.
    complete (bool): Give k candidates where an exact name names a single concept, too. Else that concept
        is the whole answer, and nothing is searched for it: the first candidate is the same.
    """

    def __init__(self, kb: KnowledgeBase, *, exact: bool = True, complete: bool = True) -> None:
        self.kb = kb
        self.exact = exact
        self.complete = complete
        self.answers = KeptAnswers(KEPT_ANSWERS)

    @checked
    def generate(
        self, mentions: Sequence[str], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """See `types.CandidateGenerator`. Only an exact hit has a score above MOST. A mention that
        names several concepts: first the one that annotators meant by it most often, where the KB
        has annotated mentions, then those of the best kind of name, among them the one with the
        most names, which is the one that most is written about. Names
        found by correcting the spelling (tier "spelling") come first too, and nothing has a better
        score than they. Answers are kept (KEPT_ANSWERS): the same question costs nothing again."""
        strings, places = unique(mentions)
        mask = None if allowed is None else _digest(allowed)
        keys = [(string, k, mask) for string in strings]
        lists = self.answers.get(keys)
        new = [i for i, answer in enumerate(lists) if answer is None]
        made = self._generate([strings[i] for i in new], k, allowed)
        self.answers.put([keys[i] for i in new], made)
        for i, answer in zip(new, made, strict=True):
            lists[i] = answer
        return [list(lists[place] or ()) for place in places]

    def _generate(
        self, strings: list[str], k: int, allowed: Optional[np.ndarray]
    ) -> list[list[Candidate]]:
        normal = [normalize(string) for string in strings]
        hits = [
            self._named(string, text, allowed) for string, text in zip(strings, normal, strict=True)
        ]
        asked = [i for i, named in enumerate(hits) if self.complete or not _is_decided(named)]
        found = self._others([normal[i] for i in asked], [hits[i] for i in asked], k, allowed)
        similar: list[list[Ranked]] = [[] for _ in strings]
        for i, ranked in zip(asked, found, strict=True):
            similar[i] = self._other_capitals_last(strings[i], normal[i], ranked)
        return self._join(hits, similar, k)

    def _others(
        self, normal: list[str], hits: list[list[Ranked]], k: int, allowed: Optional[np.ndarray]
    ) -> list[list[Ranked]]:
        """What is similar to each mention, doubtful names behind and under the threshold."""
        # what is a name under another form is searched by that form: no misspelling and no odd
        # word order reaches the encoder, and its vector is in the index
        texts = [
            self.kb.terminology.name_normalized(found[0][3]) if found else text
            for found, text in zip(hits, normal, strict=True)
        ]
        searched, text_places = unique(texts)
        similar = self._similar(searched, max(k, LEAST_CONCEPTS), allowed)
        doubted = [
            self._guarded(text, ranked) for text, ranked in zip(searched, similar, strict=True)
        ]
        return [doubted[place] for place in text_places]

    def _named(self, mention: str, text: str, allowed: Optional[np.ndarray]) -> list[Ranked]:
        if not self.exact:
            return []
        return exact_concepts(self.kb, mention, text, allowed) or spelled_concepts(
            self.kb, text, allowed
        )

    def _guarded(self, text: str, ranked: list[Ranked]) -> list[Ranked]:
        """A name that says the opposite ("low TSH", "high TSH") is put under the threshold, and behind
        the names that do not. Where the first that is left is no sure answer, or a lookalike, all
        scores are put under it."""
        doubtful = doubtful_score(self.kb)
        name_of = self.kb.terminology.name_normalized
        names = [name_of(found[3]) for found in ranked if found[0] > doubtful]
        if not names:
            return ranked
        wrong, unsure = judge(text, names)
        if any(wrong):
            ranked = _put_under(doubtful, ranked, wrong + [False] * (len(ranked) - len(wrong)))
        first = ranked[0]
        if first[0] <= doubtful:
            return ranked
        if not (unsure or is_lookalike(self.kb, text, name_of(first[3]))):
            return ranked
        share = doubtful / first[0]
        return [(share * score, kind, concept, name) for score, kind, concept, name in ranked]

    def _other_capitals_last(self, mention: str, text: str, ranked: list[Ranked]) -> list[Ranked]:
        """An abbreviation whose letters a mention says, but means as a word or as another abbreviation
        ("hearing aids", CsA of CSA), is put under the threshold, and behind the others."""
        doubtful, terminology = doubtful_score(self.kb), self.kb.terminology

        def is_other(name_row: int) -> bool:
            name = terminology.name_text(name_row)
            if not is_abbreviation(name) or is_said(name, mention):
                return False
            return terminology.name_normalized(name_row) in (text, *variants(text))

        return _put_under(doubtful, ranked, [r[0] > doubtful and is_other(r[3]) for r in ranked])

    def _join(
        self, hits: list[list[Ranked]], similar: list[list[Ranked]], k: int
    ) -> list[list[Candidate]]:
        terminology = self.kb.terminology
        rows = terminology.name_rows
        meant = self.kb.mention_counts

        def order(found: Ranked) -> tuple[int, int, int, int]:
            _, kind, concept, name = found
            return 0 if meant is None else -int(meant[name]), kind, -len(rows(concept)), concept

        hits = [sorted(named, key=order) if len(named) > 1 else named for named in hits]
        corrected = [bool(named) and named[0][0] <= MOST for named in hits]
        exact = [[] if wrong else named[:k] for named, wrong in zip(hits, corrected, strict=True)]
        spelled = [named[:k] if wrong else [] for named, wrong in zip(hits, corrected, strict=True)]
        rest = []
        for named, wrong, ranked in zip(hits, corrected, similar, strict=True):
            concepts = {found[2] for found in named}
            # what a corrected text finds is no surer than the correction
            share = named[0][0] if wrong else 1.0
            others = [(share * r[0], *r[1:]) for r in ranked if r[2] not in concepts]
            rest.append(others[: max(0, k - len(named))])
        tiers = {"exact": exact, "spelling": spelled, "hybrid": rest}
        lists = [make_candidates(terminology, tiers[tier], tier=tier) for tier in tiers]
        return [[*a, *b, *c] for a, b, c in zip(*lists, strict=True)]

    def _similar(
        self, texts: list[str], k: int, allowed: Optional[np.ndarray]
    ) -> list[list[Ranked]]:
        kb = self.kb
        if not texts or not len(kb.names):
            return [[] for _ in texts]
        mask = None if allowed is None else kb.names.mask(kb.terminology, allowed)
        vectors = self._vectors(texts)
        queries = kb.ngram.vectors(texts)
        weights = self._weights(texts)  # (B, 1)

        def search(left: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
            some = queries if len(left) == len(texts) else queries[left]
            dense, _ = kb.index.search(vectors[left], n=n, allowed_rows=mask)
            lexical, _ = kb.ngram.search(some, n=n, allowed_rows=mask)
            rows = merge_rows(dense, lexical)  # (B, 2n)
            cosine = kb.index.scores_of(vectors[left], rows)
            return rows, combine(cosine, kb.ngram.scores_of(some, rows), weights[left])

        return search_concepts(
            kb.terminology,
            kb.names,
            search,
            len(texts),
            k=k,
            allowed=allowed,
            support=SUPPORT,
            least=N_NAMES,
        )

    def _weights(self, texts: list[str]) -> np.ndarray:
        """Weight of the dense score for each text, (B, 1): the KB's, less for misspelled words."""
        weight = self.kb.meta["hybrid"]["dense_weight"]
        shares = np.array([misspelled_share(self.kb, text) for text in texts], dtype=np.float32)
        return (weight - (weight - MISSPELLED_WEIGHT) * shares)[:, None].astype(np.float32)

    def _vectors(self, texts: list[str]) -> np.ndarray:
        """Embeddings of texts; those of names come out of the index."""
        kb = self.kb
        rows = np.array([kb.names.row_of(kb.terminology, text) for text in texts], dtype=np.int64)
        new = np.flatnonzero(rows < 0)
        vectors = kb.index.vectors(np.maximum(rows, 0))
        if len(new):
            vectors[new] = kb.encoder.encode([texts[i] for i in new])
        return vectors


def make_hybrid_candidates(
    exact: bool = True, complete: bool = True
) -> Callable[[KnowledgeBase], HybridCandidates]:
    """`spacy-termlink.HybridCandidates.v1`.

    exact (bool): Look for an exact name first. False ranks by the scores alone.
    complete (bool): See HybridCandidates.
    """
    return partial(HybridCandidates, exact=exact, complete=complete)


def completed(generator: CandidateGenerator) -> CandidateGenerator:
    """A generator of the same scores that gives k candidates for every mention."""
    if isinstance(generator, HybridCandidates) and not generator.complete:
        return HybridCandidates(generator.kb, exact=generator.exact)
    return generator


def _is_decided(named: list[Ranked]) -> bool:
    """Whether a mention is an exact name, of a single concept."""
    return len(named) == 1 and named[0][0] > MOST


def _put_under(score: float, ranked: Sequence[Ranked], wrong: Sequence[bool]) -> list[Ranked]:
    """Those that are wrong get no more than a score; sorted anew."""
    changed = [
        (min(r[0], score), *r[1:]) if is_wrong else r
        for r, is_wrong in zip(ranked, wrong, strict=True)
    ]
    return sorted(changed, key=lambda found: (-found[0], *found[1:]))


def _digest(allowed: np.ndarray) -> bytes:
    """Stands for a mask in the key of an answer: of a large terminology the mask itself is long."""
    return hashlib.blake2b(np.packbits(allowed).tobytes(), digest_size=16).digest()


def combine(cosine: np.ndarray, shared: np.ndarray, weight: Union[float, np.ndarray]) -> np.ndarray:
    """Score of the hybrid: weighted mean of the cosine of embeddings and of the shared n-grams,
    between 0 and MOST."""
    return np.clip(weight * cosine + (1 - weight) * shared, 0, MOST)


def merge_rows(dense: np.ndarray, lexical: np.ndarray) -> np.ndarray:
    """Union of two (B, n) lists of rows per mention, each row once, -1 where there is none."""
    rows = np.concatenate([dense, lexical], axis=1)
    rows.sort(axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = -1
    return rows
