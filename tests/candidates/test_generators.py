"""Every generator on one small KB, and what is particular to each."""

import numpy as np
import pytest

from spacy_termlink.candidates import make_generator
from spacy_termlink.candidates.forms import generate_forms
from spacy_termlink.candidates.hybrid import (
    MOST,
    HybridCandidates,
    completed,
    make_hybrid_candidates,
    merge_rows,
)
from spacy_termlink.encoders import load_encoder
from spacy_termlink.errors import TermlinkError
from spacy_termlink.kb import TermKB, build_kb
from spacy_termlink.terminology import Concept, Name
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.types import NAME_KINDS, Candidate

GENERATORS = ("exact", "dense", "ngram", "hybrid")
ODD = ["", "   ", "\x00", "\ud800", "\U0001f600", "\u05d0\u05d1", "x" * 100_000, "!!!"]


@pytest.fixture(scope="module")
def kb(tiny_kb):
    return TermKB.open(tiny_kb)


@pytest.fixture(params=GENERATORS)
def generator(request, kb):
    return make_generator(request.param, kb)


def ids(candidates):
    return [candidate.concept_id for candidate in candidates]


def test_every_name_finds_its_own_concept(kb, generator):
    terminology = kb.terminology
    names = [terminology.name_text(row) for row in range(terminology.n_names)]
    for name, found in zip(names, generator.generate(names, k=3), strict=True):
        owners = {terminology.names["concept_id"][r].as_py() for r in terminology.lookup(name)}
        assert found[0].concept_id in owners
        assert len(set(ids(found))) == len(found) <= 3


def test_total_order(generator):
    for found in generator.generate(["seizure", "MI", "abnormality of the hart"], k=12):
        order = [(-c.score, NAME_KINDS.index(c.kind), c.concept_id) for c in found]
        if any(c.tier == "exact" for c in found) and found[0].tier != "exact":
            pytest.fail("an exact hit stands below another")
        assert order == sorted(order) or found[0].tier == "exact"


def test_batch_and_single_agree_and_repeats_share_nothing(generator):
    mentions = ["partial seizures", "heart attack", "partial seizures", "sezure", "cleft"]
    together = generator.generate(mentions, k=5)
    assert together[0] == together[2]
    assert together[0] is not together[2]
    for mention, found in zip(mentions, together, strict=True):
        alone = generator.generate([mention], k=5)[0]
        assert ids(alone) == ids(found)
        assert np.allclose([c.score for c in alone], [c.score for c in found], atol=1e-4)


def test_one_string_is_no_list_of_mentions(generator):
    with pytest.raises(TermlinkError, match="TL509.* not one str"):
        generator.generate("seizure", k=1)


def test_k_may_be_any_number(kb, generator):
    everything = generator.generate(["seizure"], k=kb.terminology.n_concepts)
    assert generator.generate(["seizure"], k=10**20) == everything
    assert generator.generate(["seizure"], k=10**10) == everything


@pytest.mark.parametrize("mention", ODD)
def test_odd_mentions(generator, mention):
    found = generator.generate([mention, "seizure"], k=2)
    assert len(found) == 2
    assert found[1][0].concept_id == "T:0003"
    assert all(0 <= c.score < 1.0001 for c in found[0])


def test_nothing_asked(generator):
    assert generator.generate([], k=5) == []


def test_allowed_is_inside_the_search(kb, generator):
    """All heart concepts come back, though none is near the mention."""
    allowed = kb.terminology.mask(["heart"])
    found = generator.generate(["seizure", "heart attack"], k=3, allowed=allowed)
    for candidates in found:
        assert set(ids(candidates)) <= {"T:0006", "T:0007", "T:0008"}
    assert found[1][0].concept_id == "T:0007"
    if make_generator("dense", kb).__class__ is generator.__class__:
        assert len(found[0]) == 3
    nobody = np.zeros(kb.terminology.n_concepts, dtype=bool)
    assert generator.generate(["seizure"], k=3, allowed=nobody) == [[]]


