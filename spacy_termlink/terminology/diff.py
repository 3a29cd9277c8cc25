"""What a new release of a terminology changes, computed on Arrow columns: no Python object for each
concept or name."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import TermlinkError
from ..files import atomic_file, read_json
from .store import Terminology

#: Kinds of changes, in the order in which those of one concept are listed.
CHANGES = ("added", "restored", "retired", "removed", "redirected", "renamed", "moved",
           "name_added", "name_removed")  # fmt: skip
COLUMNS = pa.schema(
    [(name, pa.string()) for name in ("change", "concept_id", "name", "old", "new")]
)
FORMATS = (".tsv", ".jsonl")
#: Rows that are in memory as Python objects while they are written.
BLOCK_ROWS = 10_000


class Diff(NamedTuple):
    """Two releases compared.

    table (pa.Table): A row per change (COLUMNS), by concept id, then in the order of CHANGES.
    figures (dict): What `termlink diff --json` prints.
    """

    table: pa.Table
    figures: dict[str, Any]


class _Side(NamedTuple):
    """One release beside the other.

    terminology (Terminology): The release.
    ids (pa.Array): Its concept ids.
    living (np.ndarray): Which rows are living, (n,) bool.
    there (np.ndarray): Row of each concept in the other release, -1 where it has none, (n,).
    both (np.ndarray): Which rows are living in both, (n,) bool.
    """

    terminology: Terminology
    ids: pa.Array
    living: np.ndarray
    there: np.ndarray
    both: np.ndarray


def open_terminology(path: Path) -> Terminology:
    """A terminology folder, or that of a KB."""
    meta = read_json(path / "meta.json") if (path / "meta.json").is_file() else None
    is_kb = isinstance(meta, dict) and meta.get("kind") == "kb"
    return Terminology.open(path / "terminology" if is_kb else path)


def diff_terminologies(old: Terminology, new: Terminology) -> Diff:
    """Compare two releases.

    - added: a concept is living that the old release does not have; restored: that it had retired.
    - retired: a living concept is retired and leads to no other; removed: it is gone altogether.
    - redirected: an id that the old release knew leads to another concept than before (`old`, `new`;
      a living id led to itself), or to none any more (`new` is empty).
    - renamed: another preferred name. moved: other parents (is_a), joined by "|".
    - name_added, name_removed: texts of the names of concepts that are living in both; their kinds are
      not compared.

    RAISES (TermlinkError): TL545 if the two have no concept id in common.
    """
    a, b = _sides(old, new)
    if not (a.there >= 0).any():
        raise TermlinkError("TL545", old=old.path, new=new.path)
    was_living = _known(b.there, a.living)
    is_redirected, redirected = _redirected(a, b)
    leads = pc.is_in(a.ids, value_set=is_redirected).to_numpy(zero_copy_only=False)
    gone = a.living & ~a.both & ~leads
    tables = [
        _rows("added", b, b.living & (b.there < 0)),
        _rows("restored", b, b.living & (b.there >= 0) & ~was_living),
        _rows("retired", a, gone & (a.there >= 0)),
        _rows("removed", a, gone & (a.there < 0)),
        redirected,
        _renamed(a, b),
        _moved(a, b),
        *_names(a, b),
    ]
    table = _sorted(pa.concat_tables(tables))
    return Diff(table, _figures(a, b, table))


def _sides(old: Terminology, new: Terminology) -> tuple[_Side, _Side]:
    ids = [_array(t.concepts["concept_id"]) for t in (old, new)]
    living = [~t.obsolete for t in (old, new)]
    there = [_index_in(ids[0], ids[1]), _index_in(ids[1], ids[0])]
    both = [living[i] & _known(there[i], living[1 - i]) for i in range(2)]
    a, b = (_Side(t, *rest) for t, *rest in zip((old, new), ids, living, there, both, strict=True))
    return a, b


def _index_in(values: pa.Array, value_set: pa.Array) -> np.ndarray:
    found = pc.fill_null(pc.index_in(values, value_set=value_set), -1)
    return found.to_numpy(zero_copy_only=False)


def _known(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """`values[rows]`; False for row -1."""
    return (rows >= 0) & values[np.maximum(rows, 0)]


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _table(change: str, ids: Any, names: Any, old: Any, new: Any) -> pa.Table:
    n = len(ids)
    columns = [pa.repeat(value, n) if isinstance(value, str) else value
               for value in (change, ids, names, old, new)]  # fmt: skip
    return pa.table([pc.cast(column, pa.string()) for column in columns], schema=COLUMNS)


def _rows(change: str, side: _Side, mask: np.ndarray) -> pa.Table:
    """Concepts of a side, with nothing old or new to show."""
    rows = pa.array(np.flatnonzero(mask))
    return _table(change, side.ids.take(rows), _preferred(side).take(rows), "", "")


def _preferred(side: _Side) -> pa.Array:
    return _array(side.terminology.concepts["name"])


def _redirected(a: _Side, b: _Side) -> tuple[pa.Array, pa.Table]:
    """Ids of the old release that lead elsewhere than before, and their rows.

    RETURNS (tuple[pa.Array, pa.Table]): Ids that lead to a living concept now, and the changes.
    """
    alt_a, alt_b = (_array(s.terminology.redirects["alt_id"]) for s in (a, b))
    known = _unique([a.ids, alt_a])
    before = _leads(known, a, alt_a)
    after = _leads(known, b, alt_b)
    leads_away = pc.and_(pc.not_equal(after, ""), pc.not_equal(after, known))
    # a living id that leads nowhere now is "retired" or "removed"
    led_away = pc.and_(pc.not_equal(before, ""), pc.not_equal(before, known))
    lost = pc.and_(led_away, pc.equal(after, ""))
    changed = pc.or_(lost, pc.and_(leads_away, pc.not_equal(before, after)))
    ids, before, after = (array.filter(changed) for array in (known, before, after))
    shown = pc.if_else(pc.not_equal(after, ""), _name_of(after, b), _name_of(before, a))
    return ids.filter(pc.not_equal(after, "")), _table("redirected", ids, shown, before, after)


def _unique(arrays: list[pa.Array]) -> pa.Array:
    return pa.chunked_array(arrays, pa.string()).unique()


def _leads(ids: pa.Array, side: _Side, alternatives: pa.Array) -> pa.Array:
    """The living concept that each id stands for, "" for none."""
    rows = _index_in(ids, side.ids)
    itself = pa.array(_known(rows, side.living))
    at = pc.index_in(ids, value_set=alternatives)
    targets = _array(side.terminology.redirects["concept_id"]).take(at)
    return pc.if_else(itself, ids, pc.fill_null(targets, ""))


def _name_of(ids: pa.Array, side: _Side) -> pa.Array:
    found = _preferred(side).take(pc.index_in(ids, value_set=side.ids))
    return pc.fill_null(found, "")


def _renamed(a: _Side, b: _Side) -> pa.Table:
    rows = np.flatnonzero(b.both)
    new = _preferred(b).take(pa.array(rows))
    old = _preferred(a).take(pa.array(b.there[rows]))
    changed = pc.not_equal(old, new)
    ids, old, new = (x.filter(changed) for x in (b.ids.take(pa.array(rows)), old, new))
    return _table("renamed", ids, new, old, new)


def _moved(a: _Side, b: _Side) -> pa.Table:
    pairs = [_parents(side) for side in (a, b)]
    ids = _unique([*(_array(_without(x, y)["key"]) for x, y in (pairs, pairs[::-1]))])
    ids = ids.take(pc.sort_indices(ids))
    old, new = (_joined(table, ids) for table in pairs)
    return _table("moved", ids, _name_of(ids, b), old, new)


def _parents(side: _Side) -> pa.Table:
    """(concept, parent) of the concepts living in both."""
    relations = side.terminology.relations
    edges = relations.filter(pc.equal(relations["type"], "is_a"))
    kept = side.ids.filter(pa.array(side.both))
    edges = edges.filter(pc.is_in(edges["subject"], value_set=kept))
    return pa.table({"key": edges["subject"], "text": edges["object"]})


def _names(a: _Side, b: _Side) -> list[pa.Table]:
    texts = []
    for side in (a, b):
        names = side.terminology.names
        kept = pa.array(side.both[side.terminology.concept_rows])
        table = pa.table({"key": names["concept_id"], "text": names["text"]}).filter(kept)
        texts.append(table.group_by(["key", "text"], use_threads=False).aggregate([]))
    gone, come = _without(*texts), _without(*texts[::-1])
    return [
        _table("name_removed", gone["key"], _name_of(_array(gone["key"]), b), gone["text"], ""),
        _table("name_added", come["key"], _name_of(_array(come["key"]), b), "", come["text"]),
    ]


def _without(left: pa.Table, right: pa.Table) -> pa.Table:
    """Rows of the left table that the right one lacks."""
    return left.join(right, keys=["key", "text"], join_type="left anti")


def _joined(pairs: pa.Table, ids: pa.Array) -> pa.Array:
    """Texts of each id, sorted and joined by "|"."""
    some = pairs.filter(pc.is_in(pairs["key"], value_set=ids))
    some = some.sort_by([("key", "ascending"), ("text", "ascending")])
    lists = some.group_by("key", use_threads=False).aggregate([("text", "list")])
    joined = pc.binary_join(_array(lists["text_list"]), "|")
    return pc.fill_null(joined.take(pc.index_in(ids, value_set=_array(lists["key"]))), "")


def _sorted(table: pa.Table) -> pa.Table:
    rank = pc.index_in(table["change"], value_set=pa.array(CHANGES))
    keys = table.append_column("rank", rank)
    by = [(column, "ascending") for column in ("concept_id", "rank", "old", "new")]
    return table.take(pc.sort_indices(keys, by))


def _figures(a: _Side, b: _Side, table: pa.Table) -> dict[str, Any]:
    counted = {row["values"]: row["counts"] for row in pc.value_counts(table["change"]).to_pylist()}
    kept = b.ids.filter(pa.array(b.both))
    changed = pc.is_in(kept, value_set=_unique([_array(table["concept_id"])]))
    return {
        "old": _described(a),
        "new": _described(b),
        "changes": {change: counted.get(change, 0) for change in CHANGES},
        "living_in_both": len(kept),
        "unchanged": len(kept) - (pc.sum(changed).as_py() or 0),
    }


def _described(side: _Side) -> dict[str, Any]:
    meta = side.terminology.meta
    return {
        "path": str(side.terminology.path),
        "source": meta["source"],
        "release": meta["release"],
        "living": int(side.living.sum()),
        "names": side.terminology.n_names,
    }


def write_changes(table: pa.Table, path: Path) -> None:
    """Write changes as .tsv (with a header) or .jsonl, atomically.

    RAISES (TermlinkError): TL547 for another ending.
    """
    check_format(path)
    with atomic_file(path) as part, part.open("w", encoding="utf8", newline="") as file:
        if path.suffix == ".tsv":
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow(COLUMNS.names)
            for rows in _blocks(table):
                writer.writerows(row.values() for row in rows)
        else:
            for rows in _blocks(table):
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def check_format(path: Path) -> None:
    """Refuse an ending that `write_changes` does not know.

    RAISES (TermlinkError): TL547.
    """
    if path.suffix not in FORMATS:
        raise TermlinkError("TL547", path=path)


def _blocks(table: pa.Table) -> Iterator[list[dict[str, str]]]:
    for batch in table.to_batches(max_chunksize=BLOCK_ROWS):
        yield batch.to_pylist()
