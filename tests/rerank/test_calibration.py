"""`calibration.json`: written, read, refused; probabilities of a mention's candidates by hand."""

import json

import numpy as np
import pytest

from spacy_termlink.candidates import make_generator
from spacy_termlink.candidates.hybrid import HybridCandidates
from spacy_termlink.errors import TermlinkError
from spacy_termlink.rerank.calibration import (
    LEAST,
    Calibration,
    Linear,
    describe_generator,
    scoring_fingerprint,
)
from spacy_termlink.rerank.features import FIRST, NEXT, first_features, is_short_form
from spacy_termlink.types import Candidate


def candidate(
    concept_id="T:0003", score=0.8, *, name="Seizure", matched="", kind="exact", tier="hybrid"
):
    return Candidate(concept_id, name, matched or name, kind, score, tier)


def made(kb, *, first=None, share=0.5, **more):
    """A calibration in which the first candidate has its score as probability, and each later one a
    share of what is left."""
    weights = tuple(float(name == "score") for name in FIRST)
    first = first or Linear(weights, 0.0, ((0.0, 1.0), (0.0, 1.0)))
    following = Linear((0.0,) * len(NEXT), float(np.log(share / (1 - share))))
    settings = {"generator": "HybridCandidates", "encoder": kb.fingerprint,
                "index": scoring_fingerprint(kb.meta), "threshold": 0.5, "fitted": {"method": "x"}}  # fmt: skip
    return Calibration(first, following, **{**settings, **more})


def probabilities(found):
    return [c.probability for c in found]


def test_probabilities_by_hand(kb):
    lists = [[candidate(score=s) for s in (0.5, 0.4, 0.3)], [candidate(score=0.2)], []]
    found = made(kb).apply(kb, [["fit"], ["b"], ["c"]], lists)
    # 0.5, half of the other half, half of the quarter that is left
    assert probabilities(found[0]) == pytest.approx([0.5, 0.25, 0.125], abs=1e-6)
    assert probabilities(found[1]) == pytest.approx([0.2], abs=1e-6)
    assert found[2] == []
    assert [c._replace(probability=None) for c in found[0]] == lists[0]


def test_they_never_rise_and_sum_up_to_one_at_most(kb):
    rng = np.random.default_rng(0)
    lists = [[candidate(score=float(s)) for s in rng.uniform(0, 1, 6)] for _ in range(100)]
    for share in (0.01, 0.5, 0.99):
        for found in made(kb, share=share).apply(kb, [["fit"]] * 100, lists):
            values = probabilities(found)
            assert values == sorted(values, reverse=True)
            assert 0 < sum(values) <= 1
            assert all(isinstance(value, float) for value in values)


def test_a_first_candidate_with_little_bounds_the_others(kb):
    lists = [[candidate(score=0.1), candidate(score=0.1)]]
    [found] = made(kb, share=0.9).apply(kb, [["fit"]], lists)
    assert probabilities(found) == pytest.approx([0.1, 0.1], abs=1e-6)


def test_nothing_is_certain():
    part = Linear((1.0,), 0.0)
    assert part.probabilities(np.array([[-1e9], [1e9]])).tolist() == [LEAST, 1 - LEAST]
    assert part.probabilities(np.array([[0.0]])).tolist() == [0.5]


def test_knots_are_interpolated_and_held_at_the_ends():
    part = Linear((2.0,), 1.0, ((0.0, 2.0), (0.25, 0.75)))
    found = part.probabilities(np.array([[-9.0], [-0.5], [0.0], [0.5], [9.0]]))
    assert found.tolist() == [0.25, 0.25, 0.5, 0.75, 0.75]


