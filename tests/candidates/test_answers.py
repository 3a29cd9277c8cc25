"""Answers that are kept: the same as without, bounded, told apart by everything that matters."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from spacy_termlink.candidates import make_generator
from spacy_termlink.candidates.answers import KeptAnswers
from spacy_termlink.encoders import load_encoder
from spacy_termlink.kb import TermKB, build_kb
from spacy_termlink.terminology import Concept
from spacy_termlink.terminology.builder import build_terminology

CONCEPTS = [Concept(f"A:{i}", name) for i, name in enumerate(["Seizure", "Fever", "Headache"])]
MENTIONS = ["fever", "seizures", "feverish", "head ache", "xyz", ""]


@pytest.fixture(scope="module")
def kb(tmp_path_factory, tiny_encoder):
    folder = tmp_path_factory.mktemp("answers")
    build_terminology(CONCEPTS, folder / "terminology")
    encoder = load_encoder(tiny_encoder, dtype="float32")
    build_kb(folder / "terminology", encoder, folder / "kb", progress=False)
    return TermKB.open(folder / "kb")


def test_the_least_lately_asked_for_makes_room():
    kept = KeptAnswers(2)
    kept.put("ab", [[1], [2]])
    assert kept.get("a") == [[1]]
    kept.put("c", [[3]])
    assert kept.get("abc") == [[1], None, [3]]
    assert len(kept) == 2
    kept.clear()
    assert kept.get("ac") == [None, None]


def test_kept_answers_are_the_same_and_cost_no_search(kb, monkeypatch):
    hybrid = make_generator("hybrid", kb)
    first = hybrid.generate(MENTIONS, k=2)
    monkeypatch.setattr(type(kb.index), "search", None)
    assert hybrid.generate(MENTIONS[::-1], k=2) == first[::-1]


def test_an_answer_that_a_caller_changes_is_not_the_one_kept(kb):
    hybrid = make_generator("hybrid", kb)
    found = hybrid.generate(["fever"], k=2)[0]
    kept = list(found)
    found.clear()
    assert hybrid.generate(["fever"], k=2)[0] == kept


def test_k_and_mask_tell_answers_apart(kb):
    hybrid = make_generator("hybrid", kb)
    everything, one = np.ones(3, dtype=bool), np.array([False, True, False])
    for k, allowed in [(1, None), (3, None), (3, one), (3, everything)]:
        fresh = make_generator("hybrid", kb).generate(MENTIONS, k=k, allowed=allowed)
        assert hybrid.generate(MENTIONS, k=k, allowed=allowed) == fresh


def test_threads_share_the_answers(kb):
    hybrid = make_generator("hybrid", kb)
    hybrid.answers.most = 3
    alone = {m: make_generator("hybrid", kb).generate([m], k=3)[0] for m in MENTIONS}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda m: hybrid.generate([m], k=3)[0], MENTIONS * 10))
    assert found == [alone[m] for m in MENTIONS] * 10
    assert len(hybrid.answers) <= 3
