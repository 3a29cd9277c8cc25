"""How near two concepts of a hierarchy are (seed 002; the graded gain of DESIGN.md, section 7)."""

from ..terminology.graph import Graph

#: Levels, nearest first.
SAME, PARENT_CHILD, NEAR, FAR = range(4)


def near_levels(graph: Graph, row: int) -> dict[int, int]:
    """Level of each concept near another one; a concept that is not in it is FAR.

    Same concept: 0. Parent or child: 1. Grandparent, grandchild, sibling or uncle (sibling of a
    parent): 2. A concept that is several of them has the nearest.

    row (int): Concept row.
    RETURNS (dict[int, int]): Level by concept row, the concept itself included.
    """
    parents, children = graph.parents(row), graph.children(row)
    levels: dict[int, int] = {}
    for parent in parents:
        second = [graph.parents(parent), graph.children(parent), graph.siblings(parent)]
        levels.update((other, NEAR) for others in second for other in others)
    levels.update((other, NEAR) for child in children for other in graph.children(child))
    levels.update((other, PARENT_CHILD) for other in (*parents, *children))
    levels[row] = SAME
    return levels
