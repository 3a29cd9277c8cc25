from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.mentions import AnnotatedDoc, Mention
from spacy_termlink.evaluation.ranking import (
    METRICS,
    Gains,
    compare_rankings,
    evaluate_mentions,
    mention_figures,
    mention_forms,
    ndcg,
    rank_mentions,
)
from spacy_termlink.terminology import Concept, Relation, Terminology
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.types import Candidate

# root - grand - uncle - cousin
#              \ parent - gold - child - grandchild
#                       \ sibling - nephew
TREE = {
    "grand": "root", "uncle": "grand", "cousin": "uncle", "parent": "grand", "gold": "parent",
    "child": "gold", "grandchild": "child", "sibling": "parent", "nephew": "sibling",
}  # fmt: skip


@pytest.fixture(scope="module")
def terminology(tmp_path_factory):
    concepts = [Concept("root", "root")]
    concepts += [Concept(c, c, relations=[Relation("is_a", p)]) for c, p in TREE.items()]
    concepts[-1].alt_ids = ["nephew-alt"]
    retired = Concept("gone", "gone", obsolete=True, replaced_by="gold")
    retired.relations = [Relation("is_a", "parent")]
    path = tmp_path_factory.mktemp("t") / "toy"
    build_terminology([*concepts, retired, Concept("lost", "lost", obsolete=True)], path)
    return Terminology.open(path)


