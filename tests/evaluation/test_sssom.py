"""The SSSOM that we write. Where the `sssom` library is installed (extra `sssom`), it checks the files,
too; else the slots are compared with the list of its schema below."""

import csv
import json

import pytest

from spacy_termlink.evaluation.matching import Pair
from spacy_termlink.evaluation.sssom import curie, write_sssom
from spacy_termlink.terminology import Concept, Name, Terminology
from spacy_termlink.terminology.builder import build_terminology

#: Slots of the classes `mapping` and `mapping set` of the SSSOM schema 1.0 that may stand in a file.
MAPPING_SLOTS = {
    "subject_id", "subject_label", "subject_category", "predicate_id", "predicate_label",
    "predicate_modifier", "object_id", "object_label", "object_category", "mapping_justification",
    "author_id", "confidence", "subject_match_field", "object_match_field", "match_string",
    "subject_preprocessing", "object_preprocessing", "similarity_score", "similarity_measure",
    "see_also", "other", "comment",
}  # fmt: skip
SET_SLOTS = {
    "curie_map", "mapping_set_id", "mapping_set_version", "mapping_set_title",
    "mapping_set_description", "license", "creator_id", "subject_source", "subject_source_version",
    "object_source", "object_source_version", "mapping_tool", "mapping_tool_version",
    "mapping_date", "comment",
}  # fmt: skip


@pytest.fixture
def sides(tmp_path):
    a = [Concept("MA_1", "kidney", [Name("ren", "related")]), Concept("MA_2", 'the "big"\tone|x')]
    b = [Concept("HP:1", "Kidney"), Concept("HP:2", "Big one")]
    meta = {"source": "mouse anatomy", "release": "2007-01-18", "licence": "OAEI", "reader": "owl"}
    build_terminology(a, tmp_path / "a", meta=meta)
    build_terminology(b, tmp_path / "b", meta={"source": "hp", "release": "2025", "reader": "obo"})
    return Terminology.open(tmp_path / "a"), Terminology.open(tmp_path / "b")


PAIRS = [
    Pair(1, 1, 0.71239, 'the "big"\tone|x', "Big one", "preferred", "preferred"),
    Pair(0, 0, 0.99, "KIDNEY", "Kidney", "related", "preferred"),
]


def read(path):
    lines = path.read_text(encoding="utf8").split("\n")
    head = [line[1:] for line in lines if line.startswith("#")]
    rows = csv.DictReader((line for line in lines if line[:1] != "#"), delimiter="\t")
    return head, list(rows)


def write(tmp_path, sides, **options):
    path = tmp_path / "m.sssom.tsv"
    write_sssom(path, PAIRS, *sides, **options)
    return path


def test_rows(tmp_path, sides):
    _, rows = read(write(tmp_path, sides))
    assert rows == [
        {
            "subject_id": "mouse_anatomy:MA_1",
            "subject_label": "kidney",
            "predicate_id": "skos:exactMatch",
            "object_id": "HP:1",
            "object_label": "Kidney",
            "mapping_justification": "semapv:LexicalMatching",
            "confidence": "0.9900",
            "subject_match_field": "oboInOwl:hasRelatedSynonym",
            "object_match_field": "rdfs:label",
            "match_string": "Kidney",
            "comment": "KIDNEY = Kidney",
        },
        {
            "subject_id": "mouse_anatomy:MA_2",
            "subject_label": 'the "big" one|x',
            "predicate_id": "skos:closeMatch",
            "object_id": "HP:2",
            "object_label": "Big one",
            "mapping_justification": "semapv:SemanticSimilarityThresholdMatching",
            "confidence": "0.7124",
            "subject_match_field": "rdfs:label",
            "object_match_field": "rdfs:label",
            "match_string": "",
            "comment": 'the "big" one|x = Big one',
        },
    ]


def test_head(tmp_path, sides):
    head, rows = read(write(tmp_path, sides, licence="https://l.org", description="how: so"))
    assert head[:4] == [
        "curie_map:",
        '  HP: "http://purl.obolibrary.org/obo/HP_"',
        '  mouse_anatomy: "https://bioregistry.io/mouse_anatomy:"',
        '  oboInOwl: "http://www.geneontology.org/formats/oboInOwl#"',
    ]
    said = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in head[4:])}
    assert said["license"] == "https://l.org" and said["mapping_set_description"] == "how: so"
    assert (said["subject_source_version"], said["object_source_version"]) == ("2007-01-18", "2025")
    assert said["comment"] == (
        "mouse anatomy 2007-01-18, licence: OAEI; hp 2025, licence: not stated"
    )
    assert said["mapping_tool"] == "termlink match"
    assert set(said) <= SET_SLOTS and set(rows[0]) <= MAPPING_SLOTS


def test_the_same_bytes_in_any_order(tmp_path, sides):
    first = write(tmp_path, sides).read_bytes()
    write_sssom(tmp_path / "other", PAIRS[::-1], *sides)
    assert (tmp_path / "other").read_bytes() == first
    write_sssom(tmp_path / "other", PAIRS[:1], *sides)
    assert (tmp_path / "other").read_bytes().split(b"\n")[4] != first.split(b"\n")[4]  # the id


@pytest.mark.parametrize(
    "concept_id, reader, source, expected, space",
    [
        ("HP:1", "obo", "hp", "HP:1", "http://purl.obolibrary.org/obo/HP_"),
        ("MESH:D1", "table", "medic", "MESH:D1", "https://bioregistry.io/MESH:"),
        ("E11.9", "icd10cm", "icd10cm", "icd10cm:E11.9", "https://bioregistry.io/icd10cm:"),
        ("a b/c", "table", "2 x", "_2_x:a%20b%2Fc", "https://bioregistry.io/_2_x:"),
        (
            "http://x.org/a#b",
            "owl",
            "o",
            "o:http%3A%2F%2Fx.org%2Fa%23b",
            "https://bioregistry.io/o:",
        ),
    ],
)
def test_ids_become_curies(tmp_path, concept_id, reader, source, expected, space):
    meta = {"source": source, "reader": reader}
    build_terminology([Concept(concept_id, "n")], tmp_path / "t", meta=meta)
    prefixes = {}
    assert curie(Terminology.open(tmp_path / "t"), concept_id, prefixes) == expected
    assert prefixes == {expected.split(":")[0]: space}


def test_the_library_finds_it_valid(tmp_path, sides):
    parsers = pytest.importorskip("sssom.parsers", reason="install the extra 'sssom'")
    from sssom.constants import SchemaValidationType
    from sssom.validators import validate

    # its `strict` is of no use: sssom 0.4.21 then refuses what is regular
    table = parsers.parse_sssom_table(write(tmp_path, sides))
    checks = [
        SchemaValidationType.JsonSchema,
        SchemaValidationType.PrefixMapCompleteness,
        SchemaValidationType.StrictCurieFormat,
    ]
    reports = validate(table, checks, fail_on_error=False)
    assert [report.results for report in reports.values()] == [[], [], []]
    assert len(table.df) == 2 and table.df["object_source_version"].tolist() == ["2025"] * 2
