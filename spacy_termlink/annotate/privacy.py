"""Keeps note text out of logs and error messages, whoever writes them."""

import logging
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import TermlinkError

WITHHELD = "message withheld, it may hold note text"


@contextmanager
def withhold_messages() -> Iterator[None]:
    """In this process, while notes are worked on, log records and warnings say where they come from
    and nothing else: components put texts and tracebacks into them. loguru, through which medspaCy's
    sentence splitter shows every token of a note, is silent.
    """
    make_record = logging.getLogRecordFactory()

    def bare_record(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make_record(*args, **kwargs)
        record.msg, record.args = f"{record.module}:{record.lineno} ({WITHHELD})", ()
        record.exc_info = record.exc_text = record.stack_info = None
        return record

    def bare_warning(
        message: Any, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
    ) -> None:
        place = f"{Path(filename).name}:{lineno}"
        sys.stderr.write(f"{category.__name__} at {place} ({WITHHELD})\n")

    loguru = sys.modules.get("loguru")
    if loguru is not None:
        loguru.logger.disable("")
    logging.setLogRecordFactory(bare_record)
    with warnings.catch_warnings():
        warnings.showwarning = bare_warning  # type: ignore[assignment]
        try:
            yield
        finally:
            logging.setLogRecordFactory(make_record)
            if loguru is not None:
                loguru.logger.enable("")


@contextmanager
def withhold_errors(what: str) -> Iterator[None]:
    """Turn an unexpected exception into a TL811 that says its type and place, not its message."""
    try:
        yield
    except TermlinkError:  # ours never quote a note
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        raise TermlinkError("TL811", what=what, error=type(error).__name__, where=where) from None
