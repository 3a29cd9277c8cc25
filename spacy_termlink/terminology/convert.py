"""From a source file to a terminology folder: finds the reader, fills in what is known of the source."""

import inspect
import re
import sys
from collections.abc import Mapping
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
    options: Optional[Mapping[str, Any]] = None,
    n_process: int = 1,
) -> dict[str, Any]:
    """Read a source and write a terminology folder.

    What meta.json says of the source is taken from the arguments, else from the source.json that
    `termlink fetch` writes, else from the file itself. A licence that nobody states is not shareable.

    source (Path): A file, a folder that `termlink fetch` made, or a release as its reader takes it.
    out (Path): Folder to write; replaced as a whole.
    format (Optional[str]): Name of a reader; None for what source.json says.
    name, release, licence, shareable (Optional): Facts of the source.
    options (Optional[Mapping]): Options of the reader, as `sab` of rrf; empty ones are left out.
    n_process (int): Processes to work with; more than one pays for millions of names.
    RAISES (TermlinkError): TL001 no source, TL104 no such format, TL143 an option of another reader, and
        what the reader finds.
    RETURNS (dict): The meta.json written.
    """
    facts = read_provenance(source)
    if not source.exists():
        raise TermlinkError("TL001", path=source)
    format = format or facts.get("format") or ""
    reader = get_reader(format)
    given_options = _options(reader, format, options or {})
    if source.is_dir() and not _release_files(reader):
        if not facts.get("files"):
            raise TermlinkError("TL008", path=source)
        source = source / facts["files"][0]["file"]
    inputs = _inputs(source, facts, _release_files(reader))
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
    if given_options:
        meta["options"] = given_options
    return build_terminology(reader(source, **given_options), out, meta=meta, n_process=n_process)


def _options(reader: Any, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are given, each one of the reader's own."""
    given = {key: value for key, value in options.items() if value}
    known = [
        name for name, p in inspect.signature(reader).parameters.items() if p.kind == p.KEYWORD_ONLY
    ]
    for key in given:
        if key not in known:
            listed = ", ".join(f"--{name.replace('_', '-')}" for name in known) or "none"
            raise TermlinkError("TL143", format=format, option=key.replace("_", "-"), known=listed)
    return given


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


def _release_files(reader: Any) -> str:
    """Pattern of the files that a reader of whole releases takes from a folder; "" for other readers."""
    return getattr(sys.modules[reader.__module__], "RELEASE_FILES", "")


def _inputs(source: Path, facts: dict[str, Any], pattern: str) -> list[dict[str, Any]]:
    files = [source.parent / entry["file"] for entry in facts.get("files", ())] or [source]
    if source.is_dir():  # a release
        files = sorted(p for p in source.rglob("*") if re.fullmatch(pattern, p.name))
    return [
        {
            "file": file.relative_to(source).as_posix() if source.is_dir() else file.name,
            "bytes": file.stat().st_size,
            "sha256": sha256_file(file),
        }
        for file in files
        if file.is_file()
    ]


def _described(reader: Any, format: str, source: Path) -> dict[str, str]:
    module = sys.modules[reader.__module__]
    describe = getattr(module, f"describe_{format}", None)
    found = describe(source) if describe else {}
    return {key: value for key, value in found.items() if value}
