import pytest

from spacy_termlink.evaluation.sets import set_counts, set_figures


@pytest.mark.parametrize(
    ("found", "golds", "counts"),
    [
        (["a", "b"], [["a"], ["b"]], (2, 0, 0)),
        (["a"], [["a"], ["b"]], (1, 0, 1)),
        (["a", "c"], [["a"], ["b"]], (1, 1, 1)),
        ([], [["a"]], (0, 0, 1)),
        (["a"], [], (0, 1, 0)),
        (["a2"], [["a", "a2"]], (1, 0, 0)),
        (["a", "a2"], [["a", "a2"]], (1, 1, 0)),  # one of two equally right ids is enough
        (["a"], [["a"], ["a"]], (1, 0, 1)),  # one id answers for one concept
        ([], [[]], (0, 0, 1)),  # a concept that the terminology does not know
    ],
)
def test_counts_of_a_mention(found, golds, counts):
    assert set_counts(found, golds) == counts


def test_micro_averages_by_hand(evaluate, mention):
    answers = {
        "cousin and gold": [("cousin", 0.6)],  # parts: both right
        "cousin": [("cousin", 0.9)],
        "gold": [("gold", 0.8)],
        "both": [("gold", 0.9), ("cousin", 0.8)],  # only the first is taken: one missed
        "nil": [("uncle", 0.9)],  # linked, and wrong
        "weak": [("uncle", 0.4)],  # under the threshold: missed
    }
    mentions = [
        mention("cousin and gold", "cousin", "gold"), mention("both", "gold", "cousin"),
        mention("nil"), mention("weak", "uncle", doc_id="e"),
    ]  # fmt: skip
    result = evaluate(answers, mentions)
    assert result.groups == [["cousin", "gold"], ["gold"], []]
    assert result.nil_groups == [["uncle"]]
    figures = set_figures(result)
    assert (figures["tp"], figures["fp"], figures["fn"]) == (3, 1, 2)
    assert figures["precision"] == pytest.approx(3 / 4)
    assert figures["recall"] == pytest.approx(3 / 5)
    assert figures["f1"] == pytest.approx(6 / 9)
    assert figures["ci"]["f1"][0] <= figures["f1"] <= figures["ci"]["f1"][1]
    several = figures["several"]
    assert (several["tp"], several["fp"], several["fn"]) == (3, 0, 1)
    assert figures["threshold"] == 0.5


def test_ids_are_redirected(evaluate, mention):
    result = evaluate({"a": [("nephew-alt", 1.0)]}, [mention("a", "nephew")])
    assert result.groups == [["nephew"]]
    assert set_figures(result)["f1"] == 1.0