@pytest.mark.parametrize("name", ["dense", "hybrid"])
def test_k_distinct_concepts_though_one_has_many_names(kb, name):
    found = make_generator(name, kb).generate(["seizure"], k=12)[0]
    assert len(ids(found)) == len(set(ids(found))) == 12


def test_exact_scores(kb):
    exact = make_generator("exact", kb)
    plain, plural, other, misspelled, none = exact.generate(
        ["SEIZURE", "seizures", "anomaly of the heart", "myocardail infarction", "nothing"], k=3
    )
    assert [(c.concept_id, c.score, c.tier) for c in plain] == [("T:0003", 1.0, "exact")]
    assert plain[0].to_json()["probability"] is None
    assert ids(plural) == ["T:0003"]
    assert [(c.concept_id, c.score) for c in other] == [("T:0006", 0.99)]
    assert misspelled == none == []


def test_short_abbreviations_must_be_written_alike(kb):
    exact = make_generator("exact", kb)
    assert ids(exact.generate(["ALL"], k=3)[0]) == ["T:0009"]
    assert exact.generate(["all"], k=3)[0] == []


@pytest.fixture(scope="module")
def capitals(tmp_path_factory, tiny_encoder):
    """A KB with names that are words, too."""
    concepts = [
        Concept("A", "Acquired immunodeficiency", [Name("AIDS", "abbreviation")]),
        Concept("C", "Chronic obstructive lung disease", [Name("COLD", "exact"), Name("COPD")]),
        Concept("D", "Oculomotor apraxia", [Name("COMA", "abbreviation"), Name("Apraxia")]),
        Concept("E", "Coma"),
        Concept("F", "Congenital short axis", [Name("CSA", "abbreviation")]),
    ]
    folder = tmp_path_factory.mktemp("capitals")
    build_terminology(concepts, folder / "terminology")
    encoder = load_encoder(tiny_encoder, dtype="float32")
    return build_kb(folder / "terminology", encoder, folder / "kb", progress=False)


@pytest.mark.parametrize(
    "mention, concept",
    [
        ("AIDS", "A"), ("COLD", "C"), ("COLDs", "C"), ("copd", "C"), ("COPD", "C"), ("Copd", "C"),
        ("coma", "E"), ("Coma", "E"),
    ],
)  # fmt: skip
def test_an_abbreviation_is_exact_as_it_is_written_or_in_small_letters(capitals, mention, concept):
    [[found]] = make_generator("exact", capitals).generate([mention], k=3)
    assert (found.concept_id, found.score) == (concept, 1.0)
    assert make_generator("hybrid", capitals).generate([mention], k=3)[0][0].tier == "exact"


@pytest.mark.parametrize(
    "mention, concept",
    [("aid", "A"), ("aids", "A"), ("Aids", "A"), ("AID", "A"), ("cold", "C"), ("Cold", "C"),
     ("colds", "C"), ("COLDS", "C"), ("copds", "C"), ("CsA", "F"), ("CSAs", "F")],
)  # fmt: skip
def test_a_word_of_the_same_letters_is_proposed_but_not_linked(capitals, mention, concept):
    assert make_generator("exact", capitals).generate([mention], k=3) == [[]]
    [found] = make_generator("hybrid", capitals).generate([mention], k=5)
    assert concept in ids(found)
    assert next(c.score for c in found if c.concept_id == concept) < capitals.threshold
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)


def test_a_plural_of_three_letters_is_a_name_where_it_is_listed(tmp_path, tiny_encoder):
    concepts = [
        Concept("G", "Filum lipoma", [Name("LFT", "abbreviation")]),
        Concept("H", "Liver test", [Name("LVTs", "abbreviation"), Name("LVT", "abbreviation")]),
    ]
    build_terminology(concepts, tmp_path / "terminology")
    encoder = load_encoder(tiny_encoder, dtype="float32")
    kb = build_kb(tmp_path / "terminology", encoder, tmp_path / "kb", progress=False)
    exact, hybrid = make_generator("exact", kb), make_generator("hybrid", kb)
    for mention in ("LFT", "LFT's", "LVT", "LVTs"):
        [[found]] = exact.generate([mention], k=3)
        assert (found.concept_id, found.score) == ("G" if "F" in mention else "H", 1.0)
    assert exact.generate(["LFTs"], k=3) == [[]]
    [found] = hybrid.generate(["LFTs"], k=3)
    assert "G" in ids(found)
    assert next(c.score for c in found if c.concept_id == "G") < kb.threshold


