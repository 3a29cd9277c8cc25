"""`termlink diff`: what a new release of a terminology changes."""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ._common import keep_inputs, note, print_table, save_json


def diff_command(
    old: Annotated[Path, typer.Argument(help="Terminology or KB folder of the old release.")],
    new: Annotated[Path, typer.Argument(help="The same of the new release.")],
    output: Annotated[
        Optional[Path],
        typer.Option("--output", "-o", help="Write every change to this .tsv or .jsonl file."),
    ] = None,
    json: Annotated[
        Optional[Path], typer.Option(help="Write the figures as JSON here (- for stdout).")
    ] = None,
) -> None:
    """Show what a new release adds, retires, redirects, renames and moves, and names that came and went."""
    from ..terminology.diff import check_format, diff_terminologies, open_terminology, write_changes

    keep_inputs([old, new], [output, json])
    if output is not None:
        check_format(output)
    diff = diff_terminologies(open_terminology(old), open_terminology(new))
    if output is not None:
        write_changes(diff.table, output)
        note(f"{output}: {len(diff.table):,} changes")
    if json is None or str(json) != "-":
        _print(diff.figures)
    save_json(json, diff.figures)


def _print(figures: dict[str, Any]) -> None:
    for side in ("old", "new"):
        facts = figures[side]
        print(
            f"{side}: {facts['source']} {facts['release'] or 'without release'}, "
            f"{facts['living']:,} living concepts, {facts['names']:,} names"
        )
    print_table(["change", "n"], [[name, f"{n:,}"] for name, n in figures["changes"].items()])
    print(
        f"{figures['unchanged']:,} of {figures['living_in_both']:,} concepts living in both are unchanged"
    )
