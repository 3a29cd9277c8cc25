"""Graph tasks: a concept with its parents, its path up, its relations, its definition (seed 001)."""

import random
from collections.abc import Iterator
from typing import Dict, List, Optional

from .corpus import Corpus, Item, Source
from .draws import sample
from .records import Record
from .task import Task, check, check_cap, check_kinds, make_task, of_kind

#: Siblings looked at before a child is given up: hardly one in a thousand is barred.
SIBLING_DRAWS = 20


def make_child_parent(
    kinds: List[str] = ["preferred"],  # noqa: B006
    siblings: bool = True,
    terminologies: List[str] = [],  # noqa: B006
    max_per_concept: int = 3,
    weight: float = 1.0,
    augment: bool = False,
) -> Task:
    """A child with its parent; a sibling of the child as the negative.

    kinds (List[str]): Kinds of the child's name; the other two are preferred names.
    siblings (bool): Whether there is a negative; a child without siblings then gives no record.
    """
    check_kinds("kinds", kinds)
    check_cap("max_per_concept", max_per_concept)

    def mine(corpus: Corpus, task: str) -> Iterator[Record]:
        for item in corpus.walk(terminologies):
            rng = corpus.draws(task, item.concept)
            for record in _with_parents(corpus, task, item, kinds, max_per_concept, rng):
                if not siblings:
                    yield record
                elif negative := _sibling(corpus, item, rng):
                    yield record._replace(negative=negative[0], negative_concept=negative[1])

    return make_task(mine, weight=weight, augment=augment)


def make_name_definition(
    kinds: List[str] = ["preferred"],  # noqa: B006
    terminologies: List[str] = [],  # noqa: B006
    max_per_concept: int = 1,
    weight: float = 1.0,
    augment: bool = False,
) -> Task:
    """A concept's name with its definition, where the terminology has one.

    kinds (List[str]): Kinds of the name.
    """
    check_kinds("kinds", kinds)
    check_cap("max_per_concept", max_per_concept)

    def mine(corpus: Corpus, task: str) -> Iterator[Record]:
        for item in corpus.walk(terminologies):
            definition = item.source.terminology.concepts["definition"][item.row].as_py()
            if definition:
                rng = corpus.draws(task, item.concept)
                for name in sample(rng, of_kind(item.names, kinds), max_per_concept):
                    yield Record(task, name.text, definition, item.concept, item.concept)

    return make_task(mine, weight=weight, augment=augment)


def make_related_names(
    relations: List[str],
    terminologies: List[str] = [],  # noqa: B006
    max_per_concept: int = 3,
    weight: float = 1.0,
    augment: bool = False,
) -> Task:
    """The preferred names of two related concepts.

    relations (List[str]): Types of relations. They must be listed: some say the opposite, as
        "excluded_subClassOf".
    """
    check(bool(relations), "relations", relations, "a list with at least one type of relations")
    check_cap("max_per_concept", max_per_concept)

    def mine(corpus: Corpus, task: str) -> Iterator[Record]:
        for source in corpus.select(terminologies):
            table = source.terminology.relations
            edges = zip(*(table[c].to_pylist() for c in ("subject", "type", "object")), strict=True)
            objects: Dict[str, List[str]] = {}
            for subject, relation, other in edges:
                if relation in relations:
                    objects.setdefault(subject, []).append(other)
            for subject, others in objects.items():
                found = list(_related(corpus, source, task, subject, others))
                yield from sample(corpus.draws(task, subject), found, max_per_concept)

    return make_task(mine, weight=weight, augment=augment)


def make_name_path(
    separator: str = " > ",
    terminologies: List[str] = [],  # noqa: B006
    max_names: int = 8,
    weight: float = 1.0,
    augment: bool = False,
) -> Task:
    """A concept's preferred name with the names up to the root, parent first.

    The shortest way up is taken; among equal ones, the smallest id at each step.

    separator (str): Written between two names.
    max_names (int): Names of the path: an encoder cuts a long text, and the nearest come first.
    """
    check_cap("max_names", max_names)

    def mine(corpus: Corpus, task: str) -> Iterator[Record]:
        for item in corpus.walk(terminologies):
            path = _path_up(corpus, item.source, item.row, max_names)
            if path and item.names[0].kind == "preferred":
                text = separator.join(path)
                yield Record(task, item.names[0].text, text, item.concept, item.concept)

    return make_task(mine, weight=weight, augment=augment)


def _with_parents(
    corpus: Corpus, task: str, item: Item, kinds: List[str], n: int, rng: random.Random
) -> Iterator[Record]:
    pairs = [
        Record(task, name.text, parent.text, item.concept, corpus.concept(item.source, row))
        for row in item.source.terminology.graph.parents(item.row)
        if (parent := corpus.preferred(item.source, row))
        for name in of_kind(item.names, kinds)
        if name.normalized != parent.normalized
    ]
    yield from sample(rng, pairs, n)


def _sibling(corpus: Corpus, item: Item, rng: random.Random) -> Optional[tuple[str, str]]:
    """Preferred name and id of a sibling that is no nearer than one; None where there is none."""
    graph = item.source.terminology.graph
    near = {*graph.parents(item.row), *graph.children(item.row)}
    siblings = [row for row in graph.siblings(item.row) if row not in near]
    for row in rng.sample(siblings, min(len(siblings), SIBLING_DRAWS)):
        name, concept = corpus.preferred(item.source, row), corpus.concept(item.source, row)
        if name and corpus.may_oppose(item, concept, name):
            return name.text, concept
    return None


def _related(
    corpus: Corpus, source: Source, task: str, subject: str, others: List[str]
) -> Iterator[Record]:
    row = source.terminology.find_row(subject)
    anchor = None if row is None else corpus.preferred(source, row)
    if row is None or anchor is None:
        return
    for other in others:
        living = source.terminology.resolve(other)
        other_row = None if living is None else source.terminology.find_row(living)
        positive = None if other_row is None else corpus.preferred(source, other_row)
        if other_row is not None and positive and positive.normalized != anchor.normalized:
            concepts = corpus.concept(source, row), corpus.concept(source, other_row)
            yield Record(task, anchor.text, positive.text, *concepts)


def _path_up(corpus: Corpus, source: Source, row: int, n: int) -> List[str]:
    graph = source.terminology.graph
    path: List[str] = []
    while len(path) < n and (parents := graph.parents(row)):
        row = min(parents, key=lambda parent: (graph.depth(parent), parent))
        if name := corpus.preferred(source, row):
            path.append(name.text)
    return path
