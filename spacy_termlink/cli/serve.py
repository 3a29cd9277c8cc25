"""`termlink serve`: a page and a JSON API over KBs or a pipeline."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ._common import note


def serve_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="KB_OR_PIPELINE...",
            help="KB folder (several: side by side) or a saved spaCy pipeline with a term_linker.",
        ),
    ],
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. The default is reached from this machine only."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)
    ] = 8765,
    max_chars: Annotated[
        int, typer.Option(help="Longest note, in characters; a longer one gets 413.", min=1)
    ] = 100_000,
    timeout: Annotated[
        float,
        typer.Option(help="Seconds for an answer; after them the request gets 504.", min=0.1),
    ] = 30.0,
    access_log: Annotated[
        bool,
        typer.Option(
            "--access-log/--no-access-log",
            help="Write a line per request to stderr: method, path, status, time; never a text.",
        ),
    ] = True,
) -> None:
    """Serve a page and a JSON API: search the terminology, look at concepts, annotate a note."""
    from ..serve.run import listen, require_serve

    require_serve()
    with listen(host, port) as bound:
        from ..serve.guard import Limits
        from ..serve.run import serve

        limits = Limits(max_chars=max_chars, seconds=timeout)
        # Ctrl-C is how a server is meant to end
        with suppress(KeyboardInterrupt):
            serve(
                [str(path) for path in paths],
                bound=bound,
                limits=limits,
                access_log=access_log,
                say=note,
            )
        note("Stopped.")
