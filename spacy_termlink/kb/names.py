"""Names added to and left out of a KB's copy of a terminology."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pyarrow as pa

from ..errors import TermlinkError
from ..files import require_file
from ..terminology.builder import SCHEMAS, write_folder
from ..terminology.store import Terminology
from ..text import normalize
from ..types import NAME_KINDS

#: What `source` says of an added name.
ANNOTATED = "annotated"
#: Why an annotated mention is no name, but for its split.
REASONS = ("unknown_ids", "no_single_concept", "no_text")


class AddedName(NamedTuple):
    """A name that a KB gets beside those of its terminology.

    concept_id (str): Living concept.
    text (str): The name.
    kind, source (str): As in the terminology's table.
    """

    concept_id: str
    text: str
    kind: str = ANNOTATED
    source: str = ""


def copy_with_names(
    terminology: Terminology,
    folder: Path,
    *,
    meta: dict[str, Any],
    add: Iterable[AddedName] = (),
    without: Optional[Path] = None,
) -> dict[str, int]:
    """Write the terminology again with other names; everything else stays. Normal forms are made
    anew, so that a KB never holds those of an older release of this package.

    meta (dict[str, Any]): Its facts, with licences that bind the names, too.
    add (Iterable[AddedName]): Names to add; of equal ones of a concept the first.
    without (Optional[Path]): Names to leave out; see `read_heldout`. A preferred name stays the
        display name of its concept.
    RETURNS (dict[str, int]): How many names were added and left out, and how many of those to leave out
        are no names ("not_found").
    """
    names = _normalized(terminology.names)
    n_before, not_found = len(names), 0
    if without is not None:
        heldout = set(read_heldout(without, terminology))
        there = set(zip(*(names[c].to_pylist() for c in ("concept_id", "normalized")), strict=True))
        not_found = len(heldout - there)
        pairs = zip(names["concept_id"].to_pylist(), names["normalized"].to_pylist(), strict=True)
        names = names.filter(pa.array([pair not in heldout for pair in pairs], type=pa.bool_()))
    n_left = len(names)
    known = set(zip(names["concept_id"].to_pylist(), names["normalized"].to_pylist(), strict=True))
    new: dict[tuple[str, str], AddedName] = {}
    for name in add:
        pair = name.concept_id, normalize(name.text)
        if pair[1] and pair not in known:
            new.setdefault(pair, name)
    rows = [(cid, name.text, norm, name.kind, "", name.source) for (cid, norm), name in new.items()]
    columns = zip(*rows, strict=True) if rows else [()] * 6
    names = pa.concat_tables([names, pa.table(list(columns), schema=SCHEMAS["names"])])
    n_borrowed = sum(name.kind != ANNOTATED for name in new.values())
    counts = {"added": len(new) - n_borrowed, "left_out": n_before - n_left}
    if n_borrowed:
        counts["borrowed"] = n_borrowed
    if without is not None:
        counts["not_found"] = not_found
    tables = {name: getattr(terminology, name) for name in SCHEMAS}
    tables["names"] = _sorted(names)
    folder.mkdir(parents=True)
    write_folder(folder, tables, {**meta, "counts": {**meta["counts"], "names": len(names)}})
    return counts


def read_annotated(
    path: Path, terminology: Terminology, split: str
) -> tuple[list[AddedName], dict[str, int]]:
    """Names from the mentions that name one concept of the terminology, one a mention.

    path (Path): mentions.jsonl. Mentions of several concepts name none of them; an id that the
        terminology lacks is passed over.
    split (str): Mentions of another split are left out, those that state none are taken; "" for all.
    RETURNS (tuple): The names, and how many mentions were left out for which reason: "other_splits",
        "unknown_ids", "no_single_concept", "no_text".
    RAISES (TermlinkError): TL507 a line that is no mention, TL548 only mentions of other splits, TL549
        where none names a concept.
    """
    found, splits, left_out = [], set(), Counter[str]()
    taken = 0
    for line, record in _read(path):
        if not isinstance(record.get("text"), str) or not isinstance(record.get("concepts"), list):
            raise TermlinkError("TL507", path=path, line=line, reason="no 'text' and 'concepts'")
        if split and record.get("split") and record["split"] != split:
            left_out["other_splits"] += 1
            splits.add(str(record["split"]))
            continue
        taken += 1
        concepts = record["concepts"]
        living = terminology.resolve(str(concepts[0])) if len(concepts) == 1 else None
        if len(concepts) != 1 or record.get("cardinality", "single") != "single":
            left_out["no_single_concept"] += 1
        elif living is None:
            left_out["unknown_ids"] += 1
        elif not normalize(record["text"]):
            left_out["no_text"] += 1
        else:
            found.append(AddedName(living, record["text"]))
    if splits and not taken:
        raise TermlinkError("TL548", path=path, split=split, found=", ".join(sorted(splits)))
    if not found:
        reasons = {key: n for key, n in left_out.items() if key != "other_splits"}
        raise TermlinkError("TL549", path=path, **{key: reasons.get(key, 0) for key in REASONS})
    return found, dict(left_out)


def read_heldout(path: Path, terminology: Terminology) -> Iterator[tuple[str, str]]:
    """(living concept id, normal form) of the names to leave out.

    path (Path): JSONL of {"concept_id", "text"}, as `termlink mine` writes heldout.jsonl.
    """
    for line, record in _read(path):
        concept_id, text = record.get("concept_id"), record.get("text")
        if not isinstance(concept_id, str) or not isinstance(text, str):
            raise TermlinkError("TL507", path=path, line=line, reason="no 'concept_id' and 'text'")
        yield terminology.resolve(concept_id) or concept_id, normalize(text)


def _read(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with require_file(path).open("rb") as file:
        for line, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            try:
                record = json.loads(raw)
            except (ValueError, RecursionError) as error:
                # of a text that is not UTF-8, nothing is quoted
                reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"{error}"
                reason = f"not JSON ({reason})"
                raise TermlinkError("TL507", path=path, line=line, reason=reason) from None
            if not isinstance(record, dict):
                raise TermlinkError("TL507", path=path, line=line, reason="not a JSON object")
            if any(map(_no_text, record.values())):
                reason = "half of a surrogate pair or a NUL, which is no text"
                raise TermlinkError("TL507", path=path, line=line, reason=reason)
            yield line, record


def _no_text(value: Any) -> bool:
    return isinstance(value, str) and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)


def _normalized(names: pa.Table) -> pa.Table:
    normal = pa.array([normalize(text) for text in names["text"].to_pylist()], type=pa.string())
    return names.set_column(names.schema.get_field_index("normalized"), "normalized", normal)


def _sorted(names: pa.Table) -> pa.Table:
    """By concept, then kind, else in the order given, as a terminology is kept."""
    rank = {kind: i for i, kind in enumerate(NAME_KINDS)}
    ids, kinds = names["concept_id"].to_pylist(), names["kind"].to_pylist()
    order = sorted(range(len(names)), key=lambda i: (ids[i], rank[kinds[i]]))
    return names.take(pa.array(order, type=pa.int64()))
