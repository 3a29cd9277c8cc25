"""The training loop."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
import torch
from torch import Tensor

from ..errors import TermlinkError
from .card import write_card
from .checkpoints import Checkpoint, RunFolder, load_moments, save_moments
from .data import TrainingData
from .gradients import add_gradients
from .model import TrainableEncoder
from .refresh import HardTable, Search, refresh
from .runlog import RunLog
from .settings import OptimizerSettings, TrainingConfig
from .supply import BatchSupply
from .world import World

#: Function of an encoder's `encode` -> figures, the one that decides first. Evaluation is of a
#: higher rank: the command line passes it in.
Score = Callable[[Callable[[Sequence[str]], np.ndarray]], Mapping[str, float]]
#: Called after each step with what happened: step, loss, texts, texts_per_second.
Report = Callable[[Mapping[str, Any]], object]


class Trainer:
    """Trains one encoder, from the start or from a checkpoint.

    config (TrainingConfig): What to do.
    data (TrainingData): What to train on.
    model (TrainableEncoder): Where to start; changed in place.
    world (World): The processes.
    search (Optional[Search]): For [training.refresh].
    score (Optional[Score]): For [training.dev]; all processes call it together.
    report (Optional[Report]): For a progress bar.
    """

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
        self.config, self.data, self.model, self.world = config, data, model, world
        self._search, self._score, self._report = search, score, report
        self.supply = BatchSupply(config, data)
        self._start = model.snapshot() if config.model.average_with_start else {}
        self.optimizer, self.names = make_optimizer(config.optimizer, model.parameters)
        self._ids: dict[int, list[int]] = {}
        #: Everything a checkpoint keeps beside tensors, and the model card prints.
        self.state: dict[str, Any] = {
            "step": 0, "best_step": None, "best": None, "scores_without_gain": 0, "first": None,
            "train_seconds": 0.0, "refresh_seconds": 0.0, "dev_seconds": 0.0, "texts": 0,
            "refreshes": 0, "stopped": False,
        }  # fmt: skip

    def run(self, out: Path, *, resume: bool = False) -> dict[str, Any]:
        """Train, and write the encoder folder.

        out (Path): Folder to write; an old encoder there is replaced at the end.
        resume (bool): Go on from the checkpoint beside it.
        RETURNS (dict[str, Any]): The state at the end, with the figures of the run.
        RAISES (TermlinkError): TL002 for a folder that is no encoder, TL416 to TL419 where resuming
            and the unfinished run do not fit, TL421 for a loss that is no number.
        """
        folder = self._open(out, resume)
        log = None
        if self.world.is_first:
            tensorboard = self.config.run.tensorboard
            log = RunLog(folder.log, step=self.state["step"], tensorboard=tensorboard)
        self.world.wait()
        if self._score is not None and self.state["step"] == 0:
            self._evaluate(folder, log)
        losses: dict[str, list[float]] = defaultdict(list)
        while self.state["step"] < self.config.run.max_steps and not self.state["stopped"]:
            self._refresh_if_due(log)
            self._step(losses)
            self._log(log, losses)
            if self._is_due(self.config.dev.every) and self._score is not None:
                self._evaluate(folder, log)
            if self._is_due(self.config.run.checkpoint_every) and self.world.is_first:
                folder.save(self.checkpoint())
        return self._finish(out, folder, log)

    def checkpoint(self) -> Checkpoint:
        """What `restore` goes on from."""
        state = {
            **self.state,
            "tasks": self.supply.schedule.state(),
            "config": self.config.raw,
            "records_sha256": self.data.sha256,
        }
        moments = save_moments(self.optimizer, self.names)
        return Checkpoint(state, self.model.snapshot(), moments, self.supply.table)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        self.state.update({key: checkpoint.state[key] for key in self.state})
        self.supply.schedule.restore(checkpoint.state["tasks"])
        if checkpoint.table is not None:
            self.supply.set_table(checkpoint.table)
        self.model.load(checkpoint.weights)
        load_moments(self.optimizer, self.names, checkpoint.moments)

    def _open(self, out: Path, resume: bool) -> RunFolder:
        folder = RunFolder(out)
        if out.exists() and not (out / "config.json").is_file():
            raise TermlinkError("TL002", path=out, kind="encoder folder")
        if resume:
            checkpoint = folder.load()
            _check_same(folder.path, checkpoint.state, self.config.raw, self.data.sha256)
            self.restore(checkpoint)
        elif folder.steps():
            raise TermlinkError("TL418", path=folder.path)
        return folder

    def _is_due(self, every: int) -> bool:
        step = self.state["step"]
        return bool(every) and (step % every == 0 or step == self.config.run.max_steps)

    def _step(self, losses: dict[str, list[float]]) -> None:
        """One update of the weights."""
        start = time.perf_counter()
        run, state = self.config.run, self.state
        total, n_texts = 0.0, 0
        for i in range(run.accumulate):
            batch = self.supply.next(state["step"] * run.accumulate + i)
            task = self.config.tasks[batch.task]
            value = add_gradients(
                self.model,
                batch,
                [self._token_ids(text) for text in batch.texts.tolist()],
                task.loss,
                normalize=task.normalize,
                scale=1 / run.accumulate,
                chunk_tokens=run.chunk_tokens,
                world=self.world,
            )
            if not math.isfinite(value):
                raise TermlinkError("TL421", value=value, step=state["step"])
            losses[batch.task].append(value)
            total, n_texts = total + value / run.accumulate, n_texts + len(batch.texts)
        parameters = list(self.model.parameters.values())
        self.world.sum_gradients(parameters)
        if self.config.optimizer.clip:
            torch.nn.utils.clip_grad_norm_(parameters, self.config.optimizer.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.config.optimizer, state["step"], run.max_steps)
        self.optimizer.step()
        self.optimizer.zero_grad()
        seconds = time.perf_counter() - start
        state["step"] += 1
        state["texts"] += n_texts
        state["train_seconds"] += seconds
        if self._report is not None:
            speed = state["texts"] / state["train_seconds"]
            self._report({"step": state["step"], "loss": total, "texts_per_second": speed})

    def _token_ids(self, text: int) -> list[int]:
        if text not in self._ids:
            self._ids[text] = self.model.token_ids(self.data.form(text))
        return self._ids[text]

    def _log(self, log: Optional[RunLog], losses: dict[str, list[float]]) -> None:
        if not self._is_due(self.config.run.log_every):
            return
        state = self.state
        means = {task: sum(values) / len(values) for task, values in sorted(losses.items())}
        losses.clear()
        if log is not None:
            log.write(
                "train",
                state["step"],
                losses=means,
                learning_rate=self.optimizer.param_groups[0]["lr"],
                texts=state["texts"],
                texts_per_second=round(state["texts"] / state["train_seconds"], 1),
                seconds=round(state["train_seconds"], 2),
                refresh_seconds=round(state["refresh_seconds"], 2),
            )

    def _refresh_if_due(self, log: Optional[RunLog]) -> None:
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

    def _evaluate(self, folder: RunFolder, log: Optional[RunLog]) -> None:
        """Score the weights that would be saved now, and keep them if they are the best."""
        assert self._score is not None
        start = time.perf_counter()
        state, current = self.state, self.model.snapshot()
        saved = self._to_save(current)
        self.model.load(saved)
        figures = dict(self._score(self.encode))
        self.model.load(current)
        seconds = time.perf_counter() - start
        state["dev_seconds"] += seconds
        if state["first"] is None:
            state["first"] = figures
        name = next(iter(figures))
        if state["best"] is None or figures[name] > state["best"][name]:
            state.update(best=figures, best_step=state["step"], scores_without_gain=0)
            if self.world.is_first:
                folder.save_best(state["step"], saved)
        else:
            state["scores_without_gain"] += 1
            patience = self.config.dev.patience
            state["stopped"] = bool(patience) and state["scores_without_gain"] >= patience
        if log is not None:
            log.write("dev", state["step"], **figures, seconds=round(seconds, 2))

    def _to_save(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        share = self.config.model.average_with_start
        if not share:
            return weights
        return {k: share * self._start[k] + (1 - share) * value for k, value in weights.items()}

    def _finish(self, out: Path, folder: RunFolder, log: Optional[RunLog]) -> dict[str, Any]:
        state = self.state
        if self.world.is_first:
            if self._score is not None:
                self.model.load(folder.load_best(state["best_step"]))
            else:
                self.model.load(self._to_save(self.model.snapshot()))
            assert log is not None
            figures = {k: v for k, v in state.items() if k not in ("scores_without_gain",)}
            log.write("end", **figures)
            tasks = self.supply.schedule.state()
            self.model.save(
                out,
                add=lambda part: write_card(
                    part, self.config, self.data, self.model, figures, tasks, folder.log
                ),
            )
            folder.remove()
        self.world.wait()
        return state


def make_optimizer(
    settings: OptimizerSettings, parameters: Mapping[str, Tensor]
) -> tuple[torch.optim.AdamW, list[str]]:
    """AdamW, and the names of its parameters in its order; biases and norms do not decay."""
    matrices = [name for name, value in parameters.items() if value.dim() > 1]
    others = [name for name, value in parameters.items() if value.dim() <= 1]
    groups = [
        {"params": [parameters[name] for name in matrices], "weight_decay": settings.weight_decay},
        {"params": [parameters[name] for name in others], "weight_decay": 0.0},
    ]
    # fused: one pass over weights and moments, the same numbers in any run
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=True), matrices + others


def learning_rate(settings: OptimizerSettings, step: int, max_steps: int) -> float:
    """Rate of a step, counted from 0: linear up over the warm-up, then linear down to 0."""
    if step < settings.warmup_steps:
        return settings.learning_rate * (step + 1) / settings.warmup_steps
    rest = max(1, max_steps - settings.warmup_steps)
    return settings.learning_rate * (max_steps - step) / rest


def _check_same(
    path: Path, state: Mapping[str, Any], config: Mapping[str, Any], sha256: str
) -> None:
    """Refuse to go on with other settings or records."""
    before, now = _flat(state["config"]), _flat(config)
    before["the records' sha256"], now["the records' sha256"] = state["records_sha256"], sha256
    for field in sorted({*before, *now}):
        if before.get(field) != now.get(field):
            found, value = before.get(field), now.get(field)
            raise TermlinkError("TL419", path=path, field=field, found=found, value=value)


def _flat(section: Mapping[str, Any], name: str = "training") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in section.items():
        where = f"{name}.{key}"
        found.update(_flat(value, where) if isinstance(value, Mapping) else {where: value})
    return found
