"""Concept-to-concept search: the concepts of one KB, looked for in another by all their names.

Seed 002's last experiment: a concept is searched by each of its names, and the best answer counts.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..candidates import make_generator
from ..terminology import Terminology
from ..text import normalize
from ..types import NAME_KINDS, KnowledgeBase

#: Taken off a pair of names for each one that is not the preferred name of its concept: ontologies
#: share synonyms between concepts, labels seldom.
OTHER_NAME = 0.01
#: Weight of what the parents say (`add_structure`).
STRUCTURE = 0.1
#: Relations that lead to a parent, for the comparison of parents.
UP = ("is_a", "part_of")
#: Names searched together.
BATCH = 2048


class Pair(NamedTuple):
    """A concept of A, a concept of B, and why they may be the same.

    subject, object (int): Concept rows of A and of B.
    score (float): 0 to 1.
    subject_name, object_name (str): The names that matched best.
    subject_kind, object_kind (str): Their kinds.
    """

    subject: int
    object: int
    score: float
    subject_name: str
    object_name: str
    subject_kind: str
    object_kind: str

    @property
    def is_lexical(self) -> bool:
        """Whether the two names have the same normal form."""
        return normalize(self.subject_name) == normalize(self.object_name)


#: Pairs of each concept row of A that has any, best first.
Found = dict[int, list[Pair]]


def find_pairs(
    a: KnowledgeBase, b: KnowledgeBase, *, generator: str = "hybrid", k: int = 10
) -> Found:
    """Search every name of every living concept of A in B.

    Only B's encoder and indexes are used: the names of A are encoded with B's encoder, so the two KBs
    may have been built with different ones.

    generator (str): Candidate generator over B.
    k (int): Concepts of B searched for by each name, and kept for each concept.
    RETURNS (Found): The score of a pair is the best over pairs of names, less OTHER_NAME for each name
        that is not preferred; ties by kind of A's name, kind of B's, then B's id.
    """
    names, search = a.terminology, make_generator(generator, b)
    best: dict[int, dict[int, Pair]] = defaultdict(dict)
    for first in range(0, names.n_names, BATCH):
        rows = range(first, min(first + BATCH, names.n_names))
        texts = [names.name_text(row) for row in rows]
        for row, text, found in zip(rows, texts, search.generate(texts, k=k), strict=True):
            subject, kind = int(names.concept_rows[row]), names.name_kind(row)
            for candidate in found:
                other = b.terminology.row(candidate.concept_id)
                others = (kind != NAME_KINDS[0]) + (candidate.kind != NAME_KINDS[0])
                score = max(0.0, candidate.score - OTHER_NAME * others)
                pair = Pair(subject, other, score, text, candidate.matched, kind, candidate.kind)
                if other not in best[subject] or _order(pair) < _order(best[subject][other]):
                    best[subject][other] = pair
    return {subject: _ranked(pairs.values())[:k] for subject, pairs in sorted(best.items())}


def add_structure(
    found: Found, a: Terminology, b: Terminology, *, weight: float = STRUCTURE
) -> Found:
    """Let parents that match speak for a pair: score = (1 - weight) score + weight context.

    The context of a pair is the mean, over the parents (is_a, part_of) of both concepts, of the best
    score that a parent has with one of the other side's; pairs not found count 0. Where one of the
    two has no parent, it is the mean context, which changes no order among such pairs.

    RETURNS (Found): The same pairs, ranked anew.
    """
    if not weight:
        return found
    up_a, up_b = parents_of(a), parents_of(b)
    scores = {(p.subject, p.object): p.score for pairs in found.values() for p in pairs}
    contexts = {
        pair: _context(scores, up_a[pair[0]], up_b[pair[1]])
        for pair in scores
        if up_a[pair[0]] and up_b[pair[1]]
    }
    mean = float(np.mean(list(contexts.values()))) if contexts else 0.0
    return {
        subject: _ranked(
            pair._replace(
                score=(1 - weight) * pair.score
                + weight * contexts.get((pair.subject, pair.object), mean)
            )
            for pair in pairs
        )
        for subject, pairs in found.items()
    }


def parents_of(terminology: Terminology) -> list[list[int]]:
    """Rows one step up by any relation of UP, ascending, of each concept row."""
    parents: list[set[int]] = [set() for _ in range(terminology.n_concepts)]
    columns = (terminology.relations[name].to_pylist() for name in ("subject", "type", "object"))
    for subject, kind, other in zip(*columns, strict=True):
        if kind in UP:
            row, above = terminology.find_row(subject), terminology.find_row(other)
            if row is not None and above is not None:
                parents[row].add(above)
    return [sorted(rows) for rows in parents]


def best_pairs(found: Found, *, threshold: float) -> list[Pair]:
    """The best pair of each concept of A, from the threshold up."""
    return [pairs[0] for pairs in found.values() if pairs and pairs[0].score >= threshold]


def mutual_pairs(found: Found, *, threshold: float) -> list[Pair]:
    """Pairs in which each is the other's best; a concept of B asks those that found it."""
    back: dict[int, Pair] = {}
    for pairs in found.values():
        for pair in pairs:
            if pair.object not in back or _back(pair) < _back(back[pair.object]):
                back[pair.object] = pair
    chosen = best_pairs(found, threshold=threshold)
    return [pair for pair in chosen if back[pair.object].subject == pair.subject]


def assigned_pairs(found: Found, *, threshold: float) -> list[Pair]:
    """One-to-one pairs whose scores, less the threshold, have the greatest sum: what counts is how far
    a pair lies above it, so two middling pairs do not displace a good one.

    Minimum weight full matching of a sparse bipartite graph (Jonker and Volgenant 1987, in scipy),
    in which each concept of A may also take a column of its own that means "none".

    threshold (float): Pairs under it are not considered; one that lies on it is better than none.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    pairs = [p for found_pairs in found.values() for p in found_pairs if p.score >= threshold]
    if not pairs:
        return []
    rows = {s: i for i, s in enumerate(sorted({p.subject for p in pairs}))}
    columns = {o: i for i, o in enumerate(sorted({p.object for p in pairs}))}
    n, m = len(rows), len(columns)
    # a weight of 0 would be no edge; "none" costs a little more than a pair on the threshold
    costs = [2.0 - (p.score - threshold) for p in pairs] + [2.0 + 1e-9] * n
    i = [rows[p.subject] for p in pairs] + list(range(n))
    j = [columns[p.object] for p in pairs] + list(range(m, m + n))
    chosen = min_weight_full_bipartite_matching(csr_matrix((costs, (i, j)), shape=(n, m + n)))
    taken = set(zip(chosen[0].tolist(), chosen[1].tolist(), strict=True))
    return [p for p in pairs if (rows[p.subject], columns[p.object]) in taken]


def _context(scores: dict[tuple[int, int], float], ours: list[int], theirs: list[int]) -> float:
    table = np.array([[scores.get((x, y), 0.0) for y in theirs] for x in ours])  # (ours, theirs)
    return float(table.max(axis=1).mean() + table.max(axis=0).mean()) / 2


def _order(pair: Pair) -> tuple:
    kinds = NAME_KINDS.index(pair.subject_kind), NAME_KINDS.index(pair.object_kind)
    return (-pair.score, *kinds, pair.object, pair.subject_name, pair.object_name)


def _back(pair: Pair) -> tuple:
    return (-pair.score, NAME_KINDS.index(pair.subject_kind), pair.subject)


def _ranked(pairs: Iterable[Pair]) -> list[Pair]:
    return sorted(pairs, key=_order)
