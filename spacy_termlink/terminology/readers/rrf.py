"""UMLS Rich Release Format, from the user's own licensed copy: MRCONSO, MRSTY, MRDEF, MRREL, MRCUI."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import TermlinkError
from ..concept import Concept, Name, Relation, Xref
from ._release import Member, Release
from ._rows import Grouped, grouped, hierarchy

#: What is read of a folder, and hashed for meta.json.
RELEASE_FILES = r"MR(CONSO|STY|DEF|REL|CUI)\.RRF(\.[a-z]{2})?(\.gz)?|release\.dat|.*\.zip"
LICENCE = "UMLS Metathesaurus License (own copy; not to be shared)"

COLUMNS = {
    "MRCONSO": "CUI LAT TS LUI STT SUI ISPREF AUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF",
    "MRSTY": "CUI TUI STN STY ATUI CVF",
    "MRDEF": "CUI AUI ATUI SATUI SAB DEF SUPPRESS CVF",
    "MRREL": "CUI1 AUI1 STYPE1 REL CUI2 AUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF",
    "MRCUI": "CUI1 VER REL RELA MAPREASON CUI2 MAPIN",
}
#: UMLS's three letters -> BCP 47; others stay as they are, in lower case.
LANGUAGES = {
    "ENG": "en", "SPA": "es", "FRE": "fr", "GER": "de", "POR": "pt", "DUT": "nl", "ITA": "it",
    "JPN": "ja", "CZE": "cs", "RUS": "ru", "SWE": "sv", "FIN": "fi", "NOR": "no", "DAN": "da",
    "HUN": "hu", "POL": "pl", "CHI": "zh", "KOR": "ko", "LAV": "lv", "EST": "et", "GRE": "el",
    "TUR": "tr", "SCR": "hr", "HEB": "he", "BAQ": "eu", "UKR": "uk", "ARA": "ar",
}  # fmt: skip
#: Term types that are abbreviations, and vocabularies of consumers' words.
ABBREVIATIONS = frozenset(("AB", "ACR", "MTH_ACR", "AA", "QAB"))
LAYPERSON = frozenset(("CHV", "MEDLINEPLUS"))
#: Rows of MRREL and MRDEF whose concepts are looked up at once.
ROWS_LOOKED_UP = 4_000_000
#: Definitions are taken from these first, then from the vocabulary that comes first by name.
DEFINED_BY = ("NCI", "MSH", "HPO", "SNOMEDCT_US")


class Filters(NamedTuple):
    """What to keep of MRCONSO; an empty list keeps all.

    sab (Sequence[str]): Source vocabularies, as SNOMEDCT_US.
    language (Sequence[str]): As ENG or en.
    tty (Sequence[str]): Term types, as PT.
    semantic_type (Sequence[str]): TUI, name, or the start of a tree number ("B2.2.1").
    suppressed (bool): Names that are suppressed or obsolete in their source, too.
    """

    sab: Sequence[str] = ()
    language: Sequence[str] = ()
    tty: Sequence[str] = ()
    semantic_type: Sequence[str] = ()
    suppressed: bool = False

    @property
    def any(self) -> bool:
        """Whether concepts may be left out."""
        return bool(self.sab or self.language or self.tty or self.semantic_type)


def read_rrf(
    path: Path,
    *,
    sab: Sequence[str] = (),
    language: Sequence[str] = (),
    tty: Sequence[str] = (),
    semantic_type: Sequence[str] = (),
    suppressed: bool = False,
) -> Iterator[Concept]:
    """Yield the concepts of a UMLS release by CUI, then its retired CUIs.

    The preferred name is the one that UMLS prefers (TS=P, STT=PF, ISPREF=Y), English before other
    languages; where the filters leave that out, the next by the same marks, then the file's order.
    A text that several vocabularies have is one name of the first of them. Codes become
    cross-references `SAB:CODE`, TUIs semantic types, PAR and CHD is_a; edges of a circle, which sources
    that disagree make, become "broader", as do RB and RN.

    path (Path): Folder or zip that holds MRCONSO.RRF (.gz parts, too); the others are optional.
    sab, language, tty, semantic_type, suppressed: See Filters. Relations and definitions are of the
        vocabularies of `sab`, too.
    RAISES (TermlinkError): TL140 no MRCONSO, TL141 another form, TL142 a value that the release lacks.
    """
    release = Release(path, "rrf")
    filters = Filters(sab, language, tty, semantic_type, suppressed)
    names = _names(release, filters)
    ids, types = _types(release, filters, names["CUI"])
    rows = pc.index_in(names["CUI"], value_set=ids)
    names = names.drop_columns("CUI").append_column("row", rows).filter(pc.is_valid(rows))
    atoms = grouped(names.sort_by([("row", "ascending"), ("rank", "ascending")]), len(ids))
    del names, rows  # of ten million names a gigabyte
    definitions = _definitions(release, filters, ids)
    relations = _relations(release, filters, ids)
    rows_of_concepts = zip(
        _strings(ids),
        atoms.lists("STR", "CODE", "LAT", "SAB", "TTY"),
        types.lists("value"),
        relations.lists("kind", "object"),
        strict=True,
    )
    for row, (cui, columns, (tuis,), (kinds, objects)) in enumerate(rows_of_concepts):
        concept = _concept(cui, columns)
        concept.semantic_types = tuis
        concept.definition = definitions.get(row, "")
        concept.relations = list(map(Relation, kinds, objects))
        yield concept
    yield from _retired(release, filters, ids)


def describe_rrf(path: Path) -> dict[str, str]:
    """Release as release.dat or the folder's name says, and the licence."""
    found = re.search(r"20\d\d[A-Z]{2}", path.resolve().name)
    for member in Release(path, "rrf").find(r"release\.dat"):
        with member.open() as file:
            stated = re.search(rb"umls\.release\.name=(\S+)", file.read(1 << 16))
            if stated:
                return {"source": "umls", "release": stated[1].decode(), "licence": LICENCE}
    return {"source": "umls", "release": found[0] if found else "", "licence": LICENCE}


