"""Which concepts of different terminologies are the same, and which must never be opposed.

Two concepts are the same only where their cross-reference is one-to-one in both directions and
neither side is an ICD code (DESIGN.md, section 7): an ICD code often stands for a whole class, and
a reference to one of several partners is mostly broader or narrower. Any cross-reference forbids
the pair as a negative.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ..errors import TermlinkError
from ..files import require_file
from .records import read_rows

#: Other ways to write a namespace, in upper case and without signs, as sources do.
_ALIASES = {
    "HPO": "HP", "MSH": "MESH", "UMLSCUI": "UMLS", "NCI": "NCIT", "ORDO": "ORPHANET",
    "ORPHA": "ORPHANET", "SCTID": "SNOMEDCT", "SNOMED": "SNOMEDCT", "SNOMEDCTUS": "SNOMEDCT",
    "SCT": "SNOMEDCT", "MIM": "OMIM",
}  # fmt: skip
_CURIE = re.compile(r"[A-Za-z][\w.\- ]*:(?=\S)")
_VERSION = re.compile(r"(?:_\d{4}_\d{2}_\d{2})$")
#: Predicates that say the two are not the same, as skos:broadMatch.
_INEXACT = re.compile(r"broad|narrow|related|close", re.IGNORECASE)
#: A third concept that more than this many refer to is a class of them, and says nothing.
MAX_SHARED = 50


class Equivalents:
    """Pairs of concepts that are the same, and pairs that are never each other's negative.

    same (dict[str, frozenset[str]]): Concepts with the very same meaning, by concept. Symmetric;
        not transitive: A and C need a cross-reference of their own.
    barred (dict[str, frozenset[str]]): Concepts that must not be a negative of this one: those
        with a cross-reference to or from it, those that are the same over a chain, and those of
        another terminology that refer to the same third concept. Symmetric; holds `same`.
    """

    def __init__(self, same: dict[str, frozenset[str]], barred: dict[str, frozenset[str]]) -> None:
        self.same = same
        self.barred = barred

    def is_same(self, concept: str, other: str) -> bool:
        """Whether two ids mean the same concept."""
        return concept == other or other in self.same.get(concept, ())

    def is_barred(self, concept: str, other: str) -> bool:
        """Whether the two must not be opposed; true for a concept and itself."""
        return concept == other or other in self.barred.get(concept, ())

    def same_mask(self, concepts: Sequence[str], others: Sequence[str]) -> np.ndarray:
        """Which pairs are the same concept, (A, B) bool for A concepts and B others."""
        return _mask(self.same, concepts, others)

    def barred_mask(self, concepts: Sequence[str], others: Sequence[str]) -> np.ndarray:
        """Which pairs must not be opposed, (A, B) bool for A concepts and B others.

        A record of a graph task has two concepts: or the masks of both.
        """
        return _mask(self.barred, concepts, others)

    def rows(self) -> Iterator[dict]:
        """Rows of an `equivalents.jsonl`: one a concept that has any, sorted by id."""
        for concept in sorted(self.barred):
            same = sorted(self.same.get(concept, ()))
            yield {"concept_id": concept, "same": same, "barred": sorted(self.barred[concept])}

    @classmethod
    def open(cls, path: Path) -> "Equivalents":
        """Read an `equivalents.jsonl`; an empty file is one without cross-references.

        RAISES (TermlinkError): TL001 or TL008 without a file, TL220 for a line in another form.
        """
        path = Path(path)
        if not path.is_file():
            require_file(path)
        same, barred = {}, {}
        for line, row in read_rows(path):
            try:
                concept = row["concept_id"]
                if row["same"]:
                    same[concept] = frozenset(row["same"])
                barred[concept] = frozenset(row["barred"])
            except (KeyError, TypeError):
                reason = "expected concept_id, same and barred"
                raise TermlinkError("TL220", path=path, line=line, reason=reason) from None
        return cls(same, barred)


def namespace(text: str) -> str:
    """One spelling for the namespace of an id: "SNOMEDCT_US_2023_03_01" is SNOMEDCT."""
    plain = re.sub(r"[^A-Z0-9]", "", _VERSION.sub("", text).upper())
    return _ALIASES.get(plain, plain)


def curie(concept_id: str, source: str) -> str:
    """An id with its namespace.

    concept_id (str): As the source writes it, with a prefix or without.
    source (str): Name of the terminology: the namespace of an id without one.
    """
    match = _CURIE.match(concept_id)
    if match:
        return f"{namespace(match[0][:-1])}:{concept_id[match.end() :]}"
    return f"{namespace(source)}:{concept_id}"


def is_icd(concept_curie: str) -> bool:
    """Whether an id with its namespace is a code of an ICD release (ICD-9-CM, ICD-10, ICD-O, ...)."""
    return concept_curie.startswith("ICD")


def find_equivalents(
    concepts: Iterable[tuple[int, str, str]],
    references: Iterable[tuple[int, str, str, str]],
) -> Equivalents:
    """Work out which concepts are the same and which must not be opposed.

    concepts (Iterable[tuple[int, str, str]]): (terminology number, id in the records, id with
        namespace) of each living concept; alternative ids may follow with the id they stand for.
    references (Iterable[tuple[int, str, str, str]]): (terminology number, id in the records,
        cross-reference, predicate).
    """
    holders: dict[str, list[tuple[int, str]]] = defaultdict(list)
    icd: set[str] = set()
    for number, key, name in concepts:
        holders[name].append((number, key))
        if is_icd(name):
            icd.add(key)
    # pair -> whether every reference between the two may be an exact one
    exact: dict[tuple[tuple[int, str], tuple[int, str]], bool] = {}
    shared: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for name, held in holders.items():
        for one, other in _pairs(held):  # one id in two terminologies is a reference to itself
            exact.setdefault((one, other), not is_icd(name))
    for number, key, xref, predicate in references:
        target = curie(xref, "")
        found = [holder for holder in holders.get(target, ()) if holder[0] != number]
        for holder in found:
            one = (number, key)
            pair = (one, holder) if one < holder else (holder, one)
            exact[pair] = exact.get(pair, True) and not _INEXACT.search(predicate)
        if not found:
            shared[target].add((number, key))
    return _equivalents(exact, shared, icd)


def _equivalents(exact: dict, shared: dict, icd: set[str]) -> Equivalents:
    partners: dict[tuple[tuple[int, str], int], set[str]] = defaultdict(set)
    for one, other in exact:
        partners[one, other[0]].add(other[1])
        partners[other, one[0]].add(one[1])
    same: dict[str, set[str]] = defaultdict(set)
    barred: dict[str, set[str]] = defaultdict(set)
    for (one, other), may_be_same in exact.items():
        one_to_one = len(partners[one, other[0]]) == len(partners[other, one[0]]) == 1
        tables = [barred]
        if may_be_same and one_to_one and one[1] not in icd and other[1] not in icd:
            tables.append(same)
        for table in tables:
            table[one[1]].add(other[1])
            table[other[1]].add(one[1])
    for group in shared.values():
        if len(group) <= MAX_SHARED:
            for one, other in _pairs(sorted(group)):
                barred[one[1]].add(other[1])
                barred[other[1]].add(one[1])
    for chain in _chains(same):
        for concept in chain:
            barred[concept] |= chain - {concept}
    return Equivalents(
        {concept: frozenset(others) for concept, others in same.items()},
        {concept: frozenset(others) for concept, others in barred.items()},
    )


def _pairs(held: Sequence[tuple[int, str]]) -> Iterator[tuple[tuple[int, str], tuple[int, str]]]:
    """Pairs of different terminologies. Within one, two concepts with one reference stay apart:
    the source tells them apart, and so must the encoder."""
    for i, one in enumerate(held):
        for other in held[i + 1 :]:
            if one[0] != other[0] and one[1] != other[1]:
                yield (one, other) if one < other else (other, one)


def _chains(same: dict[str, set[str]]) -> Iterator[set[str]]:
    """Connected parts of the `same` relation."""
    seen: set[str] = set()
    for start in same:
        if start in seen:
            continue
        chain, stack = {start}, [start]
        while stack:
            for other in same[stack.pop()] - chain:
                chain.add(other)
                stack.append(other)
        seen |= chain
        yield chain


def _mask(
    table: dict[str, frozenset[str]], concepts: Sequence[str], others: Sequence[str]
) -> np.ndarray:
    columns: dict[str, list[int]] = defaultdict(list)
    for column, other in enumerate(others):
        columns[other].append(column)
    mask = np.zeros((len(concepts), len(others)), dtype=bool)
    for row, concept in enumerate(concepts):
        for other in (concept, *table.get(concept, ())):
            if other in columns:
                mask[row, columns[other]] = True
    return mask
