"""From IRIs, which OWL and OBO Graph files name concepts by, to the ids that people write."""

import re
from collections import Counter
from collections.abc import Iterable

OBO = "http://purl.obolibrary.org/obo/"
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
OWL = "http://www.w3.org/2002/07/owl#"

_OBO_LOCAL = re.compile(r"([A-Za-z][A-Za-z0-9_]*)_([A-Za-z0-9]+)")
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}")


def short_id(iri: str) -> str:
    """Id of an IRI: "HP:0001250" for one of the OBO library (`.../obo/HP_0001250`), else what follows
    its "#", else its last part. What is no IRI stays as it is.
    """
    if iri.startswith(OBO) and (match := _OBO_LOCAL.fullmatch(iri[len(OBO) :])):
        return f"{match[1]}:{match[2]}"
    if "://" not in iri:
        return iri
    fragment = iri.rpartition("#")[2] if "#" in iri else iri.rstrip("/").rpartition("/")[2]
    return fragment or iri


def unique_ids(iris: Iterable[str], native: dict[str, str]) -> dict[str, str]:
    """Id of each IRI. Where two of them would have the same one, both keep the whole IRI.

    native (dict[str, str]): Ids that the file itself gives, by IRI; an OBO one stays a CURIE.
    """
    found = {
        iri: short_id(iri) if iri.startswith(OBO) else native.get(iri, short_id(iri))
        for iri in sorted(set(iris))
    }
    counts = Counter(found.values())
    return {iri: cid if counts[cid] == 1 else iri for iri, cid in found.items()}


def relation_type(iri: str, label: str) -> str:
    """Type of a relation: "part_of" for one labelled "part of"; without a label, its id."""
    if iri == f"{OBO}BFO_0000050":
        return "part_of"
    return "_".join(label.lower().split()) or short_id(iri)


def release_of(version: str) -> str:
    """Release that a version or version IRI names: its date where it has one, else what it says.

    version (str): As ".../obo/hp/releases/2025-01-16/hp.owl" or "2025-01-16".
    """
    dated = _DATED.search(version)
    return dated[0] if dated else version.strip()