class Table:
    """A generator that answers from a table, and remembers what it was asked."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def generate(self, mentions, *, k, allowed=None):
        self.asked.extend(mentions)
        return [
            [Candidate(i, i, i, "exact", s, "table") for i, s in self.answers.get(m, [])][:k]
            for m in mentions
        ]


def mention(text, *concepts, doc_id="d", **more):
    return Mention(text, text, concepts, doc_id=doc_id, **more)


def test_gains_by_distance(terminology):
    assert Gains(terminology).of("gold") == {
        "gold": 3, "parent": 2, "child": 2, "grand": 1, "grandchild": 1, "sibling": 1, "uncle": 1,
    }  # fmt: skip


def test_gains_of_a_root(terminology):
    assert Gains(terminology).of("root") == {"root": 3, "grand": 2, "uncle": 1, "parent": 1}


def test_seed_example():
    # seed 002: itself, sibling, parent, uncle, grandparent, where the ideal is 3, 2, 1, 1, 1
    assert ndcg([3, 1, 2, 1, 1], [1, 1, 1, 2, 3], 5) == pytest.approx(0.976, abs=0.0006)


def test_seed_example_through_the_graph(tmp_path):
    # a tree in which the gold concept has one parent, one sibling, one uncle, one grandparent
    edges = {"parent": "grand", "uncle": "grand", "gold": "parent", "sibling": "parent"}
    concepts = [Concept("grand", "grand")]
    concepts += [Concept(c, c, relations=[Relation("is_a", p)]) for c, p in edges.items()]
    build_terminology(concepts, tmp_path / "t")
    ids = ["gold", "sibling", "parent", "uncle", "grand"]
    values = mention_figures(ids, ["gold"], Gains(Terminology.open(tmp_path / "t")))
    assert dict(zip(METRICS, values, strict=True))["ndcg@5"] == pytest.approx(0.976, abs=0.0006)


@pytest.mark.parametrize("k", [1, 5, 10])
def test_ndcg_agrees_with_scikit_learn(k):
    rng = np.random.default_rng(k)
    for _ in range(50):
        gains, scores = rng.choice([0, 0, 0, 1, 2, 3], size=30), rng.random(30)
        if gains.any():
            ranked = gains[np.argsort(-scores)]
            expected = ndcg_score([gains], [scores], k=k)
            assert ndcg(ranked.tolist(), gains.tolist(), k) == pytest.approx(expected)


def test_ndcg_counts_what_was_not_found():
    assert ndcg([2], [3, 2], 5) == pytest.approx(2 / (3 + 2 / np.log2(3)))
    assert ndcg([], [3], 5) == 0.0
    assert ndcg([0, 0], [], 5) == 0.0


def test_figures_by_hand(terminology):
    values = mention_figures(["sibling", "x", "gold"], ["gold"], Gains(terminology))
    found = dict(zip(METRICS, values, strict=True))
    assert (found["hits@1"], found["hits@5"], found["hits@10"]) == (0, 1, 1)
    assert found["mrr"] == pytest.approx(1 / 3)
    assert found["ndcg@1"] == pytest.approx(1 / 3)
    ideal = 3 + 2 / np.log2(3) + 2 / 2 + 1 / np.log2(5) + 1 / np.log2(6)
    assert found["ndcg@5"] == pytest.approx((1 + 3 / 2) / ideal)
    ideal += 1 / np.log2(7) + 1 / np.log2(8)
    assert found["ndcg@10"] == pytest.approx((1 + 3 / 2) / ideal)


def test_several_golds_take_the_best(terminology):
    gains = Gains(terminology)
    both = mention_figures(["cousin", "gold"], ["cousin", "gold"], gains)
    alone = mention_figures(["cousin", "gold"], ["cousin"], gains)
    assert both[METRICS.index("hits@1")] == 1
    assert both[METRICS.index("ndcg@10")] >= alone[METRICS.index("ndcg@10")]


def evaluate(terminology, answers, mentions, **more):
    kb = SimpleNamespace(terminology=terminology, threshold=0.5)
    return evaluate_mentions(kb, mentions, generator=Table(answers), **more)


def test_means_and_intervals(terminology):
    answers = {"a": [("gold", 0.9)], "b": [("x", 0.9), ("root", 0.8)]}
    mentions = [mention("a", "gold"), mention("b", "root", doc_id="e"), mention("c", "root")]
    found = evaluate(terminology, answers, mentions)
    assert found["hits@1"] == pytest.approx(1 / 3)
    assert found["hits@5"] == found["hits@10"] == pytest.approx(2 / 3)
    assert found["mrr"] == pytest.approx(0.5)
    assert (found["n"], found["n_documents"]) == (3, 2)
    assert found["mentions_per_second"] > 0
    assert set(found["ci"]) == set(METRICS)
    assert all(low <= found[name] <= high for name, (low, high) in found["ci"].items())


def test_gold_and_found_ids_are_resolved(terminology):
    answers = {"a": [("gold", 1.0)], "b": [("nephew-alt", 1.0)], "c": [("nephew", 1.0)]}
    mentions = [mention("a", "gone"), mention("b", "nephew"), mention("c", "nephew-alt")]
    assert evaluate(terminology, answers, mentions)["hits@1"] == 1.0


def test_accept_lists_count(terminology):
    answers = {"a": [("uncle", 1.0)]}
    assert evaluate(terminology, answers, [mention("a", "gold")])["hits@1"] == 0
    accepted = mention("a", "gold", accept=(("gold", "uncle"),))
    assert evaluate(terminology, answers, [accepted])["hits@1"] == 1


def test_unknown_gold_is_a_miss_and_reported(terminology):
    answers = {"a": [("gold", 1.0)], "b": [("gold", 1.0)], "c": [("OTHER:1", 1.0)]}
    mentions = [mention("a", "gold"), mention("b", "OTHER:1", "gold"), mention("c", "OTHER:1")]
    found = evaluate(terminology, answers, [*mentions, mention("d", "lost")])
    assert (found["n"], found["n_unknown_gold"]) == (4, 2)
    assert found["unknown_gold"] == ["OTHER:1", "lost"]
    assert found["hits@1"] == 0.5


def test_nil_mentions_are_apart(terminology):
    answers = {"a": [("gold", 1.0)], "b": [("gold", 0.4)], "c": [("gold", 0.5)]}
    found = evaluate(terminology, answers, [mention("a", "gold"), mention("b"), mention("c")])
    assert (found["n"], found["hits@1"]) == (1, 1.0)
    # at the threshold it is a link (DESIGN.md, section 4), under it NIL
    assert found["nil"] == {"n": 2, "accuracy": 0.5, "threshold": 0.5}


def test_only_nil_mentions(terminology):
    found = evaluate(terminology, {}, [mention("b")])
    assert (found["n"], found["hits@1"], found["ci"]) == (0, None, {})
    assert found["nil"]["accuracy"] == 1.0


def test_abbreviations_are_resolved_in_their_own_document_only():
    docs = [
        AnnotatedDoc("d", "He had congestive heart failure (CHF). CHF worsened."),
        AnnotatedDoc("e", "CHF worsened."),
    ]
    mentions = [mention("CHF"), mention("CHF", doc_id="e"), mention("heart", doc_id="d")]
    assert mention_forms(mentions, docs) == [
        ["CHF", "congestive heart failure"],
        ["CHF"],
        ["heart"],
    ]
    assert mention_forms(mentions, None) == [["CHF"], ["CHF"], ["heart"]]


def test_documents_of_another_set_are_refused():
    with pytest.raises(TermlinkError, match="TL903.*doc_id: d"):
        mention_forms([mention("CHF")], [AnnotatedDoc("z", "x")])


def test_the_long_form_finds_the_concept(terminology):
    docs = [AnnotatedDoc("d", "He had congestive heart failure (CHF). CHF worsened.")]
    answers = {"CHF": [("uncle", 0.4)], "congestive heart failure": [("gold", 0.9)]}
    mentions = [mention("CHF", "gold")]
    assert evaluate(terminology, answers, mentions)["hits@1"] == 0
    assert evaluate(terminology, answers, mentions, docs=docs)["hits@1"] == 1


def test_details(terminology):
    kb = SimpleNamespace(terminology=terminology, threshold=0.5)
    table = Table({"a": [("x", 0.9), ("gold", 0.8)]})
    mentions = [mention("a", "gone"), mention("b", "root"), mention("c")]
    first, second, third = rank_mentions(kb, mentions, generator=table).details()
    assert (first["gold"], first["rank"], first["concepts"]) == (["gold"], 2, ["gone"])
    assert [c["id"] for c in first["candidates"]] == ["x", "gold"]
    assert second["rank"] is None
    assert third["gold"] == []


def test_paired_difference(terminology):
    kb = SimpleNamespace(terminology=terminology, threshold=0.5)
    mentions = [mention(str(i), "gold", doc_id=f"d{i}") for i in range(20)]
    good = Table({str(i): [("gold", 1.0)] for i in range(20)})
    bad = Table({str(i): [("gold", 1.0)] for i in range(10)})
    first, second = (rank_mentions(kb, mentions, generator=g) for g in (good, bad))
    hits = compare_rankings(first, second)["hits@1"]
    assert hits["difference"] == pytest.approx(0.5)
    assert 0 < hits["ci"][0] < 0.5 < hits["ci"][1] < 1
    assert compare_rankings(first, first)["mrr"] == {"difference": 0.0, "ci": [0.0, 0.0]}
