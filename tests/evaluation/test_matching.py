from itertools import permutations

import numpy as np
import pytest

from spacy_termlink.evaluation import matching
from spacy_termlink.evaluation.matching import (
    Pair,
    add_structure,
    assigned_pairs,
    best_pairs,
    find_pairs,
    mutual_pairs,
    parents_of,
)
from spacy_termlink.kb import open_kb
from spacy_termlink.terminology import Concept, Name, Relation, Terminology
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.types import Candidate


def pair(subject, other, score, kinds=("preferred", "preferred")):
    return Pair(subject, other, score, f"a{subject}", f"b{other}", *kinds)


def found_of(scores):
    """Found pairs of a matrix of scores; 0 is not found."""
    rows = {
        i: [pair(i, j, float(s)) for j, s in enumerate(row) if s] for i, row in enumerate(scores)
    }
    return {i: sorted(pairs, key=lambda p: (-p.score, p.object)) for i, pairs in rows.items()}


def ids(pairs):
    return {(p.subject, p.object) for p in pairs}


class FakeKb:
    def __init__(self, terminology):
        self.terminology = terminology


class FakeGenerator:
    """Answers with given candidates."""

    def __init__(self, answers):
        self.answers = answers

    def generate(self, mentions, *, k, allowed=None):
        return [self.answers.get(mention, [])[:k] for mention in mentions]


@pytest.fixture
def make_terminology(tmp_path):
    def make(name, *concepts):
        build_terminology(concepts, tmp_path / name, meta={"source": name})
        return Terminology.open(tmp_path / name)

    return make


def candidate(concept_id, score, kind="preferred", matched="m"):
    return Candidate(concept_id, concept_id, matched, kind, score, "hybrid")


@pytest.fixture
def two(make_terminology):
    a = make_terminology(
        "a", Concept("A:1", "kidney", [Name("ren", "exact")]), Concept("A:2", "renal cortex")
    )
    b = make_terminology("b", Concept("B:1", "Kidney"), Concept("B:2", "Cortex"))
    return a, b


def test_all_names_search_and_the_best_counts(monkeypatch, two):
    answers = {
        "kidney": [candidate("B:1", 0.8), candidate("B:2", 0.3)],
        "ren": [candidate("B:2", 0.7, "exact", "c"), candidate("B:1", 0.2)],
        "renal cortex": [candidate("B:2", 0.6)],
    }
    monkeypatch.setattr(matching, "make_generator", lambda name, kb: FakeGenerator(answers))
    a, b = two
    found = find_pairs(FakeKb(a), FakeKb(b))
    # "ren" and "c" are no preferred names: 0.01 less for each
    assert found == {
        0: [
            Pair(0, 0, 0.8, "kidney", "m", "preferred", "preferred"),
            Pair(0, 1, pytest.approx(0.68), "ren", "c", "exact", "exact"),
        ],
        1: [Pair(1, 1, 0.6, "renal cortex", "m", "preferred", "preferred")],
    }
    found = find_pairs(FakeKb(a), FakeKb(b), k=1)
    assert [len(pairs) for pairs in found.values()] == [1, 1]


def test_equal_names_of_preferred_kind_stand_first(monkeypatch, two):
    a, b = two
    answers = {"renal cortex": [candidate("B:1", 1.0, "related"), candidate("B:2", 1.0)]}
    monkeypatch.setattr(matching, "make_generator", lambda name, kb: FakeGenerator(answers))
    found = find_pairs(FakeKb(a), FakeKb(b))
    assert [p.object for p in found[1]] == [1, 0]


def test_a_kb_matches_itself(tiny_kb):
    kb = open_kb(tiny_kb)
    found = find_pairs(kb, kb)
    pairs = mutual_pairs(found, threshold=0.9)
    living = [row for row in range(kb.terminology.n_concepts) if not kb.terminology.obsolete[row]]
    assert [(p.subject, p.object) for p in pairs] == [(row, row) for row in living]
    assert all(p.score == 1.0 and p.is_lexical for p in pairs)
    assert find_pairs(kb, kb) == found


