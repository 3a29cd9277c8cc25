import numpy as np
import pytest

from spacy_termlink.training.data import TrainingData
from spacy_termlink.training.refresh import draw_hard, draw_pool, refresh, table_rows
from spacy_termlink.training.settings import RefreshSettings

from .conftest import exact_search


@pytest.fixture
def data(mined):
    return TrainingData(mined, ["synonym"])


def letters(data):
    """An encoder that counts letters: names that share letters are near."""

    def encode(numbers):
        rows = np.zeros((len(numbers), 27), dtype=np.float32)
        for i, number in enumerate(numbers.tolist()):
            for letter in data.texts[number]:
                rows[i, (ord(letter) - ord("a")) % 27] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return encode


def run(data, *, seed=0, number=0, **settings):
    return refresh(
        data, RefreshSettings(**settings), letters(data), exact_search, seed=seed, number=number
    )


def names_of(data, rows):
    return [data.texts[text] for text in data.names.text[rows[rows >= 0]]]


def row_of(data, table, text, concept):
    return table_rows(data, table)[data.texts.index(text), data.concepts.index(concept)]


def test_negatives_are_the_nearest_names_of_other_concepts(data):
    table = run(data, positives=3, negatives=4)
    vectors = letters(data)(data.names.text)
    for anchor in range(len(table.rows)):
        own = data.names.concept[anchor]
        allowed = np.flatnonzero(data.names.concept != own)
        barred = data.equivalents.barred.get(data.concepts[own], ())
        expected = []
        for row in allowed[np.argsort(-(vectors[allowed] @ vectors[anchor]), kind="stable")]:
            shared = data.sharers.get(data.normal(data.names.text[row]), ())
            if data.concepts[data.names.concept[row]] not in barred and own not in shared:
                expected.append(row)
        assert table.negative[anchor].tolist() == expected[:4]


def test_a_concept_with_a_cross_reference_and_a_shared_name_are_no_negatives(data):
    table = run(data, positives=1, negatives=28)
    fever = names_of(data, table.negative[row_of(data, table, "fever", "T:07")])
    assert "headache" not in fever and "cough" in fever
    fit = names_of(data, table.negative[row_of(data, table, "seizure", "T:00")])
    assert "fits" not in fit and "tantrum" in fit


def test_hardest_positives_are_the_farthest_names(data):
    table = run(data, positives=2, negatives=1, choose="hardest")
    row = row_of(data, table, "seizure", "T:00")
    found = names_of(data, table.positive[row])
    encode = letters(data)
    others = ["epileptic fit", "fits", "convulsion"]
    numbers = np.array([data.texts.index(text) for text in ["seizure", *others]])
    vectors = encode(numbers)
    order = np.argsort(vectors[1:] @ vectors[0], kind="stable")
    assert found == [others[i] for i in order[:2]]


def test_random_positives_depend_on_the_refresh_and_the_seed_alone(data):
    settings = {"positives": 1, "negatives": 1, "choose": "random"}
    first, again = run(data, **settings), run(data, **settings)
    assert np.array_equal(first.positive, again.positive)
    drawn = {tuple(run(data, number=n, **settings).positive.ravel()) for n in range(8)}
    assert len(drawn) > 1
    concepts = data.names.concept
    kept = first.positive[:, 0] >= 0
    assert np.array_equal(concepts[first.positive[kept, 0]], concepts[first.rows[kept]])
    assert (first.positive[kept, 0] != first.rows[kept]).all()


def test_pool_takes_whole_concepts_and_is_redrawn(data):
    pools = [draw_pool(data, 10, 0, "pool", number) for number in range(6)]
    for rows in pools:
        concepts = data.names.concept[rows]
        assert len(rows) == np.isin(data.names.concept, concepts).sum()
        assert 10 <= len(rows) < 16
    assert len({tuple(rows) for rows in pools}) > 1
    assert len(draw_pool(data, 0, 0)) == len(draw_pool(data, 1000, 0)) == len(data.names.text)


def test_search_in_a_pool_stays_in_it(data):
    table = run(data, positives=2, negatives=5, pool=10)
    pool = set(table.rows.tolist())
    assert set(table.negative[table.negative >= 0].tolist()) <= pool
    assert set(table.positive[table.positive >= 0].tolist()) <= pool
    own = data.names.concept[table.rows][:, None]
    there = table.negative >= 0
    assert (data.names.concept[table.negative] != own)[there].all()


def test_draw_gives_distinct_names_of_the_table(data):
    table = run(data, positives=3, negatives=5)
    anchors = np.array([row_of(data, table, "seizure", "T:00"), -1])
    hard = draw_hard(data, table, anchors, positives=3, negatives=4, key=("a",))
    texts = hard.negative[0, :, 0]
    assert len(set(texts.tolist())) == 4
    assert set(texts) <= set(data.names.text[table.negative[anchors[0]]])
    assert (hard.negative[1] == -1).all() and (hard.positive[1] == -1).all()
    assert sorted(names_of(data, table.positive[anchors[0]])) == [
        "convulsion",
        "epileptic fit",
        "fits",
    ]
    same = draw_hard(data, table, anchors, positives=3, negatives=4, key=("a",))
    assert np.array_equal(hard.negative, same.negative)
    others = [
        draw_hard(data, table, anchors, positives=0, negatives=4, key=(i,)).negative[0, :, 0]
        for i in range(5)
    ]
    assert any(not np.array_equal(others[0], other) for other in others)


def test_shares_of_two_processes_make_the_whole(data):
    def share(rank):
        return lambda n: slice(rank, n, 2)

    settings = RefreshSettings(positives=2, negatives=3)
    whole = run(data, positives=2, negatives=3)
    for rank in (0, 1):
        part = refresh(
            data, settings, letters(data), exact_search, seed=0, number=0, share=share(rank)
        )
        assert np.array_equal(part.negative[rank::2], whole.negative[rank::2])
        assert np.array_equal(part.positive[rank::2], whole.positive[rank::2])
