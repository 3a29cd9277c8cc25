"""Runs the server: binds first, so that a port in use is one clear line, then serves until a signal."""

import socket
import sys
from collections.abc import Callable, Sequence

from ..annotate.privacy import withhold_messages
from ..errors import MissingExtraError, TermlinkError
from .guard import LOOPBACK, Limits

#: Seconds that requests in progress get when the server is told to stop.
GRACE = 5
#: Connections at a time; the server answers 503 beyond them.
MOST_CONNECTIONS = 256
BACKLOG = 128


def require_serve() -> None:
    """RAISES (MissingExtraError): TL004 if a library of the extra `serve` is missing."""
    for library in ("fastapi", "uvicorn"):
        try:
            __import__(library)
        except ImportError as error:
            raise MissingExtraError("TL004", library=library, extra="serve") from error


def listen(host: str, port: int) -> socket.socket:
    """A bound socket.

    host (str): Name or address; port (int): 0 takes a free one.
    RAISES (TermlinkError): TL850 where that is not possible.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise _refused(host, port, error) from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise _refused(host, port, error) from error
    return bound


def _refused(host: str, port: int, error: Exception) -> TermlinkError:
    reason = getattr(error, "strerror", None) or str(error)
    return TermlinkError("TL850", host=host, port=port, reason=reason)


def is_loopback(bound: socket.socket) -> bool:
    """Whether only programs on this machine can reach the socket."""
    address = bound.getsockname()[0]
    return address.startswith("127.") or address == "::1"


def address_of(bound: socket.socket) -> str:
    """Address for a browser on this machine."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(
    paths: Sequence[str],
    *,
    bound: socket.socket,
    limits: Limits,
    access_log: bool,
    say: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM.

    paths (Sequence[str]): KB folders, or one pipeline.
    bound (socket.socket): From `listen`.
    limits (Limits): What one request may cost.
    access_log (bool): Write a line per request to stderr.
    say (Callable[[str], None]): Gets what the user should know: the address, warnings.
    """
    import uvicorn

    from .app import make_app
    from .served import open_served

    served = open_served(paths)
    say("Loading ...")
    served.warm_up()
    local = is_loopback(bound)
    hosts = None
    if local:
        hosts = LOOPBACK | {bound.getsockname()[0]}
    else:
        say(
            "Anyone who reaches this machine can read the terminology and annotate: no password, no TLS."
        )
        for kb in served.kbs.values():
            if not kb.shareable:
                say(f"The licence of {kb.name} ({kb.licence}) forbids passing it on.")
    app = make_app(served, limits=limits, log=_write if access_log else _discard, hosts=hosts)
    config = uvicorn.Config(
        app,
        log_config=None,  # our access log has no query; tracebacks could quote a note
        access_log=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
    )
    server = uvicorn.Server(config)
    say(f"{', '.join(served.kbs)} on {address_of(bound)} (Ctrl-C stops)")
    with withhold_messages():
        server.run(sockets=[bound])


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _discard(_: str) -> None:
    pass
