"""The tasks on the tiny terminology, record by record."""

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.mining.corpus import Corpus
from spacy_termlink.mining.graph_tasks import (
    make_child_parent,
    make_name_definition,
    make_name_path,
    make_related_names,
)
from spacy_termlink.mining.heldout import HeldoutSettings
from spacy_termlink.mining.levels import near_levels
from spacy_termlink.mining.negatives import make_lexical_negatives
from spacy_termlink.mining.synonyms import make_equivalent_names, make_synonym_pairs
from spacy_termlink.mining.triplets import make_hierarchy_triplets
from spacy_termlink.terminology import Concept, Name, Relation, Xref


def mine(task, corpus):
    return list(task.mine(corpus, "task"))


def texts(records):
    return [(r.anchor, r.positive) for r in records]


def test_synonyms_with_the_preferred_name(corpus):
    records = mine(make_synonym_pairs(kinds=["exact"]), corpus)
    assert texts(records) == [
        ("Seizures", "Seizure"),
        ("Epileptic seizure", "Seizure"),
        ("Partial seizure", "Focal seizure"),
        ("Murmur, heart", "Heart murmur"),
        ("Murmur", "Heart murmur"),
        ("Pyrexia", "Fever"),
    ]
    assert all(r.task == "task" and r.anchor_concept == r.positive_concept for r in records)
    assert all(r.negative is None for r in records)


def test_pairs_of_synonyms_are_unordered(corpus):
    records = mine(make_synonym_pairs(kinds=["exact"], positive_kinds=["exact"]), corpus)
    assert texts(records) == [("Seizures", "Epileptic seizure"), ("Murmur, heart", "Murmur")]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # "Seizure" is a lay name of Seizure too: equal to the preferred name, no pair
        ("layperson", [("Fits", "Seizure"), ("Fever fit", "Febrile seizure")]),
        ("abbreviation", [("SZ", "Seizure")]),
        ("related", [("Fits", "Fever")]),
    ],
)
def test_kinds_have_tasks_of_their_own(corpus, kind, expected):
    assert texts(mine(make_synonym_pairs(kinds=[kind]), corpus)) == expected


def test_pairs_are_capped_per_concept(make_terminology):
    names = [Name(f"synonym {i}") for i in range(200)]
    terminology = make_terminology([Concept("A", "one", names), Concept("B", "two", names[:2])])
    corpus = Corpus([terminology], heldout=HeldoutSettings(names=0.0))
    task = make_synonym_pairs(kinds=["exact"], positive_kinds=["exact"], max_per_concept=7)
    records = mine(task, corpus)
    assert [r.anchor_concept for r in records] == ["A"] * 7 + ["B"]
    assert len({frozenset((r.anchor, r.positive)) for r in records[:7]}) == 7
    assert records == mine(task, corpus)


def test_names_of_one_source_only(make_terminology):
    names = [Name("inclusion", source="inclusionTerm"), Name("other", source="sevenChrDef")]
    corpus = Corpus([make_terminology([Concept("A00", "Cholera", names)], "icd10cm")])
    records = mine(make_synonym_pairs(kinds=["exact"], name_sources=["inclusionTerm"]), corpus)
    assert texts(records) == [("inclusion", "Cholera")]


def test_names_of_the_same_concept_in_another_terminology(two_sources):
    hpo, _ = two_sources
    corpus = Corpus([hpo], heldout=HeldoutSettings(names=0.0))
    assert mine(make_equivalent_names(), corpus) == []


def test_equivalent_names(make_terminology):
    one = make_terminology([Concept("HP:2", "Seizure", [Name("Fit")]), Concept("HP:3", "Fever")])
    other = make_terminology(
        [
            Concept("D:1", "seizure disorder", xrefs=[Xref("HP:2")]),
            Concept("D:2", "fever", xrefs=[Xref("HP:3")]),
        ],
        "doid",
    )
    corpus = Corpus([one, other], heldout=HeldoutSettings(names=0.0))
    records = mine(make_equivalent_names(), corpus)
    assert [(r.anchor, r.positive, r.anchor_concept, r.positive_concept) for r in records] == [
        ("Seizure", "seizure disorder", "HP:2", "D:1"),
        ("Fit", "seizure disorder", "HP:2", "D:1"),
        ("seizure disorder", "Seizure", "D:1", "HP:2"),
    ]


def test_child_with_parent_against_a_sibling(corpus):
    records = mine(make_child_parent(), corpus)
    found = [(r.anchor, r.positive, r.negative, r.negative_concept) for r in records]
    assert ("Focal seizure", "Seizure", "Febrile seizure", "HP:4") in found
    assert ("Febrile seizure", "Seizure", "Focal seizure", "HP:3") in found
    # "Seizure" and "Heart murmur" have no sibling, "Fever" two
    assert {r.anchor_concept for r in records} == {"HP:1", "HP:3", "HP:4", "HP:5", "HP:8"}


def test_child_with_parent_alone(corpus):
    records = mine(make_child_parent(siblings=False), corpus)
    assert ("Seizure", "Nervous system abnormality") in texts(records)
    assert all(r.negative is None for r in records)


def test_a_sibling_that_is_also_a_parent_is_no_negative(make_terminology):
    concepts = [
        Concept("A", "root"),
        Concept("B", "middle", relations=[Relation("is_a", "A")]),
        Concept("C", "leaf", relations=[Relation("is_a", "A"), Relation("is_a", "B")]),
    ]
    records = mine(make_child_parent(), Corpus([make_terminology(concepts)]))
    assert records == []


