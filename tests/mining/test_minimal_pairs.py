import pytest

from spacy_termlink.mining.minimal_pairs import find_body_parts, find_minimal_pairs
from spacy_termlink.terminology import Concept, Name, Relation
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.terminology.store import Terminology


def concept(concept_id, name, *others, parents=(), kind="exact"):
    names = [Name(text, kind) for text in others]
    return Concept(concept_id, name, names, relations=[Relation("is_a", p) for p in parents])


def build(folder, *concepts):
    build_terminology(concepts, folder, meta={"source": "s", "release": "1", "licence": "CC0-1.0"})
    return Terminology.open(folder)


def found(terminology):
    """(class, name, names of the twins)."""
    text = terminology.name_text
    return [
        (p.kind, text(p.name_row), tuple(map(text, p.twins)))
        for p in find_minimal_pairs(terminology)
    ]


@pytest.fixture
def family(tmp_path):
    return build(
        tmp_path / "t",
        concept("A", "Disease"),
        concept("B", "Diabetes", parents=["A"]),
        concept("B1", "Diabetes type 1", "Juvenile sugar disease", parents=["B"]),
        concept("B2", "Diabetes type II", "Type 2 sugar", parents=["B"]),
        concept("C", "Pressure", parents=["A"]),
        concept("C1", "Hypertension", "High pressure", parents=["C"]),
        concept("C2", "Hypotension", "Low pressure", "Reduced pressure", parents=["C"]),
        concept("D", "Diabetes type 3", parents=["C1"]),
    )


def test_pairs_of_siblings(family):
    assert found(family) == [
        ("type", "Diabetes type 1", ("Diabetes type II",)),
        ("type", "Diabetes type II", ("Diabetes type 1",)),
        ("hypo-/hyper-", "Hypertension", ("Hypotension",)),
        ("hypo-/hyper-", "Hypotension", ("Hypertension",)),
        ("increased/decreased", "High pressure", ("Low pressure", "Reduced pressure")),
        ("increased/decreased", "Low pressure", ("High pressure",)),
        ("increased/decreased", "Reduced pressure", ("High pressure",)),
    ]


def test_which_word_decides_and_what_the_family_shares(family):
    pair = find_minimal_pairs(family)[1]
    assert family.name_normalized(pair.name_row).split()[pair.at] == "2"
    assert pair.template == "diabetes type <number>"


def test_cousins_are_paired_and_more_distant_ones_not(tmp_path):
    terminology = build(
        tmp_path / "t",
        concept("R", "Root"),
        concept("A", "One", parents=["R"]),
        concept("B", "Other", parents=["R"]),
        concept("A1", "Left arm pain", parents=["A"]),
        concept("B1", "Right arm pain", parents=["B"]),
        concept("B2", "Elsewhere", parents=["B"]),
        concept("B3", "Bilateral arm pain", parents=["B2"]),
    )
    assert found(terminology) == [
        ("left/right", "Left arm pain", ("Right arm pain",)),
        ("left/right", "Right arm pain", ("Left arm pain",)),
    ]


def test_without_a_hierarchy_all_are_siblings(tmp_path):
    terminology = build(tmp_path / "t", concept("A", "Acute pain"), concept("B", "Chronic pain"))
    assert [kind for kind, *_ in found(terminology)] == ["acute/chronic"] * 2


def test_names_of_several_concepts_and_abbreviations_are_left_out(tmp_path):
    terminology = build(
        tmp_path / "t",
        concept("A", "Ache", "Left pain"),
        concept("B", "Hurt", "Left pain"),
        concept("C", "Right pain"),
        concept("D", "Sore", "T 1", kind="abbreviation"),
        concept("E", "Sting", "T 2", kind="abbreviation"),
    )
    assert found(terminology) == []


def test_names_of_one_concept_are_no_pair(tmp_path):
    terminology = build(tmp_path / "t", concept("A", "Acute pain", "Chronic pain"))
    assert found(terminology) == []


def test_body_parts_are_found_where_known_ones_stand():
    places = ["fracture of {}", "pain of {}", "disease of {}"]
    parts = ["kidney", "liver", "lung", "zorb"]
    names = [place.format(part).split() for place in places for part in parts]
    names.append(["fracture", "of", "surprise"])  # in one place only
    assert "zorb" in find_body_parts(names) and "surpris" not in find_body_parts(names)
    # where few of the words are known, none of the others is one
    others = [f"{place.format(word)}".split() for place in places for word in ("aa1x", "bbxx", "ccxx", "ddxx", "eexx")]  # fmt: skip
    assert "zorb" not in find_body_parts(names + others)
