import pytest

from spacy_termlink.lexical.contradictions import (
    AXES,
    LACKING,
    NORMAL,
    contradictions,
    is_vague,
    read_claims,
)
from spacy_termlink.lexical.numbers import read_numbers
from spacy_termlink.text import normalize


@pytest.mark.parametrize(
    "mention, name",
    [
        ("High potassium", "Recurrent low potassium"),
        ("low blood pressure", "Hypertension"),
        ("small liver", "Hepatomegaly"),
        ("low platelets", "thrombocytosis"),
        ("left hearing loss", "bilateral hearing loss"),
        ("tachycardia", "slow heart rate"),
        ("acute leukemia of T cells", "Chronic T cell leukemia"),
        ("viral pneumonia", "Pneumonia, bacterial"),
        ("third nerve palsy", "Fourth cranial nerve palsy"),
        ("cranial nerve VII palsy", "Sixth nerve palsy"),
        ("syndactyly 3-4", "Syndactyly of fingers 2 and 3"),
        ("factor IX deficiency", "Deficiency of factor X"),
        ("low B12", "low vitamin B1"),
        ("low vitamin B12", "Reduced vitamin B1 level"),
        ("hepatitis B", "chronic hepatitis C"),
        ("complement C4 deficiency", "C3 deficiency"),
        ("stage 3b kidney disease", "kidney disease, stage 3a"),
        ("appendicitis without perforation", "appendicitis with perforation and abscess"),
        ("migraine with aura", "migraine without aura"),
        ("ambulatory", "Non-ambulatory"),
        ("no fever", "Fever"),
        ("no hearing loss", "High-frequency hearing loss"),
        ("normal EEG", "EEG with slow waves"),
        ("gait within normal limits", "Abnormal gait"),
        ("able to walk", "Loss of ability to walk"),
    ],
)  # fmt: skip
def test_contradictions(mention, name):
    assert contradictions(normalize(mention), normalize(name))


@pytest.mark.parametrize(
    "mention, name",
    [
        ("low or high potassium", "low potassium"),  # both values
        ("high blood pressure", "Hypertension"),
        ("small liver", "Abnormality of the liver"),
        ("unilateral hearing loss", "left hearing loss"),
        ("hypothalamic mass", "Large mass"),
        ("type 2 diabetes with stage 3 kidney disease", "Type 2 diabetes"),
        ("stage 3a kidney disease", "kidney disease, stage 3"),
        ("third finger", "syndactyly of fingers 3-4"),
        ("vitamin D3 deficiency", "vitamin D deficiency"),
        ("ratio of 0. 9", "Ratio of 0.9"),
        ("a third nerve palsy with 2 episodes", "Third nerve palsy"),
        ("seizures without fever", "Seizures"),
        ("no speech", "Absent speech"),
        ("not able to walk", "Inability to walk"),
        ("loss of the ability to walk", "Inability to walk"),
        ("glucose intolerance", "Impaired glucose tolerance"),
        ("not elevated", "low"),
        ("lower than normal weight", "low weight"),
        ("microcephaly with normal intelligence", "Microcephaly"),
        ("loss of normal lordosis", "Absent lordosis"),
        ("abnormal gait", "Gait disturbance"),
        ("normal pressure hydrocephalus", "Normal pressure hydrocephalus"),
        ("anemia, normocytic", "Normocytic anemia"),
        ("with a cough", "cough"),
    ],
)  # fmt: skip
def test_no_contradiction(mention, name):
    assert not contradictions(normalize(mention), normalize(name))


@pytest.mark.parametrize("axis", AXES)
def test_axes_are_in_normal_form_and_read_as_themselves(axis):
    for word in axis.replace("/", " ").split():
        assert normalize(word) == word
        assert AXES.index(axis) in read_claims(word).poles or word in {"able", "ability", "capable"}
    assert axis.count("/") >= 1


def test_tables_are_in_normal_form():
    for word in (*LACKING, *NORMAL):
        assert normalize(word) == word


def test_numbers_with_what_they_count():
    words = normalize("Type II factor IX of the 3rd nerve, vitamin B12, grade 2b").split(" ")
    assert read_numbers(words) == {
        "type": {"2"}, "factor": {"9"}, "nerve": {"3"}, "vitamin": {"b", "b12"}, "b": {"12"},
        "stage": {"2", "2b"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("mention", "name", "vague"),
    [
        ("low hemoglobin", "Abnormal hemoglobin", True),
        ("elevated phenylalanine", "Abnormal circulating phenylalanine concentration", True),
        ("underactive thyroid", "Thyroid disorder", True),
        ("low hemoglobin", "Abnormally low hemoglobin", False),
        ("low platelets", "Thrombocytopenia", False),
        ("abnormal hemoglobin", "Abnormal hemoglobin", False),
        ("increasing shortness of breath", "Shortness of breath", False),
    ],
)
def test_abnormal_is_no_answer_to_too_much_or_too_little(mention, name, vague):
    assert is_vague(normalize(mention), normalize(name)) is vague


@pytest.mark.parametrize(
    ("mention", "name", "denied"),
    [
        ("without seizures", "Absence seizures", True),
        ("absence seizures", "Generalized non-motor (absence) seizure", False),
        ("no speech", "Absence of speech", False),
        ("laceration of right forearm", "Laceration without foreign body of right forearm", False),
    ],
)
def test_absence_is_a_kind_of_seizure_and_a_foreign_body_is_not_where_it_is(mention, name, denied):
    assert bool(contradictions(normalize(mention), normalize(name))) is denied
