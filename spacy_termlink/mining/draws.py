"""Random choices that depend on what is drawn for, not on what was drawn before.

Each concept of each task has its own generator: adding a task, a concept or a terminology changes
none of the other records.
"""

import random
from typing import TypeVar

from ..terminology.builder import hash_text

Item = TypeVar("Item")


def draws(*key: object) -> random.Random:
    """A generator seeded by the key.

    key (object): What the choices are for, as (seed, task, concept id).
    """
    return random.Random(hash_text("\t".join(map(str, key))))


def sample(rng: random.Random, items: list[Item], n: int) -> list[Item]:
    """At most n of the items, in their own order."""
    if len(items) <= n:
        return items
    return [items[i] for i in sorted(rng.sample(range(len(items)), n))]


def share_of(*key: object) -> float:
    """A number in [0, 1) that is the same for the same key on every machine and in every run.

    `share_of(key) < 0.1` picks a stable tenth, and that tenth lies inside the fifth that 0.2 picks.
    """
    return hash_text("\t".join(map(str, key))) / 2**64
