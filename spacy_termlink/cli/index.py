"""`termlink index`: a KB from a terminology and an encoder."""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer


def index_command(
    terminology: Annotated[Path, typer.Argument(help="Folder written by 'termlink convert'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="KB folder to write.")],
    encoder: Annotated[
        Optional[str],
        typer.Option(
            help="Encoder folder, or a Hugging Face name that is in the local cache. "
            "Not needed with --update: the old KB's encoder is used."
        ),
    ] = None,
    index: Annotated[
        str,
        typer.Option(
            help="auto, Flat, HNSW, IVF, SQ8, PQ, IVF_SQ8, IVF_PQ, or a Faiss factory string."
        ),
    ] = "auto",
    memory: Annotated[
        Optional[float],
        typer.Option(
            help="Gigabytes of memory that an index chosen by auto may take; 8 if not given."
        ),
    ] = None,
    update: Annotated[
        Optional[Path],
        typer.Option(
            metavar="OLD_KB",
            help="Encode only names that this KB lacks, and take the other vectors from it.",
        ),
    ] = None,
    keep_vectors: Annotated[
        bool,
        typer.Option(
            "--keep-vectors",
            help="Keep the vectors in the KB (4 bytes a column and name), so that one with a "
            "quantised index can be updated later.",
        ),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the unfinished build of this output.")
    ] = False,
    add_names: Annotated[
        Optional[Path],
        typer.Option(help="mentions.jsonl: mentions of one concept become names of it."),
    ] = None,
    add_names_split: Annotated[
        str,
        typer.Option(
            metavar="SPLIT",
            help="Of --add-names, leave out mentions of other splits; '' takes all.",
        ),
    ] = "train",
    without_names: Annotated[
        Optional[Path],
        typer.Option(help="JSONL of {concept_id, text}: names to leave out."),
    ] = None,
    borrow_names: Annotated[
        Optional[list[Path]],
        typer.Option(
            metavar="TERMINOLOGY",
            help="Add the names that this terminology has for concepts that cross-references say are "
            "the same. Give it several times for several.",
        ),
    ] = None,
) -> None:
    """Encode the names of a terminology and write the KB that a linker loads."""
    from ..kb import build_kb
    from ._common import note

    loaded, old = _encoder_and_old(encoder, update)
    try:
        kb = build_kb(
            terminology,
            loaded,
            output,
            index=index,
            memory=memory,
            update=old,
            keeps_vectors=keep_vectors,
            resume=resume,
            add_names=add_names,
            add_names_split=add_names_split,
            without_names=without_names,
            borrow_names_of=borrow_names or (),
        )
    except KeyboardInterrupt:
        note(
            "Stopped; the shards that are done are kept. Go on with the same command and --resume."
        )
        raise
    counts = kb.meta["counts"]
    note(
        f"{output}: {counts['names']:,} names of {counts['concepts'] - counts['obsolete']:,} concepts, "
        f"index {kb.meta['index']['factory']}, encoder in {kb.meta['encoder']['dtype']}"
    )
    for source, lender in kb.meta.get("borrowed_from", {}).items():
        note(
            f"{lender['names']:,} names borrowed from {source}, licence: {lender['licence'] or 'not stated'}"
        )
    _note_names(counts, add_names_split, add_names=add_names, without_names=without_names)
    if "why" in kb.meta["index"]:
        note(f"index {kb.meta['index']['kind']}: {kb.meta['index']['why']}")
    if old is not None:
        note(f"vectors of {old.n_taken:,} names are {update}'s, {old.n_encoded:,} were encoded")


def _note_names(
    counts: dict[str, int], split: str, *, add_names: Optional[Path], without_names: Optional[Path]
) -> None:
    from ._common import note

    if add_names is not None:
        why = (
            ("other_splits", f"of other splits than {split}"),
            ("unknown_ids", "of unknown concepts"),
            ("no_single_concept", "of no or several concepts"),
            ("no_text", "without a text"),
        )
        left_out = [f"{counts[key]:,} {text}" for key, text in why if counts.get(key)]
        note(
            f"{add_names}: {counts['added']:,} names added from {counts['mentions']:,} mentions (the "
            f"others were known or repeat one), left out: {', '.join(left_out) or 'none'}"
        )
    if without_names is not None:
        note(
            f"{without_names}: {counts['left_out']:,} names left out, {counts['not_found']:,} of the "
            "list are no names of the terminology"
        )


def _encoder_and_old(encoder: Optional[str], update: Optional[Path]) -> tuple[Any, Any]:
    """The encoder to use, and the vectors of the old KB."""
    from ..encoders import load_encoder
    from ..errors import TermlinkError

    if update is None:
        if encoder is None:
            raise TermlinkError("TL544")
        return load_encoder(encoder), None
    from ..kb import OldVectors, TermKB

    kb = TermKB.open(update)
    loaded = kb.encoder if encoder is None else load_encoder(encoder)
    return loaded, OldVectors(kb, loaded)
