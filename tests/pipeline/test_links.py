from spacy_termlink.pipeline.links import decide
from spacy_termlink.types import NIL, Candidate


def candidate(concept_id, score, probability=None):
    return Candidate(concept_id, "n", "n", "exact", score, "dense", probability)


def test_the_threshold_itself_is_enough():
    link = decide([candidate("X:1", 0.7), candidate("X:2", 0.6), candidate("X:3", 0.5)], 0.6, [])
    assert link.kb_id == "X:1"
    assert link.to_json()["kb_ents"] == [["X:1", 0.7], ["X:2", 0.6]]
    assert [c["id"] for c in link.to_json()["candidates"]] == ["X:1", "X:2", "X:3"]


def test_below_the_threshold_is_nil():
    link = decide([candidate("X:1", 0.5)], 0.51, [])
    assert link.kb_id == NIL
    assert link.to_json()["kb_ents"] == []
    assert decide([], 0.0, []).kb_id == NIL


def test_a_probability_takes_the_place_of_the_score():
    assert decide([candidate("X:1", 0.9, 0.2)], 0.5, []).kb_id == NIL
    assert decide([candidate("X:1", 0.1, 0.8)], 0.5, []).kb_id == "X:1"


def test_json_values_are_not_shared():
    link = decide([candidate("X:1", 0.7)], 0.6, [])
    link.to_json()["kb_ents"].append("changed")
    assert link.to_json()["kb_ents"] == [["X:1", 0.7]]


def test_the_group_stands_apart_from_the_first_candidate():
    both = [candidate("X:1", 0.9), candidate("X:2", 0.8)]
    link = decide([candidate("X:3", 0.5)], 0.6, both)
    assert (link.kb_id, link.to_json()["kb_group"]) == (NIL, [["X:1", 0.9], ["X:2", 0.8]])
