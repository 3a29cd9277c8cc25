"""Writes a terminology folder from a stream of concepts (DESIGN.md, section 3)."""

import gc
import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import __version__
from ..errors import TermlinkError
from ..files import atomic_folder, save_arrays, sha256_file, write_json
from ..types import NAME_KINDS
from .blocks import BLOCK_ROWS, Blocks, NameBlocks
from .check import check_concept
from .concept import Concept, Name
from .graph import Graph, check_acyclic

FORMAT_VERSION = 1

SCHEMAS = {
    "concepts": pa.schema(
        [
            ("concept_id", pa.string()),
            ("name", pa.string()),
            ("definition", pa.string()),
            ("semantic_types", pa.list_(pa.string())),
            ("obsolete", pa.bool_()),
            ("replaced_by", pa.string()),
        ]
    ),
    "names": pa.schema(
        [
            ("concept_id", pa.string()),
            ("text", pa.string()),
            ("normalized", pa.string()),
            ("kind", pa.string()),
            ("language", pa.string()),
            ("source", pa.string()),
        ]
    ),
    "relations": pa.schema(
        [("subject", pa.string()), ("type", pa.string()), ("object", pa.string())]
    ),
    "redirects": pa.schema([("alt_id", pa.string()), ("concept_id", pa.string())]),
    "xrefs": pa.schema(
        [("concept_id", pa.string()), ("xref", pa.string()), ("predicate", pa.string())]
    ),
}


def build_terminology(
    concepts: Iterable[Concept],
    path: Path,
    *,
    meta: dict[str, Any] | None = None,
    n_process: int = 1,
) -> dict[str, Any]:
    """Write concepts to a terminology folder, atomically; concepts sorted by id, so that a row's
    number orders as its id does, and names by concept, then kind, in the source's order.

    concepts (Iterable[Concept]): In any order; ids must be unique.
    path (Path): Folder to write; a terminology that is there is replaced as a whole.
    meta (dict): source, release, licence, shareable, reader, inputs: copied into meta.json.
    n_process (int): With more than one, names are normalised in the others; the result is the same.
    RAISES (TermlinkError): TL002 something else is there, TL101 double id, TL102 cycle, TL106 no concept, TL110 a text that is none.
    RETURNS (dict): The meta.json written.
    """
    path = Path(path)
    _check_replaceable(path)
    # errors in what is read name the source, not the folder to write
    inputs = [entry["file"] for entry in (meta or {}).get("inputs", ())]
    tables = _tables(concepts, ", ".join(inputs) or path, n_process)
    _check_graph(tables)
    with atomic_folder(path) as folder:
        return write_folder(folder, tables, _meta(tables, meta or {}))


def _check_replaceable(path: Path) -> None:
    """Refuse to put a terminology in the place of what is none: -o may name a folder of notes."""
    if path.is_dir() and ((path / "concepts.arrow").is_file() or not any(path.iterdir())):
        return
    if path.exists():
        raise TermlinkError("TL002", path=path, kind="terminology")


def write_folder(folder: Path, tables: dict[str, pa.Table], meta: dict[str, Any]) -> dict[str, Any]:
    """Write the files of a terminology to an existing folder, meta.json last.

    tables (dict[str, pa.Table]): One per name of SCHEMAS.
    meta (dict): What meta.json says; size and sha256 of each file are added.
    RETURNS (dict): The meta.json written.
    """
    for name, table in tables.items():
        write_table(folder / f"{name}.arrow", table)
    write_lookup(folder / "lookup", tables)
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in (".arrow", ".npy")]
    written = {
        **meta,
        "files": {
            path.relative_to(folder).as_posix(): {
                "bytes": path.stat().st_size,
                "sha256": sha256_file(path),
            }
            for path in files
        },
    }
    write_json(folder / "meta.json", written)
    return written


