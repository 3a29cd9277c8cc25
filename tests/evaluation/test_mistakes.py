import json

import pytest

from spacy_termlink.evaluation.mistakes import MISTAKES, count_mistakes, describe_mentions


@pytest.mark.parametrize(
    ("gold", "answers", "errors"),
    [
        (["gold"], [("gold", 0.9)], []),
        (["gold"], [("gold", 0.4)], ["refused"]),
        (["gold"], [], ["not_recalled", "refused"]),
        (["gold"], [("x", 0.9), ("gold", 0.8)], ["recalled_not_first"]),
        (["gold"], [("cousin", 0.9)], ["not_recalled"]),
        (["gold"], [("parent", 0.9)], ["parent", "not_recalled"]),
        (["gold"], [("child", 0.9), ("gold", 0.8)], ["child", "recalled_not_first"]),
        (["gold"], [("sibling", 0.4)], ["sibling", "not_recalled", "refused"]),
        (["gold"], [("cousin", 0.9, "shared name")], ["ambiguous_name", "not_recalled"]),
        (["gone"], [("parent", 0.9)], ["retired_id", "parent", "not_recalled"]),
        (["nephew-alt"], [("x", 0.9)], ["retired_id", "not_recalled"]),
        (["nephew-alt"], [("nephew", 0.9)], []),
        (["lost"], [("x", 0.9)], ["retired_id", "not_recalled"]),
        (["OTHER:1"], [("x", 0.9)], ["unknown_id", "not_recalled"]),
        (["OTHER:1", "gold"], [("x", 0.9)], ["not_recalled"]),
        (["cousin", "gold"], [("parent", 0.9)], ["parent", "not_recalled"]),
        ([], [("gold", 0.5)], ["nil_linked"]),
        ([], [("gold", 0.4)], []),
        ([], [], []),
    ],
)
def test_what_went_wrong(evaluate, mention, gold, answers, errors):
    [row] = describe_mentions(evaluate({"a": answers}, [mention("a", *gold)]))
    assert (row["errors"], row["error"]) == (errors, errors[0] if errors else None)
    assert errors == sorted(errors, key=MISTAKES.index)


def test_rows_are_in_the_order_of_the_file_and_say_everything(evaluate, mention):
    mentions = [
        mention("nil", label="L", split="dev"),
        mention("the gold one", "gone", doc_id="e", cardinality="composite"),
        mention("b", "root"),
    ]
    answers = {"the gold one": [("parent", 0.9), ("gold", 0.8)], "nil": [("x", 0.1)]}
    rows = describe_mentions(evaluate(answers, mentions))
    assert [row["text"] for row in rows] == ["nil", "the gold one", "b"]
    candidates = rows[1].pop("candidates")
    assert [(c["id"], c["score"]) for c in candidates] == [("parent", 0.9), ("gold", 0.8)]
    assert rows[1] == {
        "id": "the gold one", "doc_id": "e", "text": "the gold one", "label": "", "split": "",
        "cardinality": "composite", "concepts": ["gone"], "gold": ["gold"], "overlap": 0.5,
        "overlap_band": "(0.4, 0.6]", "rank": 2, "gain": 2, "error": "retired_id",
        "errors": ["retired_id", "parent", "recalled_not_first"],
    }  # fmt: skip
    assert (rows[0]["label"], rows[0]["split"], rows[0]["rank"]) == ("L", "dev", None)
    assert (rows[0]["overlap"], rows[0]["gain"], rows[0]["gold"]) == (None, None, [])
    assert (rows[2]["rank"], rows[2]["gain"], rows[2]["overlap"]) == (None, 0, 0.0)
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_a_mention_without_a_word_has_no_overlap(evaluate, mention):
    [row] = describe_mentions(evaluate({}, [mention("- %", "gold")]))
    assert (row["overlap"], row["overlap_band"]) == (None, "none")


def test_counts(evaluate, mention):
    answers = {"a": [("parent", 0.9)], "b": [("x", 0.9)], "c": [("gold", 0.9)]}
    rows = describe_mentions(evaluate(answers, [mention(text, "gold") for text in "abc"]))
    found = count_mistakes(rows)
    assert list(found) == list(MISTAKES)
    assert found["parent"] == {"n": 1, "n_first": 1}
    assert found["not_recalled"] == {"n": 2, "n_first": 1}
    assert found["child"] == {"n": 0, "n_first": 0}
