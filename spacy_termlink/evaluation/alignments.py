"""Reference alignments, and how pairs and rankings compare with one."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import defusedxml.ElementTree
import numpy as np
from defusedxml import DefusedXmlException

from ..counts import prf
from ..errors import TermlinkError
from ..files import require_file
from ..terminology import Terminology
from ..terminology.iris import short_id
from .bootstrap import f1_interval, mean_intervals
from .matching import Found, Pair
from .sssom import concept_of

RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
HITS_AT = (1, 5, 10)


class Reference(NamedTuple):
    """The pairs that are right.

    pairs (frozenset[tuple[str, str]]): Ids of A and of B; living ones where the KBs know them.
    unknown (list[str]): Ids that a KB does not know, sorted; their pairs cannot be found.
    """

    pairs: frozenset[tuple[str, str]]
    unknown: list[str]


def read_reference(
    path: Path, a: Terminology, b: Terminology, *, predicates: Collection[str] = ()
) -> Reference:
    """Read an alignment: SSSOM (tsv), OAEI alignment (rdf), or a tsv of two columns without header.

    Ids may be written as IRIs, or with the prefix that `write_sssom` gives an id that is no CURIE. Rows of SSSOM with the modifier "Not", or without an object
    (`sssom:NoTermFound`), and cells of the OAEI whose relation is not "=" are no pairs.

    predicates (Collection[str]): Of SSSOM rows, only those with one of these; () for all.
    RAISES (TermlinkError): TL955 to TL957.
    """
    require_file(path)
    with path.open("rb") as file:
        is_xml = file.read(512).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
    found = set(_read_cells(path) if is_xml else _read_rows(path, predicates))
    if not found:
        raise TermlinkError("TL956", path=path)
    unknown: set[str] = set()
    pairs = {(_living(a, x, unknown), _living(b, y, unknown)) for x, y in found}
    if all(x in unknown or y in unknown for x, y in found):
        raise TermlinkError("TL957", path=path, example=" and ".join(min(found)))
    return Reference(frozenset(pairs), sorted(unknown))


def _living(terminology: Terminology, said: str, unknown: set[str]) -> str:
    for written in (said, short_id(said), concept_of(terminology, said)):
        if (living := terminology.resolve(written)) is not None:
            return living
    unknown.add(said)
    return said


def _read_cells(path: Path) -> Iterable[tuple[str, str]]:
    try:
        root = defusedxml.ElementTree.parse(path).getroot()
    except (SyntaxError, DefusedXmlException, LookupError, ValueError) as error:
        reason = f"it is no well-formed XML ({error})"
        raise TermlinkError("TL955", path=path, line=1, reason=reason) from None
    for cell in root.iter() if root is not None else ():
        if cell.tag.rpartition("}")[2] != "Cell":
            continue
        parts = {part.tag.rpartition("}")[2]: part for part in cell}
        ids = [parts[e].get(f"{RDF}resource") for e in ("entity1", "entity2") if e in parts]
        relation = parts["relation"].text if "relation" in parts else "="
        if len(ids) == 2 and all(ids) and (relation or "=").strip() == "=":
            yield str(ids[0]), str(ids[1])


def _read_rows(path: Path, predicates: Collection[str]) -> Iterable[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        at = path.read_bytes()[: error.start].count(b"\n") + 1
        raise TermlinkError("TL955", path=path, line=at, reason="not UTF-8 text") from None
    columns: Optional[list[str]] = None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.rstrip("\r").split("\t")]
        if columns is None:
            columns = ["subject_id", "object_id"]
            if "subject_id" in cells and "object_id" in cells:
                columns = cells
                continue
        if len(cells) < 2:
            reason = f"{len(cells)} column, expected ids separated by a tab"
            raise TermlinkError("TL955", path=path, line=number, reason=reason)
        row = dict(zip(columns, cells, strict=False))
        subject, other = row.get("subject_id", ""), row.get("object_id", "")
        stated = row.get("predicate_modifier") != "Not" and "sssom:NoTermFound" not in (
            subject, other,
        )  # fmt: skip
        right = not predicates or row.get("predicate_id") in predicates
        if stated and right and subject and other:
            yield subject, other


def rank_figures(
    found: Found, a: Terminology, b: Terminology, reference: Reference
) -> dict[str, Any]:
    """Hits@1/5/10 over the reference's concepts of A: whether one of their partners is among the
    first k; with 95 % bootstrap intervals over these concepts. One that A lacks is a miss."""
    partners: dict[str, set[str]] = {}
    for subject, other in sorted(reference.pairs):
        partners.setdefault(subject, set()).add(other)
    values = np.zeros((len(partners), len(HITS_AT)))
    for i, (subject, right) in enumerate(partners.items()):
        row = a.find_row(subject)
        ids = [b.concept_id(p.object) for p in found.get(-1 if row is None else row, ())]
        values[i] = [bool(right & set(ids[:k])) for k in HITS_AT]
    names = [f"hits@{k}" for k in HITS_AT]
    intervals = mean_intervals(values, list(partners))
    return {
        **dict(zip(names, values.mean(axis=0).tolist(), strict=True)),
        "n": len(partners),
        "ci": dict(zip(names, map(list, intervals), strict=True)),
    }


def pair_figures(
    pairs: Sequence[Pair],
    a: Terminology,
    b: Terminology,
    reference: Reference,
    *,
    partial: bool = False,
) -> dict[str, Any]:
    """Precision, recall and F1 of pairs; with 95 % bootstrap intervals over the concepts of A.

    partial (bool): The reference says nothing of concepts of A that it does not name: pairs of these
        are not counted. Otherwise it is complete, and they are wrong.
    """
    named = {subject for subject, _ in reference.pairs}
    predicted = {(a.concept_id(p.subject), b.concept_id(p.object)) for p in pairs}
    if partial:
        predicted = {pair for pair in predicted if pair[0] in named}
    counts: dict[str, list[int]] = {}
    for pair in sorted(predicted | reference.pairs):
        is_right, is_found = pair in reference.pairs, pair in predicted
        at = 0 if is_right and is_found else 1 if is_found else 2
        counts.setdefault(pair[0], [0, 0, 0])[at] += 1
    table = np.array(list(counts.values()))
    figures = prf(*table.sum(axis=0).tolist())
    return {
        **figures._asdict(),
        "ci": {name: list(interval) for name, interval in f1_interval(table).items()},
    }