def test_written_read_equal(kb, tmp_path):
    calibration = made(kb, threshold=0.4)
    for part in (calibration.first, Linear((0.1,) * len(FIRST), -1.5)):
        path = tmp_path / "calibration.json"
        made_with = made(kb, first=part, threshold=0.4)
        path.write_text(json.dumps(made_with.to_json()))
        assert Calibration.open(path) == made_with


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "kb"},
        {"version": 2},
        {"first": {}},
        {"threshold": None},
        {"first": {"weights": {"score": 1.0}, "intercept": 0.0, "knots": None}},
        {"knots": {"x": [1.0, 0.0], "y": [0.0, 1.0]}},
        {"knots": {"x": [0.0, 1.0], "y": [1.0, 0.0]}},
        {"knots": {"x": [0.0], "y": [0.0, 1.0]}},
        {"knots": {"x": [], "y": []}},
        {"intercept": float("nan")},
    ],
)
def test_a_file_in_another_form_is_named(kb, tmp_path, change):
    data = made(kb).to_json()
    for key, value in change.items():
        (data["first"] if key in ("knots", "intercept") else data)[key] = value
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(data))
    with pytest.raises(TermlinkError, match="TL610.*calibration.json"):
        Calibration.open(path)


def test_a_list_or_no_json_is_named(tmp_path):
    path = tmp_path / "calibration.json"
    path.write_text("[]")
    with pytest.raises(TermlinkError, match="TL610"):
        Calibration.open(path)
    path.write_text("{")
    with pytest.raises(TermlinkError, match="TL003"):
        Calibration.open(path)


def test_generators_are_told_apart(kb):
    assert describe_generator(HybridCandidates(kb)) == "HybridCandidates"
    assert describe_generator(HybridCandidates(kb, exact=False)) == "HybridCandidates(exact=False)"
    assert describe_generator(make_generator("dense", kb)) == "DenseCandidates"


def features(kb, forms, *candidates):
    return dict(zip(FIRST, first_features(kb, forms, candidates), strict=True))


def test_features_by_hand(kb):
    found = features(
        kb,
        ["Focal seizures"],
        candidate("T:0004", 0.8, name="Focal-onset seizure", kind="preferred"),
        candidate("T:0003", 0.75),
        candidate("T:0005", 0.5, name="Generalized tonic-clonic seizure"),
    )
    assert found["score"] == 0.8
    assert found["margin"] == pytest.approx(0.05)
    assert found["spread"] == pytest.approx(0.8 - 0.625)
    assert (found["tied"], found["same_text"], found["tier_exact"], found["kind_preferred"]) == (
        0,
        0,
        0,
        1,
    )
    assert found["mention_covered"] == 1.0  # by their stems
    assert found["name_covered"] == found["preferred_covered"] == pytest.approx(2 / 3)
    assert found["words"] == pytest.approx(np.log(2))
    assert found["letters"] == pytest.approx(np.log(14))
    assert found["crowded"] == 1 / 4
    assert found["names"] == pytest.approx(np.log(2))  # with "Partial seizure"
    assert (found["short_form"], found["long_form"], found["same_case"]) == (0, 0, 0)


def test_features_of_abbreviations(kb):
    heart = candidate("T:0007", 1.0, name="Myocardial infarction", matched="MI",
                      kind="abbreviation", tier="exact")  # fmt: skip
    valve = candidate("T:0008", 1.0, name="Mitral insufficiency", matched="MI",
                      kind="abbreviation", tier="exact")  # fmt: skip
    alone = features(kb, ["MI"], heart, valve)
    assert (alone["tied"], alone["margin"], alone["same_text"], alone["same_case"]) == (1, 0, 1, 1)
    assert alone["short_form"] == alone["short_exact"] == alone["kind_abbreviation"] == 1
    assert alone["preferred_covered"] == 0
    spelled_out = features(kb, ["MI", "mitral insufficiency"], valve)
    assert (spelled_out["short_form"], spelled_out["long_form"]) == (0, 1)
    assert spelled_out["margin"] == 1.0  # nothing else was found


@pytest.mark.parametrize(
    ("text", "expected"),
    [("MI", True), ("GTCs", True), ("Mi", False), ("all", False), ("MI old", False),
     ("SEIZURES", False), ("T2", False), ("", False)],
)  # fmt: skip
def test_short_forms(text, expected):
    assert is_short_form(text) is expected