def write_table(path: Path, table: pa.Table) -> None:
    """One record batch in Arrow IPC file format, uncompressed: that is what can be mapped."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())


def hash_text(text: str) -> int:
    """64-bit hash of a string, the same on every machine and in every run."""
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def _tables(concepts: Iterable[Concept], source: Path | str, n_process: int) -> dict[str, pa.Table]:
    """Concepts as tables. Rows become Arrow columns a block at a time: of ten million names only a
    block is ever in memory as Python objects."""
    blocks = {name: Blocks(SCHEMAS[name]) for name in ("concepts", "relations", "xrefs")}
    alternatives: list[tuple[str, str]] = []
    retired: dict[str, str] = {}  # retired id -> id that replaces it
    with NameBlocks(SCHEMAS["names"], n_process) as names, _no_search_for_cycles():
        for concept in concepts:
            check_concept(concept, source)
            _add_concept(blocks, names, concept)
            alternatives.extend((alt, concept.concept_id) for alt in concept.alt_ids)
            if concept.obsolete and concept.replaced_by:
                retired[concept.concept_id] = concept.replaced_by
        tables = {name: block.table() for name, block in blocks.items()}
        tables["names"] = names.table()
    if not len(tables["concepts"]):
        raise TermlinkError("TL106", path=source)
    tables["concepts"] = tables["concepts"].sort_by("concept_id")
    _check_unique(tables["concepts"]["concept_id"], source)
    tables["names"] = _sorted_names(tables["names"])
    for name in ("relations", "xrefs"):
        columns = tables[name].column_names
        unique = tables[name].group_by(columns, use_threads=False).aggregate([])
        tables[name] = unique.sort_by([(column, "ascending") for column in columns])
    living = pc.invert(tables["concepts"]["obsolete"])
    living_ids = tables["concepts"]["concept_id"].filter(living)
    redirects = _redirects(alternatives, retired, living_ids)
    columns = [[row[i] for row in redirects] for i in range(2)]
    tables["redirects"] = pa.table(
        [pa.array(column, pa.string()) for column in columns], schema=SCHEMAS["redirects"]
    )
    # each is let go before the next is copied
    return {
        name: tables.pop(name).combine_chunks().cast(schema) for name, schema in SCHEMAS.items()
    }


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """The garbage collector is off: over the rows of a large release its searches took a fifth of the
    time, and rows, which hold no cycles, are freed without it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _sorted_names(names: pa.Table) -> pa.Table:
    """By concept, then kind; Arrow's sort is stable, so the source's order stays within a kind."""
    rank = pc.index_in(names["kind"], value_set=pa.array(NAME_KINDS))
    keys = pa.table({"concept_id": names["concept_id"], "rank": rank})
    order = pc.sort_indices(keys, [("concept_id", "ascending"), ("rank", "ascending")])
    return names.take(order)


def _check_unique(ids: pa.ChunkedArray, source: Path | str) -> None:
    ids = ids.combine_chunks()
    twice = pc.equal(ids.slice(1), ids.slice(0, len(ids) - 1))
    if pc.any(twice).as_py():
        raise TermlinkError("TL101", concept_id=ids.slice(1).filter(twice)[0].as_py(), where=source)


def _add_concept(blocks: dict[str, Blocks], names: NameBlocks, concept: Concept) -> None:
    cid = concept.concept_id
    row = (
        cid,
        concept.name,
        concept.definition,
        concept.semantic_types,
        concept.obsolete,
        concept.replaced_by,
    )
    blocks["concepts"].add(row)
    for r in concept.relations:
        blocks["relations"].add((cid, r.type, r.object))
    for x in concept.xrefs:
        blocks["xrefs"].add((cid, x.xref, x.predicate))
    if concept.obsolete:
        return
    for n in (Name(concept.name, "preferred", concept.language), *concept.names):
        if n.text.strip():
            names.add((cid, n.text, "", n.kind, n.language, n.source))


def _redirects(
    alternatives: list[tuple[str, str]], retired: dict[str, str], living_ids: pa.ChunkedArray
) -> list[tuple[str, str]]:
    """Alternative and retired ids with the living concept each ends at. A living id never
    redirects; a chain is followed to its end; one that ends nowhere is left out."""
    # an id that two concepts claim goes to the first of them in the order of ids
    direct = dict(sorted(alternatives, reverse=True))
    direct.update(retired)
    if not direct:
        return []
    # only those that a chain can reach: of four million ids a few
    reached = pa.array(sorted({*direct, *direct.values()}), pa.string())
    known = pc.is_in(reached, value_set=living_ids.combine_chunks())
    living = set(reached.filter(known).to_pylist())
    found = []
    for alt in direct:
        target, steps = alt, 0
        while target in direct and target not in living and steps <= len(direct):
            target, steps = direct[target], steps + 1
        if target in living and alt not in living:
            found.append((alt, target))
    return sorted(found)


