"""`termlink index`: a KB from a terminology and an encoder."""

from pathlib import Path
from typing import Annotated, Optional

import typer


def index_command(
    terminology: Annotated[Path, typer.Argument(help="Folder written by 'termlink convert'.")],
    encoder: Annotated[
        str,
        typer.Option(help="Encoder folder, or a Hugging Face name that is in the local cache."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="KB folder to write.")],
    index: Annotated[
        str, typer.Option(help="auto, Flat, HNSW, IVF, SQ8, PQ, or a Faiss factory string.")
    ] = "auto",
    add_names: Annotated[
        Optional[Path],
        typer.Option(help="mentions.jsonl: mentions of one concept become names of it."),
    ] = None,
    without_names: Annotated[
        Optional[Path],
        typer.Option(help="JSONL of {concept_id, text}: names to leave out."),
    ] = None,
) -> None:
    """Encode the names of a terminology and write the KB that a linker loads."""
    from ..encoders import load_encoder
    from ..kb import build_kb
    from ._common import note

    kb = build_kb(
        terminology,
        load_encoder(encoder),
        output,
        index=index,
        add_names=add_names,
        without_names=without_names,
    )
    counts = kb.meta["counts"]
    note(
        f"{output}: {counts['names']:,} names of {counts['concepts'] - counts['obsolete']:,} concepts, "
        f"index {kb.meta['index']['factory']}, encoder in {kb.meta['encoder']['dtype']}"
    )
