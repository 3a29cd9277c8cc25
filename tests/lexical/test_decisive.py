import pytest

from spacy_termlink.lexical.decisive import (
    BODY_PARTS,
    CLASSES,
    DEVICES,
    OPPOSITES,
    PREFIXES,
    DecisiveWords,
    are_opposites,
    body_part_stems,
    is_tabled,
)
from spacy_termlink.text import normalize

WORDS = (
    "type 1 2 3 stage grade 3rd third c6 c7 left right acute chronic hypotension hypertension normotension "
    "microcephaly macrocephaly hypothenar increased elevated low with without progressive nonprogressive "
    "kidney renal liver pump catheter a b vitamin severe mild second degree trimester hyper hypo"
)


def kinds(text, i):
    words = DecisiveWords([*WORDS.split(), *text.split()], body_part_stems())
    return [(found.kind, found.pole) for found in words.read(text.split(), i)]


def opposed(a, b, i):
    """Classes in which word i of two texts are opposites."""
    words = DecisiveWords([*WORDS.split(), *a.split(), *b.split()], body_part_stems())
    return {
        x.kind
        for x in words.read(a.split(), i)
        for y in words.read(b.split(), i)
        if x.slot == y.slot and x.pole != y.pole
    }


@pytest.mark.parametrize(
    "a, b, i, expected",
    [
        ("diabetes type 1", "diabetes type 2", 2, "type"),
        ("vitamin a", "vitamin b", 1, "type"),
        ("tumor stage 1", "tumor stage 2", 2, "stage or grade"),
        ("second degree burn", "third degree burn", 0, "stage or grade"),
        ("second trimester", "third trimester", 0, "number"),
        ("3rd toe", "2nd toe", 0, "number"),
        ("injury at c6", "injury at c7", 2, "number"),
        ("left arm", "right arm", 0, "left/right"),
        ("acute leukemia", "chronic leukemia", 0, "acute/chronic"),
        ("hypotension", "hypertension", 0, "hypo-/hyper-"),
        ("microcephaly", "macrocephaly", 0, "micro-/macro-"),
        ("elevated lipase", "low lipase", 0, "increased/decreased"),
        ("ataxia with tremor", "ataxia without tremor", 1, "with/without"),
        ("progressive ataxia", "nonprogressive ataxia", 0, "with/without"),
        ("severe pain", "mild pain", 0, "severity"),
        ("renal pain", "liver pain", 0, "body part"),
        ("leak of pump", "leak of catheter", 2, "device"),
    ],
)
def test_opposites(a, b, i, expected):
    assert opposed(a, b, i) == {expected}


@pytest.mark.parametrize(
    "a, b, i",
    [
        ("increased lipase", "elevated lipase", 0),  # the same pole
        ("third toe", "3rd toe", 0),
        ("renal pain", "kidney pain", 0),
        ("acute pain", "left pain", 0),  # of different groups
        ("odd pain", "even pain", 0),
    ],
)
def test_no_opposites(a, b, i):
    assert opposed(a, b, i) == set()


def test_a_prefix_needs_its_opposite_among_the_words():
    assert kinds("hypotension", 0) == [("hypo-/hyper-", "hypo")]
    assert kinds("hypothenar", 0) == []  # there is no hyperthenar
    assert kinds("hyper", 0) == []  # nothing follows


def test_what_a_number_counts_is_said_by_the_word_before():
    assert kinds("type 2", 1) == [("type", "2")]
    assert kinds("grade 2", 1) == [("stage or grade", "2")]
    assert kinds("toe 2", 1) == [("number", "2")]


def test_tables_are_in_normal_form_and_of_known_classes():
    assert set(OPPOSITES) | set(PREFIXES) <= set(CLASSES) and len(CLASSES) == len(set(CLASSES))
    tabled = [word for groups in OPPOSITES.values() for group in groups for word in group.split()]
    for word in (*tabled, *DEVICES, *BODY_PARTS):
        assert word == "/" or normalize(word) == word, word
    assert is_tabled("left") and is_tabled("3rd") and not is_tabled("pain")


def test_no_word_stands_at_two_poles_of_one_group():
    for groups in OPPOSITES.values():
        for group in groups:
            words = group.replace("/", " ").split()
            assert len(words) == len(set(words)), group


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("low tsh", "elevated tsh", True),
        ("leukemia acute", "chronic leukemia", True),  # other order
        ("renal pain", "liver pain", True),
        ("type 2 disease", "type 1 disease", True),
        ("type 2a disease", "type 2 disease", False),  # a part of it
        ("low tsh", "low tsh level", False),
        ("low tsh", "low acth", False),
        ("increased tsh", "elevated tsh", False),
    ],
)
def test_are_opposites(a, b, expected):
    assert are_opposites(a.split(), b.split()) is expected
    assert are_opposites(b.split(), a.split()) is expected
