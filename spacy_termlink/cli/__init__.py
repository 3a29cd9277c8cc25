"""The command line: one file per command, each with one function `NAME_command`."""

from collections.abc import Callable
from typing import Annotated

import typer

from .. import __version__
from ._common import PathsCommand, run_clean
from .annotate import annotate_command
from .calibrate import calibrate_command
from .cluster import cluster_command
from .contrast import contrast_command
from .convert import convert_command
from .convert_corpus import convert_corpus_command
from .diff import diff_command
from .distill import distill_command
from .evaluate import evaluate_command
from .evaluate_docs import evaluate_docs_command
from .fetch import fetch_command
from .index import index_command
from .info import info_command
from .match import match_command
from .mine import mine_command
from .report import report_command
from .search import search_command
from .serve import serve_command
from .train import train_command
from .train_reranker import train_reranker_command

HELP = "Link the mentions of clinical texts to the concepts of terminologies."

app = typer.Typer(
    name="termlink",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    # a pretty traceback prints the local variables of each frame: those can hold a patient's note
    pretty_exceptions_enable=False,
)

_FUNCTIONS: tuple[Callable[..., None], ...] = (
    fetch_command, convert_command, info_command, diff_command, mine_command, train_command, distill_command, index_command, train_reranker_command, calibrate_command, search_command,
    evaluate_command, evaluate_docs_command, convert_corpus_command, cluster_command, contrast_command, match_command, report_command, annotate_command, serve_command,
)  # fmt: skip
#: Names of the commands, in the order of their work; "_" is typed as "-".
COMMANDS = tuple(function.__name__.removesuffix("_command") for function in _FUNCTIONS)


def main() -> None:
    """Run `termlink`."""
    app(prog_name="termlink")


def _print_version(asked: bool) -> None:
    if asked:
        print(f"termlink {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    pass


#: These take every value of their config as an option.
_ANY_OPTION = {"allow_extra_args": True, "ignore_unknown_options": True}
_CONTEXTS = {"train": _ANY_OPTION, "train_reranker": _ANY_OPTION, "report": _ANY_OPTION}

for _name, _function in zip(COMMANDS, _FUNCTIONS, strict=True):
    _context = _CONTEXTS.get(_name)
    app.command(_name.replace("_", "-"), cls=PathsCommand, context_settings=_context)(
        run_clean(_function)
    )
