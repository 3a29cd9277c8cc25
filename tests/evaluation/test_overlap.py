import math
from types import SimpleNamespace

import numpy as np
import pytest

from spacy_termlink.evaluation.overlap import BANDS, NO_BAND, bands, overlap_degrees, tokens


def overlap_degree(query, names):
    """The degree of one query against a concept that has these names."""
    terminology = SimpleNamespace(
        row=lambda concept_id: 0,
        name_rows=lambda row: range(len(names)),
        name_text=names.__getitem__,
    )
    return overlap_degrees(terminology, [[query]], [["A"]])[0]


def test_examples_of_the_seed():
    # seed 002: one word of three, and none
    assert overlap_degree("narrow retinal arterioles", ["Retinal arteries attenuated"]) == 1 / 3
    assert overlap_degree("tooth mass excess", ["Macrodontia"]) == 0.0


def test_names_count_together():
    assert overlap_degree("renal failure", ["Renal insufficiency", "Kidney failure"]) == 1.0
    assert overlap_degree("renal failure", []) == 0.0


def test_names_that_are_not_searched_do_not_count():
    names = ["renal failure", "kidney failure"]
    terminology = SimpleNamespace(
        row=lambda concept_id: 0,
        name_rows=lambda row: range(len(names)),
        name_text=names.__getitem__,
        name_normalized=names.__getitem__,
    )
    degrees = overlap_degrees(terminology, [["renal failure"]], [["A"]], without={names[0]})
    assert degrees.tolist() == [0.5]


def test_tokens_are_normal_forms_without_stop_words():
    assert tokens("The Tumours of the β-cell, and a haemorrhage") == {
        "tumors", "beta", "cell", "hemorrhage",
    }  # fmt: skip
    assert tokens("Type II") == tokens("type 2") == {"type", "2"}
    assert tokens("重度贫血") == set("重度贫血")


def test_a_word_said_twice_counts_once():
    assert overlap_degree("pain pain back", ["Back"]) == 0.5


@pytest.mark.parametrize("query", ["+ %", ""])
def test_without_words_there_is_no_degree(query):
    assert math.isnan(overlap_degree(query, ["+ of %"]))


def test_an_abbreviation_that_is_written_as_a_stop_word_is_a_word():
    assert overlap_degree("WAS", ["Wiskott-Aldrich syndrome", "WAS"]) == 1.0
    assert overlap_degree("WAS", ["Wiskott-Aldrich syndrome", "it was found"]) == 0.0


def test_bands_leave_out_their_lower_bound():
    degrees = [0.0, 1 / 10, 1 / 5, 2 / 10, 1 / 4, 2 / 5, 3 / 5, 2 / 3, 4 / 5, 5 / 6, 1.0, np.nan]
    assert bands(np.array(degrees)) == [
        "0", "(0, 0.2]", "(0, 0.2]", "(0, 0.2]", "(0.2, 0.4]", "(0.2, 0.4]", "(0.4, 0.6]",
        "(0.6, 0.8]", "(0.6, 0.8]", "(0.8, 1]", "(0.8, 1]", NO_BAND,
    ]  # fmt: skip
    assert len(BANDS) == 6
    assert bands(np.array([])) == []


def test_every_share_of_words_lies_in_its_band():
    """No share is put into the next band by the rounding of a float."""
    for n in range(1, 40):
        for shared in range(n + 1):
            band = BANDS[-(-5 * shared // n)]  # ceil(5 * shared / n), in whole numbers
            assert bands(np.array([shared / n])) == [band]
