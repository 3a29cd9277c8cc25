import numpy as np
import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.mining.corpus import Corpus
from spacy_termlink.mining.equivalents import (
    MAX_SHARED,
    Equivalents,
    curie,
    find_equivalents,
    namespace,
)
from spacy_termlink.terminology import Concept, Xref


def find(concepts, references):
    """Concepts as {terminology: ids}, references as (terminology, id, xref[, predicate])."""
    ids = [(number, name, curie(name, "")) for number, names in concepts.items() for name in names]
    rows = [(number, key, xref, *(rest or ["xref"])) for number, key, xref, *rest in references]
    return find_equivalents(ids, rows)


def test_one_to_one_is_the_same():
    found = find({0: ["A:1"], 1: ["B:1"]}, [(0, "A:1", "B:1")])
    assert found.same == {"A:1": {"B:1"}, "B:1": {"A:1"}}
    assert found.is_same("B:1", "A:1")
    assert found.is_barred("A:1", "B:1")


@pytest.mark.parametrize(
    "references",
    [
        [(0, "A:1", "B:1"), (0, "A:1", "B:2")],  # one to two
        [(0, "A:1", "B:1"), (0, "A:2", "B:1")],  # two to one
        [(0, "A:1", "B:1"), (1, "B:1", "A:2")],  # the other side names another one
    ],
)
def test_one_to_several_is_not_the_same_but_barred(references):
    found = find({0: ["A:1", "A:2"], 1: ["B:1", "B:2"]}, references)
    assert not found.same
    assert found.is_barred("A:1", "B:1")
    assert found.is_barred("B:1", "A:1")


def test_several_partners_in_different_terminologies_are_one_to_one_with_each():
    found = find({0: ["A:1"], 1: ["B:1"], 2: ["C:1"]}, [(0, "A:1", "B:1"), (0, "A:1", "C:1")])
    assert found.same["A:1"] == {"B:1", "C:1"}
    # B and C have no cross-reference of their own: not the same, yet never opposed
    assert not found.is_same("B:1", "C:1")
    assert found.is_barred("B:1", "C:1")


@pytest.mark.parametrize("prefix", ["ICD10CM", "ICD10", "ICD9CM", "ICDO", "icd11"])
def test_an_icd_code_is_never_the_same(prefix):
    code = f"{prefix}:G40"
    found = find({0: ["A:1"], 1: [code]}, [(0, "A:1", code)])
    assert not found.same
    assert found.is_barred("A:1", code)


@pytest.mark.parametrize("predicate", ["skos:broadMatch", "skos:narrowMatch", "relatedMatch"])
def test_a_predicate_that_says_otherwise_is_believed(predicate):
    found = find({0: ["A:1"], 1: ["B:1"]}, [(0, "A:1", "B:1", predicate)])
    assert not found.same
    assert found.is_barred("A:1", "B:1")


def test_a_reference_inside_a_terminology_says_nothing():
    found = find({0: ["A:1", "A:2"], 1: ["B:1"]}, [(0, "A:1", "A:2")])
    assert not found.barred


def test_a_shared_third_concept_bars_across_terminologies_only():
    references = [(0, "A:1", "UMLS:C1"), (0, "A:2", "UMLS:C1"), (1, "B:1", "UMLS_CUI:C1")]
    found = find({0: ["A:1", "A:2"], 1: ["B:1"]}, references)
    assert not found.same
    assert found.barred == {"A:1": {"B:1"}, "A:2": {"B:1"}, "B:1": {"A:1", "A:2"}}


def test_what_very_many_refer_to_is_a_class_and_bars_nothing():
    many = [f"A:{i}" for i in range(MAX_SHARED)]
    references = [(0, name, "X:1") for name in many] + [(1, "B:1", "X:1")]
    assert not find({0: many, 1: ["B:1"]}, references).barred


