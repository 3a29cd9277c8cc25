"""Rerankers by name, by folder, and those that lie in a KB."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from ..errors import TermlinkError
from ..files import read_json, write_json
from ..registry import misc
from ..types import KnowledgeBase, Reranker

#: File that tells a reranker's folder, and the folder's name in a KB.
FILE, FOLDER = "reranker.json", "reranker"
VERSION = 1
#: Names that stand for no reranker, and for the KB's own.
NONE, OWN = "none", "kb"
#: Candidates that a reranker reads.
K = 10

MakeReranker = Callable[[KnowledgeBase], Optional[Reranker]]


def make_reranker(name: str, kb: KnowledgeBase) -> Optional[Reranker]:
    """A reranker over a KB.

    name (str): "none", "kb" (the one in the KB's folder), a reranker's folder, or a name registered in
        spaCy's `misc`, which takes the KB's own.
    RETURNS (Optional[Reranker]): None for "none".
    RAISES (TermlinkError): TL620 for an unknown name, TL621 for a folder of another form, TL622 where
        the KB has none.
    """
    if name == NONE:
        return None
    if name == OWN:
        return require_own(kb)
    if Path(name).is_dir():
        return open_reranker(Path(name), kb)
    registered = misc.get_all()
    if name not in registered:
        raise TermlinkError("TL620", name=name)
    return registered[name]()(kb)


def open_reranker(folder: Path, kb: KnowledgeBase) -> Reranker:
    """The reranker of a folder, whatever its kind.

    RAISES (TermlinkError): TL621 for a folder of another form.
    """
    kind = read_about(folder)["reranker"]
    registered = misc.get_all()
    if kind not in registered:
        raise TermlinkError("TL621", path=folder / FILE, reason=f"it names the kind '{kind}'")
    return registered[kind](path=str(folder))(kb)


def require_own(kb: KnowledgeBase) -> Reranker:
    """The reranker in the folder of a KB.

    RAISES (TermlinkError): TL622 if there is none.
    """
    found = kb.reranker
    if found is None:
        raise TermlinkError("TL622", kb=kb.meta.get("name", ""))
    return found


def make_kb_reranker() -> MakeReranker:
    """`spacy-termlink.KbReranker.v1`: the reranker that the KB has, if it has one."""
    return _own


def _own(kb: KnowledgeBase) -> Optional[Reranker]:
    return kb.reranker


def write_about(folder: Path, kind: str, values: dict[str, Any]) -> None:
    """Write FILE.

    kind (str): Name in spaCy's `misc` that opens such a folder.
    values (dict): What the kind keeps there, JSON.
    """
    write_json(folder / FILE, {"kind": "reranker", "version": VERSION, "reranker": kind, **values})


def read_about(folder: Path) -> dict[str, Any]:
    """What FILE of a folder says.

    RAISES (TermlinkError): TL621 for a file of another form, TL001 to TL008 without one.
    """
    path = folder / FILE
    data = read_json(path)
    if not isinstance(data, dict) or data.get("kind") != "reranker" or "reranker" not in data:
        raise TermlinkError("TL621", path=path, reason="it is no reranker's")
    if data.get("version") != VERSION:
        reason = f"version {data.get('version')!r}, this release reads {VERSION}"
        raise TermlinkError("TL621", path=path, reason=reason)
    return data