def test_capitals_are_told_apart_within_a_batch(capitals):
    both, one = make_generator("exact", capitals).generate(["COMA", "coma"], k=3)
    assert (ids(both), ids(one)) == (["E", "D"], ["E"])
    for name in ("exact", "hybrid"):
        upper, lower = make_generator(name, capitals).generate(["AIDS", "aids"], k=2)
        assert upper[0].score == 1.0 and not (lower and lower[0].tier == "exact")


def test_retired_names_are_not_found(kb, generator):
    assert "T:0099" not in ids(generator.generate(["Fit of old"], k=12)[0])


def test_hybrid_keeps_exact_hits_first_and_others_below(kb):
    found = make_generator("hybrid", kb).generate(["MI"], k=12)[0]
    assert set(ids(found)[:2]) == {"T:0007", "T:0008"}
    assert [c.tier for c in found[:3]] == ["exact", "exact", "hybrid"]
    assert all(c.score <= MOST for c in found[2:])


def test_hybrid_names_several_concepts_by_kind_then_the_one_with_more_names(tmp_path, tiny_encoder):
    concepts = [
        Concept("A", "Autism", [Name("ASD", "abbreviation")]),
        Concept("B", "Atrial septal defect", [Name("ASD", "abbreviation"), Name("Hole", "exact")]),
        Concept("C", "Anterior segment", [Name("ASD", "exact")]),
    ]
    build_terminology(concepts, tmp_path / "terminology")
    encoder = load_encoder(tiny_encoder, dtype="float32")
    kb = build_kb(tmp_path / "terminology", encoder, tmp_path / "kb", progress=False)
    assert ids(make_generator("hybrid", kb).generate(["ASD"], k=3)[0]) == ["C", "B", "A"]


def test_hybrid_scores_do_not_depend_on_k(kb):
    hybrid = make_generator("hybrid", kb)
    for mention in ("seizure of the heart", "stature", "decreased regurgitation"):
        one, many = (hybrid.generate([mention], k=k)[0] for k in (1, 12))
        assert one == many[:1]


def test_hybrid_without_the_exact_tier(kb):
    found = make_hybrid_candidates(exact=False)(kb).generate(["seizure"], k=3)[0]
    assert found[0].concept_id == "T:0003"
    assert {c.tier for c in found} == {"hybrid"}


MENTIONS = [
    "seizure",
    "epileptic fits",
    "MI",
    "sezure",
    "partial fit",
    "ALL",
    "all",
    "stature, short",
    "",
]


@pytest.mark.parametrize("masked", [False, True])
def test_an_exact_name_of_one_concept_can_be_the_whole_answer(kb, masked):
    allowed = kb.terminology.mask(["neuro"]) if masked else None
    all_k = make_generator("hybrid", kb).generate(MENTIONS, k=5, allowed=allowed)
    short = make_hybrid_candidates(complete=False)(kb).generate(MENTIONS, k=5, allowed=allowed)
    alone = []
    for mention, complete, found in zip(MENTIONS, all_k, short, strict=True):
        decided = [c.tier for c in complete].count("exact") == 1
        assert found == (complete[:1] if decided else complete)
        alone += [mention] * decided
    assert alone == (
        ["seizure", "epileptic fits"] if masked else ["seizure", "epileptic fits", "ALL"]
    )


