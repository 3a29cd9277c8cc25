import csv

import pyarrow as pa
import pyarrow.csv
import pytest

from spacy_termlink.annotate.core import ANNOTATIONS
from spacy_termlink.annotate.inputs import NoteSource
from spacy_termlink.annotate.omop import NOTE_NLP, OmopConcept, note_nlp_row
from spacy_termlink.annotate.omop_concepts import check_concepts, read_concepts, want
from spacy_termlink.annotate.run import run_annotation
from spacy_termlink.errors import TermlinkError

#: Columns of Athena's CONCEPT.csv.
HEADER = (
    "concept_id\tconcept_name\tdomain_id\tvocabulary_id\tconcept_class_id\tstandard_concept\t"
    "concept_code\tvalid_start_date\tvalid_end_date\tinvalid_reason"
)


def concept(number, vocabulary, code, standard="", invalid="", name='6" "tall'):
    return (
        f"{number}\t{name}\tCondition\t{vocabulary}\tcode\t{standard}\t{code}\t20000101\t"
        f"20991231\t{invalid}"
    )


@pytest.fixture
def write(tmp_path):
    def write(*rows, relations=None):
        path = tmp_path / "CONCEPT.csv"
        path.write_text("".join(f"{row}\n" for row in (HEADER, *rows)))
        if relations is not None:
            header = (
                "concept_id_1\tconcept_id_2\trelationship_id\tvalid_start_date\tvalid_end_date\t"
                "invalid_reason"
            )
            lines = [
                f"{a}\t{b}\t{kind}\t20000101\t20991231\t{bad}" for a, b, kind, bad in relations
            ]
            text = "".join(f"{line}\n" for line in (header, *lines))
            (tmp_path / "CONCEPT_RELATIONSHIP.csv").write_text(text)
        return path

    return write


ICD = [
    concept(45533022, "ICD10", "E11.9"),
    concept(1567956, "ICD10CM", "E11.9"),
    concept(201826, "SNOMED", "44054006", "S"),
    concept(1, "ICD10CM", "R50"),
]


def test_a_code_counts_in_its_own_vocabulary(write):
    path = write(*ICD)
    found = read_concepts(path, [want("icd10cm", "E11.9", ()), want("a", "E11.9", ["a", "ICD-10"])])
    assert found == {("a", "E11.9"): OmopConcept(45533022, 45533022)}
    found = read_concepts(path, [want("x", "E11.9", ["x", "icd10cm"])])
    assert found == {("x", "E11.9"): OmopConcept(1567956, 1567956)}
    found = read_concepts(path, [want("umls", "44054006", ["", "snomedct"])])
    assert found == {("umls", "44054006"): OmopConcept(201826, 201826)}


def test_the_standard_concept_is_the_one_it_maps_to(write):
    relations = [
        (1567956, 8, "Maps to", "D"), (1567956, 9, "Is a", ""), (1567956, 201826, "Maps to", ""),
        (1567956, 900000, "Maps to", ""), (45533022, 7, "Maps to", ""), (201826, 201826, "Maps to", ""),
    ]  # fmt: skip
    path = write(*ICD, relations=relations)
    wanted = [want("icd10cm", code, ["icd10cm"]) for code in ("E11.9", "R50", "X1")]
    assert read_concepts(path, [*wanted, want("s", "44054006", ["SNOMED"])]) == {
        ("icd10cm", "E11.9"): OmopConcept(201826, 1567956),
        ("icd10cm", "R50"): OmopConcept(0, 1),  # it maps to nothing
        ("s", "44054006"): OmopConcept(201826, 201826),
    }


def test_ids_with_a_prefix(write):
    path = write(
        concept(5, "HPO", "HP:0001250", "S"), concept(6, "MeSH", "D001249"),
        concept(7, "Other", "X:3"), concept(8, "Other", "3"), concept(9, "OMIM", "100"),
    )  # fmt: skip
    wanted = [
        want("kb", name, ["kb", "names"]) for name in ("HP:0001250", "MESH:D001249", "X:3", "Y:3")
    ]
    found = read_concepts(path, wanted)
    assert {key[1]: value.source for key, value in found.items()} == {
        "HP:0001250": 5, "MESH:D001249": 6, "X:3": 7,
    }  # fmt: skip


