"""Finished answers, kept for the next time: the notes of a clinic say the same things in the same
words."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from typing import Optional

from ..types import Candidate


class KeptAnswers:
    """The answers that were asked for last. Any number of threads may use it.

    most (int): Answers kept; one of ten candidates takes about 4 kB.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._answers: OrderedDict[Hashable, list[Candidate]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, keys: Sequence[Hashable]) -> list[Optional[list[Candidate]]]:
        """The answer of each key, None where none is kept."""
        with self._lock:
            found = [self._answers.get(key) for key in keys]
            for key, answer in zip(keys, found, strict=True):
                if answer is not None:
                    self._answers.move_to_end(key)
        return found

    def put(self, keys: Iterable[Hashable], answers: Iterable[list[Candidate]]) -> None:
        """Keep answers; those not asked for longest make room."""
        with self._lock:
            self._answers.update(zip(keys, answers, strict=True))
            while len(self._answers) > self.most:
                self._answers.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._answers.clear()
