"""What a curator wants to see of a clustering: likely synonyms that the terminology lacks, and names
that sit nearer to another concept than to their own."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..files import atomic_file
from ..mining.levels import FAR, NEAR, PARENT_CHILD, near_levels
from .clustering import BLOCK, Neighbours, Owners, distinct_pairs

PAIR_COLUMNS = (
    "cosine", "relation", "name_a", "concept_a", "preferred_a", "name_b", "concept_b", "preferred_b",
)  # fmt: skip
MISPLACED_COLUMNS = (
    "concept", "preferred", "name", "own_cosine", "own_name",
    "other_cosine", "other_name", "other_concept", "other_preferred",
)  # fmt: skip
#: What the concepts of a pair are to each other, by `mining.levels`: most pairs above any threshold
#: are parents or siblings, and a curator who looks for missing synonyms reads the far ones first.
RELATIONS = {PARENT_CHILD: "parent-child", NEAR: "near", FAR: "far"}
#: Cosines that differ by less are equal: sums of the same products in another order.
EQUAL = 1e-6


def new_pairs(neighbours: Neighbours, owners: Owners, threshold: float) -> np.ndarray:
    """Predicted pairs that share no concept, best cosine first, ties by name.

    threshold (float): Cosine above which a pair is predicted.
    RETURNS (np.ndarray): Structured, fields "a", "b" (names, a < b) and "cosine".
    """
    fields = [("a", np.int64), ("b", np.int64), ("cosine", np.float32)]
    blocks = [np.empty(0, dtype=fields)]
    for a, b, cosine in distinct_pairs(neighbours):
        # as float64, or a cosine of float32(0.7) would lie above 0.7 or not by its rounding
        kept = (cosine.astype(np.float64) > threshold) & ~owners.share(a, b)
        block = np.empty(int(kept.sum()), dtype=fields)
        block["a"], block["b"], block["cosine"] = a[kept], b[kept], cosine[kept]
        blocks.append(block)
    pairs = np.concatenate(blocks)
    return pairs[np.lexsort((pairs["b"], pairs["a"], -pairs["cosine"]))]


def misplaced_names(
    neighbours: Neighbours, owners: Owners, index: Any
) -> list[tuple[int, int, float, int, float]]:
    """Names nearer to a name of another concept than to every other name of their own concepts.

    A name that is the only one of its concepts has no own to be near to, and is never misplaced. The
    nearest own name is sought among all of them; the other one in the list.

    index (DenseIndex): Gives the vectors of names.
    RETURNS (list): (name, nearest own name, its cosine, nearest other name, its cosine), by first
        concept, in each the widest gap first, ties by name.
    """
    names_of = _Names(owners)
    found = []
    for name, column in _with_other_first(neighbours, owners):
        own = names_of.beside(name)
        if not len(own):
            continue
        cosines = index.vectors(own) @ index.vectors(np.array([name]))[0]
        best = int(np.argmax(cosines))
        own_cosine, other_cosine = float(cosines[best]), float(neighbours.cosines[name, column])
        if other_cosine > own_cosine + EQUAL:
            other = int(neighbours.rows[name, column])
            found.append((name, int(own[best]), own_cosine, other, other_cosine))
    return sorted(found, key=lambda row: (owners.of(row[0])[0], row[2] - row[4], row[0]))


def write_pairs(path: Path, kb: Any, owners: Owners, pairs: np.ndarray) -> None:
    """Write what `new_pairs` found, a pair a line, with both names' concepts."""
    describe = _Describe(kb, owners)
    rows = (
        (
            f"{cosine:.4f}",
            describe.relation(a, b),
            describe.name(a),
            *describe.concepts(a),
            describe.name(b),
            *describe.concepts(b),
        )
        for a, b, cosine in pairs.tolist()
    )
    _write(path, PAIR_COLUMNS, rows)


def write_misplaced(
    path: Path, kb: Any, owners: Owners, found: Iterable[tuple[int, int, float, int, float]]
) -> None:
    """Write what `misplaced_names` found, a name a line."""
    describe = _Describe(kb, owners)
    rows = (
        (
            *describe.concepts(name),
            describe.name(name),
            f"{own_cosine:.4f}",
            describe.name(own),
            f"{other_cosine:.4f}",
            describe.name(other),
            *describe.concepts(other),
        )
        for name, own, own_cosine, other, other_cosine in found
    )
    _write(path, MISPLACED_COLUMNS, rows)


class _Names:
    """Names by concept."""

    def __init__(self, owners: Owners) -> None:
        self._owners = owners
        names = np.repeat(np.arange(owners.n_names), owners.degree)
        self._names = names[np.argsort(owners.concepts, kind="stable")]
        self._offsets = np.concatenate([[0], np.cumsum(np.bincount(owners.concepts))])

    def beside(self, name: int) -> np.ndarray:
        """The other names of a name's concepts, ascending."""
        own = [
            self._names[self._offsets[concept] : self._offsets[concept + 1]]
            for concept in self._owners.of(name)
        ]
        together = np.unique(np.concatenate(own))
        return together[together != name]


def _with_other_first(neighbours: Neighbours, owners: Owners) -> Iterator[tuple[int, int]]:
    """Names in whose list a name of another concept stands before any of their own, and where."""
    rows = neighbours.rows
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK].astype(np.int64)
        own = np.repeat(np.arange(start, start + len(block)), block.shape[1])
        shared = owners.share(own, np.maximum(block, 0).ravel()).reshape(block.shape)
        other = ~shared & (block >= 0)
        before = other & ~np.logical_or.accumulate(shared & (block >= 0), axis=1)
        for place in np.flatnonzero(before.any(axis=1)).tolist():
            yield start + place, int(np.argmax(before[place]))


class _Describe:
    """Names and concepts as text; several concepts are joined by a bar."""

    def __init__(self, kb: Any, owners: Owners) -> None:
        self._kb = kb
        self._owners = owners
        self._levels: dict[int, dict[int, int]] = {}

    def name(self, name: int) -> str:
        """A unique name as the first of its name rows writes it."""
        return self._kb.terminology.name_text(int(self._kb.names.rows(name)[0]))

    def concepts(self, name: int) -> tuple[str, str]:
        """Ids and preferred names of a name's concepts."""
        rows = self._owners.of(name).tolist()
        terminology = self._kb.terminology
        ids = "|".join(terminology.concept_id(row) for row in rows)
        return ids, "|".join(terminology.preferred_name(row) for row in rows)

    def relation(self, a: int, b: int) -> str:
        """The nearest relation between concepts of two names, one of RELATIONS."""
        others = self._owners.of(b).tolist()
        levels = (
            self._near(row).get(other, FAR)
            for row in self._owners.of(a).tolist()
            for other in others
        )
        return RELATIONS[min(levels)]

    def _near(self, row: int) -> dict[int, int]:
        if row not in self._levels:
            self._levels[row] = near_levels(self._kb.terminology.graph, row)
        return self._levels[row]


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Tabs between columns; a quote is a character like any other, so no cell may hold a tab."""
    with atomic_file(path) as part, part.open("w", encoding="utf8", newline="\n") as file:
        for row in (header, *rows):
            file.write("\t".join(" ".join(cell.split()) for cell in row) + "\n")
