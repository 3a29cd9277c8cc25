import numpy as np
import pytest
import pytrec_eval
from sklearn.metrics import ndcg_score

from spacy_termlink.evaluation.gains import Gains
from spacy_termlink.evaluation.ranking import (
    METRICS,
    mention_figures,
    mention_figures_all,
)
from spacy_termlink.terminology import Concept, Relation, Terminology
from spacy_termlink.terminology.builder import build_terminology


def figures(ids, gold, terminology):
    values = mention_figures(ids, gold, Gains(terminology))
    return dict(zip(METRICS, values, strict=True))


def figures_all(ids, golds, terminology):
    values = mention_figures_all(ids, golds, Gains(terminology))
    return dict(zip(METRICS, values, strict=True))


def test_seed_example_through_the_graph(tmp_path):
    # a tree in which the gold concept has one parent, one sibling, one uncle, one grandparent
    edges = {"parent": "grand", "uncle": "grand", "gold": "parent", "sibling": "parent"}
    concepts = [Concept("grand", "grand")]
    concepts += [Concept(c, c, relations=[Relation("is_a", p)]) for c, p in edges.items()]
    build_terminology(concepts, tmp_path / "t")
    ids = ["gold", "sibling", "parent", "uncle", "grand"]
    found = figures(ids, ["gold"], Terminology.open(tmp_path / "t"))
    assert found["ndcg@5"] == pytest.approx(0.976, abs=0.0006)


def test_figures_by_hand(terminology):
    found = figures(["sibling", "x", "gold"], ["gold"], terminology)
    assert (found["hits@1"], found["hits@5"], found["hits@10"]) == (0, 1, 1)
    assert found["mrr"] == pytest.approx(1 / 3)
    assert found["ndcg@1"] == pytest.approx(1 / 3)
    ideal = 3 + 2 / np.log2(3) + 2 / 2 + 1 / np.log2(5) + 1 / np.log2(6)
    assert found["ndcg@5"] == pytest.approx((1 + 3 / 2) / ideal)
    ideal += 1 / np.log2(7) + 1 / np.log2(8)
    assert found["ndcg@10"] == pytest.approx((1 + 3 / 2) / ideal)


def test_without_gold_or_candidates_every_figure_is_0(terminology):
    assert not any(figures(["gold"], [], terminology).values())
    assert not any(figures([], ["gold"], terminology).values())


def test_several_golds_take_the_best(terminology):
    both = figures(["cousin", "gold"], ["cousin", "gold"], terminology)
    alone = figures(["cousin", "gold"], ["cousin"], terminology)
    assert both["hits@1"] == 1
    assert both["ndcg@10"] >= alone["ndcg@10"]


def test_all_of_one_concept_is_any(terminology):
    ids = ["sibling", "uncle", "gold"]
    found = figures_all(ids, [("gold", "uncle")], terminology)
    assert found == figures(ids, ["gold", "uncle"], terminology)


def test_all_of_several_by_hand(terminology):
    golds = [("gold",), ("cousin",)]
    found = figures_all(["cousin", "gold", "x"], golds, terminology)
    assert all(found[m] == 1 for m in ("hits@1", "hits@5", "hits@10", "mrr", "ndcg@1"))
    found = figures_all(["cousin", "x", "y", "z", "gold", "w"], golds, terminology)
    # hits@1 asks for both among the first two; the last of two golds is the fifth: 1 / (5 - 2 + 1)
    assert (found["hits@1"], found["hits@5"], found["mrr"]) == (0, 1, 1 / 4)
    # the uncle is the cousin's parent and the gold concept's uncle: its gain is the better one, 2
    found = figures_all(["uncle"], golds, terminology)
    assert found["ndcg@1"] == pytest.approx(2 / 3)
    assert found["hits@10"] == found["mrr"] == 0


