"""Who works on the parts: this process, or several that share its pipeline."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Optional

from spacy.language import Language
from spacy.tokens import Span

from ..errors import TermlinkError
from ..pipeline.term_linker import TermLinker
from ..pipeline.term_matcher import TermMatcher
from ..pipeline.workers import settle_worker
from .core import annotate_batch, find_linkers
from .outputs import Extras
from .parts import Part, PartFolder, PartResult
from .pipelines import load_pipeline
from .privacy import withhold_errors, withhold_messages

#: A mention that no name is like, so that every way of finding one is gone.
NO_NAME = "zqxj wvkq"


class Worker:
    """Annotates parts and writes them.

    nlp (Language): The pipeline.
    parts (PartFolder): Where to write.
    format (str): Output format.
    """

    def __init__(self, nlp: Language, parts: PartFolder, format: str) -> None:  # noqa: A002
        self._nlp = nlp
        self._linkers = find_linkers(nlp)
        self.parts = parts
        self.format = format

    def work(self, part: Part) -> PartResult:
        """Annotate a part and write it.

        RAISES (TermlinkError): TL811 for an unexpected exception, its message withheld.
        """
        extras = Extras(self.format, self._linkers)
        with withhold_errors("The pipeline"), withhold_messages():
            annotated = annotate_batch(
                self._nlp, part.notes, linkers=self._linkers, on_doc=extras.add
            )
            return self.parts.write(part, annotated, extras.files())

    def rehearse(self) -> None:
        """Open what our components open at their first mention, so that forks find it open."""
        import torch

        n_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        doc = self._nlp.make_doc(NO_NAME)
        for _, component in self._nlp.pipeline:
            if isinstance(component, TermMatcher):
                component.predict([doc])
            elif isinstance(component, TermLinker):
                key, span = component.cfg["spans_key"], Span(doc, 0, len(doc), "TERM")
                if key is None:
                    doc.ents = [span]
                else:
                    doc.spans[key] = [span]
                component.predict([doc])
        torch.set_num_threads(n_threads)


def work_in_pool(
    parts: Iterable[Part], worker: Worker, pipeline: Sequence[str], n_process: int
) -> Iterator[PartResult]:
    """Work on parts in `n_process` processes of one thread each, at most two parts a process in
    memory.

    On Linux they are forks of this process and share the pages of its pipeline: nothing is loaded
    again. Elsewhere a fork is not safe, and each loads the pipeline.

    worker (Worker): Of this process.
    pipeline (Sequence[str]): What it was loaded from.
    YIELDS (PartResult): In the order of the parts.
    RAISES (TermlinkError): TL812 if a process dies.
    """
    pool = (
        _fork(worker, n_process) if sys.platform == "linux" else _spawn(worker, pipeline, n_process)
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


def _fork(worker: Worker, n_process: int) -> ProcessPoolExecutor:
    """A pool of forks, all started now: before the input is read and this process has more threads."""
    global _worker
    worker.rehearse()
    gc.collect()
    gc.freeze()  # the collector writes to every object that it looks at, and the page is copied
    _worker = worker
    try:
        pool = ProcessPoolExecutor(
            n_process, mp_context=multiprocessing.get_context("fork"), initializer=_settle
        )
        for started in [pool.submit(os.getpid) for _ in range(n_process)]:
            started.result()
    except BrokenProcessPool:
        raise TermlinkError("TL812") from None
    finally:
        _worker = None
        gc.unfreeze()
    return pool


def _spawn(worker: Worker, pipeline: Sequence[str], n_process: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        n_process,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_load,
        initargs=(list(pipeline), worker.parts.path, worker.format),
    )


_worker: Optional[Worker] = None  # of this process, in a pool


def _load(pipeline: list[str], folder: Path, format: str) -> None:  # noqa: A002
    global _worker
    _settle()
    _worker = Worker(load_pipeline(pipeline), PartFolder(folder), format)


def _settle() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process: the first decides
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    settle_worker()


def _work(part: Part) -> PartResult:
    assert _worker is not None  # noqa: S101
    return _worker.work(part)


def _leave_with_parent() -> None:
    """A killed parent would leave its processes waiting for work for ever."""
    parent: Any = multiprocessing.parent_process()
    wait([parent.sentinel])
    os._exit(1)
