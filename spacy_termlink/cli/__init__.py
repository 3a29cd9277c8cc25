"""The command line: one file per command, each with one function `NAME_command`."""

from importlib import import_module, util
from typing import Annotated

import typer

from .. import __version__
from ._common import run_clean

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

COMMANDS = (
    "fetch", "convert", "info", "mine", "index", "search", "evaluate", "evaluate_docs", "annotate",
)  # fmt: skip


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


for _name in COMMANDS:
    if util.find_spec(f"{__name__}.{_name}"):
        _module = import_module(f".{_name}", __name__)
        app.command(_name.replace("_", "-"))(run_clean(getattr(_module, f"{_name}_command")))