def _check_graph(tables: dict[str, pa.Table]) -> None:
    ids = tables["concepts"]["concept_id"]
    check_acyclic(graph_of(tables["relations"], ids), lambda row: ids[row].as_py())


def graph_of(relations: pa.Table, concept_ids: pa.ChunkedArray) -> Graph:
    """The is_a graph over concept rows; edges to ids that the terminology lacks are left out."""
    edges = relations.filter(pc.equal(relations["type"], "is_a"))
    values = (
        concept_ids.combine_chunks() if isinstance(concept_ids, pa.ChunkedArray) else concept_ids
    )
    child = pc.index_in(edges["subject"], value_set=values)
    parent = pc.index_in(edges["object"], value_set=values)
    child, parent = (pc.fill_null(rows, -1).to_numpy().astype(np.int64) for rows in (child, parent))
    known = (child >= 0) & (parent >= 0)
    return Graph(len(values), child[known], parent[known])


def write_lookup(folder: Path, tables: dict[str, pa.Table]) -> None:
    """Arrays that answer a lookup by binary search on a mapped file; strings are compared after."""
    names, ids = tables["names"], tables["concepts"]["concept_id"]
    concept_rows = pc.index_in(names["concept_id"], value_set=ids.combine_chunks()).to_numpy()
    offsets = np.zeros(len(ids) + 1, dtype=np.int64)
    np.cumsum(np.bincount(concept_rows, minlength=len(ids)), out=offsets[1:])
    kinds = pc.index_in(names["kind"], value_set=pa.array(NAME_KINDS)).to_numpy().astype(np.uint8)
    arrays = {
        "name_offsets": offsets,
        "concept_rows": concept_rows.astype(np.int32),
        "kinds": kinds,
    }
    for prefix, strings in (
        ("name", names["normalized"]),
        ("id", ids),
        ("alt", tables["redirects"]["alt_id"]),
    ):
        hashes = _hashes(strings)
        order = np.argsort(hashes, kind="stable")
        arrays[f"{prefix}_hashes"] = hashes[order]
        arrays[f"{prefix}_rows"] = order.astype(np.int32)
    save_arrays(folder, arrays)


def _hashes(strings: pa.ChunkedArray) -> np.ndarray:
    """`hash_text` of each, (n,) uint64, a block of Python strings at a time."""
    hashes = np.zeros(len(strings), dtype=np.uint64)
    for start in range(0, len(strings), BLOCK_ROWS):
        block = strings.slice(start, BLOCK_ROWS).to_pylist()
        hashes[start : start + len(block)] = [hash_text(text) for text in block]
    return hashes


def _meta(tables: dict[str, pa.Table], given: dict[str, Any]) -> dict[str, Any]:
    concepts = tables["concepts"]
    return {
        "format_version": FORMAT_VERSION,
        "source": given.get("source", ""),
        "release": given.get("release", ""),
        "licence": given.get("licence", ""),
        "shareable": bool(given.get("shareable", False)),
        "url": given.get("url", ""),
        "reader": given.get("reader", ""),
        "reader_version": __version__,
        "inputs": given.get("inputs", []),
        **({"options": given["options"]} if given.get("options") else {}),
        "counts": {
            "concepts": len(concepts),
            "obsolete": pc.sum(pc.cast(concepts["obsolete"], pa.int64())).as_py() or 0,
            **{name: len(table) for name, table in tables.items() if name != "concepts"},
            "parents_not_found": _count_lost_parents(tables),
        },
    }


def _count_lost_parents(tables: dict[str, pa.Table]) -> int:
    """is_a edges that lead to an id the terminology lacks; they are no part of the hierarchy."""
    parents = tables["relations"].filter(pc.equal(tables["relations"]["type"], "is_a"))["object"]
    known = pc.is_in(parents, value_set=tables["concepts"]["concept_id"].combine_chunks())
    return len(parents) - (pc.sum(known).as_py() or 0)
