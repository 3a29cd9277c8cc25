"""Lexical negatives: names that look like the positive and mean something else (seed 003)."""

import random
from collections.abc import Iterator, Sequence
from typing import List

from ..lexical.bm25 import Bm25Index
from .corpus import Corpus, Item, Source, UsableName
from .draws import sample
from .records import Record
from .synonyms import name_pairs
from .task import PLAIN_KINDS, Task, check, check_cap, check_kinds, make_task, of_kind

#: Draws for a random negative before it is given up: only in a tiny terminology do they all fail.
RANDOM_DRAWS = 20


class NegativeFinder:
    """Finds negatives among the names of one terminology.

    The n nearest by BM25 of a positive, and random ones; never of a concept that is barred, nor a
    name that a right concept has too, and no name twice.
    """

    def __init__(self, corpus: Corpus, source: Source, kinds: Sequence[str]) -> None:
        """Index the usable names.

        kinds (Sequence[str]): Kinds of the names that may be negatives.
        RAISES (MissingExtraError): TL004 without bm25s.
        """
        self.corpus = corpus
        self.names: list[UsableName] = []
        self.concepts: list[str] = []
        for item in corpus.walk([source.name]):
            for name in of_kind(item.names, kinds):
                self.names.append(name)
                self.concepts.append(item.concept)
        self.index = Bm25Index([name.normalized for name in self.names], normalized=True)

    def find(
        self, items: Sequence[Item], form: str, rng: random.Random, *, nearest: int, n_random: int
    ) -> list[tuple[str, str]]:
        """Negatives of a positive: nearest first, then the random ones.

        items (Sequence[Item]): Every right concept of the anchor.
        form (str): Normal form of the positive.
        nearest, n_random (int): How many of each; fewer where there are no more.
        RETURNS (list[tuple[str, str]]): Texts and concepts.
        """
        forms: set[str] = set()
        found: list[int] = []
        # a concept's own names are among the nearest: ask for more and leave them out
        ranked, _ = self.index.search([form], n=2 * nearest + 10, normalized=True)
        for row in ranked[0].tolist():
            if row >= 0 and len(found) < nearest:
                self._take(items, row, forms, found)
        wanted = len(found) + n_random
        for _ in range(n_random * RANDOM_DRAWS):
            if len(found) == wanted:
                break
            self._take(items, rng.randrange(len(self.names)), forms, found)
        return [(self.names[row].text, self.concepts[row]) for row in found]

    def _take(self, items: Sequence[Item], row: int, forms: set[str], found: list[int]) -> None:
        name, concept = self.names[row], self.concepts[row]
        if name.normalized not in forms and all(
            self.corpus.may_oppose(item, concept, name) for item in items
        ):
            forms.add(name.normalized)
            found.append(row)


def make_lexical_negatives(
    kinds: List[str] = list(PLAIN_KINDS),  # noqa: B006
    positive_kinds: List[str] = ["preferred"],  # noqa: B006
    negative_kinds: List[str] = ["preferred"],  # noqa: B006
    nearest: int = 15,
    random: int = 10,
    terminologies: List[str] = [],  # noqa: B006
    max_per_concept: int = 1,
    weight: float = 1.0,
    augment: bool = False,
) -> Task:
    """Synonym pairs, each repeated with every one of its negatives, so that there are as many
    positive pairs as negative ones.

    kinds, positive_kinds (List[str]): As in SynonymPairs.
    negative_kinds (List[str]): Kinds of the names that may be negatives; the seed's standard terms
        are the preferred names.
    nearest (int): Negatives that are nearest to the positive by BM25.
    random (int): Negatives drawn at random.
    max_per_concept (int): Pairs of one concept, each giving up to nearest + random records.
    """
    for field, value in (("kinds", kinds), ("positive_kinds", positive_kinds)):
        check_kinds(field, value)
    check_kinds("negative_kinds", negative_kinds)
    check_cap("max_per_concept", max_per_concept)
    check_counts(nearest, random)

    def mine(corpus: Corpus, task: str) -> Iterator[Record]:
        for source in corpus.select(terminologies):
            finder = NegativeFinder(corpus, source, negative_kinds)
            for item in corpus.walk([source.name]):
                rng = corpus.draws(task, item.concept)
                pairs = name_pairs(item, kinds, positive_kinds, [], rng)
                for anchor, positive in sample(rng, pairs, max_per_concept):
                    record = Record(task, anchor.text, positive.text, item.concept, item.concept)
                    for negative in finder.find(
                        [item], positive.normalized, rng, nearest=nearest, n_random=random
                    ):
                        yield record._replace(negative=negative[0], negative_concept=negative[1])

    return make_task(mine, weight=weight, augment=augment)


def check_counts(nearest: int, n_random: int) -> None:
    """Refuse numbers of negatives below zero, or none at all."""
    check(nearest >= 0, "nearest", nearest, "a whole number, 0 or more")
    check(n_random >= 0, "random", n_random, "a whole number, 0 or more")
    check(nearest + n_random > 0, "nearest", nearest, "at least one negative with 'random'")