def _table(
    release: Release, name: str, keep: str, *, required: bool = False
) -> Iterator[pa.RecordBatch]:
    members: list[Member] = release.find(rf"{name}\.RRF(\.[a-z]{{2}})?")
    if required:
        members = release.require(rf"{name}\.RRF(\.[a-z]{{2}})?", f"{name}.RRF")
    # each row ends with a delimiter: one more, empty column
    columns = [*COLUMNS[name].split(), "end"]
    return release.read(members, delimiter="|", columns=columns, keep=keep.split())


def _names(release: Release, filters: Filters) -> pa.Table:
    """Kept rows of MRCONSO with a rank within their concept."""
    kept, seen = [], {"sab": set(), "language": set(), "tty": set()}  # type: ignore[var-annotated]
    wanted = {
        "sab": ("SAB", set(filters.sab)),
        "language": ("LAT", {_three_letters(value) for value in filters.language}),
        "tty": ("TTY", set(filters.tty)),
    }
    n_before = 0
    fields = "CUI LAT TS STT ISPREF SAB TTY CODE STR SUPPRESS"
    for batch in _table(release, "MRCONSO", fields, required=True):
        for name, (column, values) in wanted.items():
            if values:
                seen[name].update(pc.unique(batch[column]).to_pylist())
                batch = batch.filter(pc.is_in(batch[column], pa.array(sorted(values))))
        if not filters.suppressed:
            batch = batch.filter(pc.equal(batch["SUPPRESS"], "N"))
        kept.append(_ranked(batch, n_before))
        n_before += batch.num_rows
    for name, (_, values) in wanted.items():
        if missing := values - seen[name]:
            raise _unknown(release, name.replace("_", "-"), min(missing), seen[name])
    if not n_before:
        raise TermlinkError("TL106", path=release.path)
    return pa.Table.from_batches(kept).unify_dictionaries()


