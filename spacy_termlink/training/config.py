"""Reads a training config: a spaCy/thinc config file with a section [training]."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import catalogue
import confection

from ..errors import TermlinkError
from ..files import require_file
from ..registry import losses as loss_registry
from .settings import (
    DevSettings,
    ModelSettings,
    OptimizerSettings,
    RefreshSettings,
    RunSettings,
    TaskSettings,
    TrainingConfig,
    check,
    read_settings,
)

#: Task that takes its anchors from names.jsonl.
NAMES_TASK = "names"
_SECTIONS = ("model", "optimizer", "refresh", "dev", "tasks")


class _Registry(confection.registry):
    losses = loss_registry


def load_config(
    path: Union[str, Path], overrides: Optional[Mapping[str, Any]] = None
) -> TrainingConfig:
    """Read and check a training config.

    path (str, Path): The file, as configs/train_hpo.cfg.
    overrides (Mapping[str, Any]): Values by dotted name, as {"training.max_steps": 200}.
    RAISES (TermlinkError): TL001, TL005 or TL008 without a file, TL410 if it cannot be parsed,
        TL411 for a value that does not fit, TL412 for a loss that is not registered.
    """
    return resolve_config(read_section(Path(path), "training", overrides))


def read_section(
    path: Path, name: str, overrides: Optional[Mapping[str, Any]] = None
) -> dict[str, Any]:
    """The section of a config file that says what to do.

    RAISES (TermlinkError): TL001, TL005 or TL008 without a file, TL410 if it cannot be parsed, TL411
        for an override of another section.
    """
    require_file(path)
    overrides = dict(overrides or {})
    for key in overrides:
        if not key.startswith(f"{name}."):
            raise TermlinkError("TL411", field=key, value=overrides[key], expected=f"{name}.…")
    try:
        raw = confection.Config().from_disk(path, overrides=overrides)
    except (ValueError, KeyError) as error:  # confection's own errors are ValueErrors
        raise TermlinkError("TL410", path=path, reason=_one_line(error)) from None
    section = raw.get(name)
    if not isinstance(section, dict):
        raise TermlinkError("TL410", path=path, reason=f"it has no section [{name}]")
    return section


def resolve_config(section: Mapping[str, Any]) -> TrainingConfig:
    """Check a section [training] and make its losses.

    RAISES (TermlinkError): TL411 for a value that does not fit, TL412 for a loss that is not
        registered.
    """
    own = {name: value for name, value in section.items() if name not in _SECTIONS}
    tasks = section.get("tasks", {})
    check(
        isinstance(tasks, dict) and bool(tasks),
        "training.tasks",
        tasks,
        "a section [training.tasks.NAME]",
    )
    refresh = section.get("refresh")
    model, new = _model(section.get("model", {}))
    config = TrainingConfig(
        run=read_settings(RunSettings, own, "training"),
        model=model,
        new=new,
        optimizer=read_settings(
            OptimizerSettings, section.get("optimizer", {}), "training.optimizer"
        ),
        dev=read_settings(DevSettings, section.get("dev", {}), "training.dev"),
        refresh=None
        if refresh is None
        else read_settings(RefreshSettings, refresh, "training.refresh"),
        # sorted: confection's releases keep the sections of a file in different orders
        tasks={name: _task(name, tasks[name]) for name in sorted(tasks)},
        raw=json.loads(json.dumps(section)),
    )
    for name, task in config.tasks.items():
        _check_refresh(config, f"training.tasks.{name}", name, task)
    return config


def _model(block: Any) -> tuple[ModelSettings, Any]:
    """[training.model] and, if it is there, [training.model.new]."""
    where = "training.model"
    check(isinstance(block, Mapping), where, block, "a section")
    model = read_settings(ModelSettings, {k: v for k, v in block.items() if k != "new"}, where)
    if "new" not in block:
        check(bool(model.encoder), f"{where}.encoder", model.encoder, "a folder or a name")
        return model, None
    from .new_encoder import NewEncoderSettings  # torch is imported there

    check(not model.encoder, f"{where}.encoder", model.encoder, 'none beside "new"')
    new = read_settings(NewEncoderSettings, block["new"], f"{where}.new")
    fits = new.width % new.heads == 0
    check(fits, f"{where}.new.width", new.width, f"a multiple of heads, {new.heads}")
    return model, new


def parse_overrides(arguments: Sequence[str]) -> dict[str, Any]:
    """Overrides of a command line: `--training.max_steps 200` or `--training.max_steps=200`.

    Values are JSON where they can be read as such, else text: `true`, `0.5`, `[1, 2]`, `cuda`.
    RAISES (TermlinkError): TL413 for an argument in another form.
    """
    found: dict[str, Any] = {}
    todo = list(arguments)
    while todo:
        argument = todo.pop(0)
        name, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or "." not in name:
            raise TermlinkError("TL413", argument=argument)
        if not equals:
            if not todo or todo[0].startswith("--"):
                raise TermlinkError("TL413", argument=argument)
            value = todo.pop(0)
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _task(name: str, block: Any) -> TaskSettings:
    where = f"training.tasks.{name}"
    check(isinstance(block, dict), where, block, "a section")
    loss = block.get("loss")
    check(
        isinstance(loss, dict) and "@losses" in loss,
        f"{where}.loss",
        loss,
        "a block with '@losses'",
    )
    try:
        made = _Registry.resolve({"loss": dict(loss)})["loss"]
    except catalogue.RegistryError:
        known = ", ".join(sorted(loss_registry.get_all()))
        raise TermlinkError("TL412", task=where, name=loss["@losses"], known=known) from None
    except confection.ConfigValidationError as error:
        raise TermlinkError("TL414", task=f"{where}.loss", reason=_problems(error)) from None
    except TermlinkError as error:
        if error.code != "TL402":
            raise
        values = {**error.values, "field": f"{where}.loss.{error.values['field']}"}
        raise TermlinkError("TL411", **values) from None
    return read_settings(TaskSettings, {**block, "loss": made}, where)


def _check_refresh(config: TrainingConfig, where: str, name: str, task: TaskSettings) -> None:
    """What a task wants of the refresh must be there."""
    refresh = config.refresh
    for wanted in ("hard_positives", "hard_negatives"):
        n = getattr(task, wanted)
        most = 0 if refresh is None else getattr(refresh, wanted.removeprefix("hard_"))
        field = wanted.removeprefix("hard_")
        expected = f"at most {most}, which [training.refresh] keeps as {field}"
        check(n <= most, f"{where}.{wanted}", n, expected)
    if name == NAMES_TASK:
        expected = "1 or more: the task has no other positives"
        check(task.hard_positives > 0, f"{where}.hard_positives", task.hard_positives, expected)


def _problems(error: confection.ConfigValidationError) -> str:
    problems = [
        f"{''.join(map(str, problem.get('loc', ())[-1:]))}: {problem.get('msg')}"
        for problem in error.errors or ()
    ]
    return "; ".join(problems) or _one_line(error)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
