import random

import pytest

from spacy_termlink.mining.augment import (
    Augmenter,
    AugmentSettings,
    abbreviate,
    change_case,
    change_spelling,
    find_short_forms,
    invert_commas,
    mistype,
)
from spacy_termlink.mining.corpus import Corpus
from spacy_termlink.mining.heldout import HeldoutSettings
from spacy_termlink.mining.records import Record
from spacy_termlink.terminology import Concept, Name
from spacy_termlink.text import normalize

OFF = {"case": False, "inversion": False, "spelling": False, "abbreviations": False}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Neoplasms, Lung", "Lung Neoplasms"),
        ("Leukemia, Myeloid, Acute", "Acute Myeloid Leukemia"),
        ("Fracture of femur, closed", "closed Fracture of femur"),
        ("Nausea, vomiting and fever", None),  # a list
        ("Cataract, with glaucoma", None),
        ("Lung neoplasm", None),
        ("1,2-dichloroethane poisoning", None),
        ("Palsy (Bell, idiopathic)", None),
    ],
)
def test_comma_inverted_names(text, expected):
    assert invert_commas(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tumour of the oesophagus", "Tumor of the esophagus"),
        ("Anemia", "Anaemia"),
        ("Hyperglycemia", "Hyperglycaemia"),
        ("PULMONARY EDEMA", "PULMONARY OEDEMA"),
        ("Diarrhea, chronic", "Diarrhoea, chronic"),
        ("Fracture", None),
        ("Chemical burn", None),
    ],
)
def test_british_and_american(text, expected):
    assert change_spelling(text) == expected
    if expected:
        assert normalize(expected) == normalize(text)


def test_case_keeps_what_carries_meaning():
    rng = random.Random(0)
    assert change_case("mRNA level", rng) is None
    assert change_case("SZ", rng) is None
    found = {change_case("Focal seizure", rng) for _ in range(50)}
    assert found == {"focal seizure", "FOCAL SEIZURE", "Focal Seizure"}


def test_typing_errors_spare_short_words_and_first_letters():
    text = "Type 2 diabetes of the mRNA"
    for seed in range(200):
        wrong = mistype(text, random.Random(seed), 0.1)
        assert wrong.startswith("Type 2 d")
        assert wrong.endswith(" of the mRNA")
    assert mistype("Type 2 RNA", random.Random(0), 0.5) is None


def test_the_rate_says_how_many_letters_are_mistyped():
    word = "seizure"
    one_error = {
        found
        for i in range(1, 6)
        for found in (
            word[:i] + word[i + 1] + word[i] + word[i + 2 :],
            word[:i] + word[i + 1 :],
            word[:i] + word[i] + word[i:],
            *(word[:i] + letter + word[i + 1 :] for letter in "qwertyuiopasdfghjklzxcvbnm"),
        )
    }
    assert {mistype(word, random.Random(seed), 0.0) for seed in range(100)} <= one_error
    many = [mistype(word, random.Random(seed), 0.8) for seed in range(100)]
    assert sum(wrong in one_error for wrong in many) < 10


def test_abbreviations_replace_the_longest_phrase_inside_a_name():
    short_of = {"deep vein thrombosis": "DVT", "vein thrombosis": "VT"}
    assert abbreviate("Deep vein thrombosis of the leg", short_of) == "DVT of the leg"
    assert abbreviate("Deep vein thrombosis", short_of) == "Deep VT"
    assert abbreviate("Vein thrombosis", short_of) is None  # that is the abbreviation's own record
    assert abbreviate("Thrombosis", short_of) is None


def test_an_abbreviation_of_two_concepts_is_not_used(make_terminology):
    concepts = [
        Concept("A", "Multiple sclerosis", [Name("MS", "abbreviation")]),
        Concept("B", "Mitral stenosis", [Name("MS", "abbreviation")]),
        Concept("C", "Failure to thrive", [Name("FTT", "abbreviation"), Name("Poor thriving")]),
    ]
    corpus = Corpus([make_terminology(concepts)], heldout=HeldoutSettings(names=0.0))
    assert find_short_forms(corpus) == {"failure to thrive": "FTT", "poor thriving": "FTT"}


def copies(corpus, record, n=60, **settings):
    augmenter = Augmenter(corpus, AugmentSettings(**{**OFF, "typo_rate": 0.0, **settings}))
    return [copy for seed in range(n) for copy in augmenter.copies(record, random.Random(seed))]


def test_only_the_anchor_is_altered_and_only_at_the_rate(corpus):
    record = Record("task", "Partial seizure", "Focal seizure", "HP:3", "HP:3")
    found = copies(corpus, record, n=400, rate=0.25, case=True)
    assert len(found) == pytest.approx(100, abs=30)
    assert {copy._replace(anchor="") for copy in found} == {record._replace(anchor="")}
    assert record not in found
    assert copies(corpus, record, rate=0.0, case=True) == []


def test_a_copy_is_never_the_name_of_another_concept(make_terminology):
    concepts = [
        Concept("A", "Seizure, focal", [Name("Seizure, partial")]),
        Concept("B", "Partial seizure"),
    ]
    corpus = Corpus([make_terminology(concepts)], heldout=HeldoutSettings(names=0.0))
    record = Record("task", "Seizure, partial", "Seizure, focal", "A", "A")
    assert copies(corpus, record, rate=1.0, inversion=True) == []
    allowed = record._replace(anchor="Seizure, sudden")
    assert {copy.anchor for copy in copies(corpus, allowed, rate=1.0, inversion=True)} == {
        "sudden Seizure"
    }


def test_a_copy_is_never_held_out(make_terminology):
    concepts = [Concept("A", "disease", [Name("Attack, focal"), Name("focal attack", "related")])]
    corpus = Corpus([make_terminology(concepts)], heldout=HeldoutSettings(names=0.0))
    record = Record("task", "Attack, focal", "disease", "A", "A")
    assert copies(corpus, record, rate=1.0, inversion=True)
    corpus.heldout.forms.add("focal attack")
    assert not copies(corpus, record, rate=1.0, inversion=True)
