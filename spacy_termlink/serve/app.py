"""The application: routes of the page and of the API."""

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Optional

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import TermlinkError
from . import shapes
from .docs_page import describe_api
from .guard import LOOPBACK, Guard, Limits
from .lanes import Lane
from .served import Served

PAGE = Path(__file__).parent
#: Files of the page; no other file can be asked for.
STATIC = ("app.js", "style.css")
#: HTTP status of the errors a request can cause; others are faults of the server.
STATUS = {
    "TL107": 404, "TL851": 413, "TL852": 504, "TL853": 503, "TL854": 404, "TL855": 422, "TL907": 422,
}  # fmt: skip
#: Requests that wait or run, of each kind; a queue longer than this outlives the time limit.
MOST_WAITING = 64
SEARCH_THREADS = 2

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": shapes.Problem, "description": text}
    for status, text in (
        (413, "The text is too long."),
        (422, "The request cannot be understood, or its text not be read."),
        (503, "Too many requests wait."),
        (504, "No answer within the time limit."),
    )
}
_UNKNOWN: dict[int | str, dict[str, Any]] = {
    404: {"model": shapes.Problem, "description": "No such KB, or no such concept."}
}


def make_app(
    served: Served,
    *,
    limits: Limits = Limits(),
    log: Callable[[str], None] = lambda line: None,
    hosts: Optional[frozenset[str]] = LOOPBACK,
) -> Guard:
    """The ASGI application.

    served (Served): What it shows.
    limits (Limits): What one request may cost.
    log (Callable[[str], None]): Gets the access log, a line per request, without any text of a user.
    hosts (Optional[frozenset[str]]): Host names a browser may ask by, None for all.
    """
    notes = Lane("annotate", threads=1, most=MOST_WAITING, seconds=limits.seconds)
    searches = Lane("search", threads=SEARCH_THREADS, most=MOST_WAITING, seconds=limits.seconds)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        notes.close()
        searches.close()

    app = FastAPI(
        title="termlink",
        version=__version__,
        description="Search a terminology, look at its concepts, link the mentions of a note.",
        docs_url=None,  # FastAPI's page loads its script from another host
        redoc_url=None,
        lifespan=lifespan,
        **_without_telemetry(),
    )
    _add_api(app, served, limits, notes, searches)
    _add_page(app)
    _add_errors(app)
    paths = frozenset({"/", "/docs", "/openapi.json", "/search", "/annotate", "/health"})
    static = {f"/static/{name}" for name in STATIC}
    return Guard(app, limits=limits, log=log, paths=paths | static, hosts=hosts)


def _add_api(app: FastAPI, served: Served, limits: Limits, notes: Lane, searches: Lane) -> None:
    async def find(text: str, k: int, kb: Optional[str]) -> dict[str, Any]:
        _check_length("search text", text, limits.max_search_chars)
        return await searches.run(served.search, text, k=k, kb=kb)

    @app.get("/search", response_model=shapes.SearchResponse, responses={**_PROBLEMS, **_UNKNOWN})
    async def search(
        text: Annotated[str, Query(description="A name, or words for it.")],
        k: Annotated[int, Query(ge=1, le=100, description="Concepts wanted.")] = 10,
        kb: Annotated[Optional[str], Query(description="KB; the first if left out.")] = None,
    ) -> Any:
        """Concepts that a text may name, best first."""
        return await find(text, k, kb)

    @app.post("/search", response_model=shapes.SearchResponse, responses={**_PROBLEMS, **_UNKNOWN})
    async def search_post(request: shapes.SearchRequest) -> Any:
        """The same with the text in the body: for texts that no address should hold."""
        return await find(request.text, request.k, request.kb)

    @app.post("/annotate", response_model=shapes.AnnotateResponse, responses=_PROBLEMS)
    async def annotate(request: shapes.AnnotateRequest) -> Any:
        """Mentions of a note with their concepts."""
        _check_length("note", request.text, limits.max_chars)
        return await notes.run(served.annotate, request.text)

    @app.get("/concept/{concept_id:path}", response_model=shapes.Concept, responses=_UNKNOWN)
    async def concept(
        concept_id: str,
        kb: Annotated[Optional[str], Query(description="KB; else the first to know it.")] = None,
    ) -> Any:
        """A concept with its names, parents and children; old ids lead to the living concept."""
        return await searches.run(served.describe, concept_id, kb=kb)

    @app.get("/health", response_model=shapes.Health)
    async def health() -> Any:
        """That the server answers, what it serves and its limits."""
        return {
            "status": "ok",
            "version": __version__,
            "pipeline": served.nlp.pipe_names,
            "kbs": served.about(),
            "max_chars": limits.max_chars,
            "max_search_chars": limits.max_search_chars,
            "timeout_seconds": limits.seconds,
        }


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(PAGE / "index.html")

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in STATIC:
            raise HTTPException(404)
        return FileResponse(PAGE / name)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(describe_api(app.openapi()))


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(TermlinkError)
    async def refuse(_: Request, error: TermlinkError) -> Response:
        headers = {"Retry-After": "1"} if error.code == "TL853" else None
        status = STATUS.get(error.code, 500)
        return JSONResponse({"detail": str(error)}, status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        # without "input", which FastAPI's own answer repeats: it may be a note
        places = [(".".join(map(str, e["loc"])), e["msg"]) for e in error.errors()]
        reason = "; ".join(f"{place}: {message}" for place, message in places)
        return JSONResponse({"detail": str(TermlinkError("TL858", reason=reason))}, 422)

    @app.exception_handler(HTTPException)
    async def refuse_http(_: Request, error: HTTPException) -> Response:
        # FastAPI answers broken JSON with 422, and bytes that are no UTF-8 with 400
        status = 422 if error.status_code == 400 else error.status_code
        refusal = TermlinkError("TL858", reason=str(error.detail))
        return JSONResponse({"detail": str(refusal)}, status, error.headers)


def _check_length(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise TermlinkError("TL851", what=what, limit=f"{most:,}", unit="characters")


def _without_telemetry() -> dict[str, Any]:
    """Newer FastAPI can send requests, texts included, to where the environment says."""
    if "telemetry" not in inspect.signature(FastAPI.__init__).parameters:
        return {}
    return {"telemetry": {"tracing": False, "metrics": False, "logs": False}}
