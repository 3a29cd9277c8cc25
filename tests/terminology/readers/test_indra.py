import json

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Name, Relation, Xref
from spacy_termlink.terminology.readers.indra import read_indra


def read(tmp_path, *terms):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(terms))
    return list(read_indra(path))


def test_every_field(tmp_path):
    (concept,) = read(
        tmp_path,
        {
            "id": "GO:0000003", "name": "reproduction", "namespace": "biological_process",
            "alt_ids": ["GO:0019952"], "synonyms": ["reproductive process"],
            "relations": {"is_a": ["GO:1"], "part_of": ["GO:2"]},
            "xrefs": [{"namespace": "Wikipedia", "id": "Reproduction"}],
        },
    )  # fmt: skip
    assert (concept.concept_id, concept.name) == ("GO:0000003", "reproduction")
    assert concept.names == [Name("reproductive process", "exact")]
    assert concept.semantic_types == ["biological_process"]
    assert concept.alt_ids == ["GO:0019952"]
    assert concept.relations == [Relation("is_a", "GO:1"), Relation("part_of", "GO:2")]
    assert concept.xrefs == [Xref("Wikipedia:Reproduction")]


def test_the_prefix_that_the_file_left_out_is_put_back(tmp_path):
    (concept,) = read(
        tmp_path,
        {"id": "0000004", "name": "a", "namespace": "efo", "alt_ids": ["0000009", "://x.org/a"],
         "relations": {"is_a": ["0000002", "BFO:0000020"]}},
    )  # fmt: skip
    assert concept.concept_id == "EFO:0000004"
    assert concept.alt_ids == ["EFO:0000009", "http://x.org/a"]
    assert [r.object for r in concept.relations] == ["EFO:0000002", "BFO:0000020"]


@pytest.mark.parametrize(
    "text, message",
    [
        ('[{"id": "X:1",\n', "TL108.*line 2: not valid JSON"),
        ('{"graphs": []}', "TL105.*expected a JSON list"),
        ('[{"id": "X:1", "namespace": "x"}]', "TL105.*term 1 has another form"),
        ('["X:1"]', "TL105.*term 1 has another form"),
        ("", "TL005"),
        ("[" * 100_000, "TL10[58]"),
    ],
)
def test_another_file(tmp_path, text, message):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(TermlinkError, match=message):
        list(read_indra(tmp_path / "x.json"))


HEADINGS = [
    ("D1", "Diseases", "Illnesses|Sickness", "C10", ""),
    ("D2", "Ocular Motility Disorders", "", "C10.292|C11.590", ""),
    ("D3", "Strabismus", "Squint", "C10.292.562|C11", ""),
    ("D4", "Abbreviations as Topic", "", "", "77"),
]


@pytest.fixture
def mesh(tmp_path):
    path = tmp_path / "mesh_id_label_mappings.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in HEADINGS))
    supplement = tmp_path / "mesh_supp_id_label_mappings.tsv"
    supplement.write_text('C1\tbevonium\tB1|B2\tD3,D1\nC2\tx\t"a|b\tc"\tD4\n')
    return {concept.concept_id: concept for concept in read_indra(path)}


def test_mesh_headings(mesh):
    assert mesh["MESH:D1"].names == [Name("Illnesses", "exact"), Name("Sickness", "exact")]
    assert mesh["MESH:D2"].relations[0] == Relation("is_a", "MESH:D1")
    assert mesh["MESH:D2"].semantic_types == ["C"]
    assert (mesh["MESH:D4"].semantic_types, mesh["MESH:D4"].relations) == ([], [])


def test_headings_above_each_other_make_no_cycle(mesh):
    # C10.292.562 stands below C10.292, and C11.590 (the same heading as C10.292) below C11
    assert mesh["MESH:D3"].relations == [Relation("tree_parent", "MESH:D2")]
    assert mesh["MESH:D2"].relations == [Relation("is_a", "MESH:D1"), Relation("is_a", "MESH:D3")]


def test_supplementary_records(mesh):
    assert mesh["MESH:C1"].names == [Name("B1", "exact"), Name("B2", "exact")]
    assert mesh["MESH:C1"].semantic_types == ["supplementary", "C"]
    assert {r.type for r in mesh["MESH:C1"].relations} == {"mapped_to"}
    assert mesh["MESH:C2"].names == [Name("a", "exact"), Name("b c", "exact")]


def test_a_table_that_is_not_mesh(tmp_path):
    (tmp_path / "x.tsv").write_text("a\tb\n")
    with pytest.raises(TermlinkError, match="TL108.*line 1: expected 5 fields"):
        list(read_indra(tmp_path / "x.tsv"))
