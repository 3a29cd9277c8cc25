"""What a document writes out counts before what the letters name elsewhere, under a reranker too."""

import numpy as np
import pytest

from spacy_termlink.candidates.forms import LETTERS, generate_forms
from spacy_termlink.kb import TermKB
from spacy_termlink.rerank.cross_encoder import is_doubtful, reorder
from spacy_termlink.rerank.mention_candidates import MentionCandidates
from spacy_termlink.types import Candidate

FORMS = ["COLD", "seizure focal onset type"]


def candidate(concept_id, score, tier="hybrid"):
    return Candidate(concept_id, concept_id, concept_id, "exact", score, tier)


SEIZURE, OTHER = candidate("seizure", 0.92), candidate("other", 0.6)
LUNG = candidate("lung", 1.0, "exact")


class Listed:
    """A generator of given answers."""

    def __init__(self, letters, long_form):
        self.answers = dict(zip(FORMS, (letters, long_form), strict=True))

    def generate(self, mentions, *, k, allowed=None):
        return [self.answers[mention][:k] for mention in mentions]


class Keeps:
    """A reranker, as the cross-encoder is, that finds all scores right."""

    fingerprint, reads_context = "x", False

    def in_doubt(self, candidates):
        return is_doubtful(candidates, 0.2)

    def rerank(self, mentions, candidate_lists, *, contexts=None):
        return [reorder(own, np.array([c.score for c in own])) for own in candidate_lists]


@pytest.fixture
def kb(tiny_kb):
    return TermKB.open(tiny_kb)


@pytest.mark.parametrize(
    "long_form",
    [
        [SEIZURE, OTHER],
        [candidate("seizure", 0.99, "exact"), OTHER],
        [candidate("seizure", 1.0, "exact"), OTHER],
        [candidate("seizure", 0.9, "spelling"), OTHER],
    ],
)
def test_a_reranker_does_not_put_the_letters_before_the_long_form(kb, long_form):
    generator = Listed([LUNG], long_form)
    [plain] = MentionCandidates(kb, generator).generate([FORMS], k=3)
    [found] = MentionCandidates(kb, generator, Keeps()).generate([FORMS], k=3)
    assert found[0] == plain[0] == long_form[0]
    assert {c.concept_id: c.tier for c in found}["lung"] == LETTERS


def test_what_both_say_has_the_tier_of_the_long_form():
    named = candidate("seizure", 1.0, "exact")
    [found] = generate_forms(Listed([named], [named, OTHER]), [FORMS], k=3)
    assert found == [named, OTHER]
    [found] = generate_forms(Listed([named], [SEIZURE]), [FORMS], k=3)
    assert found == [SEIZURE]


def test_letters_alone_keep_their_tier():
    for generator, forms in ((Listed([LUNG], []), FORMS), (Listed([LUNG], [SEIZURE]), FORMS[:1])):
        assert generate_forms(generator, [forms], k=3) == [[LUNG]]
