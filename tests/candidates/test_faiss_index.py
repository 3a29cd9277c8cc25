"""Every index type against exact search: values, order, self-match, masks, write and open."""

import numpy as np
import pytest

from spacy_termlink.candidates.faiss_index import (
    FILE,
    FILES,
    DenseIndex,
    build_index,
    factory_string,
)
from spacy_termlink.errors import TermlinkError

N, WIDTH = 2000, 32
#: spec -> (least share of names that find themselves first, largest error of a score)
SPECS = {
    "auto": (1.0, 1e-5),
    "Flat": (1.0, 1e-5),
    "HNSW": (0.995, 1e-5),
    "IVF": (1.0, 1e-5),
    "SQ8": (0.99, 0.02),
    "PQ": (0.15, 0.6),
    "IVF16,SQ8": (0.99, 0.02),
    "IVF_SQ8": (0.99, 0.02),
    "IVF_PQ": (0.97, 0.02),
    "OPQ8,PQ8x4": (0.1, 0.7),
}


@pytest.fixture(scope="module")
def vectors():
    random = np.random.default_rng(0)
    centres = random.normal(size=(40, WIDTH))
    vectors = centres[random.integers(0, 40, N)] + 0.6 * random.normal(size=(N, WIDTH))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module", params=SPECS, ids=str)
def built(request, vectors):
    return request.param, build_index(vectors, request.param)


def test_names_find_themselves(built, vectors):
    spec, index = built
    rows, _ = index.search(vectors, n=1)
    assert np.mean(rows[:, 0] == np.arange(N)) >= SPECS[spec][0]


def test_values_and_order_against_exact_search(built, vectors):
    spec, index = built
    least, error = SPECS[spec]
    queries = vectors[::20] + 0.05
    exact = queries @ vectors.T
    rows, scores = index.search(queries, n=10)
    assert (np.diff(scores, axis=1) <= 1e-6).all()
    found = np.take_along_axis(exact, rows, axis=1)
    assert np.abs(found - scores).max() <= error
    best = np.argsort(-exact, axis=1)[:, :10]
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(rows, best, strict=True)])
    assert recall >= (1.0 if spec in ("auto", "Flat") else least - 0.1)


def test_scores_of_given_rows(built, vectors):
    spec, index = built
    rows = np.array([[3, 5, -1], [7, 3, 9]])
    scores = index.scores_of(vectors[:2], rows)
    expected = np.einsum("bd,bmd->bm", vectors[:2], vectors[np.maximum(rows, 0)])
    assert scores[0, 2] == 0
    expected[0, 2] = 0
    assert np.abs(scores - expected).max() <= SPECS[spec][1]


@pytest.mark.parametrize("share", [0.02, 0.6])
def test_only_allowed_rows_and_as_many_as_asked(built, vectors, share, monkeypatch):
    """A narrow mask is compared row by row, a wide one is a selector inside the search."""
    spec, index = built
    monkeypatch.setattr("spacy_termlink.candidates.dense_index.BRUTE_FORCE_ROWS", 100)
    allowed = np.random.default_rng(1).random(N) < share
    rows, scores = index.search(vectors[:50], n=10, allowed_rows=allowed)
    assert rows.shape == (50, 10)
    assert (rows >= 0).all()
    assert allowed[rows].all()
    if spec in ("auto", "Flat"):
        exact = np.sort((vectors[:50] @ vectors.T)[:, allowed], axis=1)[:, ::-1][:, :10]
        assert np.allclose(scores, exact, atol=1e-5)
    nothing = np.zeros(N, dtype=bool)
    assert index.search(vectors[:2], n=5, allowed_rows=nothing)[0].shape == (2, 0)


def test_written_and_opened_it_answers_the_same(built, vectors, tmp_path):
    _, index = built
    index.save(tmp_path)
    opened = DenseIndex.open(tmp_path, index.factory)
    assert len(opened) == N
    for a, b in zip(index.search(vectors[:50], n=7), opened.search(vectors[:50], n=7), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("spec", ["Flat", "HNSW", "IVF", "SQ8", "PQ", "IVF_SQ8", "IVF_PQ"])
def test_same_vectors_same_bytes(vectors, spec, tmp_path):
    written = []
    for name in "ab":
        (tmp_path / name).mkdir()
        build_index(vectors, spec).save(tmp_path / name)
        paths = [tmp_path / name / file for file in FILES]
        written.append([path.read_bytes() for path in paths if path.exists()])
    assert written[0] == written[1]
    assert len(written[0]) == {"IVF": 2, "IVF_SQ8": 2, "IVF_PQ": 3}.get(spec, 1)


def test_auto_goes_by_size():
    assert factory_string("auto", 1_000, 384) == "Flat"
    assert factory_string("auto", 42_000, 384) == "HNSW32,Flat"
    assert factory_string("auto", 4_000_000, 384).endswith("SQ8")
    assert factory_string("HNSW16,Flat", 10, 384) == "HNSW16,Flat"


@pytest.mark.parametrize("spec", ["Flatt", "IVF5000,Flat", ""])
def test_unusable_spec_is_one_clear_error(vectors, spec):
    with pytest.raises(TermlinkError, match="TL502"):
        build_index(vectors[:100], spec)


@pytest.mark.parametrize("spec", ["HNSW0", "HNSW1,Flat", "HNSW1_SQ8", "PQ4x0", "IVF0,Flat"])
def test_specs_that_faiss_dies_of_are_refused(spec):
    with pytest.raises(TermlinkError, match="TL502.*too small"):
        build_index(np.eye(16, dtype=np.float32), spec)


def test_torn_file_is_named(vectors, tmp_path):
    build_index(vectors, "Flat").save(tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TermlinkError, match=f"TL505.*{FILE}"):
        DenseIndex.open(tmp_path, "Flat")


def test_one_name():
    index = build_index(np.eye(1, WIDTH, dtype=np.float32), "auto")
    rows, scores = index.search(np.eye(2, WIDTH, dtype=np.float32), n=5)
    assert rows.tolist() == [[0], [0]]
    assert scores.tolist() == [[1], [0]]


@pytest.mark.parametrize("spec", ["IVF_PQ", "OPQ8,PQ8x4"])
def test_too_few_names_for_a_rotation_are_refused(vectors, spec):
    """Faiss ends the process instead."""
    with pytest.raises(TermlinkError, match="TL502.*31 names are too few"):
        build_index(vectors[:31], spec)


def test_few_names_are_enough_for_the_lists(vectors):
    for n in (32, 33, 100):
        assert len(build_index(vectors[:n], "IVF_PQ")) == n
    assert len(build_index(vectors[:1], "IVF_SQ8")) == 1
