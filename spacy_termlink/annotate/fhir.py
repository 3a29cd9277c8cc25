"""FHIR R4B: a Bundle a note, an Observation a mention, validated by fhir.resources.

An Observation says what the note states, not what the patient has: it stands for a finding, a disease or
a drug alike, needs no patient, and its value says whether the note affirms it, where that was assessed.
"""

import re
import uuid
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Optional

from ..errors import MissingExtraError, TermlinkError
from ..types import NIL
from .core import Linker
from .omop import NLP_SYSTEM

#: Source -> (FHIR's URI of the code system, whether its codes keep the prefix of an id: "HP:0001250").
SYSTEMS = {
    "hpo": ("http://human-phenotype-ontology.org", True),
    "mondo": ("http://purl.obolibrary.org/obo/mondo.owl", True),
    "icd10cm": ("http://hl7.org/fhir/sid/icd-10-cm", False),
    "icd10": ("http://hl7.org/fhir/sid/icd-10", False),
    "snomedct": ("http://snomed.info/sct", False),
    "umls": ("http://terminology.hl7.org/CodeSystem/umls", False),
    "mesh": ("http://terminology.hl7.org/CodeSystem/MSH", False),
}
#: valueBoolean by assertion; what another has, or what is uncertain, has no value.
VALUES = {
    "affirmed": True, "present": True, "historical": True, "negated": False, "absent": False,
}  # fmt: skip
#: Columns of ANNOTATIONS that become components, with the element that holds their value.
COMPONENTS = {
    "start": "valueInteger", "end": "valueInteger", "label": "valueString",
    "assertion": "valueString", "section": "valueString", "matched": "valueString",
}  # fmt: skip
#: Likewise, as the value of a quantity without a unit.
QUANTITIES = ("score", "probability")
#: Columns that become components where FHIR refuses the id as a code, and there is no coding.
UNCODED = {"concept_id": "valueString", "concept_name": "valueString"}
_CODE = re.compile(r"\S+(\s\S+)*")
_STRING = re.compile(r"[ \r\n\t\S]")
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://pypi.org/project/spacy-termlink")


@cache
def bundle_class() -> Any:
    """The Bundle of fhir.resources.

    RAISES (MissingExtraError): TL004 without it.
    """
    try:
        from fhir.resources.R4B.bundle import Bundle
    except ImportError:
        raise MissingExtraError("TL004", library="fhir.resources", extra="fhir") from None
    return Bundle


def bundle(note_id: str, rows: Sequence[Mapping[str, Any]], linkers: Sequence[Linker]) -> str:
    """The Bundle of a note, of type collection, as one line of JSON.

    note_id (str): Its identifier, and that of the DocumentReference that every Observation derives from.
    rows (Sequence[Mapping[str, Any]]): Columns of ANNOTATIONS; their order is that of the entries.
    linkers (Sequence[Linker]): Of the pipeline, for the code systems.
    RAISES (TermlinkError): TL867 if it is not valid FHIR. The message holds no word of the note.
    """
    sources = {linker.kb: linker.source for linker in linkers}
    entries = []
    for number, row in enumerate(rows):
        place = f"{note_id}\0{number}"
        resource = _observation(note_id, row, sources.get(row["kb"], ""))
        entries.append({"fullUrl": uuid.uuid5(_NAMESPACE, place).urn, "resource": resource})
    content: dict[str, Any] = {
        "resourceType": "Bundle", "type": "collection", "identifier": {"value": _string(note_id)},
    }  # fmt: skip
    if entries:  # FHIR has no empty lists
        content["entry"] = entries
    try:
        return bundle_class().model_validate(content).model_dump_json()
    except ValueError as error:
        raise TermlinkError("TL867", place=_place(error)) from None


def _place(error: ValueError) -> str:
    """Where pydantic says it is, without the values, which are words of the note."""
    found: list[Any] = getattr(error, "errors", list)()
    return ".".join(map(str, found[0]["loc"])) if found else type(error).__name__


def _observation(note_id: str, row: Mapping[str, Any], source: str) -> dict[str, Any]:
    code: dict[str, Any] = {"text": _string(row["text"])}
    columns = COMPONENTS
    if is_uncoded(row["concept_id"], source):
        columns = COMPONENTS | UNCODED
    elif row["concept_id"] not in (None, NIL):
        code["coding"] = [_coding(row, source)]
    components = [
        {"code": {"text": name}, element: _string(row[name])}
        for name, element in columns.items()
        if row[name] not in (None, "")
    ]
    components += [
        {"code": {"text": name}, "valueQuantity": {"value": row[name]}}
        for name in QUANTITIES
        if row[name] is not None
    ]
    observation: dict[str, Any] = {
        "resourceType": "Observation",
        "status": "preliminary",  # no person has looked at it
        "code": code,
        "derivedFrom": [{"type": "DocumentReference", "identifier": {"value": _string(note_id)}}],
        "device": {"display": NLP_SYSTEM},
        "component": components,
    }
    value: Optional[bool] = VALUES.get(row["assertion"])
    if value is not None:
        observation["valueBoolean"] = value
    if row["tier"] is not None:
        observation["method"] = {"text": _string(row["tier"])}
    return observation


def _coding(row: Mapping[str, Any], source: str) -> dict[str, str]:
    """The coding; without a system where FHIR's URI of it is not known."""
    system, code = _code(row["concept_id"], source)
    parts = {
        "system": system, "version": row["release"], "code": code, "display": row["concept_name"],
    }  # fmt: skip
    return {name: _string(value) for name, value in parts.items() if value}


def is_uncoded(concept_id: Optional[str], source: str) -> bool:
    """Whether a mention is linked to an id that FHIR refuses as a code: one with a blank at either end,
    or two in a row."""
    linked = concept_id not in (None, NIL)
    return linked and not _CODE.fullmatch(_code(str(concept_id), source)[1])


def _code(concept_id: str, source: str) -> tuple[str, str]:
    """URI of the code system, "" where FHIR's is not known, and the code there."""
    system, prefixed = SYSTEMS.get(source, ("", True))
    return system, concept_id if prefixed else concept_id.rpartition(":")[2]


def _string(value: Any) -> Any:
    """A value, a blank for a text of nothing but blanks that FHIR refuses (no-break spaces)."""
    return " " if isinstance(value, str) and not _STRING.search(value) else value
