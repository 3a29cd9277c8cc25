import pytest

from spacy_termlink.lexical.stems import stem
from spacy_termlink.lexical.words import HARD, PLAIN, SOFT, find_words

SAME_STEM = [
    "thin thinning thinned",
    "hypotonia hypotonic",
    "microcephaly microcephalic",
    "stenosis stenoses stenotic stenosed",
    "dilated dilatation dilation",
    "nevus nevi",
    "hypoplasia hypoplastic",
    "atrophy atrophic atrophied",
    "obese obesity",
    "spastic spasticity",
    "tapering tapered",
    "disease diseases",
    "crisis crises",
    "abnormal abnormality abnormalities anomaly malformations deformity",
    "edema edematous",
    "fistula fistulae fistulas",
    "vertebra vertebrae vertebral",
    "carcinoma carcinomas carcinomata",
    "phalanx phalanges phalangeal",
    "enlarged enlargement",
    "foot feet",
    "webbed webbing web",
    "deafness deaf",
    "kidney kidneys renal",
    "lens lenses",
    "elevated increased raised",
]
OTHER_STEM = [
    ("testis", "test"),
    ("contracture", "contraction"),
    ("hyper", "hypo"),
    ("gas", "ga"),
    ("mucous", "mucus"),
    ("note", "not"),
    ("palate", "palm"),
    ("iris", "iritis"),
]


@pytest.mark.parametrize("group", SAME_STEM)
def test_forms_of_a_word_share_their_stem(group):
    assert len({stem(word) for word in group.split()}) == 1


@pytest.mark.parametrize(("one", "other"), OTHER_STEM)
def test_other_words_do_not(one, other):
    assert stem(one) != stem(other)


def test_words_that_add_nothing_have_no_stem():
    assert [stem(w) for w in ("of", "the", "is", "morphology")] == [""] * 4


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("Crohn's disease", ["crohn", "disease"]),
        ("type II diabetes", ["type", "2", "diabetes"]),
        ("CD4+ T-cells", ["cd4", "positive", "t", "cells"]),
        ("1.5 cm, 1/2", ["1.5", "cm", "1/2"]),
        ("pre-auricular pits", ["preauricular", "pits"]),
        ("low-set ears", ["low", "set", "ears"]),
        ("2\u578b\u7cd6\u5c3f\u75c5", list("2\u578b\u7cd6\u5c3f\u75c5")),
        ("\U0001f912", []),
        ("\ud800 \x00", []),
        ("", []),
    ],
)
def test_words_in_normal_form(text, forms):
    words = find_words(text)
    assert words.forms == forms
    assert all(text[s:e] for s, e in zip(words.starts, words.ends, strict=True))


@pytest.mark.parametrize(
    ("between", "gap"),
    [
        (" ", PLAIN), ("-", PLAIN), ("\n", PLAIN), (", ", SOFT), (" (", SOFT), ("/", SOFT),
        (". ", HARD), (": ", HARD), ("\n\n", HARD), ("\n- ", HARD), ("; ", HARD),
        (" " * 30 + "\t...", HARD),
    ],
)  # fmt: skip
def test_what_lies_between_two_words(between, gap):
    assert find_words(f"short{between}stature").gaps.tolist() == [HARD, gap]


def test_a_new_line_with_a_capital_begins_something_new():
    assert find_words("fever\nCough").gaps[1] == HARD


def test_very_long_words_are_no_other_word():
    long = "a" * 1_000_000
    assert find_words(long).forms != find_words(long[:90]).forms
    assert find_words(long).ends == [1_000_000]
