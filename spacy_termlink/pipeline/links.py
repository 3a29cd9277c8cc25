"""The decision for a mention, from its candidates."""

from typing import Any, Dict, List, NamedTuple

from ..types import NIL, Candidate


class Link(NamedTuple):
    """A concept or NIL, with what it was chosen from.

    kb_id (str): Id of the top concept, or NIL.
    linked (List[Candidate]): The candidates at or above the threshold, best first.
    candidates (List[Candidate]): All of them, best first.
    group (List[Candidate]): The concepts that the mention names, if it names several: one of each
        part.
    """

    kb_id: str
    linked: List[Candidate]
    candidates: List[Candidate]
    group: List[Candidate]

    def to_json(self) -> Dict[str, Any]:
        """An entry of `span._.term_links`. New lists each time: a user may change those of one span."""
        return {
            "kb_id": self.kb_id,
            "kb_ents": [[c.concept_id, c.score] for c in self.linked],
            "kb_group": [[c.concept_id, c.score] for c in self.group],
            "candidates": [c.to_json() for c in self.candidates],
        }


def decide(candidates: List[Candidate], threshold: float, group: List[Candidate]) -> Link:
    """Link to the top candidate if it reaches the threshold, else to NIL.

    candidates (List[Candidate]): Best first.
    threshold (float): Applies to the probability where there is one, else to the score.
    group (List[Candidate]): From `find_groups`.
    """
    linked = [c for c in candidates if c.certainty >= threshold]
    top = candidates[0] if candidates else None
    kb_id = top.concept_id if top is not None and top.certainty >= threshold else NIL
    return Link(kb_id, linked, list(candidates), list(group))
