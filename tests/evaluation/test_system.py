import numpy as np
import pytest

from spacy_termlink.evaluation.mention_set import prepare_mentions
from spacy_termlink.evaluation.mentions import AnnotatedDoc
from spacy_termlink.evaluation.ranking import METRICS
from spacy_termlink.evaluation.system import evaluate_system
from spacy_termlink.kb import open_kb


def test_a_row_per_mention(evaluate, mention):
    answers = {"a": [("gold", 0.9)], "b": [("x", 0.9), ("root", 0.8)], "nil": [("x", 0.3)]}
    mentions = [mention("nil"), mention("a", "gold"), mention("b", "root"), mention("c", "root")]
    found = evaluate(answers, mentions)
    assert (found.name, found.k, found.threshold) == ("table", 10, 0.5)
    assert found.figures.shape == found.figures_all.shape == (3, len(METRICS))
    assert found.figures[:, 0].tolist() == [1, 0, 0]
    assert found.ranks.tolist() == [1, 2, 0]
    assert found.top_scores.tolist() == [0.9, 0.9, -np.inf]
    assert found.nil_top_scores.tolist() == [0.3]
    assert [len(c) for c in found.candidates] == [1, 2, 0]
    assert found.seconds > 0


def test_gold_and_found_ids_are_resolved(evaluate, mention):
    answers = {"a": [("gold", 1.0)], "b": [("nephew-alt", 1.0)], "c": [("nephew", 1.0)]}
    mentions = [mention("a", "gone"), mention("b", "nephew"), mention("c", "nephew-alt")]
    assert evaluate(answers, mentions).figures[:, 0].tolist() == [1, 1, 1]


def test_accept_lists_count(evaluate, mention):
    answers = {"a": [("uncle", 1.0)]}
    accepted = mention("a", "gold", accept=(("gold", "uncle"),))
    assert evaluate(answers, [mention("a", "gold"), accepted]).ranks.tolist() == [0, 1]


def test_unknown_gold_is_a_miss(evaluate, mention):
    answers = {"a": [("OTHER:1", 1.0)], "b": [("gold", 1.0)]}
    mentions = [mention("a", "OTHER:1"), mention("b", "OTHER:1", "gold"), mention("a", "lost")]
    assert evaluate(answers, mentions).figures[:, 0].tolist() == [0, 1, 0]


def test_the_long_form_finds_the_concept(evaluate, mention):
    docs = [AnnotatedDoc("d", "He had congestive heart failure (CHF). CHF worsened.")]
    answers = {"CHF": [("uncle", 0.4)], "congestive heart failure": [("gold", 0.9)]}
    assert evaluate(answers, [mention("CHF", "gold")]).ranks.tolist() == [0]
    assert evaluate(answers, [mention("CHF", "gold")], docs=docs).ranks.tolist() == [1]


def test_only_nil_mentions(evaluate, mention):
    found = evaluate({}, [mention("b")])
    assert found.figures.shape == (0, len(METRICS))
    assert found.nil_top_scores.tolist() == [-np.inf]


def test_all_of_several(evaluate, mention):
    answers = {"a": [("gold", 1.0), ("cousin", 0.9)], "b": [("gold", 1.0)]}
    found = evaluate(answers, [mention(text, "gold", "cousin") for text in "ab"])
    assert found.figures[:, 0].tolist() == [1, 1]
    assert found.figures_all[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize("generator", ["exact", "dense", "ngram"])
def test_a_gold_concept_that_was_not_recalled_scores_as_it_would_alone(tiny_kb, generator, mention):
    """Pairs of mentions searched together have the scores of each searched among all concepts."""
    kb = open_kb(tiny_kb)
    texts = ["heart attak", "grand mal", "small stature", "cleft of the palate", "zzz", "MI"]
    golds = ["T:0012", "T:0007", "T:0010", "T:0003", "T:0011", "T:0009"]
    mentions = [mention(text, gold) for text, gold in zip(texts, golds, strict=True)]
    mention_set = prepare_mentions(kb.terminology, mentions)
    found = evaluate_system(kb, mention_set, generator, k=2)
    assert not found.ranks.all()
    whole = evaluate_system(kb, mention_set, generator, k=12)
    expected = [
        next((c.score for c in candidates if c.concept_id == gold), 0.0)
        for candidates, gold in zip(whole.candidates, golds, strict=True)
    ]
    assert found.pairs.scores[found.pairs.labels == 1] == pytest.approx(expected, abs=1e-5)
