"""OBO 1.4 files, through fastobo."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastobo

from ...errors import TermlinkError
from ...files import require_file
from ..concept import Concept, Name, Relation, Xref
from ._input import read_lines

#: Synonym types that are a kind of name of their own; OMO ids are what newer files write.
KIND_OF_TYPE = {
    "abbreviation": "abbreviation",
    "OMO:0003000": "abbreviation",
    "layperson": "layperson",
    "OMO:0003003": "layperson",
}
#: Property values that are cross-references with a predicate.
MATCHES = {f"{kind}Match" for kind in ("exact", "close", "narrow", "broad", "related")}


def read_obo(path: Path) -> Iterator[Concept]:
    """Yield the terms of an OBO file, retired ones too, in the file's order.

    A synonym's kind is its scope; one typed as abbreviation or layperson term has that kind. Where a
    synonym has a type, `source` of the name holds scope and type ("EXACT uk_spelling"). Subsets and
    the namespace of a term become semantic types. `consider` becomes a relation of that type.

    path (Path): The file.
    RAISES (TermlinkError): TL105 or TL108 with the line, if the file is not valid OBO.
    """
    document = _open(path)
    while (frame := _next(document, path)) is not None:
        if isinstance(frame, fastobo.term.TermFrame):
            yield _read_term(frame)


def describe_obo(path: Path) -> dict[str, str]:
    """Release and licence, as the header says."""
    facts = {"release": "", "licence": ""}
    for clause in _open(path).header():
        tag, value = clause.raw_tag(), clause.raw_value()
        if tag == "data-version":
            # "hp/releases/2025-01-16", "releases/2024-05-08/mondo.owl"
            dated = [part for part in value.split("/") if part[:1].isdigit()]
            facts["release"] = dated[-1] if dated else value
        elif tag == "property_value" and value.startswith(("terms:license", "dcterms:license")):
            facts["licence"] = value.split()[1].strip('"')
    return facts


def _open(path: Path) -> Any:
    source = io.BytesIO(require_file(path).read_bytes() + b"\n")  # fastobo wants a final line end
    try:
        # one thread: frames come in the file's order, and two threads are no faster
        return fastobo.iter(source, ordered=True, threads=1)
    except SyntaxError as error:
        raise _syntax_error(error, path) from None
    except (OSError, TypeError):  # a TypeError where the first bytes are not UTF-8
        raise _encoding_error(path) from None


def _next(document: Any, path: Path) -> Any:
    try:
        return next(document, None)
    except SyntaxError as error:
        raise _syntax_error(error, path) from None
    except OSError:
        raise _encoding_error(path) from None


def _syntax_error(error: SyntaxError, path: Path) -> TermlinkError:
    # a file that is no OBO at all fails in its header, on line 1
    reason = f"not valid OBO ({error.msg}): {(error.text or '').strip()[:80]!r}"
    return TermlinkError("TL108", path=path, line=error.lineno, reason=reason)


def _encoding_error(path: Path) -> TermlinkError:
    try:
        for _ in read_lines(path):
            pass
    except TermlinkError as error:
        return error
    return TermlinkError("TL105", path=path, format="obo", reason="it cannot be read")


def _read_term(frame: Any) -> Concept:
    concept = Concept(str(frame.id), "")
    for clause in frame:
        _read_clause(concept, clause, clause.raw_tag())
    # a term that is only referred to may lack a name; a living concept must have one
    concept.name = concept.name or concept.concept_id
    return concept


def _read_clause(concept: Concept, clause: Any, tag: str) -> None:
    if tag == "name":
        concept.name = clause.name
    elif tag == "synonym":
        concept.names.append(_read_synonym(clause.synonym))
    elif tag == "def":
        concept.definition = clause.definition
    elif tag == "is_a":
        concept.relations.append(Relation("is_a", clause.raw_value()))
    elif tag == "relationship":
        concept.relations.append(Relation(str(clause.typedef), str(clause.term)))
    elif tag == "xref":
        concept.xrefs.append(Xref(str(clause.xref.id)))
    elif tag == "property_value":
        _read_match(concept, clause.raw_value())
    elif tag in ("subset", "namespace"):
        concept.semantic_types.append(clause.raw_value())
    elif tag == "alt_id":
        concept.alt_ids.append(clause.raw_value())
    elif tag == "is_obsolete":
        concept.obsolete = clause.raw_value() == "true"
    elif tag == "replaced_by":
        # the first one takes its place; a term with several has no single heir
        concept.replaced_by = concept.replaced_by or clause.raw_value()
    elif tag == "consider":
        concept.relations.append(Relation("consider", clause.raw_value()))


def _read_synonym(synonym: Any) -> Name:
    scope, kind, source = synonym.scope, synonym.scope.lower(), ""
    if synonym.type is not None:
        synonym_type = str(synonym.type)
        source = f"{scope} {synonym_type}"
        kind = KIND_OF_TYPE.get(synonym_type, KIND_OF_TYPE.get(synonym_type.lower(), kind))
    return Name(synonym.desc, kind, source=source)


def _read_match(concept: Concept, value: str) -> None:
    prop, _, target = value.partition(" ")
    predicate = prop.removeprefix("skos:")
    if predicate in MATCHES:
        concept.xrefs.append(Xref(target, f"skos:{predicate}"))
