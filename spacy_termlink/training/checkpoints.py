"""What a run has done so far, so that a process killed at any moment loses the steps since the last
checkpoint and nothing else.

A checkpoint is a folder of its own, named by its step, that gets its name when it is whole; older
ones are removed afterwards. Tensors are safetensors, the rest JSON: no pickle. No state of a random
generator is kept, as every choice is drawn from a key (schedule.py).
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
import torch
from torch import Tensor

from ..errors import TermlinkError
from ..files import atomic_file, atomic_folder, read_json, write_json
from .refresh import HardTable

_STEP = "step-{:08d}"
_TABLE = ("rows", "positive", "negative")
_MOMENTS = ("exp_avg", "exp_avg_sq")


class Checkpoint(NamedTuple):
    """What a run goes on from.

    state (dict): Step, places of the tasks, scores, config.
    weights (dict[str, Tensor]): By parameter.
    moments (dict[str, Tensor]): Of AdamW, by "parameter|moment".
    table (Optional[HardTable]): Of the last refresh.
    """

    state: dict[str, Any]
    weights: dict[str, Tensor]
    moments: dict[str, Tensor]
    table: Optional[HardTable]


class RunFolder:
    """The folder of a run that is not finished: checkpoints, the best weights, the log.

    encoder (Path): Folder the run will write; the run's own lies beside it.
    """

    def __init__(self, encoder: Path) -> None:
        self.path = encoder.with_name(f"{encoder.name}.training")
        self.log = self.path / "log.jsonl"

    def steps(self) -> list[int]:
        """Steps of the checkpoints that are there, the newest last."""
        found = self.path.glob("step-*")
        return sorted(int(path.name.removeprefix("step-")) for path in found if path.is_dir())

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, then remove those before it."""
        from safetensors.torch import save_file

        step = int(checkpoint.state["step"])
        with atomic_folder(self.path / _STEP.format(step)) as part:
            save_file(checkpoint.weights, part / "weights.safetensors")
            save_file(checkpoint.moments, part / "optimizer.safetensors")
            state = dict(checkpoint.state)
            if checkpoint.table is not None:
                save_file(_table_tensors(checkpoint.table), part / "refresh.safetensors")
                table = checkpoint.table
                state["refresh"] = {"number": table.number, "seconds": table.seconds}
            write_json(part / "state.json", state)
        for other in self.steps():
            if other != step:
                shutil.rmtree(self.path / _STEP.format(other), ignore_errors=True)
        kept = self.best_path(checkpoint.state["best_step"])
        for path in self.path.glob("best-*.safetensors"):
            if path != kept:
                path.unlink()

    def load(self) -> Checkpoint:
        """The newest checkpoint.

        RAISES (TermlinkError): TL416 if there is none, TL417 for one that is damaged.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        steps = self.steps()
        if not steps:
            raise TermlinkError("TL416", path=self.path)
        folder = self.path / _STEP.format(steps[-1])
        for left in self.path.glob(".*.part"):  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(True)
        try:
            state = read_json(folder / "state.json")
            table = None
            if "refresh" in state:
                found = load_file(folder / "refresh.safetensors")
                rows, positive, negative = (found[name].numpy() for name in _TABLE)
                about = state.pop("refresh")
                table = HardTable(rows, positive, negative, about["number"], about["seconds"])
            weights = load_file(folder / "weights.safetensors")
            moments = load_file(folder / "optimizer.safetensors")
        except (OSError, SafetensorError, KeyError) as error:
            raise TermlinkError("TL417", path=folder, reason=error) from error
        return Checkpoint(state, weights, moments, table)

    def best_path(self, step: Optional[int]) -> Optional[Path]:
        """Where the weights of the best score lie; None before the first score."""
        return None if step is None else self.path / f"best-{step:08d}.safetensors"

    def save_best(self, step: int, weights: dict[str, Tensor]) -> None:
        """Keep the weights of a step."""
        from safetensors.torch import save_file

        path = self.best_path(step)
        assert path is not None
        with atomic_file(path) as part:
            save_file(weights, part)

    def load_best(self, step: int) -> dict[str, Tensor]:
        """The weights that `save_best` kept."""
        from safetensors.torch import load_file

        path = self.best_path(step)
        assert path is not None
        return load_file(path)

    def remove(self) -> None:
        """Remove the folder: the run is finished."""
        shutil.rmtree(self.path, ignore_errors=True)


def save_moments(optimizer: torch.optim.AdamW, names: list[str]) -> dict[str, Tensor]:
    """State of AdamW by "parameter|moment"; its step count is the run's."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    found = {}
    for name, parameter in zip(names, parameters, strict=True):
        state = optimizer.state.get(parameter, {})
        for moment in _MOMENTS:
            if moment in state:
                found[f"{name}|{moment}"] = state[moment].detach().cpu().contiguous()
        if "step" in state:
            found[f"{name}|step"] = torch.as_tensor(state["step"]).detach().cpu().float()
    return found


def load_moments(
    optimizer: torch.optim.AdamW, names: list[str], moments: dict[str, Tensor]
) -> None:
    """Put the state of `save_moments` back."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for name, parameter in zip(names, parameters, strict=True):
        found = {
            moment: moments[f"{name}|{moment}"].to(parameter.device)
            for moment in _MOMENTS
            if f"{name}|{moment}" in moments
        }
        if found:
            # fused and capturable AdamW keep the count beside the weights, others on the processor
            where = parameter.device if optimizer.defaults["fused"] else "cpu"
            optimizer.state[parameter] = {"step": moments[f"{name}|step"].to(where), **found}


def _table_tensors(table: HardTable) -> dict[str, Tensor]:
    arrays = {name: np.ascontiguousarray(getattr(table, name)) for name in _TABLE}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