def test_a_file_of_one_vocabulary_serves_any_kb(write):
    path = write(concept(5, "Local", "A1"), concept(6, "Local", "A2"))
    assert read_concepts(path, [want("kb", "A1", ["kb"])]) == {("kb", "A1"): OmopConcept(5, 5)}


def test_of_several_rows_the_best_counts(write):
    path = write(
        concept(3, "SNOMED", "1", invalid="U"), concept(5, "SNOMED", "1"), concept(9, "SNOMED", "1", "S")
    )  # fmt: skip
    [found] = read_concepts(path, [want("snomed", "1", ["snomed"])]).values()
    assert found == OmopConcept(9, 9)


def test_commas_quotes_and_missing_columns(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text(
        '\ufeff"CONCEPT_ID","vocabulary_id","concept_code","concept_name"\r\n7,a,"x,1","b"\r\n'
    )
    assert read_concepts(path, [want("a", "x,1", ["a"])]) == {("a", "x,1"): OmopConcept(7, 7)}
    path.write_text("concept_id\tconcept_code\n1\t2\n")
    with pytest.raises(TermlinkError, match="TL864.*no column 'vocabulary_id'"):
        check_concepts(path)
    path.write_text("concept_id\tvocabulary_id\tconcept_code\n1\ta\n")
    with pytest.raises(TermlinkError, match="TL864.*[Cc]olumns"):
        read_concepts(path, [])
    path.write_text("concept_id\tvocabulary_id\tconcept_code\nx\ta\t1\n")
    with pytest.raises(TermlinkError, match="TL864.*'x' is no concept id"):
        read_concepts(path, [want("a", "1", ["a"])])
    with pytest.raises(TermlinkError, match="TL001"):
        check_concepts(tmp_path / "none.csv")


def test_many_blocks(write, monkeypatch):
    monkeypatch.setattr("spacy_termlink.annotate.omop_concepts.BLOCK_BYTES", 500)
    path = write(*(concept(i, "V" if i % 2 else "W", f"c{i}") for i in range(1, 200)))
    found = read_concepts(path, [want("v", f"c{i}", ["v"]) for i in range(300)])
    assert {key[1]: c.source for key, c in found.items()} == {f"c{i}": i for i in range(1, 200, 2)}


@pytest.mark.parametrize(
    "assertion, exists, temporal",
    [
        ("affirmed", "Y", ""), ("negated", "N", ""), ("family", "N", ""), ("possible", "N", ""),
        ("hypothetical", "N", ""), ("historical", "Y", "past"), ("odd", "", ""), (None, "", ""),
    ],
)  # fmt: skip
def test_whether_the_patient_has_or_had_it(assertion, exists, temporal):
    row = {**dict.fromkeys(ANNOTATIONS.names), "text": "fever", "assertion": assertion}
    values = dict(zip(NOTE_NLP, note_nlp_row(1, row, {}, "2026-11-30"), strict=True))
    assert (values["term_exists"], values["term_temporal"]) == (exists, temporal)


def test_a_run_with_concepts(write, kb_path, tmp_path):
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"id": "7", "text": "fever, fits and a headache"}\n')
    concepts = write(
        concept(11, "TINY", "X:7", "S"), concept(12, "tiny", "X:3"), concept(13, "b", "X:4x")
    )
    out = tmp_path / "o.csv"
    settings = {"rejects": tmp_path / "r", "omop_concepts": concepts}
    summary = run_annotation([str(kb_path)], NoteSource(str(notes)), out, format="omop", **settings)
    assert (summary.n_omop, sum(summary.n_mentions.values())) == (2, 3)
    table = pa.csv.read_csv(out)
    ids = ["note_id", "note_nlp_concept_id", "note_nlp_source_concept_id"]
    assert [tuple(row.values()) for row in table.select(ids).to_pylist()] == [
        (7, 11, 11), (7, 12, 12), (7, 0, 0),
    ]  # fmt: skip
    # every whole number of the definition reads as one
    assert {table.schema.field(name).type for name in [*ids, "note_nlp_id", "offset"]} == {
        pa.int64()
    }
    assert table.schema.field("nlp_date").type == pa.date32()
    with out.open(newline="") as file:
        modifiers = [row["term_modifiers"] for row in csv.DictReader(file)]
    assert ["concept_id=X:7" in text for text in modifiers] == [True, False, False]
    with pytest.raises(TermlinkError, match="TL865.*parquet"):
        run_annotation([str(kb_path)], NoteSource(str(notes)), out, format="parquet", **settings)
