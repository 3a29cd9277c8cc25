import json

import pytest

from spacy_termlink.evaluation.mistakes import describe_mentions
from spacy_termlink.evaluation.ranking import METRICS
from spacy_termlink.evaluation.summary import NOT_GIVEN, groups_of, summarize

ANSWERS = {"a": [("gold", 0.9)], "b": [("x", 0.9), ("root", 0.8)]}


def test_means_and_intervals(evaluate, mention):
    mentions = [mention("a", "gold"), mention("b", "root", doc_id="e"), mention("c", "root")]
    found = summarize(evaluate(ANSWERS, mentions))
    assert found["hits@1"] == pytest.approx(1 / 3)
    assert found["hits@5"] == found["hits@10"] == pytest.approx(2 / 3)
    assert found["mrr"] == pytest.approx(0.5)
    assert (found["n"], found["n_documents"]) == (3, 2)
    assert found["mentions_per_second"] > 0
    assert set(found["ci"]) == set(METRICS)
    assert all(low <= found[name] <= high for name, (low, high) in found["ci"].items())
    # of one concept each, all is any
    assert {m: found["all"][m] for m in METRICS} == {m: found[m] for m in METRICS}
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_unknown_gold_is_reported(evaluate, mention):
    answers = {"a": [("gold", 1.0)], "b": [("gold", 1.0)], "c": [("OTHER:1", 1.0)]}
    mentions = [mention("a", "gold"), mention("b", "OTHER:1", "gold"), mention("c", "OTHER:1")]
    found = summarize(evaluate(answers, [*mentions, mention("d", "lost")]))
    assert (found["n"], found["n_unknown_gold"], found["hits@1"]) == (4, 2, 0.5)
    assert found["unknown_gold"] == ["OTHER:1", "lost"]


def test_nil_by_hand(evaluate, mention):
    answers = {"a": [("gold", 1.0)], "b": [("gold", 0.4)], "c": [("gold", 0.5)]}
    mentions = [
        mention("a", "gold"),
        mention("b"),
        mention("c"),
        mention("b", "gold"),
        mention("z"),
    ]
    found = summarize(evaluate(answers, mentions))
    assert (found["n"], found["hits@1"]) == (2, 1.0)
    nil = found["nil"]
    # at the threshold it is a link (DESIGN.md, section 4), under it NIL
    assert (nil["n"], nil["accuracy"], nil["threshold"]) == (3, pytest.approx(2 / 3), 0.5)
    assert (nil["tp"], nil["fp"], nil["fn"], nil["n_refused"]) == (2, 1, 1, 1)
    assert nil["precision"] == nil["recall"] == nil["f1"] == pytest.approx(2 / 3)
    assert set(nil["ci"]) == {"precision", "recall", "f1"}


def test_without_nil_mentions_there_is_no_figure_of_them(evaluate, mention):
    nil = summarize(evaluate({"a": [("gold", 0.1)]}, [mention("a", "gold")]))["nil"]
    assert (nil["n"], nil["accuracy"], nil["f1"], nil["ci"]) == (0, None, None, {})
    assert nil["n_refused"] == 1


def test_only_nil_mentions(evaluate, mention):
    found = summarize(evaluate({}, [mention("b")]))
    assert (found["n"], found["hits@1"], found["ci"]) == (0, None, {})
    assert found["nil"]["f1"] == 1.0
    assert found["by_overlap"] == found["by_split"] == {}
    assert found["spearman"] == {"rho": None, "ci": None, "n_positive": 0, "n_negative": 0}


def test_groups(evaluate, mention):
    mentions = [
        mention("a", "gold", split="train", label="X"),
        mention("gold parent", "gold", split="dev"),
        mention("gold", "gold", split="train"),
        mention("%", "gold", split="dev"),
    ]
    result = evaluate({"gold": [("gold", 0.9)]}, mentions)
    assert groups_of(result, "split") == {"dev": [1, 3], "train": [0, 2]}
    assert groups_of(result, "label") == {"X": [0], NOT_GIVEN: [1, 2, 3]}
    assert groups_of(result, "overlap") == {
        "0": [0], "(0.4, 0.6]": [1], "(0.8, 1]": [2], "none": [3],
    }  # fmt: skip
    found = summarize(result)
    assert found["by_split"]["train"]["hits@1"] == 0.5
    assert found["by_overlap"]["(0.8, 1]"]["hits@10"] == 1.0
    assert found["by_label"]["X"]["n"] == found["by_label"]["X"]["n_documents"] == 1
    for name in ("split", "label", "cardinality", "overlap"):
        groups = found[f"by_{name}"].values()
        assert sum(g["n"] for g in groups) == found["n"]
        mean = sum(g["n"] * g["mrr"] for g in groups) / found["n"]
        assert mean == pytest.approx(found["mrr"])


def test_mentions_of_several_concepts(evaluate, mention):
    answers = {"a": [("gold", 1.0), ("cousin", 0.9)], "b": [("gold", 1.0)], "c": [("x", 1.0)]}
    mentions = [mention(text, "gold", "cousin") for text in "ab"] + [mention("c", "gold")]
    found = summarize(evaluate(answers, mentions))
    assert found["several"]["n"] == found["several"]["all"]["n"] == 2
    assert found["several"]["any"]["hits@1"] == 1.0
    assert found["several"]["all"]["hits@1"] == 0.5
    assert (found["hits@1"], found["all"]["hits@1"]) == pytest.approx((2 / 3, 1 / 3))


def test_no_mentions_of_several_concepts(evaluate, mention):
    several = summarize(evaluate(ANSWERS, [mention("a", "gold")]))["several"]
    assert (several["n"], several["any"]["hits@1"], several["all"]["ci"]) == (0, None, {})


def test_rows_that_are_there_are_not_made_again(evaluate, mention):
    result = evaluate(ANSWERS, [mention("b", "root")])
    rows = describe_mentions(result)
    assert summarize(result, rows=rows) == summarize(result)
