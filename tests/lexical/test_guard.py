"""The names that were nearest to 231 phrases in HPO and ICD-10-CM, before there was a guard against them."""

import csv
from pathlib import Path

import pytest

from spacy_termlink.lexical.guard import judge
from spacy_termlink.text import normalize

with (Path(__file__).parent / "nearest_names.tsv").open(encoding="utf8", newline="") as rows:
    NEAREST = list(csv.DictReader(rows, delimiter="\t"))


def is_answer(mention, name):
    [wrong], unsure = judge(normalize(mention), [normalize(name)])
    return not (wrong or unsure)


@pytest.mark.parametrize(
    "row", [row for row in NEAREST if row["answer"] != "missed"], ids=lambda row: row["mention"]
)
def test_nearest_names(row):
    """ "no": the name says something else; "yes": the same, or something wider. "missed" are wrong for
    reasons that these rules do not see."""
    assert is_answer(row["mention"], row["name"]) is (row["answer"] == "yes")


def test_a_silent_name_stands_behind_one_that_agrees():
    names = ["fast heart rate", "abnormal heart rate", "slowed heart rate"]
    assert judge("slow heart rate", names) == ([True, True, False], False)
    assert judge("slow heart rate", names[:2]) == ([True, False], True)


def test_a_silent_name_is_an_answer_where_the_nearest_is_no_opposite():
    assert judge("slow heart rate", ["abnormal heart rate", "fast heart rate"]) == (
        [False, True],
        False,
    )


def test_nothing_left_and_no_names():
    assert judge("low tsh", ["high tsh"]) == ([True], False)
    assert judge("low tsh", []) == ([], False)
