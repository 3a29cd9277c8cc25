import numpy as np
import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology.graph import Graph, check_acyclic

#        0
#      /   \
#     1     2
#    / \   /
#   3    4        5 stands alone; 4 has two parents, one edge given twice
EDGES = [(1, 0), (2, 0), (3, 1), (4, 1), (4, 2), (4, 2)]


def make(edges, n):
    child, parent = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return Graph(n, child, parent)


@pytest.fixture
def graph():
    return make(EDGES, 6)


@pytest.mark.parametrize("row, parents", [(0, []), (1, [0]), (4, [1, 2]), (5, [])])
def test_parents(graph, row, parents):
    assert graph.parents(row) == parents


@pytest.mark.parametrize("row, children", [(0, [1, 2]), (1, [3, 4]), (4, []), (5, [])])
def test_children(graph, row, children):
    assert graph.children(row) == children


def test_ancestors_and_descendants_leave_the_concept_out(graph):
    assert graph.ancestors(4) == {0, 1, 2}
    assert graph.descendants(0) == {1, 2, 3, 4}
    assert graph.descendants(4) == set()


@pytest.mark.parametrize("row, siblings", [(3, [4]), (4, [3]), (1, [2]), (0, []), (5, [])])
def test_siblings_share_a_parent(graph, row, siblings):
    assert graph.siblings(row) == siblings


def test_depth_is_the_shortest_way_to_a_root():
    graph = make([(1, 0), (2, 1), (3, 2), (3, 0)], 4)
    assert [graph.depth(row) for row in range(4)] == [0, 1, 2, 1]
    assert graph.max_depth == 2


def test_roots(graph):
    assert graph.roots() == [0, 5]


@pytest.mark.parametrize(
    "edges, n, cycle",
    [
        ([(0, 0)], 1, {0}),
        ([(0, 1), (1, 0)], 2, {0, 1}),
        ([(1, 0), (2, 1), (3, 2), (1, 3), (4, 3)], 5, {1, 2, 3}),
    ],
)
def test_a_cycle_is_found_whole(edges, n, cycle):
    found = make(edges, n).find_cycle()
    assert found[0] == found[-1]
    assert set(found) == cycle and len(found) == len(cycle) + 1
    assert all((child, parent) in edges for child, parent in zip(found, found[1:], strict=False))


def test_no_cycle(graph):
    assert graph.find_cycle() == []


def test_a_cycle_is_printed():
    graph = make([(1, 0), (2, 1), (0, 2)], 3)
    with pytest.raises(
        TermlinkError, match="TL102.*own ancestor: [ABC] is_a [ABC] is_a [ABC] is_a"
    ):
        check_acyclic(graph, "ABC".__getitem__)


def test_no_concept_has_no_depth():
    assert make([], 0).max_depth == 0
