"""`termlink fetch`: a terminology or the encoder, by name."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from ._common import note


def fetch_command(
    name: Annotated[
        str,
        typer.Argument(help="hpo, icd10cm, icd10, mondo, doid, mesh, go, chebi, efo or minilm."),
    ],
    source: Annotated[
        Optional[str],
        typer.Option(
            "--from",
            metavar="FILE_OR_URL",
            help="Take it from a file or address of your own: the data file, or a wheel or zip.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--output", "-o", help="Folder that will hold the folder NAME.")
    ] = Path("assets"),
) -> None:
    """Fetch a terminology, or the encoder, into OUTPUT/NAME, with checksums checked."""
    from ..terminology.fetch import fetch

    folder = fetch(name, out, source=source, report=note)
    print(folder)
