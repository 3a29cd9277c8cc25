import json
from collections import Counter

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Name, Relation, Xref
from spacy_termlink.terminology.readers.owl import describe_owl, read_owl

pytest.importorskip("pyhornedowl")

HEAD = """<?xml version="1.0"?>
<rdf:RDF xmlns="http://x.org/o#" xml:base="http://x.org/o"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#"
  xmlns:terms="http://purl.org/dc/terms/"
  xmlns:obo="http://purl.obolibrary.org/obo/"
  xmlns:oboInOwl="http://www.geneontology.org/formats/oboInOwl#">
<owl:Ontology rdf:about="http://purl.obolibrary.org/obo/hp.owl">
  <owl:versionIRI rdf:resource="http://purl.obolibrary.org/obo/hp/releases/2025-01-16/hp.owl"/>
  <terms:license rdf:resource="https://example.org/licence"/>
</owl:Ontology>
<owl:ObjectProperty rdf:about="http://purl.obolibrary.org/obo/BFO_0000050"/>
<owl:ObjectProperty rdf:about="http://x.org/o#r1"><rdfs:label>develops from</rdfs:label></owl:ObjectProperty>
"""
END = "</rdf:RDF>\n"
HP = "http://purl.obolibrary.org/obo/HP_"
#: One class with everything that is read, and what it should become.
SEIZURE = f"""<owl:Class rdf:about="{HP}0001250">
  <rdfs:label>Seizure</rdfs:label>
  <rdfs:label xml:lang="de">Krampf</rdfs:label>
  <obo:IAO_0000115>A sudden
     event.</obo:IAO_0000115>
  <oboInOwl:hasExactSynonym>Fit</oboInOwl:hasExactSynonym>
  <oboInOwl:hasExactSynonym>Epileptic fit</oboInOwl:hasExactSynonym>
  <oboInOwl:hasBroadSynonym>Attack</oboInOwl:hasBroadSynonym>
  <oboInOwl:hasNarrowSynonym>Grand mal</oboInOwl:hasNarrowSynonym>
  <oboInOwl:hasRelatedSynonym>SZ</oboInOwl:hasRelatedSynonym>
  <skos:altLabel xml:lang="fr">Crise</skos:altLabel>
  <oboInOwl:hasAlternativeId>HP:0009999</oboInOwl:hasAlternativeId>
  <oboInOwl:hasDbXref>UMLS:C0036572</oboInOwl:hasDbXref>
  <skos:exactMatch rdf:resource="http://x.org/snomed#91175000"/>
  <oboInOwl:inSubset rdf:resource="http://purl.obolibrary.org/obo/hp#slim"/>
  <rdfs:subClassOf rdf:resource="{HP}0000001"/>
  <rdfs:subClassOf rdf:resource="http://www.w3.org/2002/07/owl#Thing"/>
  <rdfs:subClassOf><owl:Restriction>
    <owl:onProperty rdf:resource="http://purl.obolibrary.org/obo/BFO_0000050"/>
    <owl:someValuesFrom rdf:resource="{HP}0000003"/></owl:Restriction></rdfs:subClassOf>
  <owl:equivalentClass><owl:Class><owl:intersectionOf rdf:parseType="Collection">
    <rdf:Description rdf:about="{HP}0000004"/>
    <owl:Restriction><owl:onProperty rdf:resource="http://x.org/o#r1"/>
      <owl:someValuesFrom rdf:resource="http://x.org/o#MA_1"/></owl:Restriction>
  </owl:intersectionOf></owl:Class></owl:equivalentClass>
</owl:Class>
<owl:Axiom>
  <owl:annotatedSource rdf:resource="{HP}0001250"/>
  <owl:annotatedProperty rdf:resource="http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"/>
  <owl:annotatedTarget>Fit</owl:annotatedTarget>
  <oboInOwl:hasSynonymType rdf:resource="http://purl.obolibrary.org/obo/hp#layperson"/>
</owl:Axiom>
<owl:Axiom>
  <owl:annotatedSource rdf:resource="{HP}0001250"/>
  <owl:annotatedProperty rdf:resource="http://www.geneontology.org/formats/oboInOwl#hasRelatedSynonym"/>
  <owl:annotatedTarget>SZ</owl:annotatedTarget>
  <oboInOwl:hasSynonymType rdf:resource="http://purl.obolibrary.org/obo/OMO_0003000"/>
</owl:Axiom>
"""


def write(tmp_path, body, head=HEAD, end=END):
    path = tmp_path / "x.owl"
    path.write_text(head + body + end, encoding="utf8")
    return path


def read(tmp_path, body, **parts):
    return {c.concept_id: c for c in read_owl(write(tmp_path, body, **parts))}


