"""Reads a mining config: a spaCy/thinc config file with a section [mining]."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin

import catalogue
import confection

from ..errors import TermlinkError
from ..files import require_file
from ..registry import tasks as task_registry
from .augment import AugmentSettings
from .heldout import HeldoutSettings
from .task import Task, check

#: What confection's type checker puts around the names of types.
_PLAIN = re.compile(r"^at root: |<class '|'>|typing\.")

Settings = TypeVar("Settings", HeldoutSettings, AugmentSettings)


class _Registry(confection.registry):
    tasks = task_registry


@dataclass(frozen=True)
class MiningConfig:
    """A checked config.

    seed (int): Seed of every random choice; what is held out does not depend on it.
    heldout (HeldoutSettings): [mining.heldout].
    augmentation (AugmentSettings): [mining.augmentation].
    branches (dict[str, list[str]]): [mining.branches]: by terminology, the only branches and
        semantic types to train on.
    tasks (dict[str, Task]): [mining.tasks.NAME], sorted by name: confection's releases keep the
        sections of a file in different orders.
    raw (dict): The section as the file has it, for the meta file.
    """

    seed: int
    heldout: HeldoutSettings
    augmentation: AugmentSettings
    branches: dict[str, list[str]]
    tasks: dict[str, Task]
    raw: dict[str, Any]


def load_config(path: Union[str, Path]) -> MiningConfig:
    """Read and check a mining config.

    RAISES (TermlinkError): TL001, TL005 or TL008 without a file, TL225 if it cannot be parsed or
        lacks a section, TL223 for a value that does not fit.
    """
    path = require_file(Path(path))
    try:
        raw = confection.Config().from_disk(path)
    except (ValueError, KeyError) as error:  # confection's own errors are ValueErrors
        raise TermlinkError("TL225", path=path, reason=_one_line(error)) from None
    section = raw.get("mining")
    if not isinstance(section, dict) or not isinstance(section.get("tasks"), dict):
        reason = "it has no section [mining.tasks.NAME]"
        raise TermlinkError("TL225", path=path, reason=reason)
    return resolve_config(section)


def resolve_config(section: dict[str, Any]) -> MiningConfig:
    """Check a section [mining] and make its tasks.

    RAISES (TermlinkError): TL223 for a value that does not fit, TL226 for a task that is not
        registered.
    """
    known = ("seed", "heldout", "augmentation", "branches", "tasks")
    for field in section:
        check(field in known, f"mining.{field}", section[field], f"one of {', '.join(known)}")
    seed = section.get("seed", 0)
    check(isinstance(seed, int) and not isinstance(seed, bool), "mining.seed", seed, "a number")
    heldout = _settings(HeldoutSettings, section.get("heldout", {}), "mining.heldout")
    augmentation = _settings(
        AugmentSettings, section.get("augmentation", {}), "mining.augmentation"
    )
    branches = section.get("branches", {})
    where = "mining.branches"
    check(isinstance(branches, dict), where, branches, "a section")
    for name, values in branches.items():
        check(_fits(values, list[str]), f"{where}.{name}", values, "a list of ids or types")
    tasks = section.get("tasks", {})
    check(bool(tasks), "mining.tasks", tasks, "at least one section [mining.tasks.NAME]")
    return MiningConfig(
        seed=seed,
        heldout=heldout,
        augmentation=augmentation,
        branches=dict(branches),
        tasks={name: _task(name, tasks[name]) for name in sorted(tasks)},
        raw=section,
    )


def _task(name: str, block: Any) -> Task:
    where = f"mining.tasks.{name}"
    check(isinstance(block, dict) and "@tasks" in block, where, block, "a block with '@tasks'")
    try:
        return _Registry.resolve({"task": dict(block)})["task"]
    except catalogue.RegistryError:
        known = ", ".join(sorted(task_registry.get_all()))
        raise TermlinkError("TL226", task=where, name=block["@tasks"], known=known) from None
    except confection.ConfigValidationError as error:
        raise TermlinkError("TL227", task=where, reason=_problems(error)) from None
    except TermlinkError as error:
        if error.code != "TL223":
            raise
        values = {**error.values, "field": f"{where}.{error.values['field']}"}
        raise TermlinkError("TL223", **values) from None


def _problems(error: confection.ConfigValidationError) -> str:
    """The fields that do not fit, each with its message; the field's name without the block's."""
    problems = [
        f"{''.join(map(str, problem.get('loc', ())[-1:]))}: {_PLAIN.sub('', str(problem.get('msg')))}"
        for problem in error.errors or ()
    ]
    return "; ".join(problems) or _one_line(error)


def _settings(kind: type[Settings], values: Any, where: str) -> Settings:
    check(isinstance(values, dict), where, values, "a section")
    known = {field.name: field for field in fields(kind)}
    for name, value in values.items():
        check(name in known, f"{where}.{name}", value, f"one of {', '.join(known)}")
        expected = known[name].type
        check(_fits(value, expected), f"{where}.{name}", value, _describe(expected))
    return kind(**values)


def _fits(value: Any, expected: Any) -> bool:
    if expected is bool:
        return isinstance(value, bool)
    if expected is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    assert get_origin(expected) is list
    return isinstance(value, list) and all(isinstance(v, get_args(expected)[0]) for v in value)


def _describe(expected: Any) -> str:
    return {bool: "true or false", float: "a share from 0 to 1"}.get(expected, "a list of names")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
