"""What rerankers are trained and scored on: mentions with their candidates, and which are right."""

import hashlib
import json
from collections.abc import Container, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..candidates.left_out import synonym_candidates
from ..candidates.names import UniqueNames
from ..terminology.store import Terminology
from ..training.schedule import generator
from ..types import Candidate


class MentionList(NamedTuple):
    """A mention with the candidates that a reranker has to order.

    mention (str): As written, or the long form that its document gives.
    candidates (tuple[Candidate, ...]): Best first, as the recall stage proposes them.
    right (tuple[bool, ...]): Of each candidate; none is for a NIL mention.
    context (str): The sentence, "" where there is none.
    """

    mention: str
    candidates: tuple[Candidate, ...]
    right: tuple[bool, ...]
    context: str = ""


class ListData:
    """Lists to train on and lists to score by.

    lists (Sequence[MentionList]): Drawn from in an order that depends on the seed alone.
    dev (Sequence[MentionList]): For the scores.
    seed (int): Of the order.
    about (Sequence[dict]): What the model card says of each source.
    """

    def __init__(
        self,
        lists: Sequence[MentionList],
        dev: Sequence[MentionList],
        *,
        seed: int,
        about: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.lists, self.dev, self.about = list(lists), list(dev), list(about)
        self._seed = seed
        self._order: tuple[int, list[int]] = (-1, [])
        digest = hashlib.sha256()
        for found in (*self.lists, *self.dev):
            digest.update(json.dumps(found).encode("utf8"))
        #: Equal for equal data: a resumed run needs what it began with.
        self.sha256 = digest.hexdigest()

    def batch(self, number: int, size: int) -> list[MentionList]:
        """Lists of a batch, counted from 0 over the whole run: an endless walk through all lists, each
        pass in an order of its own."""
        return [self.lists[self._row(place)] for place in range(number * size, (number + 1) * size)]

    def _row(self, place: int) -> int:
        epoch, offset = divmod(place, len(self.lists))
        if self._order[0] != epoch:
            order = generator(self._seed, "lists", epoch).permutation(len(self.lists))
            self._order = epoch, order.tolist()
        return self._order[1][offset]


def synonym_lists(kb: Any, *, k: int, most: int = 0, seed: int = 0) -> list[MentionList]:
    """Each synonym of a KB as a mention, with what the hybrid proposes where that name is left out.

    kb (TermKB): The KB; its hybrid is the recall stage.
    k (int): Candidates of a list.
    most (int): Lists at most, drawn at random; 0 is all.
    seed (int): Of the draw.
    RETURNS (list[MentionList]): In the order of the KB's names; without those that have no candidate.
    """
    rows = _synonym_rows(kb.terminology, kb.names)
    if most and len(rows) > most:
        rows = np.sort(generator(seed, "synonyms").permutation(rows)[:most])
    lists = synonym_candidates(kb, rows, k=k)
    terminology: Terminology = kb.terminology
    made = []
    for row, candidates in zip(rows.tolist(), lists, strict=True):
        own = kb.names.rows(row)
        right = set(terminology.concept_ids(sorted(set(terminology.concept_rows[own].tolist()))))
        if candidates:
            made.append(make_list(terminology.name_text(int(own[0])), candidates, right))
    return made


def make_list(
    mention: str, candidates: Sequence[Candidate], right: Container[str], context: str = ""
) -> MentionList:
    """A list whose right candidates are those of given concepts.

    right (Container[str]): Ids of the right concepts.
    """
    flags = tuple(c.concept_id in right for c in candidates)
    return MentionList(mention, tuple(candidates), flags, context)


def hold_out(
    lists: Sequence[MentionList], share: float
) -> tuple[list[MentionList], list[MentionList]]:
    """Lists to train on, and a share to score by: told by a mention's text, so that equal mentions stay
    together and one list more changes no other's part."""
    parts: tuple[list[MentionList], list[MentionList]] = ([], [])
    for found in lists:
        digest = hashlib.sha256(found.mention.casefold().encode("utf8")).digest()
        parts[int.from_bytes(digest[:4], "big") < share * 2**32].append(found)
    return parts


def without_right(lists: Sequence[MentionList], share: float, *, seed: int) -> list[MentionList]:
    """The lists, of a share of them the right candidates taken out: mentions of nothing in the KB.

    A list that would be empty stays as it is.
    """
    drawn = generator(seed, "nil").random(len(lists)) < share
    return [_nil(found) if nil else found for found, nil in zip(lists, drawn.tolist(), strict=True)]


def _nil(found: MentionList) -> MentionList:
    rows = [i for i, right in enumerate(found.right) if not right]
    if not rows:
        return found
    return found._replace(
        candidates=tuple(found.candidates[row] for row in rows),
        right=(False,) * len(rows),
    )


def _synonym_rows(terminology: Terminology, names: UniqueNames) -> np.ndarray:
    """Index rows of names that are not preferred ones, of concepts that have another row."""
    first = names.name_rows[names.offsets[:-1]]
    concepts = terminology.concept_rows[first]
    n_rows = np.bincount(concepts, minlength=terminology.n_concepts)
    return np.flatnonzero((terminology.kinds[first] > 0) & (n_rows[concepts] > 1))
