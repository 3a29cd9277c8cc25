"""Misspelled names: found, but never with the confidence of a name."""

import pytest

from spacy_termlink.candidates import make_generator
from spacy_termlink.candidates.spelled import (
    CONFIRMED,
    is_lookalike,
    misspelled_share,
    spelled_concepts,
)
from spacy_termlink.encoders import load_encoder
from spacy_termlink.kb import TermKB, build_kb
from spacy_termlink.terminology import Concept, Name
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.text import normalize

CONCEPTS = [
    Concept("S:1", "Dysphagia", [Name("Progressive dysphagia", "narrow")]),
    Concept("S:2", "Aphasia"),
    Concept("S:3", "Hearing impairment", [Name("Impairment of hearing", "exact")]),
    Concept("S:4", "Hand pain"),
    Concept("S:5", "Cellular immunodeficiency"),
    Concept("S:6", "Acute urethral stricture"),
    Concept("S:7", "Abnormality of the ureter", [Name("Ureteric anomaly", "exact")]),
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory, tiny_encoder):
    folder = tmp_path_factory.mktemp("spelled")
    build_terminology(CONCEPTS, folder / "terminology")
    encoder = load_encoder(tiny_encoder, dtype="float32")
    build_kb(folder / "terminology", encoder, folder / "kb", progress=False)
    return TermKB.open(folder / "kb")


@pytest.mark.parametrize(
    "mention, concept, sure",
    [
        ("hearing impairmant", "S:3", True),
        ("Impairmnt of the hearing", "S:3", True),
        ("progresive dysphagia", "S:1", True),
        # both words misspelled, one word only: nothing confirms it
        ("hearring impairmant", "S:3", False),
        ("dysphagai", "S:1", False),
        # words of their own, in a mention that is otherwise the name
        ("progressive dysphasia", "S:1", False),
        ("acute ureteral stricture", "S:6", False),
        ("acellular immunodeficiency", "S:5", False),
    ],
)
def test_score_says_how_sure_the_correction_is(kb, mention, concept, sure):
    [(score, _, row, _)] = spelled_concepts(kb, normalize(mention))
    assert kb.terminology.concept_id(row) == concept
    assert score == CONFIRMED if sure else score < kb.threshold


@pytest.mark.parametrize("mention", ["dysphasia", "Hearing impairment", "hnad pain", "", "nothing"])
def test_nothing_to_correct(kb, mention):
    assert spelled_concepts(kb, normalize(mention)) == []


def test_a_word_that_the_terminology_lacks_gets_no_good_score(kb):
    for mention in ("dysphasia", "progressive dysphasia", "acute ureteral stricture"):
        found = make_generator("hybrid", kb).generate([mention], k=3)[0]
        assert found[0].tier in ("spelling", "hybrid")
        assert all(c.score < CONFIRMED for c in found)


def test_in_the_hybrid_they_stand_first_and_nothing_has_a_better_score(kb):
    found = make_generator("hybrid", kb).generate(["hearing impairmant"], k=5)[0]
    assert [(c.concept_id, c.score, c.tier) for c in found[:1]] == [("S:3", CONFIRMED, "spelling")]
    assert len(found) == 5
    assert {c.tier for c in found[1:]} == {"hybrid"}
    assert all(a.score >= b.score for a, b in zip(found, found[1:], strict=False))


def test_allowed_holds_for_corrections(kb):
    allowed = kb.terminology.obsolete.copy()
    assert spelled_concepts(kb, "hearing impairmant", allowed) == []


@pytest.mark.parametrize(
    "text, name, expected",
    [
        ("hearing pain", "earing pain", True),  # both are words
        ("diabetes type 2", "diabetes type 1", True),
        ("dysphasia", "dysphagia", True),
        ("impairmant", "impairment", False),
        ("hnad pain", "hand pain", False),  # no word of the names: misspelled
        ("pains in hand", "pain in hand", False),
        ("hand pain", "hand pain", False),
        ("hand pain", "hand", False),
        ("hearing of hand", "urethral of pain", False),
    ],
)
def test_lookalikes(kb, text, name, expected):
    assert is_lookalike(kb, text, name) is expected


def test_a_lookalike_is_not_linked(tmp_path, tiny_encoder):
    concepts = [Concept("1", "Dysphagia"), Concept("2", "Remarks on an old dysphasia"),
                Concept("5", "Short stature")]  # fmt: skip
    build_terminology(concepts, tmp_path / "terminology")
    encoder = load_encoder(tiny_encoder, dtype="float32")
    kb = build_kb(tmp_path / "terminology", encoder, tmp_path / "kb", progress=False)
    alike, plain = make_generator("hybrid", kb).generate(["dysphasia", "short statured"], k=3)
    assert alike[0].concept_id == "1"
    assert alike[0].score < kb.threshold
    assert plain[0].concept_id == "5"
    assert plain[0].score > kb.threshold
    assert [c.score for c in alike] == sorted((c.score for c in alike), reverse=True)


def test_a_name_that_says_the_opposite_is_not_linked_and_goes_behind(tmp_path, tiny_encoder):
    concepts = [Concept("1", "Elevated circulating creatinine"), Concept("2", "Short stature"),
                Concept("3", "Abnormal circulating creatinine"),
                Concept("4", "Ehlers-Danlos syndrome type 1")]  # fmt: skip
    build_terminology(concepts, tmp_path / "terminology")
    encoder = load_encoder(tiny_encoder, dtype="float32")
    kb = build_kb(tmp_path / "terminology", encoder, tmp_path / "kb", progress=False)
    generator = make_generator("hybrid", kb)
    [found] = generator.generate(["reduced circulating creatinine"], k=4)
    assert [c.concept_id for c in found][0] == "3"
    opposite = next(c for c in found if c.concept_id == "1")
    assert opposite.score < kb.threshold
    raised, numbered = generator.generate(
        ["raised circulating creatinine", "Ehlers-Danlos syndrome type 2"], k=4
    )
    assert raised[0].concept_id == "1"
    assert raised[0].score > kb.threshold
    assert next(c for c in numbered if c.concept_id == "4").score < kb.threshold


@pytest.mark.parametrize(
    "text, share",
    [
        ("hearing impairment", 0.0),
        ("hearings impaired", 0.0),  # other forms of known words
        ("hearing impairmant", 0.5),
        ("hnad pain", 0.5),  # short and in no name
        ("palpitations", 0.0),  # unknown, but like no known word
        ("", 0.0),
    ],
)
def test_misspelled_share(kb, text, share):
    assert misspelled_share(kb, text) == share
