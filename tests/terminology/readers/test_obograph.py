import json

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Concept, Name, Relation, Xref
from spacy_termlink.terminology.readers.obograph import describe_obograph, read_obograph

OBO = "http://purl.obolibrary.org/obo/"
IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"


def graph(*nodes, edges=(), **parts):
    return {"graphs": [{"id": f"{OBO}x.json", "nodes": list(nodes), "edges": list(edges), **parts}]}


def node(local, label=None, **meta):
    found = {"id": f"{OBO}{local}", "type": "CLASS", "meta": meta}
    return found if label is None else {**found, "lbl": label}


def value(pred, text):
    return {"pred": pred, "val": text}


def read(tmp_path, data):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data), encoding="utf8")
    return list(read_obograph(path))


def test_everything_of_a_class(tmp_path):
    seizure = node(
        "HP_0001250",
        "Seizure",
        definition={"val": "A sudden\n event.", "xrefs": ["PMID:1"]},
        synonyms=[
            value("hasExactSynonym", "Epileptic fit"),
            value("hasBroadSynonym", "Attack"),
            {**value("hasExactSynonym", "Fit"), "synonymType": f"{OBO}hp#layperson"},
            {**value("hasRelatedSynonym", "SZ"), "synonymType": f"{OBO}OMO_0003000"},
        ],
        xrefs=[{"val": "UMLS:C0036572"}],
        subsets=[f"{OBO}hp#slim"],
        basicPropertyValues=[
            value(f"{IN_OWL}hasAlternativeId", "HP:0009999"),
            value(f"{IN_OWL}hasOBONamespace", "phenotype"),
            value(f"{SKOS}exactMatch", f"{OBO}MP_0002064"),
        ],
    )
    part_of = {"id": f"{OBO}BFO_0000050", "type": "PROPERTY", "lbl": "part of"}
    develops = {"id": f"{OBO}RO_0002202", "type": "PROPERTY", "lbl": "develops from"}
    edges = [
        {"sub": f"{OBO}HP_0001250", "pred": "is_a", "obj": f"{OBO}HP_0000001"},
        {"sub": f"{OBO}HP_0001250", "pred": f"{OBO}BFO_0000050", "obj": f"{OBO}HP_0000003"},
        {"sub": f"{OBO}HP_0001250", "pred": f"{OBO}RO_0002202", "obj": f"{OBO}HP_0000004"},
    ]
    assert read(tmp_path, graph(seizure, part_of, develops, edges=edges)) == [
        Concept(
            "HP:0001250",
            "Seizure",
            [
                Name("Epileptic fit", "exact"),
                Name("Attack", "broad"),
                Name("Fit", "layperson", source="EXACT layperson"),
                Name("SZ", "abbreviation", source="RELATED OMO:0003000"),
            ],
            definition="A sudden event.",
            semantic_types=["phenotype", "slim"],
            alt_ids=["HP:0009999"],
            relations=[
                Relation("part_of", "HP:0000003"),
                Relation("develops_from", "HP:0000004"),
                Relation("is_a", "HP:0000001"),
            ],
            xrefs=[Xref("UMLS:C0036572"), Xref("MP:0002064", "skos:exactMatch")],
        )
    ]


def test_a_retired_class(tmp_path):
    old = node(
        "HP_9",
        "old",
        deprecated=True,
        basicPropertyValues=[
            value(f"{OBO}IAO_0100001", f"{OBO}HP_1"),
            value(f"{IN_OWL}consider", "HP:2"),
        ],
    )
    (concept,) = read(tmp_path, graph(old))
    assert concept.obsolete and concept.replaced_by == "HP:1"
    assert concept.relations == [Relation("consider", "HP:2")]


