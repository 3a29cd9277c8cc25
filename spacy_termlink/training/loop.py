"""The loop that every training run shares: steps, log, scores, checkpoints. What a batch is, and what
is saved, says a subclass: `trainer.Trainer` for encoders, `rerank.trainer` for rerankers.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Optional

import torch
from torch import Tensor

from ..errors import TermlinkError
from .checkpoints import Checkpoint, RunFolder, load_moments, save_moments
from .model import Trainable
from .refresh import HardTable
from .runlog import RunLog
from .settings import DevSettings, LoopSettings, OptimizerSettings
from .world import World

#: Called after each step with what happened: step, loss, texts, texts_per_second.
Report = Callable[[Mapping[str, Any]], object]


class Loop:
    """Trains one model, from the start or from a checkpoint.

    run (LoopSettings): Steps, seed, what is written when.
    optimizer (OptimizerSettings): AdamW and its rates.
    dev (DevSettings): When the model is scored, and when that ends the run.
    model (Trainable): Where to start; changed in place.
    world (World): The processes.
    raw (Mapping): The config's section as given: a resumed run must have the same.
    data_sha256 (str): Of what is trained on, likewise.
    scored (bool): Whether `_figures` gives figures.
    report (Optional[Report]): For a progress bar.
    """

    #: Section of the config; file that tells a folder of this kind, and what it is called.
    SECTION: ClassVar[str]
    MARK: ClassVar[str]
    KIND: ClassVar[str]

    def __init__(
        self,
        run: LoopSettings,
        optimizer: OptimizerSettings,
        dev: DevSettings,
        model: Trainable,
        *,
        world: World,
        raw: Mapping[str, Any],
        data_sha256: str,
        scored: bool,
        report: Optional[Report],
    ) -> None:
        self._run, self._dev, self._rates = run, dev, optimizer
        self._model, self.world = model, world
        self._raw, self._data_sha256 = raw, data_sha256
        self._scored, self._report = scored, report
        self.optimizer, self.names = make_optimizer(optimizer, model.parameters)
        #: Everything a checkpoint keeps beside tensors, and the model card prints.
        self.state: dict[str, Any] = {
            "step": 0, "best_step": None, "best": None, "scores_without_gain": 0, "first": None,
            "train_seconds": 0.0, "dev_seconds": 0.0, "texts": 0, "stopped": False,
        }  # fmt: skip

    # --- what a subclass says

    def _gradients(self, number: int) -> tuple[str, float, int]:
        """Add the gradients of a batch to the parameters'.

        number (int): Of the batch, counted from 0 over the whole run.
        RETURNS (tuple[str, float, int]): Its task, its loss, and the texts that were encoded.
        """
        raise NotImplementedError

    def _figures(self) -> Mapping[str, float]:
        """Figures of the model as it is, the one that decides first; all processes call it."""
        raise NotImplementedError

    def _write(self, out: Path, figures: Mapping[str, Any], log: Path) -> None:
        """Write what the run is for."""
        raise NotImplementedError

    def _before_step(self, log: Optional[RunLog]) -> None:
        """What is due before a step."""

    def _more_state(self) -> tuple[dict[str, Any], Optional[HardTable]]:
        """What a checkpoint keeps beside `state`, weights and moments."""
        return {}, None

    def _restore_more(self, checkpoint: Checkpoint) -> None:
        """Take back what `_more_state` gave."""

    def _more_log(self) -> dict[str, Any]:
        """More for a line of the log."""
        return {}

    def _to_save(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """The weights that are scored and saved, made of those that train."""
        return weights

    # --- the run

    def run(self, out: Path, *, resume: bool = False) -> dict[str, Any]:
        """Train, and write the folder.

        out (Path): Folder to write; an old one there is replaced at the end.
        resume (bool): Go on from the checkpoint beside it.
        RETURNS (dict[str, Any]): The state at the end, with the figures of the run.
        RAISES (TermlinkError): TL002 for a folder of another kind, TL416 to TL419 where resuming
            and the unfinished run do not fit, TL421 for a loss that is no number.
        """
        folder = self._open(out, resume)
        log = None
        if self.world.is_first:
            log = RunLog(folder.log, step=self.state["step"], tensorboard=self._run.tensorboard)
        self.world.wait()
        if self._scored and self.state["step"] == 0:
            self._evaluate(folder, log)
        losses: dict[str, list[float]] = defaultdict(list)
        while self.state["step"] < self._run.max_steps and not self.state["stopped"]:
            self._before_step(log)
            self._step(losses)
            self._log(log, losses)
            if self._is_due(self._dev.every) and self._scored:
                self._evaluate(folder, log)
            if self._is_due(self._run.checkpoint_every) and self.world.is_first:
                folder.save(self.checkpoint())
        return self._finish(out, folder, log)

    def checkpoint(self) -> Checkpoint:
        """What `restore` goes on from."""
        more, table = self._more_state()
        about = {"config": self._raw, "records_sha256": self._data_sha256}
        moments = save_moments(self.optimizer, self.names)
        return Checkpoint({**self.state, **more, **about}, self._model.snapshot(), moments, table)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        self.state.update({key: checkpoint.state[key] for key in self.state})
        self._restore_more(checkpoint)
        self._model.load(checkpoint.weights)
        load_moments(self.optimizer, self.names, checkpoint.moments)

    def _open(self, out: Path, resume: bool) -> RunFolder:
        folder = RunFolder(out)
        if out.exists() and not (out / self.MARK).is_file():
            raise TermlinkError("TL002", path=out, kind=self.KIND)
        if resume:
            checkpoint = folder.load()
            self._check_same(folder.path, checkpoint.state)
            self.restore(checkpoint)
        elif folder.steps():
            raise TermlinkError("TL418", path=folder.path)
        return folder

    def _check_same(self, path: Path, state: Mapping[str, Any]) -> None:
        """Refuse to go on with other settings or data."""
        before, now = _flat(state["config"], self.SECTION), _flat(self._raw, self.SECTION)
        before["the records' sha256"] = state["records_sha256"]
        now["the records' sha256"] = self._data_sha256
        for field in sorted({*before, *now}):
            if before.get(field) != now.get(field):
                found, value = before.get(field), now.get(field)
                raise TermlinkError("TL419", path=path, field=field, found=found, value=value)

    def _is_due(self, every: int) -> bool:
        step = self.state["step"]
        return bool(every) and (step % every == 0 or step == self._run.max_steps)

    def _step(self, losses: dict[str, list[float]]) -> None:
        """One update of the weights."""
        start = time.perf_counter()
        run, state = self._run, self.state
        total, n_texts = 0.0, 0
        for i in range(run.accumulate):
            task, value, n = self._gradients(state["step"] * run.accumulate + i)
            if not math.isfinite(value):
                raise TermlinkError("TL421", value=value, step=state["step"], section=self.SECTION)
            losses[task].append(value)
            total, n_texts = total + value / run.accumulate, n_texts + n
        parameters = list(self._model.parameters.values())
        self.world.sum_gradients(parameters)
        if self._rates.clip:
            torch.nn.utils.clip_grad_norm_(parameters, self._rates.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self._rates, state["step"], run.max_steps)
        self.optimizer.step()
        self.optimizer.zero_grad()
        state["step"] += 1
        state["texts"] += n_texts
        state["train_seconds"] += time.perf_counter() - start
        if self._report is not None:
            speed = state["texts"] / state["train_seconds"]
            self._report({"step": state["step"], "loss": total, "texts_per_second": speed})

    def _log(self, log: Optional[RunLog], losses: dict[str, list[float]]) -> None:
        if not self._is_due(self._run.log_every):
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
                **self._more_log(),
            )

    def _evaluate(self, folder: RunFolder, log: Optional[RunLog]) -> None:
        """Score the weights that would be saved now, and keep them if they are the best."""
        start = time.perf_counter()
        state, current = self.state, self._model.snapshot()
        saved = self._to_save(current)
        self._model.load(saved)
        figures = dict(self._figures())
        self._model.load(current)
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
            patience = self._dev.patience
            state["stopped"] = bool(patience) and state["scores_without_gain"] >= patience
        if log is not None:
            log.write("dev", state["step"], **figures, seconds=round(seconds, 2))

    def _finish(self, out: Path, folder: RunFolder, log: Optional[RunLog]) -> dict[str, Any]:
        state = self.state
        if self.world.is_first:
            if self._scored:
                self._model.load(folder.load_best(state["best_step"]))
            else:
                self._model.load(self._to_save(self._model.snapshot()))
            assert log is not None
            figures = {k: v for k, v in state.items() if k not in ("scores_without_gain",)}
            log.write("end", **figures)
            self._write(out, figures, folder.log)
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


def _flat(section: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in section.items():
        where = f"{name}.{key}"
        found.update(_flat(value, where) if isinstance(value, Mapping) else {where: value})
    return found