def test_everything_of_a_class(tmp_path):
    concepts = read(tmp_path, SEIZURE)
    assert list(concepts) == ["HP:0001250"]
    concept = concepts["HP:0001250"]
    assert (concept.name, concept.definition) == ("Seizure", "A sudden event.")
    assert concept.names == [
        Name("Krampf", "exact", "de"),
        Name("Epileptic fit", "exact"),
        Name("Fit", "layperson", source="EXACT layperson"),
        Name("Grand mal", "narrow"),
        Name("Attack", "broad"),
        Name("SZ", "abbreviation", source="RELATED OMO:0003000"),
        Name("Crise", "exact", "fr"),
    ]
    assert concept.alt_ids == ["HP:0009999"]
    assert concept.semantic_types == ["slim"]
    assert concept.xrefs == [Xref("UMLS:C0036572"), Xref("91175000", "skos:exactMatch")]
    assert concept.relations == [
        Relation("is_a", "HP:0000001"),
        Relation("is_a", "HP:0000004"),
        Relation("part_of", "HP:0000003"),
        Relation("develops_from", "MA_1"),
    ]
    assert not concept.obsolete and concept.language == "en"


def test_the_same_bytes_twice(tmp_path):
    """The library gives axioms in no order."""
    path = write(tmp_path, SEIZURE + "".join(f'<owl:Class rdf:about="#c{i}"/>' for i in range(50)))
    assert list(read_owl(path)) == list(read_owl(path))


@pytest.mark.parametrize("syntax", ["owx", "ofn"])
def test_other_syntaxes_say_the_same(tmp_path, syntax):
    from pyhornedowl import open_ontology_from_file

    path = write(tmp_path, SEIZURE)
    other = tmp_path / "other.owl"
    other.write_text(open_ontology_from_file(str(path)).save_to_string(syntax), encoding="utf8")
    assert list(read_owl(other)) == list(read_owl(path))
    assert describe_owl(other) == describe_owl(path)


def test_a_retired_class(tmp_path):
    body = f"""<owl:Class rdf:about="{HP}0000009"><rdfs:label>old</rdfs:label>
      <owl:deprecated rdf:datatype="http://www.w3.org/2001/XMLSchema#boolean">true</owl:deprecated>
      <obo:IAO_0100001 rdf:resource="{HP}0001250"/>
      <oboInOwl:consider>HP:0000003</oboInOwl:consider></owl:Class>"""
    concept = read(tmp_path, body)["HP:0000009"]
    assert concept.obsolete and concept.replaced_by == "HP:0001250"
    assert concept.relations == [Relation("consider", "HP:0000003")]
    living = read(tmp_path, body.replace(">true<", ">false<"))["HP:0000009"]
    assert not living.obsolete


def test_synonyms_and_definitions_that_are_nodes(tmp_path):
    """As the anatomy files of the OAEI have them; a node without a label is no name."""
    body = """<owl:AnnotationProperty rdf:about="http://www.geneontology.org/formats/oboInOwl#hasRelatedSynonym"/>
      <owl:Class rdf:about="#MA_1"><rdfs:label>trunk</rdfs:label>
        <oboInOwl:hasRelatedSynonym rdf:resource="http://x.org/o#genid1"/>
        <oboInOwl:hasRelatedSynonym rdf:resource="http://x.org/o#genid2"/>
        <oboInOwl:hasDefinition rdf:resource="http://x.org/o#genid3"/></owl:Class>
      <rdf:Description rdf:about="http://x.org/o#genid1"><rdfs:label>torso</rdfs:label></rdf:Description>
      <rdf:Description rdf:about="http://x.org/o#genid3"><rdfs:label>The middle.</rdfs:label></rdf:Description>"""
    concepts = read(tmp_path, body)
    assert list(concepts) == ["MA_1"]
    assert concepts["MA_1"].names == [Name("torso", "related")]
    assert concepts["MA_1"].definition == "The middle."


def test_ids(tmp_path):
    """OBO's are CURIEs, else the file's own id, else the last part; where two would be equal, IRIs."""
    body = "".join(
        f'<owl:Class rdf:about="{iri}">{inside}</owl:Class>'
        for iri, inside in (
            (f"{HP}0000001", "<oboInOwl:id>XX:1</oboInOwl:id>"),
            ("http://x.org/efo/EFO_0000270", ""),
            ("http://x.org/n#a", "<oboInOwl:id>N:1</oboInOwl:id>"),
            ("http://x.org/o#same", ""),
            ("http://y.org/o#same", ""),
        )
    )
    assert list(read(tmp_path, body)) == [
        "HP:0000001", "EFO_0000270", "N:1", "http://x.org/o#same", "http://y.org/o#same",
    ]  # fmt: skip


def test_a_class_without_a_label_is_called_by_its_id(tmp_path):
    assert read(tmp_path, '<owl:Class rdf:about="#a"/>')["a"].name == "a"


def test_classes_of_the_languages_are_no_concepts(tmp_path):
    body = """<owl:Class rdf:about="http://www.w3.org/2002/07/owl#Thing"/><owl:Class rdf:about="#a"/>
      <owl:Class rdf:about="http://www.geneontology.org/formats/oboInOwl#Subset"/>"""
    assert list(read(tmp_path, body)) == ["a"]