def test_the_same_id_in_two_terminologies_is_the_same_concept():
    ids = [(0, "MESH:D1", "MESH:D1"), (1, "D1", curie("D1", "mesh"))]
    assert find_equivalents(ids, []).is_same("MESH:D1", "D1")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("SNOMEDCT_US_2023_03_01", "SNOMEDCT"),
        ("SCTID", "SNOMEDCT"),
        ("UMLS_CUI", "UMLS"),
        ("Orphanet", "ORPHANET"),
        ("ICD-10-CM", "ICD10CM"),
        ("mesh", "MESH"),
    ],
)
def test_namespaces_have_one_spelling(written, expected):
    assert namespace(written) == expected


def test_ids_without_a_prefix_take_the_name_of_their_source():
    assert curie("E11.9", "icd10cm") == "ICD10CM:E11.9"
    assert curie("HP:0001250", "hpo") == "HP:0001250"
    assert curie("MSH:D001", "hpo") == "MESH:D001"


def test_masks():
    table = {"A": frozenset("BC"), "B": frozenset("A"), "C": frozenset("A")}
    found = Equivalents({"A": frozenset("B"), "B": frozenset("A")}, table)
    assert found.barred_mask(["A", "D"], ["C", "A", "D", "B", "A"]).tolist() == [
        [True, True, False, True, True],
        [False, False, True, False, False],
    ]
    assert found.same_mask(["A"], ["C", "A", "D", "B"]).tolist() == [[False, True, False, True]]
    assert found.same_mask([], ["A"]).shape == (0, 1)
    assert found.barred_mask(["A"], ["A"]).dtype == np.bool_


def test_write_and_read(tmp_path):
    path = tmp_path / "equivalents.jsonl"
    found = find(
        {0: ["A:1", "A:2"], 1: ["B:1", "B:2"]},
        [(0, "A:1", "B:1"), (0, "A:2", "B:2", "skos:closeMatch")],
    )
    from spacy_termlink.mining.run import _write

    assert _write(path, found.rows()) == 4
    again = Equivalents.open(path)
    assert (again.same, again.barred) == (found.same, found.barred)


def test_a_file_without_cross_references_is_empty(tmp_path):
    path = tmp_path / "equivalents.jsonl"
    path.touch()
    assert Equivalents.open(path).barred == {}
    with pytest.raises(TermlinkError, match="TL001"):
        Equivalents.open(tmp_path / "none.jsonl")


def test_a_line_in_another_form_is_named(tmp_path):
    path = tmp_path / "equivalents.jsonl"
    path.write_text('{"concept_id": "A", "same": [], "barred": ["B"]}\n{"concept_id": "B"}\n')
    with pytest.raises(TermlinkError, match="TL220.*line 2"):
        Equivalents.open(path)


def test_references_of_terminologies(make_terminology):
    hpo = make_terminology(
        [Concept("HP:2", "Seizure", alt_ids=["HP:9"]), Concept("HP:3", "Ataxia")]
    )
    doid = make_terminology(
        [
            Concept("D:1", "seizure disorder", xrefs=[Xref("HP:9")]),  # by an alternative id
            Concept("D:2", "old ataxia", xrefs=[Xref("HP:3")], obsolete=True),
        ],
        "doid",
    )
    found = Corpus([hpo, doid]).equivalents
    assert found.same == {"HP:2": {"D:1"}, "D:1": {"HP:2"}}


def test_equal_ids_of_different_sources_are_told_apart(make_terminology):
    codes = [Concept("E11", "Type 2 diabetes"), Concept("E12", "Other diabetes")]
    corpus = Corpus([make_terminology(codes, "icd10cm"), make_terminology(codes[:1], "icd10")])
    concepts = [item.concept for item in corpus.walk()]
    assert concepts == ["ICD10CM:E11", "E12", "ICD10:E11"]
    assert not corpus.equivalents.same


def test_two_terminologies_of_one_name_are_refused(hpo):
    with pytest.raises(TermlinkError, match="TL221.*hpo"):
        Corpus([hpo, hpo])
