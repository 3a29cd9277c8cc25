"""What `auto` takes, how it measures, and that the parts of large indexes do not depend on blocks."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from spacy_termlink.candidates import (
    coarse,
    dense_index,
    faiss_index,
    index_recall,
    index_specs,
    mapped,
)
from spacy_termlink.candidates.dense_index import FILE, FILES, REFINE_FILE, DenseIndex
from spacy_termlink.candidates.faiss_index import build_index
from spacy_termlink.candidates.index_recall import WANTED, exact_neighbours, recall, take_sample
from spacy_termlink.candidates.index_specs import choose_specs, index_bytes
from spacy_termlink.errors import TermlinkError

N, WIDTH = 3000, 32


@pytest.fixture(scope="module")
def vectors():
    random = np.random.default_rng(0)
    centres = random.normal(size=(60, WIDTH))
    vectors = centres[random.integers(0, 60, N)] + 0.6 * random.normal(size=(N, WIDTH))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize(
    "n, memory, specs",
    [
        (19_999, 8, ["Flat"]),
        (20_000, 8, ["HNSW", "IVF_SQ8"]),
        (999_999, 8, ["HNSW", "IVF_SQ8"]),
        (999_999, 1, ["IVF_SQ8"]),
        (1_000_000, 8, ["IVF_SQ8"]),
        (10_000_000, 8, ["IVF_SQ8"]),
        (10_000_000, 3, ["IVF_PQ"]),
        (10_000_000, None, ["IVF_SQ8"]),
    ],
)
def test_auto_goes_by_names_and_memory(n, memory, specs):
    choice = choose_specs(n, 384, memory)
    assert choice.specs == specs
    assert f"{n:,} names" in choice.why
    if memory == 3:
        assert "IVF_SQ8 takes 4.1 GB of the 3 GB given" in choice.why


@pytest.mark.parametrize("memory", [0, -1, float("nan")])
def test_no_memory_is_refused(vectors, memory):
    with pytest.raises(TermlinkError, match="TL546"):
        build_index(vectors, "auto", memory=memory)


@pytest.mark.parametrize("spec", ["Flat", "HNSW", "IVF_SQ8", "IVF_PQ"])
def test_what_an_index_is_said_to_take_is_about_what_its_files_take(spec, tmp_path, vectors):
    """Vectors that refine apart; codes, graph and places are in the estimate."""
    build_index(vectors, spec).save(tmp_path)
    written = sum(
        (tmp_path / f).stat().st_size for f in FILES if f != REFINE_FILE and (tmp_path / f).exists()
    )
    if spec == "IVF_PQ":
        written -= (
            4 * WIDTH * WIDTH + 4 * WIDTH * 64
        )  # rotation and codebooks: much of so few names
    assert written == pytest.approx(index_bytes(spec, N, WIDTH), rel=0.15)


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(index_specs, "HNSW_FROM", 1000)
    monkeypatch.setattr(index_specs, "IVF_FROM", 2000)


def test_auto_says_what_it_took_and_what_it_measured(vectors, small_limits):
    index = build_index(vectors, "auto", memory=1)
    facts = index.facts
    assert facts["kind"] == "IVF_SQ8" and index.factory == "IVF23,SQ8"
    assert facts["recall@10"] >= round(WANTED, 3) and facts["recall_queries"] == 256
    assert (facts["lists"], facts["lists_searched"]) == (23, index.effort)
    assert f"finds {facts['recall@10']:.3f} of the 10 nearest" in facts["why"]
    graph = build_index(vectors[:1500], "auto")
    assert graph.facts["kind"] == "HNSW" and graph.facts["ef_search"] == graph.effort
    assert build_index(vectors[:900], "auto").facts["kind"] == "Flat"
    few = build_index(vectors, "auto", memory=1e-4)
    assert few.facts["kind"] == "IVF_PQ" and few.facts["recall@10"] > 0.9


def test_auto_goes_on_where_the_graph_finds_too_little(vectors, monkeypatch, small_limits):
    monkeypatch.setattr(index_recall, "EFFORTS_HNSW", (1,))
    monkeypatch.setattr("spacy_termlink.candidates.dense_index.EF_SEARCH", 1)
    monkeypatch.setattr(faiss_index, "EF_CONSTRUCTION", 1)
    monkeypatch.setattr(index_specs, "HNSW_LINKS", 2)
    index = build_index(vectors[:1900], "auto")
    assert index.facts["kind"] == "IVF_SQ8"
    assert "HNSW finds 0." in index.facts["why"] and "IVF_SQ8 finds" in index.facts["why"]


def test_a_recall_that_is_too_low_is_said(vectors, monkeypatch, small_limits):
    monkeypatch.setattr(index_recall, "EFFORTS_IVF", (1,))
    index = build_index(vectors, "auto")
    assert index.effort == 1
    assert index.facts["why"].endswith(f"below the {WANTED} wanted")


def test_the_effort_is_the_least_that_helps(vectors, monkeypatch):
    index = build_index(vectors, "IVF_SQ8")
    of = {1: 0.5, 2: 0.9, 4: 0.904, 8: 0.9045, 23: 0.904}
    monkeypatch.setattr(index_recall, "EFFORTS_IVF", (1, 2, 4, 8, 32, 64))
    monkeypatch.setattr(index_recall, "recall", lambda index, sample: of[index.effort])
    assert index_recall.tune(index, vectors) == 0.9 and index.effort == 2
    of[4] = WANTED
    assert index_recall.tune(index, vectors) == WANTED and index.effort == 4


def test_the_lists_of_a_query_are_the_nearest_however_many_are_asked_for(
    vectors, monkeypatch, tmp_path
):
    """Centroids in a graph: it used to keep less nodes than it was asked for lists."""
    monkeypatch.setattr(index_specs, "NAMES_PER_LIST", 5)
    monkeypatch.setattr(coarse, "GRAPH_FROM", 100)
    index = build_index(vectors, "IVF_SQ8")
    index.effort = 256
    index.save(tmp_path)
    opened = DenseIndex.open(tmp_path, index.factory)
    assert opened.effort == 256
    centroids = opened._ivf.quantizer.reconstruct_n(0, opened.n_lists)
    nearest = np.argsort(-(vectors[:200] @ centroids.T), axis=1)[:, :256]
    _, found = opened._ivf.quantizer.search(vectors[:200], 256)
    shares = [
        len(set(a) & set(b)) / 256 for a, b in zip(nearest.tolist(), found.tolist(), strict=True)
    ]
    assert np.mean(shares) > 0.99


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the hints are Linux's")
@pytest.mark.parametrize("spec", ["IVF_SQ8", "IVF_PQ"])
def test_the_first_searches_have_their_lists_read_and_answer_the_same(
    vectors, spec, tmp_path, monkeypatch
):
    build_index(vectors, spec).save(tmp_path)
    advised = []
    monkeypatch.setattr(mapped, "_advise", lambda at, n, advice: advised.append((n, advice)))
    monkeypatch.setattr(dense_index, "COLD_SEARCHES", 2)
    index = DenseIndex.open(tmp_path, "")
    lists = index._ivf.invlists
    asked = index._as_lists_see(vectors[:3])
    _, numbers = index._ivf.quantizer.search(asked, index.effort)
    expected = [
        (lists.list_size(int(i)) * n, "MADV_WILLNEED")
        for i in np.unique(numbers)
        if lists.list_size(int(i))
        for n in (index._ivf.code_size, 8)
    ]
    if index._refine is not None:
        parameters = index._parameters(5, None)[1]
        proposed = int(5 * parameters.k_factor)
        rows = index.index.search(vectors[:3], proposed, params=parameters.base_index_params)[1]
        expected += [(WIDTH, "MADV_WILLNEED")] * len(np.unique(rows[rows >= 0]))
    advised.clear()
    answers = []
    for calls in (1, 2, 2):
        answers.append(index.search(vectors[:3], n=5))
        assert advised == calls * expected
    for rows, scores in answers[1:]:
        assert (rows == answers[0][0]).all() and (scores == answers[0][1]).all()
    index._cold_searches = -1  # two threads have counted the last one
    index.search(vectors[:3], n=5)
    assert advised == 2 * expected


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the hints are Linux's")
def test_the_system_is_asked_to_read_no_more_at_a_time_than_it_does(tmp_path, monkeypatch):
    """It reads a part of a long stretch, and says nothing: centroids were read page by page."""
    path = tmp_path / "f"
    path.write_bytes(bytes(1_000_000))
    asked = []
    monkeypatch.setattr(mapped.os, "posix_fadvise", lambda fd, at, n, advice: asked.append((at, n)))
    mapped.read_ahead(path, 300_000)
    assert asked == [(at, mapped.AT_ONCE) for at in range(0, 700_000, mapped.AT_ONCE)]
    asked.clear()
    mapped.read_ahead(path, 2_000_000)
    monkeypatch.setattr(mapped, "_madvise", lambda: lambda *more: asked.append(more))
    mapped._advise(10 * 4096 + 5, 300_000, "MADV_WILLNEED")
    ends = [start + n for start, n, _ in asked]
    assert [start for start, _, _ in asked] == [40_960, *ends[:-1]] and ends[-1] == 340_965
    assert max(n for _, n, _ in asked) == mapped.AT_ONCE


@pytest.mark.parametrize("k", [5, 10_000])
def test_exact_neighbours_against_sorting(vectors, monkeypatch, k):
    monkeypatch.setattr(index_recall, "BLOCK_ROWS", 700)
    # so coarse that products have no rounding, which differs from a block of 700 to all in one
    vectors = np.round(vectors * 64) / 64
    vectors = np.concatenate([vectors, vectors[:50]])  # ties
    queries = vectors[::300]
    expected = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :k]
    assert np.array_equal(exact_neighbours(vectors, queries, k), expected)


def test_recall_of_exact_search_is_one(vectors):
    sample = take_sample(vectors, n_queries=50, k=7)
    assert sample.vectors.shape == (50, WIDTH) and sample.nearest.shape == (50, 7)
    assert np.allclose(np.linalg.norm(sample.vectors, axis=1), 1, atol=1e-5)
    # beside rows, not rows
    assert 0.6 < (sample.vectors @ vectors.T).max(axis=1).mean() < 0.95
    assert recall(build_index(vectors, "Flat"), sample) == 1.0
    lists = build_index(vectors, "IVF_SQ8")
    lists.effort = 1
    rows, _ = lists.search(sample.vectors, n=7)
    by_hand = [
        len(set(a) & set(b)) / 7
        for a, b in zip(rows.tolist(), sample.nearest.tolist(), strict=True)
    ]
    assert recall(lists, sample) == pytest.approx(np.mean(by_hand)) and np.mean(by_hand) < 0.9


@pytest.mark.parametrize("spec", ["IVF_SQ8", "IVF_PQ", "SQ8"])
def test_blocks_do_not_change_the_index(vectors, spec, tmp_path, monkeypatch):
    build_index(vectors, spec).save(tmp_path)
    whole = [(tmp_path / f).read_bytes() for f in FILES if (tmp_path / f).exists()]
    for module in (coarse, faiss_index, index_recall):
        monkeypatch.setattr(module, "BLOCK_ROWS", 512)
    build_index(vectors, spec).save(tmp_path)
    assert whole == [(tmp_path / f).read_bytes() for f in FILES if (tmp_path / f).exists()]


@pytest.mark.parametrize("two_levels_from", [1, 1000])
def test_centroids(vectors, monkeypatch, two_levels_from):
    """As many as asked, of norm 1; rows go to the nearest one, on two levels nearly always."""
    monkeypatch.setattr(coarse, "TWO_LEVELS_FROM", two_levels_from)
    centroids = coarse.train_centroids(vectors, 60)
    assert centroids.rows.shape == (60, WIDTH)
    assert (centroids.clusters is None) == (two_levels_from == 1000)
    assert centroids.ends[-1] == 60
    assert np.allclose(np.linalg.norm(centroids.rows, axis=1), 1, atol=1e-5)
    scores = vectors @ centroids.rows.T
    assert scores.max(axis=1).mean() > 0.8
    nearest = centroids.nearest(vectors)
    right = np.mean(nearest == np.argmax(scores, axis=1))
    assert right == 1.0 if two_levels_from == 1000 else 0.95 <= right < 1.0
    monkeypatch.setattr(coarse, "CLUSTERS_COMPARED", 60)
    assert np.array_equal(centroids.nearest(vectors), np.argmax(scores, axis=1))


@pytest.mark.parametrize("n_gpus", [0, 2])
def test_centroids_are_trained_on_the_gpus_there_are(vectors, monkeypatch, n_gpus):
    import faiss

    asked, made = [], faiss.Kmeans

    def kmeans(*args, gpu, **options):
        asked.append(gpu)
        return made(*args, **options)

    monkeypatch.setattr(faiss, "get_num_gpus", lambda: n_gpus, raising=False)
    monkeypatch.setattr(faiss, "Kmeans", kmeans)
    build_index(vectors, "IVF_SQ8")
    assert set(asked) == {n_gpus > 0}


def test_shares_are_in_proportion_and_sum_up():
    assert coarse._shares(np.array([50, 30, 20, 0]), 7).tolist() == [4, 2, 1, 0]
    assert coarse._shares(np.array([1, 1, 1]), 3).tolist() == [1, 1, 1]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("spec", ["Flat", "IVF_SQ8", "IVF_PQ"])
def test_an_opened_index_lies_in_its_file(vectors, spec, tmp_path):
    """Mapped, so that processes share its pages; the answers are those before it was written."""
    index = build_index(vectors, spec)
    index.save(tmp_path)
    opened = DenseIndex.open(tmp_path, index.factory)
    maps = Path("/proc/self/maps").read_text()
    for file in FILES:
        if (tmp_path / file).exists() and file.endswith(".faiss"):
            assert str(tmp_path / file) in maps
    assert opened.effort == index.effort
    rows = np.array([5, 0, 2999])
    assert np.array_equal(opened.vectors(rows), index.vectors(rows))
    assert np.abs(opened.vectors(rows) - vectors[rows]).max() < 0.01


@pytest.mark.parametrize("places", [True, False])
def test_threads_ask_for_vectors_at_once(vectors, tmp_path, places):
    build_index(vectors, "IVF_SQ8").save(tmp_path)
    if not places:
        (tmp_path / "places.npy").unlink()
    rows = np.arange(N)
    for _ in range(5):
        opened = DenseIndex.open(tmp_path, "")
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(opened.vectors, [rows] * 8))
        assert all(np.array_equal(found[0], other) for other in found[1:])
        assert np.abs(found[0] - vectors).max() < 0.01


def test_places_that_are_missing_are_made(vectors, tmp_path):
    """A KB of an earlier release has no such file."""
    index = build_index(vectors, "IVF_SQ8")
    index.save(tmp_path)
    (tmp_path / "places.npy").unlink()
    opened = DenseIndex.open(tmp_path, index.factory)
    assert np.array_equal(opened.vectors(np.arange(20)), index.vectors(np.arange(20)))


def test_torn_refinement_is_named(vectors, tmp_path):
    build_index(vectors, "IVF_PQ").save(tmp_path)
    whole = (tmp_path / REFINE_FILE).read_bytes()
    (tmp_path / REFINE_FILE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TermlinkError, match=f"TL505.*{REFINE_FILE}"):
        DenseIndex.open(tmp_path, "")
    assert (tmp_path / FILE).exists()