def test_all_needs_every_concept(terminology):
    missing = figures_all(["gold", "x"], [("gold",), ("cousin",)], terminology)
    assert (missing["hits@10"], missing["mrr"], missing["ndcg@1"]) == (0, 0, 1)
    unknown = figures_all(["gold"], [("gold",), ()], terminology)
    assert (unknown["hits@10"], unknown["mrr"], unknown["ndcg@1"]) == (0, 0, 1)
    assert not any(figures_all(["gold"], [], terminology).values())


def test_an_accepted_id_stands_for_its_concept(terminology):
    found = figures_all(["uncle", "cousin"], [("gold", "uncle"), ("cousin",)], terminology)
    assert (found["hits@1"], found["mrr"]) == (1, 1)
    # gains are those of uncle and cousin now, which have an ideal list of their own
    assert found["ndcg@1"] == 1


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """300 concepts, most with one parent, some with two."""
    rng = np.random.default_rng(0)
    concepts = [Concept("C000", "c0")]
    for i in range(1, 300):
        parents = {f"C{p:03}" for p in rng.integers(max(0, i - 40), i, size=1 + (i % 7 == 0))}
        relations = [Relation("is_a", p) for p in sorted(parents)]
        concepts.append(Concept(f"C{i:03}", f"c{i}", relations=relations))
    path = tmp_path_factory.mktemp("big") / "t"
    build_terminology(concepts, path)
    return Terminology.open(path)


@pytest.fixture(scope="module")
def runs(big):
    """Gold concept and ten candidates of 400 mentions, many of them near the gold concept."""
    rng = np.random.default_rng(1)
    gains, rows = Gains(big), []
    for _ in range(400):
        gold = f"C{rng.integers(300):03}"
        near = list(gains.of(gold))
        pool = [*near[: rng.integers(0, 8)], *(f"C{i:03}" for i in rng.integers(300, size=12))]
        ids = list(dict.fromkeys(np.array(pool)[rng.permutation(len(pool))].tolist()))[:10]
        rows.append((gold, ids))
    return rows


def test_figures_agree_with_trec_eval(big, runs):
    """pytrec_eval: gain as given, discount log2(rank + 1), success@k, reciprocal rank."""
    gains = Gains(big)
    graded = {str(i): gains.of(gold) for i, (gold, _) in enumerate(runs)}
    exact = {str(i): {gold: 1} for i, (gold, _) in enumerate(runs)}
    run = {
        str(i): {c: float(len(ids) - rank) for rank, c in enumerate(ids)}
        for i, (_, ids) in enumerate(runs)
    }
    first = pytrec_eval.RelevanceEvaluator(graded, {"ndcg_cut.1,5,10"}).evaluate(run)
    second = pytrec_eval.RelevanceEvaluator(exact, {"success.1,5,10", "recip_rank"}).evaluate(run)
    names = {f"hits@{k}": f"success_{k}" for k in (1, 5, 10)}
    names |= {"mrr": "recip_rank"} | {f"ndcg@{k}": f"ndcg_cut_{k}" for k in (1, 5, 10)}
    n_hits = 0
    for i, (gold, ids) in enumerate(runs):
        expected = first[str(i)] | second[str(i)]
        found = figures(ids, [gold], big)
        assert found == pytest.approx({m: expected[names[m]] for m in METRICS}, abs=1e-9)
        n_hits += found["hits@10"]
    assert 20 < n_hits < 380  # neither all right nor all wrong


def test_ndcg_over_the_terminology_agrees_with_scikit_learn(big, runs):
    gains, ids_of_all = Gains(big), [f"C{i:03}" for i in range(300)]
    for gold, ids in runs[:100]:
        relevance = [gains.of(gold).get(i, 0) for i in ids_of_all]
        # what was not found is ranked behind, by concepts without gain: lists are cut at ten
        scores = [1 - ids.index(i) / 20 if i in ids else 0.0 for i in ids_of_all]
        if len(ids) < 10:
            continue
        found = figures(ids, [gold], big)
        for k in (1, 5, 10):
            expected = ndcg_score([relevance], [scores], k=k, ignore_ties=True)
            assert found[f"ndcg@{k}"] == pytest.approx(expected, abs=1e-9)
