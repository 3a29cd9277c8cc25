import pytest

from spacy_termlink.lexical.stopwords import STOP_WORDS, content_words
from spacy_termlink.text import normalize


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Abnormality of the Heart", ["abnormality", "heart"]),
        ("to be", ["to", "be"]),  # nothing else is left of it
        ("", []),
        ("右心室切除", ["右", "心", "室", "切", "除"]),
        ("CD4+ T-cells", ["cd4", "positive", "t", "cells"]),
    ],
)
def test_content_words(text, words):
    assert content_words(text) == words
    assert content_words(normalize(text), normalized=True) == words


def test_stop_words_are_normal_forms():
    assert {normalize(word) for word in STOP_WORDS} == STOP_WORDS
