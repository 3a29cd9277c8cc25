"""Which task and which records come next: a function of the seed and of what has been done.

There is no generator whose state would have to be kept: each choice is drawn from a key.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..terminology.builder import hash_text


def generator(*key: object) -> np.random.Generator:
    """A generator of its own for each key, the same on every machine."""
    return np.random.Generator(np.random.PCG64(hash_text("\t".join(map(str, key)))))


@dataclass
class Place:
    """How far a task has come.

    texts (int): Texts encoded for it so far.
    epoch, offset (int): Records of this pass used up.
    """

    texts: int = 0
    epoch: int = 0
    offset: int = 0


@dataclass
class Schedule:
    """Mixes tasks so that each has its share of the texts at any time, and walks through their
    records in a new order at each pass.

    weights (dict[str, float]): By task.
    seed (int): Of the orders.
    """

    weights: dict[str, float]
    seed: int
    places: dict[str, Place] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = {name: Place() for name in self.weights}
        self._orders: dict[str, tuple[tuple[int, int, int], np.ndarray]] = {}

    def next_task(self) -> str:
        """The task that lags most behind its share; of equals the first by name."""
        return min(
            sorted(self.weights), key=lambda name: self.places[name].texts / self.weights[name]
        )

    def take(self, task: str, n_records: int, n: int, *, version: int = 0) -> np.ndarray:
        """Rows of the next n records of a task, fewer where it has fewer.

        n_records (int): Records the task has.
        version (int): Of the records; another one has other orders.
        """
        place = self.places[task]
        n = min(n, n_records)
        if place.offset + n > n_records:  # the rest of a pass would be a small batch: left out
            place.epoch, place.offset = place.epoch + 1, 0
        key = (place.epoch, version, n_records)
        if task not in self._orders or self._orders[task][0] != key:
            order = generator(self.seed, "order", task, *key).permutation(n_records)
            self._orders[task] = key, order
        rows = self._orders[task][1][place.offset : place.offset + n]
        place.offset += n
        return rows

    def count(self, task: str, n_texts: int) -> None:
        """Note that texts were encoded for a task."""
        self.places[task].texts += n_texts

    def state(self) -> dict[str, Any]:
        """What `restore` needs, as JSON."""
        return {name: vars(place) for name, place in self.places.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where a schedule was."""
        self.places = {name: Place(**state[name]) for name in self.weights}
