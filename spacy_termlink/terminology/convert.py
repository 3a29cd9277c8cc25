"""From a source file to a terminology folder: finds the reader, fills in what is known of the source."""

import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Optional

import catalogue

from ..errors import TermlinkError
from ..files import read_json, sha256_file
from ..registry import readers
from .builder import build_terminology

READER_GROUP = "spacy_termlink_readers"
#: Written beside a fetched file by `termlink fetch`: where it comes from and under which licence.
PROVENANCE = "source.json"


def convert_source(
    source: Path,
    out: Path,
    *,
    format: Optional[str] = None,
    name: Optional[str] = None,
    release: Optional[str] = None,
    licence: Optional[str] = None,
    shareable: Optional[bool] = None,
) -> dict[str, Any]:
    """Read a source and write a terminology folder.

    What meta.json says of the source is taken from the arguments, else from the source.json that
    `termlink fetch` writes, else from the file itself. A licence that nobody states is not shareable.

    source (Path): A file, or a folder that `termlink fetch` made.
    out (Path): Folder to write; replaced as a whole.
    format (Optional[str]): Name of a reader; None for what source.json says.
    name, release, licence, shareable (Optional): Facts of the source.
    RAISES (TermlinkError): TL001 no source, TL104 no such format, and what the reader finds.
    RETURNS (dict): The meta.json written.
    """
    facts = read_provenance(source)
    if source.is_dir():
        if not facts.get("files"):
            raise TermlinkError("TL008", path=source)
        source = source / facts["files"][0]["file"]
    elif not source.exists():
        raise TermlinkError("TL001", path=source)
    format = format or facts.get("format") or ""
    reader = get_reader(format)
    inputs = _inputs(source, facts)
    meta = {
        "source": source.stem,
        **_described(reader, format, source),
        # "" says nothing: the file's own word stands
        **{key: value for key, value in facts.items() if value != ""},
        "reader": format,
        "inputs": inputs,
    }
    given = {"source": name, "release": release, "licence": licence, "shareable": shareable}
    meta.update({key: value for key, value in given.items() if value is not None})
    return build_terminology(reader(source), out, meta=meta)


def get_reader(format: str) -> Any:
    """The registered reader of a format.

    RAISES (TermlinkError): TL104 with the known formats.
    """
    try:
        return readers.get(format)
    except catalogue.RegistryError:
        # the names only: loading every reader would import what this call has no use for
        known = sorted({entry.name for entry in entry_points(group=READER_GROUP)})
        raise TermlinkError("TL104", format=format, known=", ".join(known)) from None


def read_provenance(source: Path) -> dict[str, Any]:
    """What source.json in the source's folder says of this file; {} where there is none, or the
    file is not the one that was fetched."""
    folder = source if source.is_dir() else source.parent
    path = folder / PROVENANCE
    if not path.is_file():
        return {}
    facts = read_json(path)
    if not isinstance(facts, dict):
        raise TermlinkError("TL003", path=path, reason="not an object")
    listed = {entry["file"]: entry["sha256"] for entry in facts.get("files", ())}
    if source.is_dir():
        return facts
    if listed.get(source.name) != (sha256_file(source) if source.is_file() else None):
        return {}
    return facts


def _inputs(source: Path, facts: dict[str, Any]) -> list[dict[str, Any]]:
    files = [source.parent / entry["file"] for entry in facts.get("files", ())] or [source]
    return [
        {"file": file.name, "bytes": file.stat().st_size, "sha256": sha256_file(file)}
        for file in files
        if file.is_file()
    ]


def _described(reader: Any, format: str, source: Path) -> dict[str, str]:
    module = sys.modules[reader.__module__]
    describe = getattr(module, f"describe_{format}", None)
    found = describe(source) if describe else {}
    return {key: value for key, value in found.items() if value}
