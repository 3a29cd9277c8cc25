"""Reads the config of a report: a spaCy/thinc config file with systems and sets."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Optional, Union

import catalogue
import confection

from ..errors import TermlinkError
from ..files import require_file
from ..registry import misc
from ..training.settings import Rule, check, read_settings, setting
from ..types import CandidateGenerator, KnowledgeBase

#: Names of sections, which become names of files.
NAMES: Rule = (
    lambda value: (
        bool(value)
        and all(isinstance(name, str) and re.fullmatch(r"[\w-]+", name, re.ASCII) for name in value)
    ),
    "a list of names of letters, digits, _ and -",
)


class _Registry(confection.registry):
    misc = misc


@dataclass(frozen=True)
class SystemSettings:
    """[systems.NAME]: where a system's KBs lie, and how it finds candidates.

    kbs (str): Folder of KBs; a set says which of them it needs.
    candidates (dict): Block with `@misc`, a candidate generator and its settings.
    title (str): How tables and charts call the system; "" is its name.
    """

    kbs: str = setting()
    candidates: dict = setting(rule=(lambda v: "@misc" in v, "a block with '@misc'"))
    title: str = ""


@dataclass(frozen=True)
class SetSettings:
    """[sets.NAME]: annotated mentions, and the KB they are linked to.

    kb (str): Name of a folder in a system's `kbs`.
    mentions (str): A mentions.jsonl.
    docs (str): A docs.jsonl, in which abbreviations are resolved; "" resolves none.
    split, label (str): Only mentions of this split, with this label; "" is all.
    cardinality (str): "single" leaves out mentions of several concepts.
    title (str): How tables and charts call the set; "" is its name.
    """

    kb: str = setting()
    mentions: str = setting()
    docs: str = ""
    split: str = ""
    label: str = ""
    cardinality: Literal["single", "all"] = "all"
    title: str = ""


@dataclass(frozen=True)
class ReportSettings:
    """[report]: what is compared.

    systems, sets (list[str]): Names of sections, in the order to show them in.
    reference (str): The system that the others are tested against; "" is the best by Hits@1, on each
        set its own.
    title (str): Of the page.
    """

    systems: list = setting(rule=NAMES)
    sets: list = setting(rule=NAMES)
    reference: str = ""
    title: str = "Linking mentions to concepts"


@dataclass(frozen=True)
class System:
    """A system of a checked config.

    name, title (str): See SystemSettings.
    kbs (Path): Folder of its KBs.
    block (dict): What [systems.NAME.candidates] says.
    make (Callable): KB -> candidate generator.
    """

    name: str
    title: str
    kbs: Path
    block: dict[str, Any]
    make: Callable[[KnowledgeBase], CandidateGenerator]


@dataclass(frozen=True)
class ReportConfig:
    """A checked config.

    report (ReportSettings): The section [report].
    systems (list[System]): In the order to show them in.
    sets (dict[str, SetSettings]): By name, in the order to show them in.
    """

    report: ReportSettings
    systems: list[System]
    sets: dict[str, SetSettings]


def load_config(
    path: Union[str, Path], overrides: Optional[Mapping[str, Any]] = None
) -> ReportConfig:
    """Read and check a report config.

    path (str, Path): The file, as configs/report.cfg. Paths in it are relative to the folder that
        the command runs in.
    overrides (Mapping[str, Any]): Values by dotted name, as {"paths.data": "assets/eval"}.
    RAISES (TermlinkError): TL001, TL005 or TL008 without a file, TL970 if it cannot be parsed, TL971
        where a name has no section, TL411 for a value that does not fit, TL501 for a candidate
        generator that is not registered, TL972 for settings that it does not take.
    """
    path = require_file(Path(path))
    try:
        raw = confection.Config().from_disk(path, overrides=dict(overrides or {}))
    except (ValueError, KeyError) as error:  # confection's own errors are ValueErrors
        raise TermlinkError("TL970", path=path, reason=_one_line(error)) from None
    if not isinstance(raw.get("report"), dict):
        raise TermlinkError("TL970", path=path, reason="it has no section [report]")
    report = read_settings(ReportSettings, raw["report"], "report")
    check(
        report.reference in ("", *report.systems),
        "report.reference",
        report.reference,
        f"one of {', '.join(report.systems)}",
    )
    return ReportConfig(
        report=report,
        systems=[_system(name, _section(raw, "systems", name)) for name in _once(report.systems)],
        sets={
            name: read_settings(SetSettings, _section(raw, "sets", name), f"sets.{name}")
            for name in _once(report.sets)
        },
    )


def _once(names: list) -> list[str]:
    return list(dict.fromkeys(names))


def _section(raw: Mapping[str, Any], kind: str, name: str) -> Any:
    sections = raw.get(kind)
    if not isinstance(sections, dict) or name not in sections:
        raise TermlinkError("TL971", kind=kind, name=name)
    return sections[name]


def _system(name: str, section: Any) -> System:
    settings = read_settings(SystemSettings, section, f"systems.{name}")
    block = dict(settings.candidates)
    try:
        make = _Registry.resolve({"candidates": dict(block)})["candidates"]
    except catalogue.RegistryError:
        known = ", ".join(sorted(n for n in misc.get_all() if "Candidates" in n))
        raise TermlinkError("TL501", name=block["@misc"], known=known) from None
    except confection.ConfigValidationError as error:
        problems = [
            f"{''.join(map(str, problem.get('loc', ())[-1:]))}: {problem.get('msg')}"
            for problem in error.errors or ()
        ]
        reason = "; ".join(problems) or _one_line(error)
        where = f"systems.{name}.candidates"
        raise TermlinkError("TL972", where=where, reason=reason) from None
    return System(name, settings.title or name, Path(settings.kbs), block, make)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
