from math import log

import numpy as np
import pytest

from spacy_termlink.lexical.bm25 import Bm25Index

TEXTS = ["heart murmur", "heart attack", "focal seizure", "heart", "seizure of the heart muscle"]


def bm25(query, text, k1=1.5, b=0.75):
    """Lucene's BM25 by its formula."""
    docs = [t.split() for t in TEXTS]
    mean = sum(map(len, docs)) / len(docs)
    words = text.split()
    score = 0.0
    for word in set(query.split()):
        n = sum(word in doc for doc in docs)
        if n:
            idf = log(1 + (len(docs) - n + 0.5) / (n + 0.5))
            tf = words.count(word)
            score += idf * tf / (tf + k1 * (1 - b + b * len(words) / mean))
    return score


def test_scores_and_order_are_those_of_the_formula():
    rows, scores = Bm25Index(TEXTS).search(["heart murmur", "seizure"], n=5)
    for query, found, values in zip(["heart murmur", "seizure"], rows, scores, strict=True):
        expected = [bm25(query, text) for text in TEXTS]
        n = sum(score > 0 for score in expected)
        assert found[:n].tolist() == sorted(range(5), key=lambda row: -expected[row])[:n]
        np.testing.assert_allclose(values[:n], sorted(expected, reverse=True)[:n], rtol=1e-5)
        assert found[n:].tolist() == [-1] * (5 - n)


def test_equal_scores_are_ordered_by_row():
    rows, _ = Bm25Index(["a b"] * 50 + ["a"]).search(["a"], n=3)
    assert rows.tolist() == [[50, 0, 1]]


@pytest.mark.parametrize("query", ["", "unheard", "..."])
def test_a_query_without_a_known_word_finds_nothing(query):
    rows, scores = Bm25Index(TEXTS).search([query], n=2)
    assert rows.tolist() == [[-1, -1]]
    assert scores.tolist() == [[0, 0]]


def test_an_empty_index_finds_nothing():
    assert Bm25Index([]).search(["heart"], n=2)[0].tolist() == [[-1, -1]]


def test_both_sides_are_normalised():
    rows, _ = Bm25Index(["Tumour, HEART", "liver"]).search(["tumor"], n=1)
    assert rows.tolist() == [[0]]
