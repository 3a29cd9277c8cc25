import pytest

from spacy_termlink.spelling import american, plurals, singulars

UNTOUCHED = [
    "hour", "course", "four", "contour", "source", "raise", "rise", "crises", "analyses", "poetry",
    "toes", "shoe", "aerobic", "level", "acre", "genre", "mucous", "septic", "vogue", "leucine",
    "entre", "acentric", "called", "swelled", "coil",
]  # fmt: skip


@pytest.mark.parametrize("word", UNTOUCHED)
def test_words_without_another_spelling_stay(word):
    assert american(word) == word


@pytest.mark.parametrize(
    "word", ["haemaemia", "aaem", "leucoleuco", "colourcolour", "isationisation"]
)
def test_american_is_a_fixed_point(word):
    assert american(american(word)) == american(word)


@pytest.mark.parametrize(
    ("plural", "singular"),
    [("biopsies", "biopsy"), ("crises", "crisis"), ("diseases", "disease"), ("abscesses", "abscess"),
     ("reflexes", "reflex"), ("thrombi", "thrombus"), ("ganglia", "ganglion"),
     ("appendices", "appendix"), ("teeth", "tooth"), ("iris", None), ("mass", None), ("pus", None)],
)  # fmt: skip
def test_singular_and_plural_are_inverse(plural, singular):
    if singular is None:
        assert singulars(plural) == ()
    else:
        assert singular in singulars(plural)
        assert plural in plurals(singular)
