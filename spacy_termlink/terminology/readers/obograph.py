"""OBO Graph JSON, as ROBOT and the OBO library write it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import TermlinkError
from ...files import require_file
from ..concept import Concept, Name, Relation, Xref
from ..iris import (
    OBO,
    OBO_IN_OWL,
    OWL,
    SKOS,
    relation_type,
    release_of,
    short_id,
    unique_ids,
)
from ._input import squeeze
from .obo import MATCHES
from .owl import LICENCES, kind_of

SCOPES = {f"has{scope.title()}Synonym": scope for scope in ("EXACT", "NARROW", "BROAD", "RELATED")}
IS_A = ("is_a", "subClassOf")


def read_obograph(path: Path) -> Iterator[Concept]:
    """Yield the classes of all graphs of a file, deprecated ones too, by IRI.

    Ids are as the OWL reader's. Edges of other kinds than is_a become relations under the label of
    their property. A node without a label that nothing else is said of is only referred to, and is no
    concept.

    path (Path): The file.
    RAISES (TermlinkError): TL105, TL108 or TL130 if the file is no OBO Graph.
    """
    nodes: dict[str, dict] = {}
    properties: dict[str, str] = {}
    edges: dict[str, set[tuple[str, str]]] = {}
    for graph in _read_graphs(path):
        for node in _list(path, graph, "nodes"):
            iri = _text(path, node, "id")
            if node.get("type") == "PROPERTY":
                properties[iri] = _shorthand(path, node)
            elif _is_concept(node, iri):
                nodes.setdefault(iri, node)
        for edge in _list(path, graph, "edges"):
            pair = _text(path, edge, "pred"), _text(path, edge, "obj")
            edges.setdefault(_text(path, edge, "sub"), set()).add(pair)
    ids = unique_ids(nodes, {})
    for iri, concept_id in ids.items():
        concept = _read_node(path, nodes[iri], concept_id)
        for pred, other in sorted(edges.get(iri, ())):
            kind = "is_a" if pred in IS_A else relation_type(pred, properties.get(pred, ""))
            if other != f"{OWL}Thing":
                concept.relations.append(Relation(kind, ids.get(other) or short_id(other)))
        yield concept


def describe_obograph(path: Path) -> dict[str, str]:
    """Release and licence of the first graph that says them."""
    facts = {"release": "", "licence": ""}
    for graph in _read_graphs(path):
        meta = _meta(path, graph)
        values = _properties(path, meta)
        version = str(meta.get("version") or "") or next(
            (text for pred, text in values if pred == f"{OWL}versionInfo"), ""
        )
        licence = next((text for pred, text in values if pred in LICENCES), "")
        facts["release"] = facts["release"] or release_of(version)
        facts["licence"] = facts["licence"] or licence
    return facts


def _is_concept(node: dict, iri: str) -> bool:
    if node.get("type") == "INDIVIDUAL" or iri.startswith((OWL, OBO_IN_OWL)):
        return False
    return bool(node.get("lbl") or node.get("meta"))


def _read_node(path: Path, node: dict, concept_id: str) -> Concept:
    meta = _meta(path, node)
    concept = Concept(concept_id, squeeze(node.get("lbl")) or concept_id)
    definition = meta.get("definition") or {}
    concept.definition = squeeze(_text(path, definition, "val")) if definition else ""
    concept.obsolete = bool(meta.get("deprecated"))
    for synonym in _list(path, meta, "synonyms"):
        scope = SCOPES.get(_text(path, synonym, "pred").rpartition("#")[2], "RELATED")
        kind, source = kind_of(scope, short_id(synonym.get("synonymType") or ""))
        if text := squeeze(_text(path, synonym, "val")):
            concept.names.append(Name(text, kind, source=source))
    concept.xrefs = [Xref(_text(path, xref, "val")) for xref in _list(path, meta, "xrefs")]
    for pred, text in _properties(path, meta):
        _read_property(concept, pred, text)
    concept.semantic_types += [short_id(s) for s in meta.get("subsets", ()) if isinstance(s, str)]
    return concept


def _read_property(concept: Concept, pred: str, text: str) -> None:
    match = pred.removeprefix(SKOS)
    if match in MATCHES:
        concept.xrefs.append(Xref(short_id(text), f"skos:{match}"))
    elif pred == f"{OBO}IAO_0100001":
        concept.replaced_by = concept.replaced_by or short_id(text)
    elif pred == f"{OBO_IN_OWL}hasAlternativeId":
        concept.alt_ids.append(short_id(text))
    elif pred == f"{OBO_IN_OWL}hasOBONamespace":
        concept.semantic_types.append(text)
    elif pred == f"{OBO_IN_OWL}consider":
        concept.relations.append(Relation("consider", short_id(text)))


def _shorthand(path: Path, node: dict) -> str:
    values = dict(reversed(_properties(path, _meta(path, node))))
    return values.get(f"{OBO_IN_OWL}shorthand") or str(node.get("lbl") or "")


def _properties(path: Path, meta: dict) -> list[tuple[str, str]]:
    found = _list(path, meta, "basicPropertyValues")
    return [(_text(path, value, "pred"), str(value.get("val") or "")) for value in found]


def _read_graphs(path: Path) -> list[dict]:
    try:
        data = json.loads(require_file(path).read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text ({error.reason} at byte {error.start})"
        raise TermlinkError("TL105", path=path, format="obograph", reason=reason) from None
    except json.JSONDecodeError as error:
        reason = f"not valid JSON ({error.msg})"
        raise TermlinkError("TL108", path=path, line=error.lineno, reason=reason) from None
    except RecursionError:
        reason = "its JSON is nested too deeply"
        raise TermlinkError("TL105", path=path, format="obograph", reason=reason) from None
    if not isinstance(data, dict) or not isinstance(data.get("graphs"), list):
        reason = "it has no list 'graphs'"
        raise TermlinkError("TL105", path=path, format="obograph", reason=reason)
    return _list(path, data, "graphs")


def _meta(path: Path, node: dict) -> dict:
    meta = node.get("meta") or {}
    if not isinstance(meta, dict):
        raise _wrong(path, "meta", meta, "an object")
    return meta


def _list(path: Path, node: dict, field: str) -> list[dict]:
    values = node.get(field) or []
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise _wrong(path, field, values, "a list of objects")
    return values


def _text(path: Path, node: Any, field: str) -> str:
    value = node.get(field) if isinstance(node, dict) else None
    if not isinstance(value, str):
        raise _wrong(path, field, value, "text")
    return value


def _wrong(path: Path, field: str, value: Any, expected: str) -> TermlinkError:
    found = json.dumps(value, ensure_ascii=True)[:80]
    return TermlinkError("TL130", path=path, field=field, found=found, expected=expected)
