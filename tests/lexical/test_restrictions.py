import pytest

from spacy_termlink.lexical.guard import judge
from spacy_termlink.lexical.restrictions import RESTRICTIONS, adds_restriction, is_residual
from spacy_termlink.text import normalize


@pytest.mark.parametrize(
    ("mention", "name", "adds"),
    [
        ("history of stroke", "family history of stroke", True),
        ("stroke of the father", "family history of stroke", False),
        ("septic shock", "postprocedural septic shock", True),
        ("septic shock after surgery", "postprocedural septic shock", False),
        ("cleft lip, inborn", "congenital cleft lip", False),
        ("enlarged spleen", "enlarged liver and spleen", True),
        ("hepatosplenomegaly", "enlarged liver and spleen", False),
        ("enlarged liver and spleen", "enlarged liver and spleen", False),
        # one of several
        ("immunodeficiency", "Immunodeficiency 2", True),
        ("hepatitis virus infection", "Hepatitis A virus infection", True),
        ("hepatitis", "Hepatitis B", True),
        ("immunoglobulin deficiency", "Immunoglobulin A deficiency", True),
        ("complement deficiency", "Complement component 2 deficiency", True),
        ("diabetes", "Type II diabetes", True),
        ("cranial nerve palsy", "Sixth cranial nerve palsy", True),
        ("chronic kidney disease", "Chronic kidney disease stage 3", True),
        # the first is often meant where no number is given
        ("Schwartz-Jampel syndrome", "Schwartz-Jampel syndrome 1", False),
        ("TRPS", "TRPS I", False),
        # the mention says a number
        ("sixth cranial nerve palsy", "Cranial nerve 6 palsy", False),
        ("G6PD deficiency", "Glucose 6 Phosphate Dehydrogenase Deficiency", False),
        # no numbers: a chromosome, an article, a name that has one
        ("copper deficiency", "Copper deficiency, X-linked", False),
        ("infection with virus", "Infection with a virus", False),
        ("covid infection", "COVID-19 infection", False),
        # other words than numbers: not for this rule to say
        ("toe webbing", "2-3 toe syndactyly", False),
        # history, and what is added with or due to
        ("diabetic foot ulcer", "Personal history of diabetic foot ulcer", True),
        ("former smoker", "Personal history of smoking", False),
        ("stroke of the father", "Family history of stroke", False),
        ("morbid obesity", "Morbid obesity due to excess calories", True),
        ("obesity from eating too many calories", "Obesity due to excess calories", False),
        ("COPD", "COPD with acute exacerbation", True),
        ("exacerbation of COPD", "COPD with acute exacerbation", False),
        ("laceration of right forearm", "Laceration with foreign body of right forearm", True),
        (
            "glass in a laceration of the forearm",
            "Laceration without foreign body of forearm",
            False,
        ),
        ("contact with hot water", "Contact with hot water", False),
        ("blisters due to sun", "Blisters due to the sun", False),
        ("blisters with", "blisters with", False),
    ],
)
def test_restrictions(mention, name, adds):
    assert adds_restriction(normalize(mention), normalize(name)) is adds


def test_restrictions_are_made_by_small_letters_without_signs():
    for found in RESTRICTIONS:
        for word in (*found.words, *found.hints):
            assert word.isalpha() and word.islower()


@pytest.mark.parametrize(
    ("mention", "name", "residual"),
    [
        ("appendicitis", "Other appendicitis", True),
        ("hearing loss", "Other specified hearing loss", True),
        ("other appendicitis", "Other appendicitis", False),
        (
            "lumbar disc degeneration",
            "Other intervertebral disc degeneration, lumbar region",
            False,
        ),
        ("third heart sound", "Other cardiac sounds", False),
    ],
)
def test_the_rest_of_a_class_is_not_the_class(mention, name, residual):
    assert is_residual(normalize(mention).split(" "), normalize(name)) is residual


def test_the_rest_stands_behind_the_unspecified_one():
    names = ["other appendicitis", "unspecified appendicitis"]
    assert judge("appendicitis", names) == ([True, False], False)
