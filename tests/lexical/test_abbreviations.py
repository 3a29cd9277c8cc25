import time

import pytest

from spacy_termlink.lexical.abbreviations import (
    Abbreviation,
    expand,
    find_abbreviations,
    long_forms,
)

FOUND = [
    # the paper's own examples
    ("heat shock transcription factor (HSF)", "HSF", "heat shock transcription factor"),
    ("HSF (heat shock transcription factor)", "HSF", "heat shock transcription factor"),
    ("adenomatous polyposis coli (APC)", "APC", "adenomatous polyposis coli"),
    ("Gamma-glutamyl transferase (GGT)", "GGT", "Gamma-glutamyl transferase"),
    # the first letter must begin a word, the others need not
    ("have antithyroid drug (ATD)", "ATD", "antithyroid drug"),
    ("a patient with trans-sialidase (TS)", "TS", "trans-sialidase"),
    # what stands after a comma or semicolon, or in further brackets, is no part of the short form
    ("tumor necrosis factor (TNF; cachectin)", "TNF", "tumor necrosis factor"),
    ("magnetic resonance imaging (MRI, 3 T)", "MRI", "magnetic resonance imaging"),
    ("reflux disease [RD (severe)]", "RD", "reflux disease"),
    # brackets of both kinds, spaces, quotes, line ends
    ("acute lymphoblastic leukemia [ALL]", "ALL", "acute lymphoblastic leukemia"),
    ('ejection fraction ( "EF" )', "EF", "ejection fraction"),
    ("basal cell\ncarcinoma (BCC)", "BCC", "basal cell\ncarcinoma"),
    # a point after two letters ends no sentence
    ("St. Louis encephalitis (SLE).", "SLE", "St. Louis encephalitis"),
    ("neurofibromatosis type 1 (NF1))))", "NF1", "neurofibromatosis type 1"),
    ("((neurofibromatosis type 1 (NF1)", "NF1", "neurofibromatosis type 1"),
    ("mitochondrial DNA (mtDNA)", "mtDNA", "mitochondrial DNA"),
]

NOT_FOUND = [
    "",
    "(ABC)",
    "renal failure (see below for all of the details)",
    "renal failure (X)",  # one character
    "absent ear lobes (AEL and many more)",
    "alpha beta gamma (ABCDEFGHIJK)",  # eleven characters
    "aortic valve (123)",  # no letter
    "aortic valve (-AV)",  # starts with punctuation
    "right arm. The lesion was (RAL)",  # across sentences
    "a w w w w w w w w w w b (AB)",  # more than min(|A| + 5, 2 |A|) words
    "the patient ASD was (ASD)",
    "mice (mutant in certain exons)",  # no capital in the short form
    "long form ) AB (",
    "atrial fibrillation (AF]",
]


@pytest.mark.parametrize(("text", "short", "long"), FOUND)
def test_definitions(text, short, long):
    [found] = find_abbreviations(text)
    assert (found.short, found.long) == (short, long)
    assert text[found.short_start : found.short_end] == short
    assert text[found.long_start : found.long_end] == long


@pytest.mark.parametrize("text", NOT_FOUND)
def test_no_definitions(text):
    assert find_abbreviations(text) == []


def test_definitions_come_in_the_order_of_the_text():
    text = "A cystic fibrosis (CF) case; ASD (atrial septal defect) and renal failure (RF)."
    assert [a.short for a in find_abbreviations(text)] == ["CF", "ASD", "RF"]


def test_long_forms_first_definition_and_plural():
    one = Abbreviation("ASDs", "atrial septal defects", 0, 4, 6, 27)
    other = Abbreviation("ASD", "autism spectrum disorder", 30, 33, 35, 59)
    assert long_forms([one]) == {
        "ASDs": "atrial septal defects",
        "ASD": "atrial septal defects",
    }
    assert long_forms([one, other])["ASD"] == "autism spectrum disorder"
    assert long_forms([other, one])["ASDs"] == "atrial septal defects"
    assert long_forms([Abbreviation("CF", "cystic fibrosis", 17, 19, 0, 15)]) == {
        "CF": "cystic fibrosis",
        "CFs": "cystic fibrosis",
    }


@pytest.mark.parametrize(
    "unit", ["a", "(", "a (b) ", "ab (ab cd ef) ", "(AB", "[( ", ") ", "AB (a b) (ab) "]
)
def test_time_is_linear_in_any_text(unit):
    def seconds(n_chars):
        text = unit * (n_chars // len(unit)) + ")" * (n_chars // 2)
        start = time.process_time()
        find_abbreviations(text)
        return time.process_time() - start

    short = min(seconds(20_000) for _ in range(2))
    assert seconds(160_000) < 40 * short + 0.5  # quadratic: 64 times and more


@pytest.mark.parametrize(
    ("mention", "expanded"),
    [
        ("GDD", "global developmental delay"),
        ("severe GDD", "severe global developmental delay"),
        ("HCV/GDD infection", "HCV/global developmental delay infection"),
        ("global developmental delay (GDD)", "global developmental delay (GDD)"),
        ("GDDs", "GDDs"),
        ("as seen", "as seen"),
        ("As", "arsenic"),
        ("", ""),
    ],
)
def test_abbreviations_in_a_mention_are_written_out(mention, expanded):
    forms = {"GDD": "global developmental delay", "as": "aortic stenosis", "As": "arsenic"}
    assert expand(mention, forms) == expanded