def test_parents_speak_for_a_pair(make_terminology):
    def tree(letter):
        return [
            Concept(f"{letter}:1", "heart"),
            Concept(f"{letter}:2", "lung"),
            Concept(f"{letter}:3", "wall", relations=[Relation("part_of", f"{letter}:1")]),
            Concept(f"{letter}:4", "wall of it", relations=[Relation("is_a", f"{letter}:2"),
                                                           Relation("consider", f"{letter}:1")]),
        ]  # fmt: skip

    a, b = make_terminology("a", *tree("A")), make_terminology("b", *tree("B"))
    assert parents_of(a) == [[], [], [0], [1]]
    found = found_of([[1.0, 0, 0, 0], [0, 0.8, 0, 0], [0, 0, 0.6, 0.6], [0, 0, 0.6, 0]])
    again = add_structure(found, a, b, weight=0.1)
    # contexts: heart with heart 1.0, heart with lung not found 0; (3, 2) 0; their mean for the roots
    mean = (1.0 + 0.0 + 0.0) / 3
    scores = {(p.subject, p.object): p.score for pairs in again.values() for p in pairs}
    assert scores == pytest.approx(
        {
            (0, 0): 0.9 + 0.1 * mean,
            (1, 1): 0.72 + 0.1 * mean,
            (2, 2): 0.54 + 0.1,
            (2, 3): 0.54,
            (3, 2): 0.54,
        }
    )
    assert add_structure(found, a, b, weight=0) is found


def test_context_is_the_mean_of_both_sides(make_terminology):
    a = make_terminology(
        "a", Concept("A:1", "x"), Concept("A:2", "y"),
        Concept("A:3", "z", relations=[Relation("is_a", "A:1"), Relation("is_a", "A:2")]),
    )  # fmt: skip
    b = make_terminology(
        "b", Concept("B:1", "x"), Concept("B:2", "z", relations=[Relation("is_a", "B:1")])
    )
    found = found_of([[0.8, 0], [0.4, 0], [0, 0.5]])
    again = add_structure(found, a, b, weight=0.5)
    # A's parents: (0.8 + 0.4) / 2; B's: 0.8
    assert again[2][0].score == pytest.approx(0.5 * 0.5 + 0.5 * (0.6 + 0.8) / 2)


def test_best_and_mutual_pairs():
    found = found_of([[0.9, 0.8, 0], [0.95, 0.7, 0], [0, 0.6, 0.5]])
    assert ids(best_pairs(found, threshold=0)) == {(0, 0), (1, 0), (2, 1)}
    assert ids(best_pairs(found, threshold=0.9)) == {(0, 0), (1, 0)}
    assert ids(mutual_pairs(found, threshold=0)) == {(1, 0)}
    assert ids(mutual_pairs(found, threshold=0.96)) == set()


def test_ties_go_to_the_smaller_row():
    found = found_of([[0.9, 0.9], [0.9, 0.9]])
    assert ids(mutual_pairs(found, threshold=0)) == {(0, 0)}


@pytest.mark.parametrize("seed", range(8))
def test_the_assignment_is_the_best_of_all(seed):
    """Against every one-to-one choice, tried one by one."""
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((4, 5)) < 0.6, rng.random((4, 5)).round(3), 0)
    pairs = assigned_pairs(found_of(scores), threshold=0.2)
    assert len({p.subject for p in pairs}) == len({p.object for p in pairs}) == len(pairs)
    allowed = np.where(scores >= 0.2, scores - 0.2, 0)
    best = max(sum(allowed[i, j] for i, j in enumerate(js)) for js in permutations(range(5), 4))
    assert sum(p.score - 0.2 for p in pairs) == pytest.approx(best)
    assert all(p.score >= 0.2 for p in pairs)


def test_middling_pairs_do_not_displace_a_good_one():
    found = found_of([[0.95, 0.75], [0.75, 0]])
    assert ids(assigned_pairs(found, threshold=0.7)) == {(0, 0)}
    assert ids(assigned_pairs(found, threshold=0.1)) == {(0, 1), (1, 0)}
    assert ids(assigned_pairs(found_of([[0.7]]), threshold=0.7)) == {(0, 0)}


def test_nothing_to_assign():
    assert assigned_pairs(found_of([[0.1]]), threshold=0.5) == []
    assert assigned_pairs({}, threshold=0.5) == []
