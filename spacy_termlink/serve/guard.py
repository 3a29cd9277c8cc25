"""What stands before the application: limits, headers, the access log. ASGI, without a framework."""

import asyncio
import json
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

from ..errors import MESSAGES

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

#: Nothing from another host, no inline script or style, no frame, no form sent elsewhere.
HEADERS = (
    (b"content-security-policy",
     b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
     b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),  # an ontology's site need not know who asks
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),  # a note's links stay out of the browser's cache
)  # fmt: skip
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Limits(NamedTuple):
    """What one request may cost.

    max_chars (int): Characters of a note.
    seconds (float): Time for an answer, and for the body to arrive.
    max_search_chars (int): Characters of a search text.
    """

    max_chars: int = 100_000
    seconds: float = 30.0
    max_search_chars: int = 1_000

    @property
    def max_bytes(self) -> int:
        """Bytes of a body: JSON writes most characters in up to 6 (`\\u00e9`)."""
        return 6 * max(self.max_chars, self.max_search_chars) + 4096


class Refusal(Exception):
    """A request refused before the application sees it."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail


class Guard:
    """Wraps the application.

    app (App): The application.
    limits (Limits): Limits of a body.
    log (Callable[[str], None]): Gets a line per request: method, path, status and time. The query and
        what was typed into a path are left out, they may be of a note.
    paths (frozenset[str]): Paths that the log may name.
    hosts (Optional[frozenset[str]]): Host names a browser may ask by; None for all. On loopback it
        stops pages of other sites that had their own name resolved to this machine.
    """

    def __init__(
        self,
        app: App,
        *,
        limits: Limits,
        log: Callable[[str], None],
        paths: frozenset[str],
        hosts: Optional[frozenset[str]] = LOOPBACK,
    ) -> None:
        self.app = app
        self.limits = limits
        self.log = log
        self.paths = paths
        self.hosts = hosts

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Handle one connection event of the server."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        try:
            self._check_host(scope)
            body = await self._read(scope, receive)
            await self.app(scope, _replay(body, receive), send_guarded)
        except Refusal as refusal:
            await _answer(send_guarded, refusal.status, refusal.detail)
        except Exception as error:  # its message may quote a note: type and place only
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self.log(f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}")
            if not status:
                await _answer(send_guarded, 500, "A fault of the server; its log names the place.")
        finally:
            path = scope["path"] if scope["path"] in self.paths else self._masked(scope["path"])
            elapsed = 1000 * (time.perf_counter() - start)
            method = scope["method"] if scope["method"].isalpha() else "?"
            self.log(f"{method[:10]} {path} {status} {elapsed:.0f} ms")

    def _masked(self, path: str) -> str:
        return "/concept/*" if path.startswith("/concept/") else "*"

    def _check_host(self, scope: MutableMapping[str, Any]) -> None:
        if self.hosts is None:
            return
        host = _header(scope, b"host").decode("latin1").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name not in self.hosts:
            raise Refusal(421, _text("TL856"))

    async def _read(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes:
        """The body, whole.

        RAISES (Refusal): 413 if it is too long, 408 if it does not arrive in time.
        """
        most = self.limits.max_bytes
        declared = _header(scope, b"content-length")
        if declared.isdigit() and int(declared) > most:
            raise Refusal(413, _text("TL851", what="body", limit=f"{most:,}", unit="bytes"))
        try:
            return await asyncio.wait_for(_collect(receive, most), self.limits.seconds)
        except asyncio.TimeoutError:
            seconds = f"{self.limits.seconds:g}"
            raise Refusal(408, _text("TL857", seconds=seconds)) from None


async def _collect(receive: Receive, most: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        chunk = message.get("body", b"")  # a disconnect has none, and ends the reading
        size += len(chunk)
        if size > most:
            raise Refusal(413, _text("TL851", what="body", limit=f"{most:,}", unit="bytes"))
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


async def _answer(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _header(scope: MutableMapping[str, Any], name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


def _text(code: str, **values: Any) -> str:
    return f"[{code}] {MESSAGES[code].format(**values)}"
