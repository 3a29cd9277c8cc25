"""The training loop of encoders."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Optional

import numpy as np
import torch
from torch import Tensor

from .card import write_card
from .checkpoints import Checkpoint
from .data import TrainingData
from .gradients import add_gradients
from .loop import Loop, Report
from .model import TrainableEncoder
from .refresh import HardTable, Search, refresh
from .runlog import RunLog
from .settings import TrainingConfig
from .supply import BatchSupply
from .world import World

#: Function of an encoder's `encode` -> figures, the one that decides first. Evaluation is of a
#: higher rank: the command line passes it in.
Score = Callable[[Callable[[Sequence[str]], np.ndarray]], Mapping[str, float]]


class Trainer(Loop):
    """Trains one encoder, from the start or from a checkpoint.

    config (TrainingConfig): What to do.
    data (TrainingData): What to train on.
    model (TrainableEncoder): Where to start; changed in place.
    world (World): The processes.
    search (Optional[Search]): For [training.refresh].
    score (Optional[Score]): For [training.dev]; all processes call it together.
    report (Optional[Report]): For a progress bar.
    """

    SECTION: ClassVar[str] = "training"
    MARK: ClassVar[str] = "config.json"
    KIND: ClassVar[str] = "encoder folder"

    def __init__(
        self,
        config: TrainingConfig,
        data: TrainingData,
        model: TrainableEncoder,
        *,
        world: World,
        search: Optional[Search] = None,
        score: Optional[Score] = None,
        report: Optional[Report] = None,
    ) -> None:
        super().__init__(
            config.run,
            config.optimizer,
            config.dev,
            model,
            world=world,
            raw=config.raw,
            data_sha256=data.sha256,
            scored=score is not None,
            report=report,
        )
        self.config, self.data, self.model = config, data, model
        self._search, self._score = search, score
        self.supply = BatchSupply(config, data)
        self._start = model.snapshot() if config.model.average_with_start else {}
        self._ids: dict[int, list[int]] = {}
        self.state |= {"refresh_seconds": 0.0, "refreshes": 0}

    def _more_state(self) -> tuple[dict[str, Any], Optional[HardTable]]:
        return {"tasks": self.supply.schedule.state()}, self.supply.table

    def _restore_more(self, checkpoint: Checkpoint) -> None:
        self.supply.schedule.restore(checkpoint.state["tasks"])
        if checkpoint.table is not None:
            self.supply.set_table(checkpoint.table)

    def _more_log(self) -> dict[str, Any]:
        return {"refresh_seconds": round(self.state["refresh_seconds"], 2)}

    def _gradients(self, number: int) -> tuple[str, float, int]:
        batch = self.supply.next(number)
        task = self.config.tasks[batch.task]
        value = add_gradients(
            self.model,
            batch,
            [self._token_ids(text) for text in batch.texts.tolist()],
            task.loss,
            normalize=task.normalize,
            scale=1 / self.config.run.accumulate,
            chunk_tokens=self.config.run.chunk_tokens,
            world=self.world,
        )
        return batch.task, value, len(batch.texts)

    def _token_ids(self, text: int) -> list[int]:
        if text not in self._ids:
            self._ids[text] = self.model.token_ids(self.data.form(text))
        return self._ids[text]

    def _before_step(self, log: Optional[RunLog]) -> None:
        settings, step = self.config.refresh, self.state["step"]
        if settings is None or (step and not settings.dynamic) or step % settings.every:
            return
        assert self._search is not None, "a refresh needs a search"
        n = self.state["refreshes"]
        found = refresh(
            self.data,
            settings,
            lambda numbers: self.encode([self.data.form(i) for i in numbers.tolist()]),
            self._search,
            seed=self.config.run.seed,
            number=n,
            share=self.world.share,
        )
        self.supply.set_table(self._gathered(found))
        self.state["refreshes"] += 1
        self.state["refresh_seconds"] += found.seconds
        if log is not None:
            log.write("refresh", step, names=len(found.rows), seconds=round(found.seconds, 2))

    def _gathered(self, table: HardTable) -> HardTable:
        """A table with the rows of all processes."""
        n = len(table.rows)
        for part in ("positive", "negative"):
            own = torch.from_numpy(getattr(table, part)[self.world.share(n)].astype(np.int64))
            whole = self.world.gather(own.to(self.world.device), n)
            setattr(table, part, whole.cpu().numpy().astype(np.int32))
        return table

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Embeddings of length 1 with the weights of the moment; the processes share the work."""
        share = self.world.share(len(texts))
        own = torch.from_numpy(self.model.encode(list(texts)[share]))
        return self.world.gather(own.to(self.world.device), len(texts)).cpu().numpy()

    def _figures(self) -> Mapping[str, float]:
        assert self._score is not None
        return self._score(self.encode)

    def _to_save(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        share = self.config.model.average_with_start
        if not share:
            return weights
        return {k: share * self._start[k] + (1 - share) * value for k, value in weights.items()}

    def _write(self, out: Path, figures: Mapping[str, Any], log: Path) -> None:
        tasks = self.supply.schedule.state()
        self.model.save(
            out,
            add=lambda part: write_card(
                part, self.config, self.data, self.model, figures, tasks, log
            ),
        )
