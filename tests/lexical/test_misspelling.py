import numpy as np
import pytest

from spacy_termlink.lexical.misspelling import SpellingIndex, one_edit

NAMES = ["hearing impairment", "renal cyst", "renal tumor", "short stature", "small stature",
         "statue of liberty", "dropsy"]  # fmt: skip


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("renal", "renl", True),
        ("renl", "renal", True),
        ("renal", "rebal", True),
        ("renal", "reanl", True),
        ("renal", "ranel", False),
        ("renal", "rnl", False),
        ("renal", "renall", True),
    ],
)
def test_one_edit(a, b, expected):
    assert one_edit(a, b) is expected


@pytest.mark.parametrize(
    "mention, corrected",
    [
        ("hearng impairmant", "hearing impairment"),
        ("renal cyst", "renal cyst"),
        # the more frequent of two neighbours
        ("statur", "stature"),
        # short words and unknown ones stay
        ("cyts", "cyts"),
        ("palpitations", "palpitations"),
        ("", ""),
        ("頭痛 \ud800", "頭痛 \ud800"),
        ("x" * 100_000, "x" * 100_000),
    ],
)
def test_correct(mention, corrected):
    assert SpellingIndex.build(NAMES).correct(mention) == corrected


def test_written_and_opened_it_is_the_same(tmp_path):
    index = SpellingIndex.build(NAMES)
    index.save(tmp_path)
    opened = SpellingIndex.open(tmp_path)
    for name, array in index._arrays.items():
        assert np.array_equal(array, opened._arrays[name])
    assert opened.correct("hearng") == "hearing"


def test_no_names():
    assert SpellingIndex.build([]).correct("hearing") == "hearing"
