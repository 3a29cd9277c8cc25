"""Lists of candidates: what they hold, how they are held out and drawn."""

import json

import numpy as np
import pytest

from spacy_termlink.candidates.hybrid import HybridCandidates
from spacy_termlink.candidates.left_out import synonym_candidates
from spacy_termlink.encoders import load_encoder
from spacy_termlink.kb import build_kb
from spacy_termlink.rerank.lists import (
    ListData,
    hold_out,
    make_list,
    synonym_lists,
    without_right,
)
from spacy_termlink.types import Candidate


def some_lists(n, k=3):
    own = [Candidate(f"T:{i}", f"c{i}", f"c{i}", "exact", 0.5, "hybrid") for i in range(k)]
    return [make_list(f"mention {i}", own, {f"T:{i % (k + 1)}"}) for i in range(n)]


def test_synonyms_are_mentions_whose_own_name_is_left_out(kb):
    lists = {found.mention: found for found in synonym_lists(kb, k=5)}
    assert "Seizure" not in lists  # a preferred name
    assert "ALL" in lists and "Epileptic fit" in lists
    found = lists["Epileptic fit"]
    assert "Epileptic fit" not in [c.matched for c in found.candidates]
    assert [c.concept_id == "T:0003" for c in found.candidates] == list(found.right)
    assert len(found.candidates) == 5
    # a name of two concepts: both are right
    both = lists["MI"]
    right = {c.concept_id for c, flag in zip(both.candidates, both.right) if flag}
    assert right <= {"T:0007", "T:0008"} and right


def test_left_out_is_what_a_kb_without_the_name_proposes(
    kb, tiny_terminology, tiny_encoder, tmp_path
):
    text, concept = "Palatoschisis", "T:0012"
    without = tmp_path / "without.jsonl"
    without.write_text(json.dumps({"concept_id": concept, "text": text}))
    encoder = load_encoder(tiny_encoder, dtype="float32")
    other = build_kb(
        tiny_terminology, encoder, tmp_path / "kb", without_names=without, progress=False
    )
    [row] = [i for i, name in enumerate(kb.names.texts(kb.terminology)) if name == text.casefold()]
    [found] = synonym_candidates(kb, np.array([row]), k=12)
    other.meta["hybrid"] = kb.meta["hybrid"]
    rows = other.names.texts(other.terminology)
    assert text.casefold() not in rows
    # dense scores are equal; shares of n-grams depend on the names that there are, a little
    [expected] = HybridCandidates(other, exact=False).generate([text], k=12)
    assert {c.concept_id for c in found} == {c.concept_id for c in expected}
    scores = {c.concept_id: c.score for c in expected}
    assert [c.score for c in found] == pytest.approx([scores[c.concept_id] for c in found], abs=0.1)


def test_parts_depend_on_the_mention_alone():
    lists = some_lists(400)
    trained, kept = hold_out(lists, 0.25)
    assert 60 < len(kept) < 140 and len(trained) + len(kept) == 400
    again = hold_out(lists[::2], 0.25)[1]
    assert [found.mention for found in again] == [f.mention for f in kept if f in lists[::2]]
    assert hold_out(lists, 0.0)[1] == [] and hold_out(lists, 1.0)[0] == []


def test_lists_without_the_right_ones():
    lists = some_lists(200)
    made = without_right(lists, 0.5, seed=0)
    changed = [a for a, b in zip(made, lists, strict=True) if a != b]
    assert 50 < len(changed) < 120
    for found in changed:
        assert not any(found.right) and len(found.candidates) == len(found.right) == 2
    assert without_right(lists, 0.0, seed=0) == lists
    single = [make_list("a", [Candidate("T:0", "c", "c", "exact", 0.5, "hybrid")], {"T:0"})]
    assert without_right(single, 1.0, seed=0) == single


def test_a_pass_takes_each_list_once_and_the_next_in_another_order():
    data = ListData(some_lists(7), [], seed=3)
    walk = [found.mention for number in range(7) for found in data.batch(number, 2)]
    assert len(set(walk[:7])) == 7 and set(walk[7:]) == set(walk[:7]) and walk[:7] != walk[7:]
    later = ListData(some_lists(7), [], seed=3)
    assert [f.mention for f in later.batch(4, 2)] == walk[8:10]
    assert later.sha256 == data.sha256 != ListData(some_lists(8), [], seed=3).sha256
