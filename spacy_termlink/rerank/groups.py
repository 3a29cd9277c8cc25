"""Several concepts for one mention: the parts of a coordination, and every candidate that is probable
enough."""

from collections.abc import Sequence
from typing import Optional, Protocol

import numpy as np

from ..lexical.coordination import split_coordination
from ..types import NAMED, Candidate

#: Probability from which another candidate than the first is accepted: more probable than not.
LIKELY = 0.5


class Proposes(Protocol):
    """Candidates of mentions, as `MentionCandidates` gives them."""

    @property
    def every(self) -> bool:
        """Whether scores are probabilities, each of its own candidate."""

    def generate(
        self, forms: Sequence[Sequence[str]], *, k: int, allowed: Optional[np.ndarray] = None
    ) -> list[list[Candidate]]:
        """See `MentionCandidates.generate`."""


def find_groups(
    proposed: Proposes,
    forms: Sequence[Sequence[str]],
    lists: Sequence[list[Candidate]],
    *,
    threshold: float,
    k: int,
    allowed: Optional[np.ndarray] = None,
) -> list[list[Candidate]]:
    """The concepts that each mention names, none where it is NIL.

    A mention that can be read as several names is, if each of them reaches the threshold and even the
    least certain one is more certain than the mention as a whole; of several such readings the best
    one counts. Mentions that are a name of a concept as they stand are never divided. All
    parts of a batch are searched at once.

    proposed (Proposes): Finds the candidates of the parts.
    forms (Sequence[Sequence[str]]): Mention -> its forms, as `generate_forms` takes them; the last
        is the one divided.
    lists (Sequence[list[Candidate]]): Mention -> its candidates, best first.
    threshold (float): Least certainty of a concept.
    k (int): Candidates searched for a part.
    allowed (Optional[np.ndarray]): Mask of concept rows.
    RETURNS (list[list[Candidate]]): Mention -> concepts, each once, the parts in their order.
    """
    ways = [
        [] if whole and whole[0].tier == "exact" else split_coordination(mention[-1])
        for mention, whole in zip(forms, lists, strict=True)
    ]
    parts = list(dict.fromkeys(part for readings in ways for way in readings for part in way))
    found = proposed.generate([[part] for part in parts], k=k, allowed=allowed) if parts else []
    by_part = dict(zip(parts, found, strict=True))
    groups = []
    for whole, readings in zip(lists, ways, strict=True):
        best = _best([[by_part[part] for part in way] for way in readings], whole, threshold)
        accepted = [
            c for candidates in best for c in accept(candidates, threshold, every=proposed.every)
        ]
        groups.append(list({c.concept_id: c for c in reversed(accepted)}.values())[::-1])
    return groups


def accept(
    candidates: Sequence[Candidate], threshold: float, *, every: bool = False
) -> list[Candidate]:
    """Candidates of one name that are accepted: the first if it reaches the threshold, then every other one
    that does and is more probable than not. Scores that are no probabilities say which is best, not
    whether another one is right, too: of them, and where the mention's own words name the first, the
    first alone.

    every (bool): Scores are probabilities.
    """
    reached = [c for c in candidates if c.certainty >= threshold]
    first = list(candidates[:1])
    named = bool(first) and first[0].tier in NAMED
    if not named and (every or all(c.probability is not None for c in reached)):
        return [c for i, c in enumerate(reached) if not i or c.certainty >= LIKELY]
    return first if reached[:1] == first else []


def _best(
    readings: Sequence[Sequence[list[Candidate]]], whole: list[Candidate], threshold: float
) -> Sequence[list[Candidate]]:
    """The candidates of the parts of the best reading, or of the mention as a whole."""
    best: Sequence[list[Candidate]] = [whole]
    least = max(threshold, np.nextafter(whole[0].certainty, 2) if whole else 0.0), 0.0
    for parts in readings:
        tops = [candidates[0] for candidates in parts if candidates]
        if len({top.concept_id for top in tops}) < len(parts):
            continue
        certainties = [top.certainty for top in tops]
        value = min(certainties), sum(certainties) / len(certainties)
        if value > least:
            best, least = parts, value
    return best
