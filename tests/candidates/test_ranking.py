import numpy as np
import pytest

from spacy_termlink.candidates.names import unique_names
from spacy_termlink.candidates.ranking import rank_concepts
from spacy_termlink.terminology import Concept, Name, Terminology
from spacy_termlink.terminology.builder import build_terminology


@pytest.fixture(scope="module")
def terminology(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranking") / "t"
    concepts = [
        Concept("B", "beta", [Name("shared", "exact")]),
        Concept("A", "alpha", [Name("shared", "related"), Name("first", "exact")]),
        Concept("C", "gamma", [Name("Shared", "exact"), Name("gammas", "exact")]),
    ]
    build_terminology(concepts, path)
    return Terminology.open(path)


@pytest.fixture(scope="module")
def ranked(terminology):
    names, texts = unique_names(terminology)

    def rank(scores, k=10, **settings):
        rows = np.array([[texts.index(text) for text in scores]])
        values = np.array([list(scores.values())], dtype=np.float32)
        lists = rank_concepts(terminology, names, rows, values, k=k, **settings)
        return [(terminology.concept_id(c), round(s, 4), terminology.name_text(row))
                for s, _, c, row in lists[0]]  # fmt: skip

    return rank


def test_names_of_equal_normal_form_are_one_row(terminology):
    names, texts = unique_names(terminology)
    assert len(texts) == len(set(texts)) == len(names) == 6
    rows = names.rows(texts.index("shared"))
    assert [terminology.names["concept_id"][r].as_py() for r in rows] == ["B", "C", "A"]
    assert names.row_of(terminology, "shared") == texts.index("shared")
    assert names.row_of(terminology, "no such name") == -1
    allowed = np.array([False, False, True])
    assert [texts[r] for r in np.flatnonzero(names.mask(terminology, allowed))] == [
        text for text in texts if text in ("gamma", "shared", "gammas")
    ]


def test_ties_by_kind_then_id(ranked):
    """A's name is only related; B and C tie, and B comes first."""
    assert ranked({"shared": 0.5}) == [
        ("B", 0.5, "shared"),
        ("C", 0.5, "Shared"),
        ("A", 0.5, "shared"),
    ]


def test_best_name_counts(ranked):
    assert ranked({"first": 0.25, "alpha": 0.75, "beta": 0.5}) == [
        ("A", 0.75, "alpha"),
        ("B", 0.5, "beta"),
    ]


def test_allowed_and_k(ranked):
    found = ranked({"shared": 0.5, "beta": 0.75}, allowed=np.array([True, False, True]))
    assert found == [("C", 0.5, "Shared"), ("A", 0.5, "shared")]
    assert len(ranked({"shared": 0.5}, k=2)) == 2


def test_support_of_other_names(ranked):
    """gamma and gammas at 0.5 beat beta alone at 0.5: less by 0.2 times 0.1, or by nothing."""
    found = ranked({"beta": 0.5, "gamma": 0.5, "gammas": 0.5}, support=0.2)
    assert found == [("C", 0.5, "gamma"), ("B", 0.48, "beta")]
    found = ranked({"gamma": 0.5, "gammas": 0.25}, support=0.2)
    assert found == [("C", 0.475, "gamma")]


def test_no_rows(terminology):
    names, _ = unique_names(terminology)
    empty = np.full((2, 3), -1)
    assert rank_concepts(terminology, names, empty, np.zeros((2, 3)), k=3) == [[], []]
    assert rank_concepts(terminology, names, np.empty((0, 3), int), np.empty((0, 3)), k=3) == []
