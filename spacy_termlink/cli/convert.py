"""`termlink convert`: a source file to a terminology folder."""

import time
from pathlib import Path
from typing import Annotated, Optional

import typer

from ._common import note


def convert_command(
    source: Annotated[
        Path,
        typer.Argument(
            help="File to read, a folder that `fetch` made, or the folder or zip of a UMLS or "
            "SNOMED CT release."
        ),
    ],
    format: Annotated[
        Optional[str],
        typer.Option(
            "--format",
            "-f",
            help="obo, owl, obograph, icd10cm, claml, indra, rrf, rf2, table or another installed "
            "reader. A fetched source knows its own.",
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
    sab: Annotated[
        Optional[list[str]],
        typer.Option(help="rrf: only this source vocabulary, as SNOMEDCT_US. Repeatable."),
    ] = None,
    language: Annotated[
        Optional[list[str]],
        typer.Option(
            help="rrf: only names in this language (en or ENG). rf2: this language, or the id of a "
            "language reference set. Repeatable."
        ),
    ] = None,
    tty: Annotated[
        Optional[list[str]], typer.Option(help="rrf: only this term type, as PT. Repeatable.")
    ] = None,
    semantic_type: Annotated[
        Optional[list[str]],
        typer.Option(
            help="rrf: only concepts of this TUI, type name or start of a tree number (B2.2). rf2: of "
            "this semantic tag, as disorder. Repeatable."
        ),
    ] = None,
    suppressed: Annotated[
        bool, typer.Option("--suppressed", help="rrf: suppressed and obsolete names, too.")
    ] = False,
    n_process: Annotated[
        int, typer.Option(min=1, max=1024, help="Processes; 2 pay for millions of names.")
    ] = 1,
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
        options={
            "sab": sab,
            "language": language,
            "tty": tty,
            "semantic_type": semantic_type,
            "suppressed": suppressed,
        },
        n_process=n_process,
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