def test_name_with_definition(corpus):
    (record,) = mine(make_name_definition(), corpus)
    assert record.anchor == "Seizure"
    assert record.positive == "A sudden burst of electrical activity in the brain."


def test_related_names_by_type(corpus):
    (record,) = mine(make_related_names(relations=["caused_by"]), corpus)
    assert texts([record]) == [("Febrile seizure", "Fever")]
    assert (record.anchor_concept, record.positive_concept) == ("HP:4", "HP:8")
    assert mine(make_related_names(relations=["part_of"]), corpus) == []


def test_name_with_the_path_up(corpus):
    records = {r.anchor: r.positive for r in mine(make_name_path(), corpus)}
    assert records["Focal seizure"] == "Seizure > Nervous system abnormality > All"
    assert "All" not in records
    short = {r.anchor: r.positive for r in mine(make_name_path(max_names=1), corpus)}
    assert short["Focal seizure"] == "Seizure"


def test_levels_are_those_of_the_graded_gain(hpo):
    levels = near_levels(hpo.graph, hpo.row("HP:2"))
    assert {hpo.concept_id(row): level for row, level in levels.items()} == {
        "HP:2": 0, "HP:1": 1, "HP:3": 1, "HP:4": 1, "HP:0": 2, "HP:5": 2, "HP:8": 2,
    }  # fmt: skip
    # a nephew is far, its uncle is near: the definition is not symmetric
    assert hpo.row("HP:3") not in near_levels(hpo.graph, hpo.row("HP:5"))


MIX = {"same-near": 0.5, "parent_child-near": 0.3, "near-far": 0.2}


def test_triplets_have_a_nearer_and_a_strictly_farther_label(corpus, hpo):
    records = mine(make_hierarchy_triplets(mix=MIX, per_concept=20), corpus)
    assert records
    pairs = set()
    for record in records:
        levels = near_levels(hpo.graph, hpo.row(record.anchor_concept))
        nearer, farther = (
            levels.get(hpo.row(concept), 3)
            for concept in (record.positive_concept, record.negative_concept)
        )
        pairs.add((nearer, farther))
        assert record.anchor != record.positive
    assert pairs == {(0, 2), (1, 2), (2, 3)}
    assert len(set(records)) == len(records)


def test_a_mix_of_one_pair_of_levels_gives_that_pair_only(corpus, hpo):
    task = make_hierarchy_triplets(mix={"same-far": 1.0, "near-far": 0.0}, per_concept=5)
    records = mine(task, corpus)
    # concepts with one name have no other label at the same level
    assert {r.anchor_concept for r in records} <= {"HP:2", "HP:3", "HP:4", "HP:6", "HP:8"}
    assert all(r.anchor_concept == r.positive_concept for r in records)


def test_a_name_of_the_anchor_is_never_a_negative(corpus):
    # "Fits" is a name of both Seizure and Fever, which are near each other
    task = make_hierarchy_triplets(mix={"same-near": 1.0}, per_concept=200)
    for record in mine(task, corpus):
        if record.anchor_concept in ("HP:2", "HP:8"):
            assert record.negative != "Fits"


def test_lexical_negatives_repeat_the_positive(corpus):
    task = make_lexical_negatives(kinds=["exact"], nearest=2, random=3)
    records = [r for r in mine(task, corpus) if r.anchor_concept == "HP:3"]
    assert {(r.anchor, r.positive) for r in records} == {("Partial seizure", "Focal seizure")}
    assert len(records) == 5
    assert len({r.negative for r in records}) == 5
    # the nearest come first: they share "seizure"
    assert {r.negative for r in records[:2]} == {"Seizure", "Febrile seizure"}
    assert all(r.negative_concept != "HP:3" for r in records)


def test_a_negative_with_a_name_of_the_anchor_is_left_out(make_terminology):
    concepts = [
        Concept("A", "cold", [Name("common cold")]),
        Concept("B", "Common Cold"),
        Concept("C", "cold feeling"),
    ]
    corpus = Corpus([make_terminology(concepts)], heldout=HeldoutSettings(names=0.0))
    records = mine(make_lexical_negatives(kinds=["exact"], nearest=5, random=5), corpus)
    assert [r.negative for r in records] == ["cold feeling"]


@pytest.mark.parametrize(
    ("make", "settings", "field"),
    [
        (make_synonym_pairs, {"kinds": []}, "kinds"),
        (make_synonym_pairs, {"positive_kinds": ["title"]}, "positive_kinds"),
        (make_synonym_pairs, {"max_per_concept": 0}, "max_per_concept"),
        (make_synonym_pairs, {"weight": 0.0}, "weight"),
        (make_related_names, {"relations": []}, "relations"),
        (make_hierarchy_triplets, {"mix": {}}, "mix"),
        (make_hierarchy_triplets, {"mix": {"far-same": 1.0}}, "mix"),
        (make_hierarchy_triplets, {"mix": {"same-far": -1.0}}, "mix.same-far"),
        (make_hierarchy_triplets, {"mix": {"same-far": 0.0}}, "mix"),
        (make_lexical_negatives, {"nearest": -1}, "nearest"),
        (make_lexical_negatives, {"nearest": 0, "random": 0}, "nearest"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused(make, settings, field):
    with pytest.raises(TermlinkError, match=f"TL223.*{field}"):
        make(**settings)


def test_an_unknown_terminology_is_refused(corpus):
    with pytest.raises(TermlinkError, match="TL222.*'mesh'.*hpo"):
        mine(make_synonym_pairs(terminologies=["mesh"]), corpus)
