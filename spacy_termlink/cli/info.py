"""`termlink info`: what a terminology or a KB holds."""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ._common import note, save_json


def info_command(
    path: Annotated[Path, typer.Argument(help="Terminology or KB folder.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Also compare every file with its sha256.")
    ] = False,
    json: Annotated[
        Optional[Path], typer.Option(help="Write the figures as JSON here (- for stdout).")
    ] = None,
) -> None:
    """Show counts, release, licence and sizes of a terminology or a KB."""
    opened = _open(path)
    if verify:
        opened.verify()
        note(f"{path}: every file has the sha256 it was written with")
    facts = opened.info()
    if json is None or str(json) != "-":
        _print(facts)
    save_json(json, facts)


def _open(path: Path) -> Any:
    from ..errors import TermlinkError
    from ..files import read_json, restore_folder
    from ..terminology import Terminology

    restore_folder(path)
    if not path.exists():
        raise TermlinkError("TL001", path=path)
    meta = read_json(path / "meta.json") if (path / "meta.json").is_file() else None
    if isinstance(meta, dict) and meta.get("kind") == "kb":
        # torch is imported for a KB only
        from ..kb import TermKB

        return TermKB.open(path)
    return Terminology.open(path)


def _print(facts: dict[str, Any]) -> None:
    lines = list(_lines(facts))
    width = max(len(key) for key, _ in lines)
    for key, value in lines:
        print(f"{key.ljust(width)}  {value}".rstrip())


def _lines(facts: dict[str, Any], prefix: str = "") -> Any:
    for key, value in facts.items():
        label = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, dict):
            yield from _lines(value, f"{label}: ")
        elif isinstance(value, list):
            for item in value:
                text = ", ".join(map(str, item.values())) if isinstance(item, dict) else str(item)
                yield label, text
        else:
            number = isinstance(value, int) and not isinstance(value, bool)
            yield label, f"{value:,}" if number else str(value)
