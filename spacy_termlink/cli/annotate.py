"""`termlink annotate`: a batch of notes in, annotations out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from ._common import note, progress

if TYPE_CHECKING:
    from ..annotate.run import Summary

#: Exit code of a run that finished, with notes that could not be annotated.
SOME_REJECTED = 3


def annotate_command(
    pipeline: Annotated[
        list[str],
        typer.Argument(metavar="PIPELINE_OR_KB", help="KB folders, or one spaCy pipeline."),
    ],
    notes: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help=".jsonl, .csv, .parquet, folder of these or of .txt, or - (jsonl on stdin).",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file.")],
    text_field: Annotated[
        Optional[str], typer.Option(help="Field of the text. Default: text or note_text.")
    ] = None,
    id_field: Annotated[
        Optional[str], typer.Option(help="Field of the id. Default: note_id, doc_id or id.")
    ] = None,
    format: Annotated[  # noqa: A002
        Optional[Literal["jsonl", "parquet", "spacy", "omop", "fhir", "html"]],
        typer.Option(help="Format of the output. Default: by its suffix (.csv is omop)."),
    ] = None,
    n_process: Annotated[
        int, typer.Option(min=1, max=1024, help="Processes to work with: one a processor.")
    ] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the unfinished run of this output.")
    ] = False,
    rejects: Annotated[
        Optional[Path],
        typer.Option(help="File of the notes refused, as jsonl. Default: OUTPUT.rejects.jsonl."),
    ] = None,
    omop_concepts: Annotated[
        Optional[Path],
        typer.Option(
            metavar="CONCEPT.csv",
            help="Vocabulary file of OMOP, for its integer concept ids. Default: they are 0.",
        ),
    ] = None,
) -> None:
    """Find and link the mentions of many notes.

    A note that cannot be annotated goes to the reject file with its line and a reason, and the rest
    goes on. Exit code: 0 every note was annotated, 3 some were rejected, 2 bad input.
    """
    from ..annotate.inputs import NoteSource, describe_files
    from ..annotate.outputs import find_format
    from ..annotate.run import run_annotation

    name = find_format(output, format)
    source = NoteSource(notes, text_field=text_field, id_field=id_field)
    if left_out := describe_files(source.left_out()):
        note(f"Files of {notes} that are not read: {left_out}.")
    reject_file = rejects or output.with_name(f"{output.name}.rejects.jsonl")
    try:
        with progress(total=source.count(), desc="Annotating", unit="notes") as bar:
            summary = run_annotation(
                pipeline,
                source,
                output,
                format=name,
                rejects=reject_file,
                n_process=n_process,
                resume=resume,
                omop_concepts=omop_concepts,
                on_part=bar.update,
            )
    except KeyboardInterrupt:
        note("Stopped; what is done is kept. Go on with the same command and --resume.")
        raise
    _print(summary, output, reject_file)
    if summary.n_rejected:
        raise typer.Exit(SOME_REJECTED)


def _print(summary: "Summary", output: Path, rejects: Path) -> None:
    total = summary.n_annotated + summary.n_rejected
    print(
        f"{total:,} notes read, {summary.n_annotated:,} annotated, {summary.n_rejected:,} rejected"
    )
    for kb, n in summary.n_mentions.items():
        nil = f", {100 * summary.n_nil[kb] / n:.1f} % NIL" if n else ""
        print(f"{kb}: {n:,} mentions{nil}")
    if summary.n_omop is not None:
        n_linked = sum(summary.n_mentions.values()) - sum(summary.n_nil.values())
        print(f"omop: {summary.n_omop:,} of {n_linked:,} linked mentions have a concept id")
    if summary.n_uncoded:
        print(f"fhir: {summary.n_uncoded:,} linked mentions have no coding: FHIR refuses their id")
    if not summary.assessed:
        print("assertion was not assessed: a mention may be negated, uncertain, past or another's")
    print(f"annotations: {output}")
    if summary.n_rejected:
        print(f"rejected notes: {rejects}")
