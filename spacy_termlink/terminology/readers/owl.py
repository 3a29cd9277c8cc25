"""OWL ontologies (RDF/XML, OWL/XML, functional syntax), through py-horned-owl."""

from collections.abc import Iterator
from pathlib import Path

from ..concept import Concept, Name, Relation, Xref
from ..iris import (
    OBO,
    OBO_IN_OWL,
    OWL,
    RDFS,
    SKOS,
    relation_type,
    release_of,
    short_id,
    unique_ids,
)
from ._input import squeeze
from ._owl_axioms import Axioms, Value, read_axioms
from .obo import KIND_OF_TYPE, MATCHES

LABELS = (f"{RDFS}label", f"{SKOS}prefLabel")
#: Properties of other names, with their scope.
SCOPES = {
    f"{OBO_IN_OWL}hasExactSynonym": "EXACT",
    f"{OBO_IN_OWL}hasNarrowSynonym": "NARROW",
    f"{OBO_IN_OWL}hasBroadSynonym": "BROAD",
    f"{OBO_IN_OWL}hasRelatedSynonym": "RELATED",
    f"{OBO_IN_OWL}hasSynonym": "RELATED",
    f"{OBO}IAO_0000118": "EXACT",  # alternative label
    f"{SKOS}altLabel": "EXACT",
}
DEFINITIONS = (f"{OBO}IAO_0000115", f"{OBO_IN_OWL}hasDefinition", f"{SKOS}definition")
TYPES = (f"{OBO_IN_OWL}hasOBONamespace", f"{OBO_IN_OWL}inSubset")
LICENCES = ("http://purl.org/dc/terms/license", "http://purl.org/dc/elements/1.1/license")


def read_owl(path: Path) -> Iterator[Concept]:
    """Yield the declared classes of an ontology, deprecated ones too, by IRI.

    Ids are CURIEs for the OBO library, else `oboInOwl:id`, else the IRI's last part. Names:
    rdfs:label (the English one, or that without a language, is preferred), oboInOwl synonyms with
    scope and type, skos:altLabel. A synonym or definition that points to a node is that node's
    label. A restriction (`part_of some X`) becomes a relation; the parts of a definition by
    intersection, true of every member, become parents and relations too. Imports are not followed;
    classes of the languages themselves (owl:Thing, oboInOwl:Synonym) are no concepts.

    path (Path): The file.
    RAISES (TermlinkError): TL004 without py-horned-owl, TL105 or TL108 if the file is no OWL.
    """
    axioms = read_axioms(path)
    classes = {iri for iri in axioms.classes if not iri.startswith((OWL, OBO_IN_OWL))}
    native = {
        iri: squeeze(said[0].text)
        for iri in classes
        if (said := axioms.get(iri, f"{OBO_IN_OWL}id"))
    }
    ids = unique_ids(classes, native)
    for iri in ids:
        yield _read_class(axioms, iri, ids)


def describe_owl(path: Path) -> dict[str, str]:
    """Release and licence, as the ontology's header says."""
    axioms = read_axioms(path)
    said = {value.prop: value.text for value in sorted(axioms.header, reverse=True)}
    version = axioms.version or said.get(f"{OWL}versionInfo", "")
    licence = next((said[prop] for prop in LICENCES if prop in said), "")
    return {"release": release_of(version), "licence": licence}


def _read_class(axioms: Axioms, iri: str, ids: dict[str, str]) -> Concept:
    concept = Concept(ids[iri], "")

    def others(*props: str) -> list[str]:
        """Ids that the class has under properties."""
        return [ids.get(v.text) or short_id(v.text) for v in axioms.get(iri, *props)]

    _read_names(axioms, iri, concept)
    definitions = [_text_of(axioms, value) for value in axioms.get(iri, *DEFINITIONS)]
    concept.definition = next(filter(None, definitions), "")
    concept.obsolete = any(v.text in ("true", "1") for v in axioms.get(iri, f"{OWL}deprecated"))
    concept.replaced_by = next(iter(others(f"{OBO}IAO_0100001")), "")
    concept.alt_ids = others(f"{OBO_IN_OWL}hasAlternativeId")
    concept.semantic_types = others(*TYPES)
    concept.xrefs = [Xref(xref) for xref in others(f"{OBO_IN_OWL}hasDbXref")]
    for match in sorted(MATCHES):
        concept.xrefs += [Xref(xref, f"skos:{match}") for xref in others(f"{SKOS}{match}")]
    for prop, other in sorted(axioms.above.get(iri, ())):
        kind = _relation_type(axioms, prop) if prop else "is_a"
        concept.relations.append(Relation(kind, ids.get(other) or short_id(other)))
    consider = others(f"{OBO_IN_OWL}consider")
    concept.relations += [Relation("consider", other) for other in consider]
    return concept


def _read_names(axioms: Axioms, iri: str, concept: Concept) -> None:
    labels = [v for v in axioms.get(iri, *LABELS) if _text_of(axioms, v)]
    # of several labels the English one stands first, else the one that says no language
    labels.sort(key=lambda v: (not v.language.startswith("en"), v.language != ""))
    if labels:
        concept.name, concept.language = _text_of(axioms, labels[0]), labels[0].language or "en"
    for label in labels[1:]:
        concept.names.append(Name(_text_of(axioms, label), "exact", label.language or "en"))
    for value in axioms.get(iri, *SCOPES):
        if text := _text_of(axioms, value):
            kind, source = kind_of(SCOPES[value.prop], value.synonym_type)
            concept.names.append(Name(text, kind, value.language or "en", source))
    concept.name = concept.name or concept.concept_id


def kind_of(scope: str, synonym_type: str) -> tuple[str, str]:
    """Kind of a name, and what its `source` says, as the OBO reader has them.

    scope (str): As "EXACT".
    synonym_type (str): Id of the type, or "".
    """
    if not synonym_type:
        return scope.lower(), ""
    kind = KIND_OF_TYPE.get(synonym_type, KIND_OF_TYPE.get(synonym_type.lower(), scope.lower()))
    return kind, f"{scope} {synonym_type}"


def _relation_type(axioms: Axioms, prop: str) -> str:
    said = axioms.get(prop, f"{OBO_IN_OWL}shorthand", *LABELS)
    return relation_type(prop, said[0].text if said else "")


def _text_of(axioms: Axioms, value: Value) -> str:
    """The text of a value; of a node, its label, "" where it has none."""
    if value.is_iri:
        labels = axioms.get(value.text, *LABELS)
        return squeeze(labels[0].text) if labels else ""
    return squeeze(value.text)
