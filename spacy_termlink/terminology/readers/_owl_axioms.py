"""The axioms of an OWL file, gathered by IRI.

py-horned-owl gives an ontology as a set of axioms in no order; what reads them sorts.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ...errors import MissingExtraError, TermlinkError
from ...files import require_file
from ..iris import OBO_IN_OWL, OWL, short_id
from ._input import parse_xml

#: RDF/XML, OWL/XML, functional syntax.
Syntax = Literal["rdf", "owx", "ofn"]
_HEAD_BYTES = 1 << 16
_PROLOGUE = re.compile(
    rb"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>|#[^\n]*\n", re.S
)
_DOCTYPE = re.compile(rb"<!DOCTYPE[^\[>]*\[(.*?)\]\s*>", re.S)
_ENTITY = re.compile(rb"<!ENTITY\s+(%?\s*\S+)\s+(.*?)>", re.S)
#: Entities abbreviate the start of an IRI; a longer one could be blown up to any size.
LONGEST_ENTITY = 500
_REASON = re.compile(r'Msg\("(.*?)"\)')


class Value(NamedTuple):
    """What an axiom says of an IRI.

    prop (str): IRI of the property.
    text (str): A text, or an IRI where `is_iri`.
    language (str): Language tag of a text, "" where it has none.
    synonym_type (str): Id of the type that the axiom itself is annotated with, or "".
    """

    prop: str
    text: str
    language: str = ""
    synonym_type: str = ""
    is_iri: bool = False


class Axioms(NamedTuple):
    """An ontology by IRI.

    classes (set[str]): Declared classes.
    values (dict): IRI -> what is said of it.
    above (dict): IRI of a class -> (property, class) of what every member of it is: "" stands for
        "is one itself", a property for "has this relation to one".
    header (list[Value]): What is said of the ontology.
    version (str): Its version IRI or "".
    """

    classes: set[str]
    values: dict[str, list[Value]]
    above: dict[str, set[tuple[str, str]]]
    header: list[Value]
    version: str

    def get(self, iri: str, *props: str) -> list[Value]:
        """Values of an IRI under properties, in the order of these, then sorted, each once."""
        return sorted(
            {value for value in self.values.get(iri, ()) if value.prop in props},
            key=lambda value: (props.index(value.prop), value),
        )


def read_axioms(path: Path) -> Axioms:
    """Gather the axioms of a file.

    RAISES (TermlinkError): TL004 without py-horned-owl, TL105 or TL108 if the file is no OWL.
    """
    ontology = _open(path)
    version = str(ontology.get_version_iri() or "")
    found = Axioms(set(), defaultdict(list), defaultdict(set), [], version)
    found.classes.update(str(iri) for iri in ontology.get_classes())
    for axiom in ontology.get_axioms():
        _gather(found, axiom.component, axiom.ann)
    # reading must not add empty entries
    found.values.default_factory = None  # type: ignore[attr-defined]
    return found


def _gather(found: Axioms, axiom: Any, annotations: Any) -> None:
    kind = type(axiom).__name__
    if kind == "AnnotationAssertion":
        _add(found, axiom.subject, axiom.ann.ap, axiom.ann.av, annotations)
    # properties that a file uses without declaring them
    elif kind == "DataPropertyAssertion":
        _add(found, axiom.source, axiom.dp, axiom.target, annotations)
    elif kind == "ObjectPropertyAssertion":
        _add(found, axiom.source, axiom.ope, axiom.target, annotations)
    elif kind == "SubClassOf":
        if sub := _named(axiom.sub):
            found.above[sub].update(_above(axiom.sup))
    elif kind == "EquivalentClasses":
        for sub in filter(None, map(_named, axiom.first)):
            for other in axiom.first:
                if type(other).__name__ == "ObjectIntersectionOf":
                    found.above[sub].update(_above(other))
    elif kind == "OntologyAnnotation":
        found.header.append(_value(axiom.first.ap, axiom.first.av, ()))


def _add(found: Axioms, subject: Any, prop: Any, target: Any, annotations: Any) -> None:
    found.values[_iri(subject)].append(_value(prop, target, annotations))


def _value(prop: Any, target: Any, annotations: Any) -> Value:
    iri = _iri(prop)
    if hasattr(target, "literal"):
        types = sorted(
            short_id(_iri(note.av)) for note in annotations
            if _iri(note.ap) == f"{OBO_IN_OWL}hasSynonymType" and not hasattr(note.av, "literal")
        )  # fmt: skip
        language = getattr(target, "lang", "") or ""
        return Value(iri, target.literal, language, types[0] if types else "")
    return Value(iri, _iri(target), is_iri=True)


def _above(expression: Any) -> Iterator[tuple[str, str]]:
    """(property, class) of what a class expression says of each of its members."""
    kind = type(expression).__name__
    if (iri := _named(expression)) and iri != f"{OWL}Thing":
        yield "", iri
    elif kind == "ObjectIntersectionOf":
        for part in expression.first:
            yield from _above(part)
    elif kind == "ObjectSomeValuesFrom":
        prop, whole = expression.ope, _named(expression.bce)
        if whole and type(prop).__name__ == "ObjectProperty":
            yield _iri(prop), whole


def _named(expression: Any) -> str:
    return _iri(expression) if type(expression).__name__ == "Class" else ""


def _iri(thing: Any) -> str:
    """IRI of an IRI, of an entity or of an anonymous individual."""
    return str(getattr(thing, "first", thing))


def _open(path: Path) -> Any:
    try:
        from pyhornedowl import open_ontology_from_file
    except ImportError:
        raise MissingExtraError("TL004", library="py-horned-owl", extra="owl") from None
    syntax = _syntax(require_file(path))
    try:
        return open_ontology_from_file(str(path), serialization=syntax)
    except ValueError as error:
        if syntax != "ofn":
            _find_line(path)
        said = _REASON.search(str(error))
        reason = said[1] if said else str(error)
        raise TermlinkError("TL105", path=path, format="owl", reason=reason) from None


def _syntax(path: Path) -> Syntax:
    """Which syntax a file is written in; entities that could read or blow up are refused."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")
    for declared in _DOCTYPE.findall(head):
        for name, value in _ENTITY.findall(declared):
            if b"&" in value or b"%" in name + value or len(value) > LONGEST_ENTITY or (
                not value.startswith((b'"', b"'"))
            ):  # fmt: skip
                reason = f"its entity {name.decode('utf8', 'replace')!r} is no start of an IRI"
                raise TermlinkError("TL105", path=path, format="owl", reason=reason)
    at = 0
    while match := _PROLOGUE.match(head, at):
        at = match.end()
    start = head[at : at + 200]
    if start.startswith((b"Prefix(", b"Ontology(")):
        return "ofn"
    return "owx" if re.match(rb"<(?:\w+:)?Ontology[\s>]", start) else "rdf"


def _find_line(path: Path) -> None:
    """Raise TL108 where the XML is not well-formed: py-horned-owl does not say on which line."""
    try:
        parse_xml(path, format="owl", roots=())
    except TermlinkError as error:
        if error.code == "TL108":
            raise
