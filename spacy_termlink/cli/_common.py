"""What the commands share: clean errors, progress on stderr, tables, JSON on a file or stdout."""

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, TypeVar

import typer
from typer.core import TyperCommand

from ..errors import TermlinkError
from ..files import check_writable, write_json

if TYPE_CHECKING:
    from tqdm import tqdm

#: Exit codes: 0 done, 1 a fault of this program, 2 bad input or usage, 130 interrupted (128 + SIGINT).
BAD_INPUT = 2
INTERRUPTED = 130

Command = TypeVar("Command", bound=Callable[..., Any])


def run_clean(command: Command) -> Command:
    """Let a command end with one clear line on stderr where the input is at fault.

    `cli/__init__.py` wraps every command in it; a command raises TermlinkError and never exits by
    itself for bad input. Other exceptions pass: they are faults of this program and stay visible.

    command (Command): Function of a command.
    RETURNS (Command): The same, with exit code 2 for bad input and 130 for Ctrl-C.
    """

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except BrokenPipeError:
            # the reader of our output went away (`| head`); Python would complain at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except TermlinkError as error:
            fail(str(error))
        except UnicodeDecodeError as error:
            fail(f"the input is not UTF-8 text: {error.reason} at byte {error.start}")
        except OSError as error:
            fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except KeyboardInterrupt:
            fail("interrupted", code=INTERRUPTED)

    return wrapped  # type: ignore[return-value]


class PathsCommand(TyperCommand):
    """A command that refuses an empty path, which Python reads as the current folder.

    `cli/__init__.py` makes every command one. All arguments are paths or names but the `text` of `search`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line.

        RAISES (typer.Exit): After TL009 for an empty argument or option with a path.
        """
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        rest = super().parse_args(ctx, args)
        for parameter in self.params:
            value = given.get(parameter.name)
            if "" in (value if isinstance(value, (list, tuple)) else (value,)):
                self._refuse_empty(parameter, ctx.params.get(parameter.name))
        return rest

    def _refuse_empty(self, parameter: Any, value: Any) -> None:
        name = parameter.metavar or parameter.name.upper()
        if parameter.param_type_name == "option":
            # older typers make the Path later
            kind = getattr(getattr(parameter, "type", None), "name", None)
            if not isinstance(value, Path) and kind != "path":
                return
            name = max(parameter.opts, key=len)
        elif parameter.name == "text":
            return
        fail(str(TermlinkError("TL009", name=name)))


def fail(message: str, *, code: int = BAD_INPUT) -> None:
    """Print one line on stderr and leave.

    message (str): What went wrong; line breaks become spaces.
    code (int): Exit code.
    RAISES (typer.Exit): Always.
    """
    print(f"termlink: error: {' '.join(message.split())}", file=sys.stderr)
    raise typer.Exit(code) from None


def note(message: str) -> None:
    """Print a line for the reader on stderr, so that stdout holds results only."""
    print(message, file=sys.stderr)


def progress(
    items: Optional[Iterable] = None, *, total: Optional[int] = None, desc: str, unit: str
) -> "tqdm":
    """A progress bar with rate and time left, on stderr; silent where stderr is no terminal.

    items (Optional[Iterable]): What to go through; None to call `.update(n)` by hand.
    total (Optional[int]): How many there are; without it the time left is unknown.
    desc (str): What is being done, as "Encoding".
    unit (str): Plural of what is counted, as "names".
    """
    from tqdm import tqdm

    # disable=None: tqdm's own "only on a terminal"
    return tqdm(items, total=total, desc=desc, unit=f" {unit}", disable=None, dynamic_ncols=True)


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print aligned columns on stdout: text to the left, numbers to the right."""
    cells = [[str(value) for value in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        first, *rest = row
        aligned = [value.rjust(width) for value, width in zip(rest, widths[1:], strict=True)]
        print("  ".join([first.ljust(widths[0]), *aligned]).rstrip())


def keep_inputs(
    inputs: Iterable[Optional[Path]],
    outputs: Iterable[Optional[Path]],
    *,
    folder: Optional[Path] = None,
) -> None:
    """Refuse, before any work, an output that would overwrite an input or another output, that is a
    folder or that cannot be written.

    outputs (Iterable[Optional[Path]]): None is none; "-" is stdout, which only one can be.
    folder (Optional[Path]): That one of them which may be a folder.
    RAISES (TermlinkError): TL906, TL909, TL008 or TL006, naming it.
    """
    given = {os.path.realpath(path) for path in inputs if path is not None}
    taken: set[str] = set()
    for path in outputs:
        if path is None:
            continue
        resolved = os.path.realpath(path)
        if resolved in given:
            raise TermlinkError("TL906", path=path)
        if resolved in taken:
            raise TermlinkError("TL909", path=path)
        if path.is_dir() and path != folder:
            raise TermlinkError("TL008", path=path)
        if str(path) != "-":
            check_writable(path)
        taken.add(resolved)


def save_json(path: Optional[Path], data: Any) -> None:
    """Write figures where `--json` says: nowhere (None), stdout ("-") or a file."""
    if path is None:
        return
    if str(path) == "-":
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        write_json(path, data)
