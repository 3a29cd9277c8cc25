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
    "word, suggestion",
    [
        ("hearng", "hearing"),
        ("impairmant", "impairment"),
        ("renal", None),
        # the more frequent of two neighbours
        ("statur", "stature"),
        # short words and unknown ones
        ("cyts", None),
        ("palpitations", None),
        ("", None),
        ("頭痛", None),
        ("\ud800", None),
        ("x" * 100_000, None),
    ],
)
def test_suggest(word, suggestion):
    assert SpellingIndex.build(NAMES).suggest(word) == suggestion


@pytest.mark.parametrize(
    "word, suggestion, expected",
    [
        ("dysphaiga", "dysphagia", True),
        ("dysphaga", "dysphagia", True),
        ("dyspphagia", "dysphagia", True),
        ("dysphagiaa", "dysphagia", True),
        # it ends as aphasia does
        ("dysphasia", "dysphagia", False),
        # it starts as perone does
        ("peroneal", "perineal", False),
        # words of their own that start with another letter
        ("acellular", "cellular", False),
        ("wetting", "setting", False),
        # short
        ("ilial", "ileal", False),
    ],
)
def test_a_word_that_the_names_lack_is_no_slip(word, suggestion, expected):
    names = ["dysphagia", "aphasia", "perineal pain", "perone", "cellular", "setting", "ileal"]
    index = SpellingIndex.build(names)
    assert index.suggest(word) == suggestion
    assert index.is_slip(word, suggestion) is expected


def test_written_and_opened_it_is_the_same(tmp_path):
    index = SpellingIndex.build(NAMES)
    index.save(tmp_path)
    opened = SpellingIndex.open(tmp_path)
    for name, array in index._arrays.items():
        assert np.array_equal(array, opened._arrays[name])
    assert opened.suggest("hearng") == "hearing"
    assert opened.is_slip("impairmant", "impairment")


def test_no_names():
    assert SpellingIndex.build([]).suggest("hearing") is None