def test_nothing_is_searched_for_an_exact_name_of_one_concept(tiny_kb, monkeypatch):
    opened = TermKB.open(tiny_kb)
    searched = []
    search = opened.index.search
    monkeypatch.setattr(
        opened.index, "search", lambda v, **more: searched.append(len(v)) or search(v, **more)
    )
    hybrid = HybridCandidates(opened, complete=False)
    assert [c[0].tier for c in hybrid.generate(["Seizure", "heart attack"], k=3)] == ["exact"] * 2
    assert searched == []
    hybrid.generate(["Seizure", "partial fit"], k=3)
    assert searched == [1]


def test_completed(kb):
    short = HybridCandidates(kb, exact=True, complete=False)
    assert completed(short).complete and completed(short).exact
    whole, exact = HybridCandidates(kb), make_generator("exact", kb)
    assert completed(whole) is whole and completed(exact) is exact


def test_hybrid_encodes_no_name(kb, monkeypatch):
    """The vectors of names are in the index."""
    encoded = []
    real = kb.encoder.encode
    monkeypatch.setattr(kb.encoder, "encode", lambda texts: encoded.extend(texts) or real(texts))
    make_generator("hybrid", kb).generate(["Seizure", "fits", "seizure of old"], k=3)
    assert encoded == ["seizure of old"]


def test_merge_rows():
    dense, lexical = np.array([[4, 2, -1]]), np.array([[2, 9, -1]])
    rows = merge_rows(dense, lexical)
    assert sorted(rows[rows >= 0].tolist()) == [2, 4, 9]


def test_unknown_generator_names_those_that_exist(kb):
    with pytest.raises(TermlinkError, match=r"Known: bm25, cls, dense, exact, hybrid, \w.*ngram"):
        make_generator("nearest", kb)
    assert make_generator("spacy-termlink.ExactCandidates.v1", kb).generate(["fits"], k=1)[0]


# --- forms


class Fixed:
    """Candidates by table; counts what it is asked."""

    def __init__(self, table):
        self.table = table
        self.asked = []

    def generate(self, mentions, *, k, allowed=None):
        self.asked.append(list(mentions))
        return [
            [Candidate(cid, cid, cid, "exact", score, "exact") for cid, score in self.table[m]][:k]
            for m in mentions
        ]


def test_forms_are_generated_once_and_the_long_form_decides():
    generator = Fixed({"MI": [("X", 1.0), ("A", 0.5)], "infarction": [("A", 0.75), ("B", 0.25)]})
    found = generate_forms(generator, [["MI", "infarction"], ["MI"], ["infarction"]], k=2)
    assert generator.asked == [["MI", "infarction"]]
    assert [(c.concept_id, c.score) for c in found[0]] == [("A", 0.75), ("X", 0.75)]
    assert ids(found[1]) == ["X", "A"]
    assert ids(found[2]) == ["A", "B"]


def test_a_long_form_without_answer_leaves_the_short_form():
    generator = Fixed({"MI": [("X", 1.0)], "no such thing": []})
    assert ids(generate_forms(generator, [["MI", "no such thing"]], k=2)[0]) == ["X"]
    assert generate_forms(generator, [], k=2) == []


class Listed:
    """A generator of given answers."""

    def __init__(self, **answers):
        self.answers = answers

    def generate(self, mentions, *, k, allowed=None):
        return [self.answers[mention][:k] for mention in mentions]


def candidate(concept_id, score, kind="exact"):
    return Candidate(concept_id, concept_id, concept_id, kind, score, "exact")


def test_forms_keep_the_order_of_an_answer_and_its_long_form_first():
    """By hand: no answer to the letters is above .9; of equal scores the long form's are first, in
    the generator's order, whatever their kind and id."""
    letters = [candidate("D", 1.0, "preferred"), candidate("A", 0.5)]
    long_form = [candidate("C", 0.9), candidate("B", 0.9, "preferred")]
    generator = Listed(PMD=letters, written=long_form)
    (found,) = generate_forms(generator, [["PMD", "written"]], k=4)
    assert [(c.concept_id, c.score) for c in found] == [
        ("C", 0.9), ("B", 0.9), ("D", 0.9), ("A", 0.5),
    ]  # fmt: skip