def _ranked(batch: pa.RecordBatch, n_before: int) -> pa.RecordBatch:
    """The columns that concepts are made of, texts that repeat as codes, and the rank of a name."""
    marks = [("LAT", "ENG"), ("TS", "P"), ("STT", "PF"), ("ISPREF", "Y")]
    rank = np.zeros(batch.num_rows, dtype=np.int64)
    for column, best in marks:
        rank = 2 * rank + (1 - pc.equal(batch[column], best).to_numpy(zero_copy_only=False))
    order = n_before + np.arange(batch.num_rows, dtype=np.int64)
    columns = {name: batch[name] for name in ("CUI", "STR", "CODE")}
    # int32 codes would differ between batches: Arrow unifies the dictionaries
    columns |= {name: batch[name].dictionary_encode() for name in ("LAT", "SAB", "TTY")}
    return pa.RecordBatch.from_pydict({**columns, "rank": pa.array((rank << 40) + order)})


def _three_letters(language: str) -> str:
    return next((k for k, v in LANGUAGES.items() if v == language.lower()), language.upper())


def _types(
    release: Release, filters: Filters, cuis: pa.ChunkedArray
) -> tuple[pa.StringArray, Grouped]:
    """CUIs to keep, sorted, and the TUIs of each."""
    ids = pc.unique(cuis)
    ids = ids.take(pc.sort_indices(ids))
    kept = list(_table(release, "MRSTY", "CUI TUI STN STY"))
    if not kept:
        if filters.semantic_type:
            raise TermlinkError("TL140", path=release.path, format="rrf", file="MRSTY.RRF")
        kept = [
            pa.RecordBatch.from_pydict({name: pa.array([], pa.string()) for name in ("CUI", "TUI")})
        ]
    table = pa.Table.from_batches(kept)
    if filters.semantic_type:
        fits = np.zeros(len(table), dtype=bool)
        for value in filters.semantic_type:
            found = pc.or_(pc.equal(table["TUI"], value), pc.equal(table["STY"], value))
            if re.fullmatch(r"[AB]\d?[\d.]*", value):
                below = pc.starts_with(table["STN"], value + ".")
                found = pc.or_(found, pc.or_(pc.equal(table["STN"], value), below))
            here = found.to_numpy(zero_copy_only=False)
            if not here.any():
                names = pc.unique(table["TUI"]).to_pylist()
                raise _unknown(release, "semantic-type", value, names)
            fits |= here
        ids = ids.filter(pc.is_in(ids, pc.unique(table["CUI"].filter(pa.array(fits)))))
    rows = pc.index_in(table["CUI"], value_set=ids)
    types = pa.table({"row": rows, "value": table["TUI"]}).filter(pc.is_valid(rows))
    return ids, grouped(types.sort_by([("row", "ascending"), ("value", "ascending")]), len(ids))


def _definitions(release: Release, filters: Filters, ids: pa.StringArray) -> dict[int, str]:
    """The best definition of each concept row."""
    best: dict[int, tuple[int, str, str]] = {}
    for batch in _gathered(_table(release, "MRDEF", "CUI SAB DEF SUPPRESS")):
        rows = pc.index_in(batch["CUI"], value_set=ids).to_pylist()
        columns = (batch[name].to_pylist() for name in ("SAB", "DEF", "SUPPRESS"))
        for row, sab, text, suppress in zip(rows, *columns, strict=True):
            if row is None or suppress != "N" or (filters.sab and sab not in filters.sab):
                continue
            order = DEFINED_BY.index(sab) if sab in DEFINED_BY else len(DEFINED_BY)
            if row not in best or (order, sab) < best[row][:2]:
                best[row] = (order, sab, text)
    return {row: text for row, (_, _, text) in best.items()}


