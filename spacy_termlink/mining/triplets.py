"""Hierarchy triplets: labels at two distances from the anchor (seed 002)."""

import random
from collections.abc import Iterator
from typing import Dict, List, Optional

from .corpus import Corpus, Item, UsableName
from .levels import FAR, near_levels
from .records import Record
from .task import Task, check, check_cap, make_task

#: Names of the levels in a config's mix.
LEVELS = ("same", "parent_child", "near", "far")
#: Draws for a far concept before it is given up: only in a tiny terminology do they all fail.
FAR_DRAWS = 20


def make_hierarchy_triplets(
    mix: Dict[str, float],
    per_concept: int = 4,
    terminologies: List[str] = [],  # noqa: B006
    weight: float = 1.0,
    augment: bool = False,
) -> Task:
    """Anchor label, nearer label, strictly farther label (seed 002, its algorithm's idea).

    mix (Dict[str, float]): Share of each pair of levels "nearer-farther", of same, parent_child,
        near (grandparent, grandchild, sibling, uncle) and far. A concept draws among those that its
        place in the hierarchy has.
    per_concept (int): Triplets drawn for one concept; equal ones are kept once.
    """
    levels = {name: level for level, name in enumerate(LEVELS)}
    check(bool(mix), "mix", mix, "at least one pair of levels")
    shares: Dict[tuple, float] = {}
    for pair, share in mix.items():
        nearer, _, farther = pair.partition("-")
        good = nearer in levels and farther in levels and levels[nearer] < levels[farther]
        check(good, "mix", pair, f"nearer-farther, of {', '.join(LEVELS)}")
        check(share >= 0, f"mix.{pair}", share, "a share of 0 or more")
        shares[levels[nearer], levels[farther]] = share
    check(sum(shares.values()) > 0, "mix", mix, "a share above 0")
    check_cap("per_concept", per_concept)

    def mine(corpus: Corpus, task: str) -> Iterator[Record]:
        for item in corpus.walk(terminologies):
            yield from _triplets(corpus, task, item, shares, per_concept)

    return make_task(mine, weight=weight, augment=augment)


def _triplets(
    corpus: Corpus, task: str, item: Item, shares: Dict[tuple, float], n: int
) -> Iterator[Record]:
    rng = corpus.draws(task, item.concept)
    by_level: Dict[int, List[int]] = {level: [] for level in range(FAR)}
    near = near_levels(item.source.terminology.graph, item.row)
    for row, level in sorted(near.items()):
        by_level[level].append(row)
    seen: set[tuple] = set()
    for _ in range(n):
        anchor = rng.choice(item.names)
        open_pairs = dict(shares)
        while open_pairs:
            pair = rng.choices(list(open_pairs), weights=list(open_pairs.values()))[0]
            nearer, farther = (
                _label(corpus, item, anchor, by_level.get(level), near, rng) for level in pair
            )
            if nearer and farther:
                record = Record(task, anchor.text, nearer[0], item.concept, nearer[1], *farther)
                if record not in seen:
                    seen.add(record)
                    yield record
                break
            del open_pairs[pair]
            if not sum(open_pairs.values()):
                break


def _label(
    corpus: Corpus,
    item: Item,
    anchor: UsableName,
    rows: Optional[List[int]],
    near: Dict[int, int],
    rng: random.Random,
) -> Optional[tuple[str, str]]:
    """A label and its concept of one level (rows None: far), None where the level has none."""
    if rows is None:
        n = item.source.terminology.n_concepts
        drawn = [rng.randrange(n) for _ in range(FAR_DRAWS)]
        rows = [row for row in drawn if row not in near]
    elif rows != [item.row]:
        rows = rng.sample(rows, min(len(rows), FAR_DRAWS))
    for row in rows:
        names = corpus.names(item.source, row)
        concept = corpus.concept(item.source, row)
        if row == item.row:
            names = [name for name in names if name.normalized != anchor.normalized]
        else:
            names = [name for name in names if corpus.may_oppose(item, concept, name)]
        if names:
            return rng.choice(names).text, concept
    return None
