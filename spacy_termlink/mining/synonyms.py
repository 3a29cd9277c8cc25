"""Synonym tasks: two names of one concept (seed 001; CODER, SapBERT)."""

import random
from collections.abc import Iterator
from typing import List

from .corpus import Corpus, Item, UsableName
from .draws import sample
from .records import Record
from .task import PLAIN_KINDS, Task, check_cap, check_kinds, make_task, of_kind

#: Names of a concept that are paired with each other: more are drawn from, so that a concept with a
#: thousand names does not cost a million pairs.
MAX_NAMES = 64

Pair = tuple[UsableName, UsableName]


def make_synonym_pairs(
    kinds: List[str] = list(PLAIN_KINDS),  # noqa: B006
    positive_kinds: List[str] = ["preferred"],  # noqa: B006
    name_sources: List[str] = [],  # noqa: B006
    terminologies: List[str] = [],  # noqa: B006
    max_per_concept: int = 10,
    weight: float = 1.0,
    augment: bool = False,
) -> Task:
    """Pairs of names of one concept whose normal forms differ.

    kinds (List[str]): Kinds of the anchor, the name that stands for a mention.
    positive_kinds (List[str]): Kinds of the positive. A pair both of whose names may be either is
        taken once.
    name_sources (List[str]): Anchors only from these sources of names, as "inclusion term" of
        ICD-10-CM; empty for all.
    terminologies (List[str]): Only these of the run; empty for all.
    max_per_concept (int): Pairs of one concept; more are drawn from.
    """
    check_kinds("kinds", kinds)
    check_kinds("positive_kinds", positive_kinds)
    check_cap("max_per_concept", max_per_concept)

    def mine(corpus: Corpus, task: str) -> Iterator[Record]:
        for item in corpus.walk(terminologies):
            rng = corpus.draws(task, item.concept)
            pairs = name_pairs(item, kinds, positive_kinds, name_sources, rng)
            for anchor, positive in sample(rng, pairs, max_per_concept):
                yield Record(task, anchor.text, positive.text, item.concept, item.concept)

    return make_task(mine, weight=weight, augment=augment)


def make_equivalent_names(
    kinds: List[str] = ["preferred", *PLAIN_KINDS],  # noqa: B006
    terminologies: List[str] = [],  # noqa: B006
    max_per_concept: int = 4,
    weight: float = 1.0,
    augment: bool = False,
) -> Task:
    """A concept's name with the preferred name of the same concept in another terminology.

    Same is what `Equivalents.same` says. Each pair of concepts is met from both sides.

    kinds (List[str]): Kinds of the anchor.
    terminologies (List[str]): Anchors only from these; empty for all.
    max_per_concept (int): Pairs of one concept; more are drawn from.
    """
    check_kinds("kinds", kinds)
    check_cap("max_per_concept", max_per_concept)

    def mine(corpus: Corpus, task: str) -> Iterator[Record]:
        for item in corpus.walk(terminologies):
            found = []
            for other in sorted(corpus.equivalents.same.get(item.concept, ())):
                positive = corpus.preferred(*corpus.rows[other])
                if positive:
                    found += [
                        Record(task, anchor.text, positive.text, item.concept, other)
                        for anchor in of_kind(item.names, kinds)
                        if anchor.normalized != positive.normalized
                    ]
            yield from sample(corpus.draws(task, item.concept), found, max_per_concept)

    return make_task(mine, weight=weight, augment=augment)


def name_pairs(
    item: Item,
    kinds: List[str],
    positive_kinds: List[str],
    name_sources: List[str],
    rng: random.Random,
) -> list[Pair]:
    """Pairs (anchor, positive) of a concept's names; each unordered pair of normal forms once."""
    allowed = [n for n in item.names if not name_sources or n.source in name_sources]
    anchors = sample(rng, of_kind(allowed, kinds), MAX_NAMES)
    positives = sample(rng, of_kind(item.names, positive_kinds), MAX_NAMES)
    seen: set[tuple[str, str]] = set()
    pairs = []
    for anchor in anchors:
        for positive in positives:
            forms = (anchor.normalized, positive.normalized)
            if forms[0] != forms[1] and forms not in seen:
                seen |= {forms, forms[::-1]}
                pairs.append((anchor, positive))
    return pairs
