import numpy as np
import pytest

from spacy_termlink.lexical import ngram
from spacy_termlink.lexical.ngram import NgramIndex, ngrams

WORDS = ["renal", "cyst", "tumor", "heart", "failure", "acute", "chronic", "pain", "joint", "skin",
         "hearing", "loss", "bilateral", "short", "long", "finger", "toe", "face", "palate", "cleft"]  # fmt: skip


def make_names(n):
    random = np.random.default_rng(0)
    names = {" ".join(random.choice(WORDS, random.integers(1, 5))) for _ in range(n)}
    return sorted(names)


def exact_scores(index, mention):
    """Cosines with all names, by the definition."""
    return (index.vectors([mention]) @ index._by_name.T).toarray()[0]


@pytest.fixture(scope="module")
def index():
    return NgramIndex.build(make_names(3000))


def test_every_name_finds_itself_first(index):
    names = make_names(3000)
    rows, scores = index.search(index.vectors(names), n=3)
    assert np.allclose(scores[:, 0], 1, atol=1e-5)
    # names of the same trigrams ("pain pain", "pain pain pain") share the first place
    same = [
        sorted(set(names[row].split())) == sorted(set(name.split()))
        for row, name in zip(rows[:, 0], names)
    ]
    assert np.mean(rows[:, 0] == np.arange(len(names))) > 0.98
    assert all(same)


def test_pruned_search_against_exact_search(index):
    mentions = ["renl cyst", "hart failure", "acut pain in joint", "bilaterl hearing los", "toe"]
    rows, scores = index.search(index.vectors(mentions), n=5)
    for mention, row, score in zip(mentions, rows, scores):
        exact = exact_scores(index, mention)
        best = np.lexsort((np.arange(len(exact)), -exact))[:5]
        assert np.allclose(score, exact[best], atol=1e-6)
        assert np.allclose(exact[row], score, atol=1e-6)
        assert (np.diff(score) <= 0).all()


def test_scores_do_not_depend_on_the_batch(index):
    names = make_names(400)
    rows, scores = index.search(index.vectors(names), n=4)
    for i in (0, 70, len(names) - 1):
        row, score = index.search(index.vectors([names[i]]), n=4)
        assert np.array_equal(row[0], rows[i])
        assert np.array_equal(score[0], scores[i])


@pytest.mark.parametrize("few_rows", [0, 10_000])
def test_only_allowed_rows_are_found(index, monkeypatch, few_rows):
    """Both ways: allowed rows compared one by one, and a mask over what is proposed."""
    monkeypatch.setattr(ngram, "FEW_ROWS", few_rows)
    allowed = np.zeros(index.n_names, dtype=bool)
    allowed[::7] = True
    rows, scores = index.search(
        index.vectors(["renal cyst", "hearing loss"]), n=5, allowed_rows=allowed
    )
    assert allowed[rows].all()
    for mention, score in zip(["renal cyst", "hearing loss"], scores):
        exact = np.sort(exact_scores(index, mention)[allowed])[::-1]
        assert np.allclose(score, exact[:5], atol=1e-6)
    rows, _ = index.search(
        index.vectors(["renal cyst"]), n=5, allowed_rows=np.zeros(index.n_names, dtype=bool)
    )
    assert (rows == -1).all()


def test_written_and_opened_it_is_the_same(index, tmp_path):
    index.save(tmp_path)
    opened = NgramIndex.open(tmp_path)
    for name, array in index._arrays.items():
        assert np.array_equal(array, opened._arrays[name]), name
    mentions = ["renal cyst", "acute hart failure"]
    for a, b in zip(
        index.search(index.vectors(mentions), n=5), opened.search(opened.vectors(mentions), n=5)
    ):
        assert np.array_equal(a, b)


def test_ngrams_of_words_and_of_characters_without_spaces():
    owners, grams = ngrams(["ab", "", "头痛x"])
    as_text = sorted(
        (owner, "".join(chr((int(g) >> shift) & 0x1FFFFF) for shift in (0, 21, 42)).rstrip("\0"))
        for owner, g in zip(owners.tolist(), grams.tolist())
    )
    assert as_text == [(0, " ab"), (0, "ab "), (2, "头"), (2, "头痛"), (2, "痛")]


def test_chinese_names():
    index = NgramIndex.build(["头痛", "腹痛", "慢性头痛"])
    rows, scores = index.search(index.vectors(["头疼", "慢性腹痛"]), n=2)
    assert rows[0, 0] == 0
    assert rows[1, 0] in (1, 2)
    assert 0 < scores[0, 0] < 1


def test_unknown_ngrams_keep_the_cosine_below_one():
    index = NgramIndex.build(["pain", "cyst"])
    _, scores = index.search(index.vectors(["pain xyzzy"]), n=1)
    assert 0 < scores[0, 0] < 0.8


@pytest.mark.parametrize("mention", ["", " ", "\x00", "\ud800", "zzz"])
def test_nothing_in_common(mention):
    index = NgramIndex.build(["pain", "cyst"])
    rows, scores = index.search(index.vectors([mention]), n=2)
    assert (rows == -1).all()
    assert (scores == 0).all()


def test_no_names_and_no_mentions():
    empty, one = NgramIndex.build([]), NgramIndex.build(["pain"])
    assert empty.search(empty.vectors(["pain"]), n=3)[0].shape == (1, 0)
    assert one.search(one.vectors([]), n=3)[0].shape == (0, 1)


@pytest.mark.parametrize("size", [1, 3, 7])
def test_an_index_counted_in_blocks_is_the_same(monkeypatch, size):
    texts = ["seizure", "focal seizure", "a", "", "癫痫 发作", "seizures", "heart attack", "a a a"]
    whole = NgramIndex.build(texts)._arrays
    monkeypatch.setattr("spacy_termlink.lexical.ngram.BLOCK_NAMES", size)
    blocks = NgramIndex.build(texts)._arrays
    for name, array in whole.items():
        assert array.dtype == blocks[name].dtype and np.array_equal(array, blocks[name]), name
