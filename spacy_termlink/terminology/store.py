"""Terminology: an opened terminology folder, memory-mapped, with lookups by id and by name."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import TermlinkError
from ..files import read_json, restore_folder, sha256_file
from ..text import normalize
from ..types import NAME_KINDS
from .builder import FORMAT_VERSION, SCHEMAS, graph_of, hash_text
from .graph import Graph

LOOKUPS = (
    "name_offsets", "concept_rows", "kinds", "name_hashes", "name_rows",
    "id_hashes", "id_rows", "alt_hashes", "alt_rows",
)  # fmt: skip


class Terminology:
    """Concepts, names, relations, redirects and cross-references of one release.

    Concepts and names are addressed by row: concept rows are sorted by id, the names of a concept
    lie together, and row i of an index over the names is name row i.

    path (Path): The folder.
    meta (dict): Its meta.json.
    concepts, names, relations, redirects, xrefs (pa.Table): The tables of DESIGN.md, section 3.
    concept_rows (np.ndarray): Concept row of each name row, (n_names,) int32.
    kinds (np.ndarray): Index into NAME_KINDS of each name row, (n_names,) uint8.
    """

    def __init__(self, path: Path, meta: dict[str, Any], tables: dict[str, pa.Table],
                 lookup: dict[str, np.ndarray]) -> None:  # fmt: skip
        self.path = path
        self.meta = meta
        self.concepts = tables["concepts"]
        self.names = tables["names"]
        self.relations = tables["relations"]
        self.redirects = tables["redirects"]
        self.xrefs = tables["xrefs"]
        self.concept_rows = lookup["concept_rows"]
        self.kinds = lookup["kinds"]
        self._lookup = lookup
        self._ids = _only_chunk(self.concepts["concept_id"])
        self._preferred = _only_chunk(self.concepts["name"])
        self._texts = _only_chunk(self.names["text"])
        self._normalized = _only_chunk(self.names["normalized"])
        self._alt_ids = _only_chunk(self.redirects["alt_id"])

    @classmethod
    def open(cls, path: Path | str) -> "Terminology":
        """Map a terminology folder; no table is read into memory.

        RAISES (TermlinkError): TL001, TL103 or TL109 if it is none, is torn, or of another version.
        """
        path = Path(path)
        restore_folder(path)
        if not path.is_dir():
            raise TermlinkError("TL001", path=path)
        if not (path / "meta.json").is_file():
            raise TermlinkError("TL103", path=path, reason="it has no meta.json")
        meta = read_json(path / "meta.json")
        found = meta.get("format_version") if isinstance(meta, dict) else None
        if found != FORMAT_VERSION:
            raise TermlinkError("TL109", path=path, found=found, expected=FORMAT_VERSION)
        _check_sizes(path, meta)
        tables = {name: _map_table(path / f"{name}.arrow", name) for name in SCHEMAS}
        lookup = {name: _map_array(path / "lookup" / f"{name}.npy") for name in LOOKUPS}
        return cls(path, meta, tables, lookup)

    def verify(self) -> None:
        """Compare every file with its sha256.

        RAISES (TermlinkError): TL007, naming the first file that differs; TL103 if none are listed.
        """
        if not self.meta.get("files"):
            raise TermlinkError("TL103", path=self.path, reason="its meta.json lists no files")
        for name, entry in self.meta["files"].items():
            if (found := sha256_file(self.path / name)) != entry["sha256"]:
                raise TermlinkError(
                    "TL007", path=self.path / name, found=found, expected=entry["sha256"]
                )

    def info(self) -> dict[str, Any]:
        """What `termlink info` prints: counts, names by kind, depth, release, licence, bytes."""
        keys = ("source", "release", "licence", "shareable", "url", "reader", "reader_version")
        n_of_kind = np.bincount(self.kinds, minlength=len(NAME_KINDS)).tolist()
        return {
            "kind": "terminology",
            "path": str(self.path),
            **{key: self.meta[key] for key in keys},
            "counts": self.meta["counts"],
            "names_by_kind": dict(zip(NAME_KINDS, n_of_kind, strict=True)),
            "depth": self.graph.max_depth,
            "bytes": sum(entry["bytes"] for entry in self.meta["files"].values()),
            "inputs": self.meta["inputs"],
        }

    @property
    def n_concepts(self) -> int:
        """Concept rows, retired ones included."""
        return len(self._ids)

    @property
    def n_names(self) -> int:
        """Name rows, all of living concepts."""
        return len(self._texts)

    @cached_property
    def graph(self) -> Graph:
        """The is_a hierarchy over concept rows; built at first use."""
        return graph_of(self.relations, self.concepts["concept_id"])

    @cached_property
    def obsolete(self) -> np.ndarray:
        """Which concept rows are retired, (n_concepts,) bool."""
        return self.concepts["obsolete"].to_numpy()

    # --- ids

    def find_row(self, concept_id: str) -> int | None:
        """Concept row of exactly this id (retired ones too), None if there is none."""
        return self._find(self._ids, "id", concept_id)

    def resolve(self, concept_id: str) -> str | None:
        """The living id that an id stands for: itself, or where it redirects; else None."""
        row = self.find_row(concept_id)
        if row is not None and not self.obsolete[row]:
            return concept_id
        row = self._find(self._alt_ids, "alt", concept_id)
        return None if row is None else self.redirects["concept_id"][row].as_py()

    def row(self, concept_id: str) -> int:
        """Row of the living concept that an id stands for.

        RAISES (TermlinkError): TL107 if it stands for none.
        """
        living = self.resolve(concept_id)
        row = None if living is None else self.find_row(living)
        if row is None:
            raise TermlinkError("TL107", concept_id=concept_id, terminology=self.path)
        return row

    def concept_id(self, row: int) -> str:
        """Id of a concept row."""
        return self._ids[row].as_py()

    def concept_ids(self, rows: Sequence[int]) -> list[str]:
        """Ids of concept rows."""
        return _strings(self._ids, rows)

    def preferred_name(self, row: int) -> str:
        """Preferred name of a concept row."""
        return self._preferred[row].as_py()

    def preferred_names(self, rows: Sequence[int]) -> list[str]:
        """Preferred names of concept rows."""
        return _strings(self._preferred, rows)

    # --- names

    def name_text(self, name_row: int) -> str:
        """Text of a name row, as the source writes it."""
        return self._texts[name_row].as_py()

    def name_texts(self, name_rows: Sequence[int]) -> list[str]:
        """Texts of name rows."""
        return _strings(self._texts, name_rows)

    def name_normalized(self, name_row: int) -> str:
        """Normal form of a name row."""
        return self._normalized[name_row].as_py()

    def name_kind(self, name_row: int) -> str:
        """Kind of a name row, one of NAME_KINDS."""
        return NAME_KINDS[self.kinds[name_row]]

    def name_rows(self, row: int) -> range:
        """Name rows of a concept row, preferred name first; empty for a retired concept."""
        offsets = self._lookup["name_offsets"]
        return range(int(offsets[row]), int(offsets[row + 1]))

    def lookup(self, text: str, *, normalized: bool = False) -> list[int]:
        """Name rows whose normal form is that of `text`, ascending.

        normalized (bool): `text` is in normal form already.
        """
        text = text if normalized else normalize(text)
        if not text:
            return []  # two texts of punctuation only have nothing in common
        return self._find_all(self._normalized, "name", text)

    # --- the hierarchy by id

    def parents(self, concept_id: str) -> list[str]:
        """Ids one is_a step up."""
        return [self.concept_id(r) for r in self.graph.parents(self.row(concept_id))]

    def children(self, concept_id: str) -> list[str]:
        """Ids one is_a step down."""
        return [self.concept_id(r) for r in self.graph.children(self.row(concept_id))]

    def ancestors(self, concept_id: str) -> list[str]:
        """Ids any number of is_a steps up, sorted."""
        return [self.concept_id(r) for r in sorted(self.graph.ancestors(self.row(concept_id)))]

    def siblings(self, concept_id: str) -> list[str]:
        """Ids that share a parent, sorted."""
        return [self.concept_id(r) for r in self.graph.siblings(self.row(concept_id))]

    def depth(self, concept_id: str) -> int:
        """Least number of is_a steps from a root."""
        return self.graph.depth(self.row(concept_id))

    def mask(self, branches_or_types: Sequence[str]) -> np.ndarray:
        """Concepts allowed by a list of branches and semantic types.

        branches_or_types (Sequence[str]): Concept ids (the concept and all below it) or semantic types.
        RETURNS (np.ndarray): (n_concepts,) bool.
        RAISES (TermlinkError): TL107 for a value that is neither.
        """
        allowed = np.zeros(self.n_concepts, dtype=bool)
        for value in branches_or_types:
            if (living := self.resolve(value)) is not None:
                row = self.row(living)
                allowed[[row, *self.graph.descendants(row)]] = True
            elif value in self._rows_of_type:
                allowed[self._rows_of_type[value]] = True
            else:
                raise TermlinkError("TL107", concept_id=value, terminology=self.path)
        return allowed

    @cached_property
    def _rows_of_type(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, types in enumerate(self.concepts["semantic_types"].to_pylist()):
            for semantic_type in types or ():
                rows.setdefault(semantic_type, []).append(row)
        return rows

    def _find(self, strings: pa.StringArray, prefix: str, text: str) -> int | None:
        rows = self._find_all(strings, prefix, text)
        return rows[0] if rows else None

    def _find_all(self, strings: pa.StringArray, prefix: str, text: str) -> list[int]:
        hashes, rows = self._lookup[f"{prefix}_hashes"], self._lookup[f"{prefix}_rows"]
        wanted = hash_text(text)
        at = bisect_left(hashes.data, wanted)  # np.searchsorted: four times the time for one
        found = []
        while at < len(hashes) and hashes[at] == wanted:
            row = int(rows[at])
            if strings[row].as_py() == text:  # two texts can share a hash
                found.append(row)
            at += 1
        return found


def _check_sizes(path: Path, meta: dict[str, Any]) -> None:
    for name, entry in meta.get("files", {}).items():
        if not (path / name).is_file():
            raise TermlinkError("TL103", path=path, reason=f"{name} is missing")
        if (size := (path / name).stat().st_size) != entry["bytes"]:
            reason = f"{name} has {size} bytes, expected {entry['bytes']}"
            raise TermlinkError("TL103", path=path, reason=reason)


def _map_table(path: Path, name: str) -> pa.Table:
    if not path.is_file():
        raise TermlinkError("TL103", path=path.parent, reason=f"{path.name} is missing")
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise TermlinkError("TL103", path=path.parent, reason=f"{path.name}: {error}") from error
    if table.schema != SCHEMAS[name]:
        raise TermlinkError("TL103", path=path.parent, reason=f"{path.name} has other columns")
    return table


def _map_array(path: Path) -> np.ndarray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        where = f"lookup/{path.name}"
        raise TermlinkError("TL103", path=path.parent.parent, reason=f"{where}: {error}") from error
    # an ndarray view of the map: np.memmap's own indexing is several times slower
    return array.view(np.ndarray)


def _strings(strings: pa.StringArray, rows: Sequence[int]) -> list[str]:
    # many at once take a tenth of the time that one by one do
    return strings.take(pa.array(rows, type=pa.int64())).to_pylist()


def _only_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
