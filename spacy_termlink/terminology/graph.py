"""The is_a hierarchy as arrays over concept rows: parents, children, ancestors, siblings, depth."""

from collections.abc import Callable, Iterable

import numpy as np

from ..errors import TermlinkError


class Graph:
    """Directed acyclic graph of is_a edges between concept rows.

    Kept as two compressed adjacency lists, so 4 million concepts cost two integer arrays each way.
    """

    def __init__(self, n_concepts: int, child: np.ndarray, parent: np.ndarray) -> None:
        """Build from edges.

        n_concepts (int): Number of concept rows.
        child, parent (np.ndarray): Integer rows, (E,) each: edge i says child[i] is_a parent[i].
        """
        self.n_concepts = n_concepts
        self._up = _adjacency(n_concepts, child, parent)
        self._down = _adjacency(n_concepts, parent, child)
        self._depth: np.ndarray | None = None

    def parents(self, row: int) -> list[int]:
        """Rows one is_a step up, ascending."""
        return _neighbours(self._up, row)

    def children(self, row: int) -> list[int]:
        """Rows one is_a step down, ascending."""
        return _neighbours(self._down, row)

    def ancestors(self, row: int) -> set[int]:
        """Rows any number of is_a steps up; the concept itself is not among them."""
        return self._closure(row, self.parents)

    def descendants(self, row: int) -> set[int]:
        """Rows any number of is_a steps down; the concept itself is not among them."""
        return self._closure(row, self.children)

    def siblings(self, row: int) -> list[int]:
        """Rows that share a parent with the concept, ascending; itself is not among them."""
        found = {child for parent in self.parents(row) for child in self.children(parent)}
        return sorted(found - {row})

    def roots(self) -> list[int]:
        """Rows without a parent, ascending."""
        offsets, _ = self._up
        return np.flatnonzero(np.diff(offsets) == 0).tolist()

    def depth(self, row: int) -> int:
        """Least number of is_a steps from a root (a root has 0)."""
        if self._depth is None:
            self._depth = self._depths()
        return int(self._depth[row])

    @property
    def max_depth(self) -> int:
        """Depth of the deepest row."""
        if self._depth is None:
            self._depth = self._depths()
        return int(self._depth.max(initial=0))

    def find_cycle(self) -> list[int]:
        """Rows of one cycle, first row repeated at the end; [] where there is none.

        Rows are removed from the roots down (Kahn 1962); what cannot be removed hangs on a cycle.
        """
        left = np.diff(self._up[0]).astype(np.int64)  # parents not yet removed
        queue = np.flatnonzero(left == 0).tolist()
        n_removed = 0
        while queue:
            row = queue.pop()
            n_removed += 1
            for child in self.children(row):
                left[child] -= 1
                if left[child] == 0:
                    queue.append(child)
        if n_removed == self.n_concepts:
            return []
        # a row left over always has a parent left over: walking up must come back to itself
        row = int(np.flatnonzero(left > 0)[0])
        path: list[int] = []
        while row not in path:
            path.append(row)
            row = next(parent for parent in self.parents(row) if left[parent] > 0)
        return [*path[path.index(row) :], row]

    def _closure(self, row: int, step: Callable[[int], Iterable[int]]) -> set[int]:
        found: set[int] = set()
        stack = list(step(row))
        while stack:
            other = stack.pop()
            if other not in found:
                found.add(other)
                stack.extend(step(other))
        return found

    def _depths(self) -> np.ndarray:
        depth = np.full(self.n_concepts, -1, dtype=np.int32)
        level, steps = self.roots(), 0
        while level:
            depth[level] = steps
            level = [c for row in level for c in self.children(row) if depth[c] < 0]
            steps += 1
        return depth


def check_acyclic(graph: Graph, name_of: Callable[[int], str]) -> None:
    """Refuse a hierarchy with a cycle.

    name_of (Callable[[int], str]): Id of a row, to print the cycle with.
    RAISES (TermlinkError): TL102, with the ids along the cycle.
    """
    cycle = graph.find_cycle()
    if cycle:
        raise TermlinkError("TL102", cycle=" is_a ".join(name_of(row) for row in cycle))


def _adjacency(n: int, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets (n + 1,) and neighbours (E,), sorted by source, then target; double edges dropped."""
    order = np.lexsort((target, source))
    source, target = source[order], target[order]
    if len(source):
        new = np.ones(len(source), dtype=bool)
        new[1:] = (np.diff(source) != 0) | (np.diff(target) != 0)
        source, target = source[new], target[new]
    offsets = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=n), out=offsets[1:])
    return offsets, target.astype(np.int32)


def _neighbours(adjacency: tuple[np.ndarray, np.ndarray], row: int) -> list[int]:
    offsets, target = adjacency
    return target[offsets[row] : offsets[row + 1]].tolist()
