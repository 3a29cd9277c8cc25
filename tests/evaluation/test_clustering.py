"""Clustering against the count over all pairs, as DESIGN.md, section 7, words it."""

import csv
from itertools import combinations

import numpy as np
import pytest

from spacy_termlink.candidates.faiss_index import build_index
from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation import clustering as module
from spacy_termlink.evaluation.cluster_lists import (
    MISPLACED_COLUMNS,
    PAIR_COLUMNS,
    misplaced_names,
    new_pairs,
    write_misplaced,
    write_pairs,
)
from spacy_termlink.evaluation.clustering import (
    Clustering,
    Neighbours,
    Owners,
    check_names,
    distinct_pairs,
    find_neighbours,
    owners_of,
)


def random_world(seed, n=60, n_concepts=17, width=6):
    """Vectors on a sphere and concepts of names: every fourth name or so has several."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, width)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    concepts = [
        {int(c) for c in rng.integers(0, n_concepts, size=1 + rng.integers(0, 3) * (rng.random() < 0.4))}
        for _ in range(n)
    ]  # fmt: skip
    return vectors, concepts


def make_owners(concepts):
    entries = [(i, c) for i, own in enumerate(concepts) for c in own]
    names, of = np.array(entries).T
    return Owners(names, of, len(concepts))


def brute_force(neighbours, concepts, threshold):
    """TP, FP, FN, TN over all unordered pairs."""
    listed = {
        (i, int(j)): float(c)
        for i, (row, cosines) in enumerate(zip(neighbours.rows, neighbours.cosines))
        for j, c in zip(row, cosines)
        if j >= 0
    }
    counts = dict.fromkeys(("tp", "fp", "fn", "tn"), 0)
    for i, j in combinations(range(len(concepts)), 2):
        predicted = any(listed.get(pair, -1.0) > threshold for pair in ((i, j), (j, i)))
        positive = bool(concepts[i] & concepts[j])
        counts[("tn", "fp", "fn", "tp")[predicted + 2 * positive]] += 1
    return counts


@pytest.mark.parametrize("m", [1, 4, 30])
@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_over_all_pairs(seed, m, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 7)  # several blocks
    vectors, concepts = random_world(seed)
    neighbours = find_neighbours(build_index(vectors, "Flat"), m)
    found = Clustering(neighbours, make_owners(concepts), n_thresholds=20)
    for i, threshold in enumerate(found.thresholds):
        expected = brute_force(neighbours, concepts, threshold)
        row = found.row(i)
        assert {name: row[name] for name in expected} == expected
        tp, fp, fn = expected["tp"], expected["fp"], expected["fn"]
        assert row["f1"] == pytest.approx(2 * tp / (2 * tp + fp + fn))
    assert sum(expected.values()) == 60 * 59 // 2
    f1 = [found.at(i).f1 for i in range(20)]
    assert f1[found.best()] == max(f1)


@pytest.mark.parametrize("seed", range(3))
def test_with_all_names_listed_it_is_the_plain_count(seed):
    """No list cuts anything off: cosines decide alone."""
    vectors, concepts = random_world(seed)
    found = Clustering(
        find_neighbours(build_index(vectors, "Flat"), 999), make_owners(concepts), n_thresholds=10
    )
    cosines = vectors @ vectors.T
    for i, threshold in enumerate(found.thresholds):
        pairs = [(a, b) for a, b in combinations(range(60), 2) if cosines[a, b] > threshold]
        assert found.tp[i] == sum(bool(concepts[a] & concepts[b]) for a, b in pairs)
        assert found.tp[i] + found.fp[i] == len(pairs)
    assert found.m == 59 and found.n_listed == found.positives


def test_neighbours_are_the_nearest_others():
    vectors, _ = random_world(0)
    vectors[11] = vectors[10]  # a twin: itself need not come first
    neighbours = find_neighbours(build_index(vectors, "Flat"), 5)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    assert np.allclose(neighbours.cosines, -np.sort(-cosines, axis=1)[:, :5], atol=1e-6)
    assert not (neighbours.rows == np.arange(60)[:, None]).any()
    taken = np.take_along_axis(cosines, neighbours.rows.astype(int), axis=1)
    assert np.allclose(taken, neighbours.cosines, atol=1e-6)


def test_lists_that_are_not_full():
    neighbours = Neighbours(
        np.array([[1, -1], [2, -1], [-1, -1]], dtype=np.int32),
        np.array([[0.9, 0], [0.8, 0], [0, 0]], dtype=np.float32),
    )
    pairs = [(a.tolist(), b.tolist()) for a, b, _ in distinct_pairs(neighbours)]
    assert pairs == [([0, 1], [1, 2])]
    found = Clustering(neighbours, make_owners([{0}, {0}, {1}]), n_thresholds=20)
    row = found.row(15)
    assert (row["tp"], row["fp"], row["fn"], row["tn"]) == (1, 1, 0, 1)
    assert (row["precision"], row["recall"], row["f1"]) == (0.5, 1.0, 2 / 3)


def test_a_cosine_equal_to_the_threshold_is_not_above():
    neighbours = Neighbours(np.array([[1], [0]], np.int32), np.array([[0.5], [0.5]], np.float32))
    found = Clustering(neighbours, make_owners([{0}, {0}]), n_thresholds=4)
    assert found.tp.tolist() == [1, 1, 0, 0]
    # of thresholds 0 and 0.25, equally good, the higher
    assert found.row(found.best())["threshold"] == 0.25


def test_pairs_that_share_several_concepts_count_once():
    # 0 and 1 share two concepts, 0 and 2 one, 1 and 2 one; 3 alone
    owners = make_owners([{0, 1}, {0, 1}, {1}, {2}])
    assert owners.n_positive_pairs() == 3
    a, b = np.array(list(combinations(range(4), 2))).T
    assert owners.share(a, b).tolist() == [True, True, False, True, False, False]


def test_double_entries_of_a_name_count_once():
    owners = Owners(np.array([0, 0, 1]), np.array([5, 5, 5]), 2)
    assert owners.degree.tolist() == [1, 1] and owners.n_positive_pairs() == 1


def world_on_a_line():
    """Angles of names in degrees; concepts."""
    angles = np.radians([0, 10, 12, 40, 41, 80])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    return vectors, [{0}, {0}, {1}, {1}, {2}, {3}]


def test_lists_for_the_curator_by_hand():
    vectors, concepts = world_on_a_line()
    owners, index = make_owners(concepts), build_index(vectors, "Flat")
    neighbours = find_neighbours(index, 5)
    pairs = new_pairs(neighbours, owners, 0.98)
    # 3-4 are one degree apart, 1-2 two; 0-2 (12 degrees, 0.978) is under the threshold
    assert [(int(p["a"]), int(p["b"])) for p in pairs] == [(3, 4), (1, 2)]
    found = misplaced_names(neighbours, owners, index)
    # 1 lies nearer to 2 than to 0, 2 to 1 than to 3, 3 to 4 than to 2; 4 and 5 have no own name
    assert [(row[0], row[1], row[3]) for row in found] == [(1, 0, 2), (3, 2, 4), (2, 3, 1)]
    assert found[0][2] == pytest.approx(np.cos(np.radians(10)), abs=1e-6)
    assert found[0][4] == pytest.approx(np.cos(np.radians(2)), abs=1e-6)


@pytest.mark.parametrize("m", [3, 20])
@pytest.mark.parametrize("seed", range(3))
def test_misplaced_against_all_pairs(seed, m):
    vectors, concepts = random_world(seed)
    owners, index = make_owners(concepts), build_index(vectors, "Flat")
    found = misplaced_names(find_neighbours(index, m), owners, index)
    cosines = vectors @ vectors.T
    expected = set()
    for i in range(60):
        own = [cosines[i, j] for j in range(60) if j != i and concepts[i] & concepts[j]]
        other = [cosines[i, j] for j in range(60) if not concepts[i] & concepts[j]]
        if own and max(other) > max(own) + 1e-6:
            expected.add(i)
    assert {row[0] for row in found} == expected


def test_an_equal_distance_is_not_nearer():
    vectors = np.array([[1, 0], [0, 1], [0, 1]], dtype=np.float32)
    owners, index = make_owners([{0}, {0}, {1}]), build_index(vectors, "Flat")
    # 1 lies on 2, its own name 0 is far; 0 is as far from both
    assert [row[0] for row in misplaced_names(find_neighbours(index, 2), owners, index)] == [1]


def rows_of(path):
    with path.open(encoding="utf8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_files_of_a_kb(tiny_kb, tmp_path):
    from spacy_termlink.kb import open_kb

    kb = open_kb(tiny_kb)
    owners = owners_of(kb)
    neighbours = find_neighbours(kb.index, 5)
    assert owners.n_names == len(kb.names) and (owners.degree > 1).sum() == 1  # MI
    pairs = new_pairs(neighbours, owners, 0.0)
    write_pairs(tmp_path / "pairs.tsv", kb, owners, pairs)
    rows = rows_of(tmp_path / "pairs.tsv")
    assert tuple(rows[0]) == PAIR_COLUMNS and len(rows) == len(pairs)
    for row, pair in zip(rows, pairs):
        assert float(row["cosine"]) == pytest.approx(float(pair["cosine"]), abs=1e-4)
        for side in "ab":
            text = kb.terminology.name_text(int(kb.names.rows(int(pair[side]))[0]))
            assert row[f"name_{side}"] == text
            for concept_id in row[f"concept_{side}"].split("|"):
                names = kb.terminology.name_rows(kb.terminology.row(concept_id))
                assert text in {kb.terminology.name_text(r) for r in names}
        ids = {row["concept_a"], row["concept_b"]}
        if ids == {"T:0003", "T:0004"}:
            assert row["relation"] == "parent-child"
        if ids == {"T:0004", "T:0005"}:
            assert row["relation"] == "near"
        if ids == {"T:0004", "T:0012"}:
            assert row["relation"] == "far"
    assert "T:0007|T:0008" in {row[side] for row in rows for side in ("concept_a", "concept_b")}
    found = misplaced_names(neighbours, owners, kb.index)
    write_misplaced(tmp_path / "misplaced.tsv", kb, owners, found)
    rows = rows_of(tmp_path / "misplaced.tsv")
    assert tuple(rows[0]) == MISPLACED_COLUMNS and len(rows) == len(found)
    assert all(float(row["other_cosine"]) >= float(row["own_cosine"]) for row in rows)


def test_a_kb_without_pairs_is_refused(tmp_path):
    class OneName:
        path = tmp_path
        names = [0]

    with pytest.raises(TermlinkError, match="TL940"):
        check_names(OneName())
