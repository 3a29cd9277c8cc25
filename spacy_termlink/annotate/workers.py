"""Who works on the parts: this process, or several that each load the pipeline."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Optional

from spacy.language import Language

from ..errors import TermlinkError
from .core import annotate_batch, find_linkers
from .outputs import Extras
from .parts import Part, PartFolder, PartResult
from .pipelines import load_pipeline
from .privacy import withhold_errors, withhold_messages


class Worker:
    """Annotates parts and writes them.

    nlp (Language): The pipeline.
    parts (PartFolder): Where to write.
    format (str): Output format.
    """

    def __init__(self, nlp: Language, parts: PartFolder, format: str) -> None:  # noqa: A002
        self._nlp = nlp
        self._linkers = find_linkers(nlp)
        self._parts = parts
        self._format = format

    def work(self, part: Part) -> PartResult:
        """Annotate a part and write it.

        RAISES (TermlinkError): TL811 for an unexpected exception, its message withheld.
        """
        extras = Extras(self._format, self._linkers)
        with withhold_errors("The pipeline"), withhold_messages():
            annotated = annotate_batch(
                self._nlp, part.notes, linkers=self._linkers, on_doc=extras.add
            )
            return self._parts.write(part, annotated, extras.files())


def work_in_pool(
    parts: Iterable[Part], pipeline: Sequence[str], folder: Path, format: str, n_process: int,  # noqa: A002
) -> Iterator[PartResult]:  # fmt: skip
    """Work on parts in `n_process` processes, at most two parts a process in memory.

    YIELDS (PartResult): In the order of the parts.
    RAISES (TermlinkError): TL812 if a process dies.
    """
    n_threads = max(1, (os.cpu_count() or 1) // n_process)
    # spawn, since a forked process may find the locks of torch and faiss taken
    pool = ProcessPoolExecutor(
        n_process,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(list(pipeline), folder, format, n_threads),
    )
    pending: deque[Future] = deque()
    try:
        for part in parts:
            pending.append(pool.submit(_work, part))
            if len(pending) >= 2 * n_process:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool:
        raise TermlinkError("TL812") from None
    finally:
        pool.shutdown(cancel_futures=True)


_worker: Optional[Worker] = None  # of this process, in a pool


def _start(pipeline: list[str], folder: Path, format: str, n_threads: int) -> None:  # noqa: A002
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process: the first decides
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(n_threads)
    _worker = Worker(load_pipeline(pipeline), PartFolder(folder), format)


def _work(part: Part) -> PartResult:
    assert _worker is not None  # noqa: S101
    return _worker.work(part)


def _leave_with_parent() -> None:
    """A killed parent would leave its processes waiting for work for ever."""
    parent: Any = multiprocessing.parent_process()
    wait([parent.sentinel])
    os._exit(1)