def _relations(release: Release, filters: Filters, ids: pa.StringArray) -> Grouped:
    """is_a and broader of each concept."""
    edges: dict[str, list[np.ndarray]] = {"is_a": [], "broader": []}
    # the first concept has a parent (PAR) or broader concept (RB) in the second, and the other way
    kinds = {"PAR": ("is_a", False), "CHD": ("is_a", True), "RB": ("broader", False),
             "RN": ("broader", True)}  # fmt: skip
    for batch in _gathered(_edge_rows(release, filters, sorted(kinds))):
        first, second = (
            pc.fill_null(pc.index_in(batch[name], value_set=ids), -1).to_numpy()
            for name in ("CUI1", "CUI2")
        )
        for rel, (kind, turned) in kinds.items():
            here = pc.equal(batch["REL"], rel).to_numpy()
            here &= (first >= 0) & (second >= 0) & (first != second)
            pair = (second[here], first[here]) if turned else (first[here], second[here])
            edges[kind].append(np.stack(pair).astype(np.int64))
    return hierarchy(edges, ids)


def _edge_rows(
    release: Release, filters: Filters, kinds: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Rows of MRREL of some kinds that are neither suppressed nor of another vocabulary."""
    for batch in _table(release, "MRREL", "CUI1 REL CUI2 SAB SUPPRESS"):
        batch = batch.filter(pc.equal(batch["SUPPRESS"], "N"))
        if filters.sab:
            batch = batch.filter(pc.is_in(batch["SAB"], pa.array(sorted(filters.sab))))
        batch = batch.filter(pc.is_in(batch["REL"], pa.array(kinds)))
        yield batch.select(["CUI1", "REL", "CUI2"])


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together: each look-up among millions of ids hashes all of them first."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= ROWS_LOOKED_UP:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _concept(cui: str, columns: list[list]) -> Concept:
    names: dict[tuple[str, str], Name] = {}
    xrefs: dict[str, None] = {}
    for text, code, lat, sab, tty in zip(*columns, strict=True):
        if code != "NOCODE":
            xrefs[code if ":" in code else f"{sab}:{code}"] = None
        if (text, lat) in names:
            continue
        kind = "exact"
        if tty in ABBREVIATIONS:
            kind = "abbreviation"
        elif sab in LAYPERSON:
            kind = "layperson"
        names[text, lat] = Name(text, kind, LANGUAGES.get(lat) or lat.lower(), sab)
    first, *others = names.values()
    return Concept(cui, first.text, others, xrefs=[Xref(x) for x in xrefs], language=first.language)


def _retired(release: Release, filters: Filters, ids: pa.StringArray) -> Iterator[Concept]:
    """CUIs of MRCUI that are no more: merged ones (SY) with their heir, the others with what UMLS says to
    consider; with filters only those whose heir is kept."""
    living = set(_strings(ids))
    heirs: dict[str, str] = {}
    consider: dict[str, set[str]] = {}
    for batch in _table(release, "MRCUI", "CUI1 REL CUI2"):
        for old, rel, new in zip(*(batch[n].to_pylist() for n in batch.schema.names), strict=True):
            if old in living:
                continue
            others = consider.setdefault(old, set())
            if rel == "SY" and new:
                heirs[old] = min(new, heirs.get(old, new))
            elif new:
                others.add(new)
    for old in sorted(consider):
        heir: Optional[str] = heirs.get(old)
        if filters.any and _end_of(old, heirs) not in living:
            continue
        relations = [Relation("consider", new) for new in sorted(consider[old])]
        # MRCUI gives no names
        yield Concept(old, old, obsolete=True, replaced_by=heir or "", relations=relations)


def _end_of(cui: str, heirs: dict[str, str]) -> str:
    seen: set[str] = set()
    while cui in heirs and cui not in seen:
        seen.add(cui)
        cui = heirs[cui]
    return cui


def _strings(ids: pa.StringArray, size: int = 100_000) -> Iterator[str]:
    for start in range(0, len(ids), size):
        yield from ids.slice(start, size).to_pylist()


def _unknown(release: Release, option: str, value: str, found: Any) -> TermlinkError:
    known = ", ".join(sorted(map(str, found)))
    known = known if len(known) <= 300 else f"{known[:300]} ..."
    return TermlinkError("TL142", path=release.path, option=option, value=value, known=known)
