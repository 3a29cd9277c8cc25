"""SNOMED CT Release Format 2 snapshots, from the user's own licensed copy; extensions are merged over
the international edition."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import TermlinkError
from ..concept import Concept, Name, Relation, Xref
from ._release import Release

#: What is read of a folder, and hashed for meta.json.
RELEASE_FILES = (
    r"(sct2_(Concept|Description|TextDefinition|Relationship)_|der2_(cRefset_(Language|Association)"
    r"|sRefset_SimpleMap|iisssccRefset_ExtendedMap)).*Snapshot.*\.txt(\.gz)?|.*\.zip"
)
LICENCE = "SNOMED CT Affiliate Licence (own copy; not to be shared)"

FSN, SYNONYM = "900000000000003001", "900000000000013009"
IS_A, PREFERRED = "116680003", "900000000000548007"
US_ENGLISH, GB_ENGLISH = "900000000000509007", "900000000000508004"
#: Historical associations: the first kinds name an heir, the others say what to consider.
HEIRS = ("900000000000526001", "900000000000527005")  # REPLACED BY, SAME AS
CONSIDER = ("900000000000523009", "900000000000524003", "900000000000530003", "900000000000528000")
#: Map reference sets -> prefix of the codes they map to; of others the set's id is the prefix.
MAPS = {"447562003": "ICD10", "6011000124106": "ICD10CM", "446608001": "ICDO"}

_HEAD = "id effectiveTime active moduleId "
COLUMNS = {
    "Concept": _HEAD + "definitionStatusId",
    "Description": _HEAD + "conceptId languageCode typeId term caseSignificanceId",
    "Relationship": _HEAD + "sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId",
    "Language": _HEAD + "refsetId referencedComponentId acceptabilityId",
    "Association": _HEAD + "refsetId referencedComponentId targetComponentId",
    "SimpleMap": _HEAD + "refsetId referencedComponentId mapTarget",
    "ExtendedMap": _HEAD + "refsetId referencedComponentId mapGroup mapPriority mapRule mapAdvice mapTarget "
    "correlationId mapCategoryId",
}  # fmt: skip
PATTERNS = {
    "Concept": "sct2_Concept_", "Description": "sct2_Description_", "Relationship": "sct2_Relationship_",
    "TextDefinition": "sct2_TextDefinition_", "Language": "der2_cRefset_Language",
    "Association": "der2_cRefset_Association", "SimpleMap": "der2_sRefset_SimpleMap",
    "ExtendedMap": "der2_iisssccRefset_ExtendedMap",
}  # fmt: skip
_TAG = re.compile(r"(.*\S) \(([^()]+)\)")
_STAMP = re.compile(r"_(\d{8})\.txt$")


class _Term(NamedTuple):
    """An active description: its place in the order of names, kind of description, text, language."""

    order: tuple[int, ...]
    kind: str
    text: str
    language: str


def read_rf2(
    path: Path, *, language: Sequence[str] = (), semantic_type: Sequence[str] = ()
) -> Iterator[Concept]:
    """Yield the concepts of a SNOMED CT snapshot by id, inactive ones too.

    Of rows with one id in several files the latest counts (an extension's where the times are equal).
    The preferred name is the synonym that the language reference set prefers: the first of `language`
    that is an id, else US English, else British, else any; the fully specified name loses its
    semantic tag, which becomes the semantic type. Inactive concepts redirect by REPLACED BY or SAME AS
    where that names one heir; what else the history names becomes "consider". Maps are
    cross-references.

    path (Path): Folder or zip of the release, or a folder with several.
    language (Sequence[str]): Language codes (en, es) and ids of language reference sets whose terms are
        kept; empty for all. The fully specified name is read in any case.
    semantic_type (Sequence[str]): Keep concepts with these semantic tags, as disorder.
    RAISES (TermlinkError): TL140 no concept or description file, TL141 another form, TL142 a value that
        the release lacks.
    """
    release = Release(path, "rf2")
    table = _snapshot(release, "Concept", required=True)
    ids = table["id"].combine_chunks()
    terms = _Terms(release, ids, language)
    parents = _pairs(ids, _relationships(release), "sourceId", "destinationId")
    history = _history(release, ids)
    maps = _maps(release, ids)
    definitions = _definitions(release, ids)
    found_tags: set[str] = set()
    for row, (sctid, active) in enumerate(
        zip(ids.to_pylist(), table["active"].to_pylist(), strict=True)
    ):
        concept = _concept(sctid, terms.of(row))
        found_tags.update(concept.semantic_types)
        if semantic_type and not set(semantic_type) & set(concept.semantic_types):
            continue
        concept.definition = definitions.get(row, "")
        concept.xrefs = [Xref(xref) for xref in maps.get(row, ())]
        if active == "1":
            concept.relations = [Relation("is_a", ids[p].as_py()) for p in parents.get(row, ())]
        else:
            heirs, others = history.get(row, ([], []))
            concept.obsolete = True
            if len(heirs) == 1:
                concept.replaced_by = heirs[0]
            else:
                others = [*heirs, *others]
            concept.relations = [Relation("consider", other) for other in sorted(set(others))]
        yield concept
    if missing := set(semantic_type) - found_tags:
        raise _unknown(release, "semantic-type", min(missing), found_tags)


def describe_rf2(path: Path) -> dict[str, str]:
    """Release: the latest date in the names of the concept files; and the licence."""
    members = Release(path, "rf2").find(PATTERNS["Concept"] + r".*Snapshot.*\.txt")
    stamps = [found[1] for m in members if (found := _STAMP.search(m.name))]
    return {"source": "snomedct", "release": max(stamps, default=""), "licence": LICENCE}


def _snapshot(release: Release, name: str, *, required: bool = False) -> pa.Table:
    """Rows of one kind of file, one for each id: the latest over all files, sorted by id."""
    pattern = PATTERNS[name] + r".*Snapshot.*\.txt"
    members = (
        release.require(pattern, f"{PATTERNS[name]}*Snapshot*.txt")
        if required
        else release.find(pattern)
    )
    # the international edition first, so that an extension's row wins where the times are equal
    members.sort(key=lambda member: ("_INT_" not in member.name, member.place))
    columns = COLUMNS["Description" if name == "TextDefinition" else name].split()
    keep = [c for c in columns if c not in ("moduleId", "caseSignificanceId", "definitionStatusId")]
    batches = [
        batch
        for member in members
        for batch in release.read([member], delimiter="\t", columns=columns, keep=keep, header=True)
    ]
    table = pa.Table.from_batches(batches, pa.schema([(c, pa.string()) for c in keep]))
    if not len(table):
        if required:
            raise TermlinkError("TL106", path=release.path)
        return table
    order = pc.sort_indices(table, [("id", "ascending"), ("effectiveTime", "ascending")])  # stable
    table = table.take(order).combine_chunks()
    ids = table["id"].combine_chunks()
    last = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1)).to_pylist()
    return table.filter(pa.array([*last, True]))


def _active(table: pa.Table) -> pa.Table:
    return table.filter(pc.equal(table["active"], "1"))


class _Terms:
    """The active descriptions of each concept row, in the order of names."""

    def __init__(self, release: Release, ids: pa.StringArray, language: Sequence[str]) -> None:
        table = _active(_snapshot(release, "Description", required=True))
        table = table.append_column("row", pc.index_in(table["conceptId"], value_set=ids))
        codes = [value.lower() for value in language if not value.isdigit()]
        sets = [value for value in language if value.isdigit()]
        self._check(release, table, codes)
        self._preferred = _acceptability(release, sets)
        if codes or sets:
            kept = pc.is_in(pc.utf8_lower(table["languageCode"]), pa.array(codes, pa.string()))
            for _, members in self._preferred[: len(sets)]:
                kept = pc.or_(kept, pc.is_in(table["id"], members))
            table = table.filter(pc.or_(kept, pc.equal(table["typeId"], FSN)))
        table = table.filter(pc.is_valid(table["row"])).sort_by(
            [("row", "ascending"), ("id", "ascending")]
        )
        self._table = table.combine_chunks()
        rows = self._table["row"].to_numpy()
        self._offsets = np.searchsorted(rows, np.arange(len(ids) + 1))
        preferred = [pc.is_in(self._table["id"], p).to_pylist() for p, _ in self._preferred]
        self._columns = [
            self._table[name].to_pylist() for name in ("typeId", "term", "languageCode")
        ] + preferred

    def _check(self, release: Release, table: pa.Table, codes: Sequence[str]) -> None:
        known = {code.lower() for code in pc.unique(table["languageCode"]).to_pylist()}
        if missing := set(codes) - known:
            raise _unknown(release, "language", min(missing), known)

    def of(self, row: int) -> list[_Term]:
        """Best name first."""
        here = slice(self._offsets[row], self._offsets[row + 1])
        kinds, texts, languages, *preferred = (column[here] for column in self._columns)
        terms = []
        for i, (kind, text, language) in enumerate(zip(kinds, texts, languages, strict=True)):
            # preferred by the first set, by the second, ...; English; then the description's id
            order = (*(int(not p[i]) for p in preferred), int(language != "en"), i)
            terms.append(_Term(order, kind, text, language))
        return sorted(terms)


def _acceptability(
    release: Release, sets: Sequence[str]
) -> list[tuple[pa.StringArray, pa.StringArray]]:
    """Per language reference set, in the order of trust: descriptions it prefers, and its members."""
    table = _active(_snapshot(release, "Language"))
    known = sorted(pc.unique(table["refsetId"]).to_pylist())
    if missing := set(sets) - set(known):
        raise _unknown(release, "language", min(missing), known)
    order = list(
        dict.fromkeys([*sets, *(s for s in (US_ENGLISH, GB_ENGLISH) if s in known), *known])
    )
    found = []
    for refset in order:
        rows = table.filter(pc.equal(table["refsetId"], refset))
        best = rows.filter(pc.equal(rows["acceptabilityId"], PREFERRED))
        found.append(
            (
                best["referencedComponentId"].combine_chunks(),
                rows["referencedComponentId"].combine_chunks(),
            )
        )
    return found


def _concept(sctid: str, terms: Sequence[_Term]) -> Concept:
    full = next((t for t in terms if t.kind == FSN), None)
    tagged = _TAG.fullmatch(full.text) if full else None
    title = (tagged[1] if tagged else full.text) if full else sctid
    synonyms = [t for t in terms if t.kind == SYNONYM]
    language = synonyms[0].language if synonyms else full.language if full else "en"
    preferred = synonyms[0].text if synonyms else title
    names: dict[tuple[str, str], Name] = {}
    for term in [*synonyms[1:], *([full._replace(text=title)] if full else [])]:
        if (term.text, term.language) != (preferred, language):
            names[term.text, term.language] = Name(term.text, "exact", term.language)
    types = [tagged[2]] if tagged else []
    return Concept(sctid, preferred, list(names.values()), semantic_types=types, language=language)


def _relationships(release: Release) -> pa.Table:
    table = _active(_snapshot(release, "Relationship"))
    return table.filter(pc.equal(table["typeId"], IS_A))


def _pairs(ids: pa.StringArray, table: pa.Table, first: str, second: str) -> dict[int, list[int]]:
    """Row of the first column's concept -> rows of the second's, sorted."""
    rows = (pc.index_in(table[name], value_set=ids).to_pylist() for name in (first, second))
    found: dict[int, list[int]] = {}
    for a, b in sorted({(a, b) for a, b in zip(*rows, strict=True) if None not in (a, b)}):
        found.setdefault(a, []).append(b)
    return found


def _history(release: Release, ids: pa.StringArray) -> dict[int, tuple[list[str], list[str]]]:
    """Heirs, and concepts to consider, of each inactive concept row."""
    table = _active(_snapshot(release, "Association"))
    rows = pc.index_in(table["referencedComponentId"], value_set=ids).to_pylist()
    best: dict[int, dict[str, set[str]]] = {}
    for row, kind, target in zip(
        rows, table["refsetId"].to_pylist(), table["targetComponentId"].to_pylist(), strict=True
    ):
        if row is not None:
            best.setdefault(row, {}).setdefault(kind, set()).add(target)
    found = {}
    for row, kinds in best.items():
        heirs = next((kinds[kind] for kind in HEIRS if kind in kinds), set())
        others = {t for kind in (*HEIRS, *CONSIDER) for t in kinds.get(kind, ())} - heirs
        found[row] = (sorted(heirs), sorted(others))
    return found


def _maps(release: Release, ids: pa.StringArray) -> dict[int, list[str]]:
    found: dict[int, dict[str, None]] = {}
    for name in ("SimpleMap", "ExtendedMap"):
        table = _active(_snapshot(release, name))
        rows = pc.index_in(table["referencedComponentId"], value_set=ids).to_pylist()
        columns = (table[column].to_pylist() for column in ("refsetId", "mapTarget"))
        for row, refset, target in sorted(
            (r, s, t) for r, s, t in zip(rows, *columns, strict=True) if r is not None and t
        ):
            found.setdefault(row, {})[f"{MAPS.get(refset, refset)}:{target}"] = None
    return {row: list(xrefs) for row, xrefs in found.items()}


def _definitions(release: Release, ids: pa.StringArray) -> dict[int, str]:
    """Text definition of each concept row, an English one if there is one."""
    table = _active(_snapshot(release, "TextDefinition"))
    rows = pc.index_in(table["conceptId"], value_set=ids).to_pylist()
    columns = (table[name].to_pylist() for name in ("languageCode", "id", "term"))
    best: dict[int, tuple[bool, str, str]] = {}
    for row, language, key, term in zip(rows, *columns, strict=True):
        candidate = (language != "en", key, term)
        if row is not None and candidate < best.get(row, (True, "~", "")):
            best[row] = candidate
    return {row: " ".join(term.split()) for row, (_, _, term) in best.items()}


def _unknown(release: Release, option: str, value: Optional[str], found: object) -> TermlinkError:
    known = ", ".join(sorted(map(str, found)))  # type: ignore[call-overload]
    return TermlinkError("TL142", path=release.path, option=option, value=value, known=known[:300])
