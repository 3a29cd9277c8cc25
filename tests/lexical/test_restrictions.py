import pytest

from spacy_termlink.lexical.restrictions import adds_restriction
from spacy_termlink.text import normalize


@pytest.mark.parametrize(
    ("mention", "name", "adds"),
    [
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
    ],
)
def test_one_of_several_that_a_mention_does_not_number(mention, name, adds):
    assert adds_restriction(normalize(mention), normalize(name)) is adds
