"""Rows collected into Arrow columns, a block at a time; names are normalised on the way."""

from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from types import TracebackType
from typing import Any, Optional

import pyarrow as pa

from ..text import normalize

#: Rows that are in memory as Python objects.
BLOCK_ROWS = 100_000
#: Blocks of names that wait for another process.
MAX_WAITING = 4


class Blocks:
    """Rows of one table.

    schema (pa.Schema): Of the table.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._rows: list[tuple] = []
        self._batches: list[pa.RecordBatch] = []

    def add(self, row: tuple) -> None:
        """Add a row."""
        self._rows.append(row)
        if len(self._rows) >= BLOCK_ROWS:
            self._flush()

    def table(self) -> pa.Table:
        """All rows added."""
        self._flush()
        return pa.Table.from_batches(self._batches, schema=self._schema)

    def _flush(self) -> None:
        if self._rows:
            self._batches.append(self._batch(self._rows))
            self._rows = []

    def _batch(self, rows: list[tuple]) -> pa.RecordBatch:
        arrays = [
            # zip(*rows) would make an iterator for each row
            pa.array([row[i] for row in rows], type=field.type)
            for i, field in enumerate(self._schema)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


class NameBlocks(Blocks):
    """Rows of the names; the column `normalized` is filled in.

    schema (pa.Schema): Of the names.
    n_process (int): With more than one, blocks are normalised in the others while this one reads on.
    """

    def __init__(self, schema: pa.Schema, n_process: int) -> None:
        super().__init__(schema)
        self._column = schema.get_field_index("normalized")
        self._n_others = n_process - 1
        self._pool: Optional[ProcessPoolExecutor] = None
        self._waiting: deque[tuple[pa.RecordBatch, Future]] = deque()

    def __enter__(self) -> "NameBlocks":
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=error is None, cancel_futures=True)

    def table(self) -> pa.Table:
        """All rows added, normalised."""
        self._flush()
        while self._waiting:
            self._finish()
        return pa.Table.from_batches(self._batches, schema=self._schema)

    def _flush(self) -> None:
        if not self._rows:
            return
        batch, self._rows = self._batch(self._rows), []
        if self._n_others < 1:
            self._batches.append(self._filled(batch, _normalized(batch["text"])))
            return
        if self._pool is None:
            # spawn: a fork of a process with Arrow's threads may hang
            self._pool = ProcessPoolExecutor(self._n_others, get_context("spawn"))
        self._waiting.append((batch, self._pool.submit(_normalized, batch["text"])))
        if len(self._waiting) > MAX_WAITING + self._n_others:
            self._finish()

    def _finish(self) -> None:
        batch, future = self._waiting.popleft()
        self._batches.append(self._filled(batch, future.result()))

    def _filled(self, batch: pa.RecordBatch, normalized: Any) -> pa.RecordBatch:
        return batch.set_column(self._column, self._schema.field(self._column), normalized)


def _normalized(texts: pa.StringArray) -> pa.StringArray:
    return pa.array([normalize(text) for text in texts.to_pylist()], type=pa.string())