def test_counts_agree_with_another_parser(tmp_path):
    """Elements of the XML, counted by a parser that knows nothing of OWL."""
    from xml.etree.ElementTree import parse

    body = SEIZURE + "".join(
        f'<owl:Class rdf:about="#c{i}"><rdfs:label>c {i}</rdfs:label>'
        f"<oboInOwl:hasExactSynonym>synonym of {i}</oboInOwl:hasExactSynonym>"
        f'<rdfs:subClassOf rdf:resource="#c{i // 2}"/></owl:Class>'
        for i in range(1, 40)
    )
    concepts = list(read(tmp_path, body).values())
    counts = Counter(element.tag.rpartition("}")[2] for element in parse(tmp_path / "x.owl").iter())
    nodes = counts["Class"] - 1  # one is the definition inside another
    assert len(concepts) == nodes == 40
    kinds = Counter(name.kind for concept in concepts for name in concept.names)
    assert kinds["exact"] + kinds["layperson"] - 2 == counts["hasExactSynonym"]  # label, altLabel
    parents = [r for c in concepts for r in c.relations if r.type == "is_a"]
    # one restriction, one owl:Thing; one parent out of the definition
    assert len(parents) == counts["subClassOf"] - 2 + 1


def test_the_english_label_is_preferred(tmp_path):
    body = """<owl:Class rdf:about="#a"><rdfs:label xml:lang="de">Herz</rdfs:label>
      <rdfs:label xml:lang="en">heart</rdfs:label><rdfs:label>cor</rdfs:label></owl:Class>"""
    concept = read(tmp_path, body)["a"]
    assert (concept.name, concept.language) == ("heart", "en")
    assert concept.names == [Name("cor", "exact"), Name("Herz", "exact", "de")]


def test_release_and_licence(tmp_path):
    path = write(tmp_path, SEIZURE)
    facts = {"release": "2025-01-16", "licence": "https://example.org/licence"}
    assert describe_owl(path) == facts
    head = HEAD.replace(
        '<owl:versionIRI rdf:resource="http://purl.obolibrary.org/obo/hp/releases/2025-01-16/hp.owl"/>',
        "<owl:versionInfo>4.2</owl:versionInfo>",
    )
    assert describe_owl(write(tmp_path, SEIZURE, head=head))["release"] == "4.2"


def test_namespaces_may_be_entities(tmp_path):
    """Protégé writes them so."""
    head = HEAD.replace(
        "<rdf:RDF",
        '<!DOCTYPE rdf:RDF [\n<!ENTITY hp "http://purl.obolibrary.org/obo/HP_" >\n]>\n<rdf:RDF',
    )
    assert list(read(tmp_path, '<owl:Class rdf:about="&hp;0000001"/>', head=head)) == ["HP:0000001"]


@pytest.mark.parametrize(
    "declared",
    ['<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">', '<!ENTITY a SYSTEM "file:///etc/hostname">',
     '<!ENTITY % a "b">', f'<!ENTITY a "{"a" * 600}">'],
)  # fmt: skip
def test_other_entities_are_refused(tmp_path, declared):
    head = HEAD.replace("<rdf:RDF", f"<!DOCTYPE rdf:RDF [{declared}]>\n<rdf:RDF")
    with pytest.raises(TermlinkError, match=r"TL105.*x\.owl.*entity"):
        list(read_owl(write(tmp_path, SEIZURE, head=head)))


@pytest.mark.parametrize(
    "text, message",
    [
        ("hello world\n", r"TL108.*x\.owl, line 1"),
        (json.dumps({"graphs": []}), r"TL108.*x\.owl, line 1"),
        ((HEAD + SEIZURE)[:1400], r"TL108.*x\.owl, line 26: not well-formed"),
        (HEAD + SEIZURE + "</rdf:RDFX>", r"TL108.*x\.owl, line \d+: not well-formed"),
        ("<a><b/></a>", r"TL105.*x\.owl is not a owl file: XML namespaces are required"),
        ("", "TL005"),
    ],
)
def test_what_is_no_owl_is_named(tmp_path, text, message):
    path = tmp_path / "x.owl"
    path.write_text(text, encoding="utf8")
    with pytest.raises(TermlinkError, match=message):
        list(read_owl(path))


def test_bytes_that_are_no_utf8(tmp_path):
    path = tmp_path / "x.owl"
    path.write_bytes((HEAD + SEIZURE + END).replace("sudden", "s\xfcdden").encode("latin1"))
    with pytest.raises(TermlinkError, match=r"TL108.*x\.owl, line 19"):
        list(read_owl(path))


def test_without_the_library_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyhornedowl", None)
    with pytest.raises(TermlinkError, match=r"TL004.*spacy-termlink\[owl\]"):
        list(read_owl(write(tmp_path, SEIZURE)))
