"""Gives the trainer its batches: the next task, its records, and hard names from the last refresh."""

from collections.abc import Sequence
from typing import Optional

import numpy as np

from ..errors import TermlinkError
from .batches import Batch, HardNames, make_batch
from .config import NAMES_TASK
from .data import ANCHOR, ANCHOR_CONCEPT, POSITIVE, POSITIVE_CONCEPT, TrainingData
from .refresh import HardTable, draw_hard, table_rows
from .schedule import Schedule
from .settings import TaskSettings, TrainingConfig


class BatchSupply:
    """Batches without end, a function of the config, the seed and the table.

    config (TrainingConfig): Tasks, weights, seed.
    data (TrainingData): Records and names.
    """

    def __init__(self, config: TrainingConfig, data: TrainingData) -> None:
        self._config, self._data = config, data
        weights = {
            name: data.weight(name) if task.weight is None else task.weight
            for name, task in config.tasks.items()
        }
        self.schedule = Schedule(weights, config.run.seed)
        self._table: Optional[HardTable] = None
        self._table_rows: dict[tuple[int, int], int] = {}
        self._names = np.empty((0, 6), dtype=np.int32)

    @property
    def table(self) -> Optional[HardTable]:
        """What the last refresh found."""
        return self._table

    def set_table(self, table: HardTable) -> None:
        """Draw hard names from this refresh from now on.

        RAISES (TermlinkError): TL422 if the task "names" has no anchor.
        """
        self._table = table
        self._table_rows = table_rows(self._data, table)
        if NAMES_TASK in self._config.tasks:
            self._names = self._name_records(table)

    def next(self, step: int) -> Batch:
        """The next batch.

        step (int): Key of the random choices, beside what the task has done.
        """
        task = self.schedule.next_task()
        settings = self._config.tasks[task]
        records = self._names if task == NAMES_TASK else self._data.tasks[task]
        version = self._table.number if self._table and task == NAMES_TASK else 0
        taken = self.schedule.take(task, len(records), settings.batch_size, version=version)
        batch_records = records[taken]
        key = (self._config.run.seed, "hard", step, *vars(self.schedule.places[task]).values())
        hard = self._hard(settings, batch_records, key)
        batch = make_batch(self._data, task, settings, batch_records, hard)
        self.schedule.count(task, len(batch.texts))
        return batch

    def _hard(
        self, settings: TaskSettings, records: np.ndarray, key: Sequence[object]
    ) -> Optional[HardNames]:
        positives, negatives = settings.hard_positives, settings.hard_negatives
        if not (positives or negatives) or self._table is None:
            return None
        row = self._table_rows.get
        # an altered copy of a name was never searched: what its positive found serves as well
        anchors = [
            row((r[ANCHOR], r[ANCHOR_CONCEPT]), row((r[POSITIVE], r[POSITIVE_CONCEPT]), -1))
            for r in records.tolist()
        ]
        return draw_hard(
            self._data,
            self._table,
            np.array(anchors, dtype=np.int64),
            positives=positives,
            negatives=negatives,
            key=tuple(key),
        )

    def _name_records(self, table: HardTable) -> np.ndarray:
        rows = table.rows[(table.positive >= 0).any(axis=1)]
        if not len(rows):
            raise TermlinkError("TL422", path=self._config.run.records)
        records = np.full((len(rows), 6), -1, dtype=np.int32)
        records[:, ANCHOR] = self._data.names.text[rows]
        concepts = self._data.names.concept[rows]
        records[:, ANCHOR_CONCEPT] = records[:, POSITIVE_CONCEPT] = concepts
        return records
