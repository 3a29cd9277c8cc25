"""Which mentions mean an abbreviation, and which the word that is written with the same letters."""

import pytest

from spacy_termlink.lexical.capitals import (
    LONGEST,
    ORDINARY,
    is_abbreviation,
    is_said,
    is_written,
    is_written_so,
)


def test_abbreviations():
    assert all(map(is_abbreviation, ("ADHD", "mtDNA", "IgA", "PACs")))
    assert not any(map(is_abbreviation, ("Cold", "cold", "A", "", "LEOPARD")))


@pytest.mark.parametrize("surface, expected", [("COLD", True), ("COLDs", True), ("COLDS", False),
                                               ("cold", False), ("Cold", False), ("COL", False)])  # fmt: skip
def test_written(surface, expected):
    assert is_written("COLD", surface) is expected


@pytest.mark.parametrize(
    "name, mention, so, said",
    [
        ("COPD", "COPD", True, True),
        ("COPD", "COPDs", True, True),
        ("COPD", "(COPD)'s", True, True),
        ("PACs", "PAC", True, True),
        ("COPD", "copd", False, True),
        ("COPD", "Copd", False, True),
        ("IgA", "IGA", False, True),  # of a text in capitals
        ("COPD", "copds", False, False),  # another number
        ("COLD", "COLDS", False, False),
        ("COLD", "cold", False, False),
        ("AIDS", "Aids", False, False),
        ("AIDS", "aid", False, False),
        ("AIDS", "AID", False, False),
        ("CSA", "CsA", False, False),  # another abbreviation
        ("CFCS", "CFCs", False, False),
        ("VUR II", "vur 2", False, True),  # of several words
        ("Cold", "cold", True, True),  # no abbreviation
        ("COPD", "", False, False),
        ("LFT", "LFT", True, True),
        ("LFT", "LFTs", False, False),  # liver function tests
        ("LFT", "LFT's", True, True),
        ("LFTs", "LFTs", True, True),
        ("LFTs", "LFT", True, True),
        ("UTI", "utis", False, False),
    ],
)
def test_said(name, mention, so, said):
    assert is_written_so(name, mention) is so
    assert is_said(name, mention) is said


def test_ordinary_words_are_ones_that_can_be_asked_for():
    assert all(word.isalpha() and word.islower() and len(word) <= LONGEST for word in ORDINARY)
