"""`termlink convert`: a source file to a terminology folder."""

import time
from pathlib import Path
from typing import Annotated, Optional

import typer

from ._common import note


def convert_command(
    source: Annotated[Path, typer.Argument(help="File to read, or a folder that `fetch` made.")],
    format: Annotated[
        Optional[str],
        typer.Option(
            "--format",
            "-f",
            help="obo, owl, obograph, icd10cm, claml, indra, table or another installed "
            "reader. "
            "A fetched source knows its own.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--output", "-o", help="Terminology folder to write.")
    ] = Path("terminology"),
    source_name: Annotated[
        Optional[str], typer.Option("--source", help="Name of the source.")
    ] = None,
    release: Annotated[Optional[str], typer.Option(help="Release of the source.")] = None,
    licence: Annotated[Optional[str], typer.Option(help="Licence of the source.")] = None,
    shareable: Annotated[
        Optional[bool],
        typer.Option(
            "--shareable/--restricted", help="Whether the licence lets others have a copy."
        ),
    ] = None,
) -> None:
    """Convert an ontology, classification or table to a terminology folder."""
    from ..terminology.convert import convert_source

    start = time.perf_counter()
    meta = convert_source(
        source,
        out,
        format=format,
        name=source_name,
        release=release,
        licence=licence,
        shareable=shareable,
    )
    counts = meta["counts"]
    named = f"{meta['source']} {meta['release']}".strip()
    living = counts["concepts"] - counts["obsolete"]
    note(
        f"{out}: {named}: {living:,} concepts "
        f"(and {counts['obsolete']:,} retired), {counts['names']:,} names "
        f"in {time.perf_counter() - start:.1f} s"
    )
    if lost := counts["parents_not_found"]:
        note(
            f"{lost:,} is_a relations lead to ids that are not in the source; left out of the hierarchy"
        )
