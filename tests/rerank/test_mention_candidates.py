"""Where the rerank stage stands: which mentions it gets, with how many candidates, and what is kept."""

import numpy as np
import pytest

from spacy_termlink.rerank.mention_candidates import MentionCandidates, describe_stages
from spacy_termlink.rerank.rerankers import K


class Backwards:
    """Turns the lists of mentions in doubt round, and keeps what it was given."""

    fingerprint, reads_context = "x", True

    def __init__(self):
        self.calls = []

    def in_doubt(self, candidates):
        return bool(candidates) and candidates[0].tier == "hybrid"

    def rerank(self, mentions, candidate_lists, *, contexts=None):
        self.calls.append((list(mentions), [list(own) for own in candidate_lists], contexts))
        scores = [[c.score for c in own] for own in candidate_lists]
        return [
            [c._replace(score=s) for c, s in zip(reversed(own), values)]
            for own, values in zip(candidate_lists, scores)
        ]


FORMS = [["Seizure"], ["epileptic fits again"], ["x", "short and small"]]


def test_mentions_in_doubt_are_reranked_by_their_last_form(kb):
    reranker = Backwards()
    plain = MentionCandidates(kb, kb.generator()).generate(FORMS, k=12)
    proposed = MentionCandidates(kb, kb.generator(), reranker)
    found = proposed.generate(FORMS, k=12, contexts=["a", "b", "c"])
    assert found[0] == plain[0]
    [(mentions, lists, contexts)] = reranker.calls
    assert mentions == ["epileptic fits again", "short and small"] and contexts == ["b", "c"]
    assert lists == [own[:K] for own in plain[1:]]
    assert (proposed.n_mentions, proposed.n_reranked) == (3, 2)
    for old, new in zip(plain[1:], found[1:]):
        ids = [c.concept_id for c in old]
        assert [c.concept_id for c in new] == [*ids[:K][::-1], *ids[K:]]
        assert [c.score for c in new] == sorted((c.score for c in new), reverse=True)
    assert proposed.reads_context and not MentionCandidates(kb, kb.generator()).reads_context


def test_a_reranker_with_scores_of_its_own_scale_brings_its_threshold(kb):
    own = Backwards()
    assert MentionCandidates(kb, kb.generator(), own).threshold == kb.threshold
    own.threshold = 0.123
    assert MentionCandidates(kb, kb.generator(), own).threshold == 0.123


@pytest.mark.parametrize("k", [1, 3])
def test_the_order_does_not_depend_on_k(kb, k):
    whole = MentionCandidates(kb, kb.generator(), Backwards()).generate(FORMS, k=K)
    part = MentionCandidates(kb, kb.generator(), Backwards()).generate(FORMS, k=k)
    assert part == [own[:k] for own in whole]


def test_what_is_allowed_is_reranked_alone(kb):
    allowed = np.zeros(kb.terminology.n_concepts, dtype=bool)
    allowed[[kb.terminology.row("T:0003"), kb.terminology.row("T:0011")]] = True
    reranker = Backwards()
    proposed = MentionCandidates(kb, kb.generator(), reranker)
    [found] = proposed.generate([["epileptic fits again"]], k=10, allowed=allowed)
    assert {c.concept_id for c in found} == {"T:0003", "T:0011"}
    assert proposed.generate([], k=10) == []


def test_stages_of_other_scores_are_told_apart(kb):
    generator = kb.generator()
    assert describe_stages(generator, None) == "HybridCandidates"
    assert describe_stages(generator, Backwards()) == "HybridCandidates, Backwards x"
