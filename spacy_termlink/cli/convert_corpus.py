"""`termlink convert-corpus`: an annotated corpus from one format to another."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from ._common import keep_inputs, note, progress, save_json

if TYPE_CHECKING:
    from ..evaluation.corpora.convert import Summary
    from ..evaluation.corpora.model import Rejected

#: Exit code of a conversion that finished, with documents or mentions left out.
SOME_REJECTED = 3

FormatName = Literal["pubtator", "bioc", "brat", "jsonl", "spacy"]


def convert_corpus_command(
    source: Annotated[
        Path, typer.Argument(help="PubTator, BioC (.xml, .json), docs.jsonl, .spacy, BRAT folder.")
    ],
    out: Annotated[Path, typer.Option("--output", "-o", help="File to write; a folder for BRAT.")],
    format: Annotated[  # noqa: A002
        Optional[FormatName],
        typer.Option(
            "--format",
            "-f",
            help="Format of SOURCE. Default: by its name. (Of the output, where SOURCE's name "
            "says that it is another.)",
        ),
    ] = None,
    to: Annotated[
        Optional[FormatName], typer.Option(help="Format of the output. Default: by its name.")
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="Put before concept ids that have none: MESH for MESH:D003920.")
    ] = "",
    mentions: Annotated[
        Optional[Path],
        typer.Option(help="Write a mentions.jsonl for 'termlink evaluate', too."),
    ] = None,
    rejects: Annotated[
        Optional[Path],
        typer.Option(
            help="File of what is left out, as jsonl. Default: OUTPUT.rejects.jsonl beside it."
        ),
    ] = None,
    json_path: Annotated[
        Optional[Path], typer.Option("--json", help="Write the counts to this file; - is stdout.")
    ] = None,
) -> None:
    """Convert an annotated corpus: PubTator, BioC, BRAT, docs.jsonl and .spacy, into each other.

    A mention whose offsets do not give its text, and a document that cannot be read or written, goes
    to the reject file with its place and the reason; the rest goes on. Exit code: 0 all was
    converted, 3 something was rejected, 2 bad input.
    """
    from ..evaluation.corpora.convert import convert_corpus

    out = Path(str(out).rstrip("/"))
    reject_file = rejects or out.with_name(f"{out.name}.rejects.jsonl")
    keep_inputs((source,), (out, mentions, reject_file, json_path), folder=out)
    with progress(desc="Converting", unit="documents") as bar:
        summary = convert_corpus(
            source, out, source_format=format, out_format=to, prefix=prefix, mentions=mentions,
            progress=bar.update,
        )  # fmt: skip
    _save_rejects(reject_file, summary.report.rejects)
    if str(json_path) != "-":
        _print(summary, out, mentions)
    save_json(json_path, _figures(summary))
    if n := len(summary.report.rejects):
        note(f"{n:,} rejected; where and why: {reject_file}")
        raise typer.Exit(SOME_REJECTED)


def _save_rejects(path: Path, rejects: "list[Rejected]") -> None:
    from ..files import atomic_file

    if not rejects:
        path.unlink(missing_ok=True)  # of an earlier run
        return
    with atomic_file(path) as part:
        lines = [json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rejects]
        # an id may hold half of a surrogate pair: written as JSON's own escape
        part.write_text("".join(lines), encoding="utf8", errors="backslashreplace")


def _figures(summary: "Summary") -> dict[str, Any]:
    return {
        "source_format": summary.source_format,
        "format": summary.format,
        "documents": summary.n_docs,
        "entities": summary.n_entities,
        "nil": summary.n_nil,
        "rejected": len(summary.report.rejects),
        "not_kept": dict(sorted(summary.report.lost.items())),
        "offset_units": dict(sorted(summary.report.units.items())),
    }


def _print(summary: "Summary", out: Path, mentions: Optional[Path]) -> None:
    print(
        f"{out}: {summary.n_docs:,} documents with {summary.n_entities:,} mentions "
        f"({summary.n_nil:,} NIL), {summary.source_format} to {summary.format}"
    )
    units = summary.report.units
    if units.keys() - {"characters"}:
        found = ", ".join(f"{name} in {n:,}" for name, n in sorted(units.items()))
        print(f"offsets of documents with other than ASCII characters counted in {found}")
    if lost := summary.report.lost:
        listed = ", ".join(f"{name} ({n:,})" for name, n in sorted(lost.items()))
        print(f"not kept: {listed}")
    if mentions is not None:
        print(f"mentions: {mentions}")
