import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Name, Relation, Xref
from spacy_termlink.terminology.readers.obo import describe_obo, read_obo

HEADER = """format-version: 1.2
data-version: hp/releases/2025-01-16
subsetdef: slim "A subset"
synonymtypedef: layperson "layperson term"
synonymtypedef: abbreviation "abbreviation"
synonymtypedef: uk_spelling "UK spelling"
property_value: terms:license https://example.org/licence
"""


def read(tmp_path, *clauses, header=HEADER):
    path = tmp_path / "x.obo"
    path.write_text(header + "\n[Term]\nid: X:1\n" + "\n".join(clauses) + "\n", encoding="utf8")
    return list(read_obo(path))[0]


@pytest.mark.parametrize(
    "clause, name",
    [
        ('"fit" EXACT []', Name("fit", "exact")),
        ('"fit" NARROW []', Name("fit", "narrow")),
        ('"fit" BROAD [PMID:1]', Name("fit", "broad")),
        ('"fit" RELATED []', Name("fit", "related")),
        ('"fit" BROAD layperson []', Name("fit", "layperson", source="BROAD layperson")),
        ('"FT" EXACT abbreviation []', Name("FT", "abbreviation", source="EXACT abbreviation")),
        ('"FT" EXACT ABBREVIATION []', Name("FT", "abbreviation", source="EXACT ABBREVIATION")),
        ('"FT" EXACT OMO:0003000 []', Name("FT", "abbreviation", source="EXACT OMO:0003000")),
        ('"fitt" RELATED uk_spelling []', Name("fitt", "related", source="RELATED uk_spelling")),
        (r'"a \"b\", c" EXACT []', Name('a "b", c', "exact")),
    ],
)
def test_scope_and_type_of_a_synonym(tmp_path, clause, name):
    assert read(tmp_path, "name: a", f"synonym: {clause}").names == [name]


def test_every_other_clause(tmp_path):
    concept = read(
        tmp_path,
        "name: seizure",
        "namespace: ns",
        "alt_id: X:8",
        "alt_id: X:9",
        'def: "A \\"sudden\\" event." [PMID:1]',
        "subset: slim",
        'xref: UMLS:C0036572 "Seizures"',
        "property_value: skos:exactMatch SCTID:91175000",
        "is_a: X:2 ! parent",
        'relationship: part_of X:3 {source="a"} ! whole',
    )
    assert (concept.concept_id, concept.name) == ("X:1", "seizure")
    assert concept.definition == 'A "sudden" event.'
    assert concept.alt_ids == ["X:8", "X:9"]
    assert concept.semantic_types == ["ns", "slim"]
    assert concept.xrefs == [Xref("UMLS:C0036572"), Xref("SCTID:91175000", "skos:exactMatch")]
    assert concept.relations == [Relation("is_a", "X:2"), Relation("part_of", "X:3")]
    assert not concept.obsolete


def test_a_retired_term(tmp_path):
    concept = read(
        tmp_path, "name: obsolete fit", "is_obsolete: true", "replaced_by: X:2", "consider: X:3"
    )
    assert concept.obsolete and concept.replaced_by == "X:2"
    assert concept.relations == [Relation("consider", "X:3")]


def test_a_term_without_a_name_is_called_by_its_id(tmp_path):
    assert read(tmp_path, "is_a: X:2").name == "X:1"


def test_typedefs_are_no_concepts(tmp_path):
    path = tmp_path / "x.obo"
    path.write_text(
        HEADER + "\n[Typedef]\nid: part_of\nname: part of\n\n[Term]\nid: X:1\nname: a\n"
    )
    assert [concept.concept_id for concept in read_obo(path)] == ["X:1"]


@pytest.mark.parametrize("change", [lambda t: t.rstrip(b"\n"), lambda t: t.replace(b"\n", b"\r\n"),
                                    lambda t: b"\xef\xbb\xbf" + t])  # fmt: skip
def test_line_ends_and_byte_order_mark(tmp_path, change):
    path = tmp_path / "x.obo"
    path.write_bytes(
        change(HEADER.encode() + b'\n[Term]\nid: X:1\nname: a b\nsynonym: "c" EXACT []\n')
    )
    (concept,) = read_obo(path)
    assert (concept.name, concept.names) == ("a b", [Name("c", "exact")])
    assert describe_obo(path)["release"] == "2025-01-16"


@pytest.mark.parametrize(
    "version, release",
    [("hp/releases/2025-01-16", "2025-01-16"), ("releases/2024-05-08/mondo.owl", "2024-05-08"),
     ("4.2", "4.2"), ("spring", "spring")],
)  # fmt: skip
def test_release_and_licence_of_the_header(tmp_path, version, release):
    path = tmp_path / "x.obo"
    path.write_text(HEADER.replace("hp/releases/2025-01-16", version))
    assert describe_obo(path) == {"release": release, "licence": "https://example.org/licence"}


@pytest.mark.parametrize(
    "text, line",
    [
        (HEADER + '\n[Term]\nid: X:1\nname: a\nsynonym: "open EXACT []\n', 12),
        (HEADER + "\n[Term]\nid: X:1\nis_obsolete: maybe\n", 11),
        (HEADER + "\n[Term]\nname: no id\n", 10),
        ("<xml>\n</xml>\n", 1),
        ("{}\n", 1),
    ],
)
def test_a_malformed_file_is_named_with_the_line(tmp_path, text, line):
    path = tmp_path / "bad.obo"
    path.write_text(text)
    with pytest.raises(TermlinkError, match=rf"TL108.*bad\.obo, line {line}: not valid OBO"):
        list(read_obo(path))


def test_bytes_that_are_no_utf8_are_named_with_the_line(tmp_path):
    path = tmp_path / "bad.obo"
    path.write_bytes(HEADER.encode() + b"\n[Term]\nid: X:1\nname: caf\xe9\n")
    with pytest.raises(TermlinkError, match=r"bad\.obo, line 11: not UTF-8"):
        list(read_obo(path))


def test_an_empty_file(tmp_path):
    (tmp_path / "x.obo").touch()
    with pytest.raises(TermlinkError, match="TL005"):
        list(read_obo(tmp_path / "x.obo"))


def test_utf16_is_named_as_no_utf8(tmp_path):
    path = tmp_path / "a.obo"
    path.write_bytes(HEADER.encode("utf16"))
    with pytest.raises(TermlinkError, match="TL108.*line 1: not UTF-8"):
        list(read_obo(path))