def test_what_is_no_concept(tmp_path):
    """Properties, individuals, the classes of the language, nodes that are only referred to."""
    data = graph(
        {"id": f"{OBO}BFO_0000050", "type": "PROPERTY", "lbl": "part of"},
        {"id": "http://x.org/me", "type": "INDIVIDUAL", "lbl": "me"},
        {"id": f"{IN_OWL}Subset", "type": "CLASS", "lbl": "subset"},
        {"id": f"{OBO}GO_1", "type": "CLASS"},
        node("HP_1", "a"),
    )
    assert [concept.concept_id for concept in read(tmp_path, data)] == ["HP:1"]


def test_the_same_as_owl(tmp_path):
    """One class, written in both formats, becomes the same concept."""
    pytest.importorskip("pyhornedowl")
    from spacy_termlink.terminology.readers.owl import read_owl

    head = f"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
      xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:obo="{OBO}"
      xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:oboInOwl="{IN_OWL}">"""
    body = f"""<owl:Class rdf:about="{OBO}HP_1"><rdfs:label>a</rdfs:label>
      <obo:IAO_0000115>A thing.</obo:IAO_0000115>
      <oboInOwl:hasNarrowSynonym>b</oboInOwl:hasNarrowSynonym>
      <oboInOwl:hasDbXref>X:1</oboInOwl:hasDbXref>
      <rdfs:subClassOf rdf:resource="{OBO}HP_2"/></owl:Class>"""
    (tmp_path / "x.owl").write_text(head + body + "</rdf:RDF>", encoding="utf8")
    other = node("HP_1", "a", definition={"val": "A thing."}, xrefs=[{"val": "X:1"}],
                 synonyms=[value("hasNarrowSynonym", "b")])  # fmt: skip
    edge = {"sub": f"{OBO}HP_1", "pred": "is_a", "obj": f"{OBO}HP_2"}
    assert read(tmp_path, graph(other, edges=[edge])) == list(read_owl(tmp_path / "x.owl"))


def test_release_and_licence(tmp_path):
    path = tmp_path / "x.json"
    meta = {
        "version": f"{OBO}hp/releases/2025-01-16/hp.json",
        "basicPropertyValues": [value("http://purl.org/dc/terms/license", "https://l.org")],
    }
    path.write_text(json.dumps(graph(node("HP_1", "a"), meta=meta)))
    assert describe_obograph(path) == {"release": "2025-01-16", "licence": "https://l.org"}
    del meta["version"]
    meta["basicPropertyValues"].append(value("http://www.w3.org/2002/07/owl#versionInfo", "4.2"))
    path.write_text(json.dumps(graph(node("HP_1", "a"), meta=meta)))
    assert describe_obograph(path)["release"] == "4.2"


@pytest.mark.parametrize(
    "text, message",
    [
        ("<xml/>", r"TL108.*x\.json, line 1: not valid JSON"),
        ('{"graphs": [\n{"nodes": [', r"TL108.*x\.json, line 2: not valid JSON"),
        ("[]", "TL105.*x.json.*no list 'graphs'"),
        ('{"graphs": {}}', "TL105.*no list 'graphs'"),
        ('{"graphs": [1]}', r"TL130.*'graphs' is \[1\], expected a list of objects"),
        ('{"graphs": [{"nodes": [{"lbl": "a"}]}]}', "TL130.*'id' is null, expected text"),
        ('{"graphs": [{"nodes": [{"id": "a", "lbl": "a", "meta": 1}]}]}', "TL130.*'meta' is 1"),
        ('{"graphs": [{"edges": [{"sub": "a", "pred": "b", "obj": 3}]}]}', "TL130.*'obj' is 3"),
        ("[" * 100_000, "TL105.*nested too deeply"),
        ("", "TL005"),
    ],
)
def test_what_is_no_obo_graph_is_named(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(TermlinkError, match=message):
        list(read_obograph(path))


def test_bytes_that_are_no_utf8(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b'{"graphs": "\xe9"}')
    with pytest.raises(TermlinkError, match="TL105.*not UTF-8"):
        list(read_obograph(path))
