"""Reads the config of `termlink train-reranker`: a section [reranker]."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

from ..registry import rerankers
from ..training.config import read_section
from ..training.settings import (
    AT_LEAST_0,
    AT_LEAST_1,
    SHARE,
    DevSettings,
    LoopSettings,
    OptimizerSettings,
    check,
    read_settings,
    setting,
)

_SECTIONS = ("model", "optimizer", "dev", "data")


@dataclass(frozen=True, kw_only=True)
class RerankRunSettings(LoopSettings):
    """[reranker]: the run itself, see LoopSettings, and what is trained.

    kind (str): Registered kind: "cross-encoder", "t5".
    batch_size (int): Mentions of a batch, each with its candidates.
    nil_share (float): Share of the lists whose right candidates are taken out.
    """

    kind: str = setting()
    batch_size: int = setting(8, AT_LEAST_1)
    nil_share: float = setting(0.1, SHARE)


@dataclass(frozen=True, kw_only=True)
class SourceSettings:
    """[reranker.data.NAME]: mentions with known concepts. The recall stage's first k are the candidates.

    kb (str): KB folder; its hybrid is the recall stage.
    mentions (str): A mentions.jsonl; "" takes each synonym of the KB as a mention, the name itself
        left out of the search.
    docs (str): Its docs.jsonl: abbreviations are searched by their long form. "" resolves none.
    split (str): Mentions of this split only; "" is all.
    k (int): Candidates of a list.
    lexical (int): Concepts nearest by BM25 that are added as candidates (seed 003: 15).
    random (int): Concepts drawn at random that are added (seed 003: 10).
    most (int): Lists at most, drawn at random; 0 is all.
    dev_share (float): Share of the lists kept for the scores.
    """

    kb: str = setting()
    mentions: str = ""
    docs: str = ""
    split: str = ""
    k: int = setting(10, AT_LEAST_1)
    lexical: int = setting(0, AT_LEAST_0)
    random: int = setting(0, AT_LEAST_0)
    most: int = setting(0, AT_LEAST_0)
    dev_share: float = setting(0.05, SHARE)


@dataclass(frozen=True)
class RerankConfig:
    """A checked config.

    run, optimizer, dev: The sections.
    data (dict[str, SourceSettings]): By name, sorted.
    model (dict): Section [reranker.model] as given; the kind checks it.
    raw (dict): The section [reranker] as given, overrides included.
    """

    run: RerankRunSettings
    optimizer: OptimizerSettings
    dev: DevSettings
    data: dict[str, SourceSettings]
    model: dict[str, Any]
    raw: dict[str, Any]


def load_rerank_config(
    path: Union[str, Path], overrides: Optional[Mapping[str, Any]] = None
) -> RerankConfig:
    """Read and check a config.

    path (str, Path): The file, as configs/reranker.cfg.
    overrides (Mapping[str, Any]): Values by dotted name, as {"reranker.max_steps": 200}.
    RAISES (TermlinkError): TL001, TL005 or TL008 without a file, TL410 if it cannot be parsed,
        TL411 for a value that does not fit.
    """
    return resolve_rerank_config(read_section(Path(path), "reranker", overrides))


def resolve_rerank_config(section: Mapping[str, Any]) -> RerankConfig:
    """Check a section [reranker].

    RAISES (TermlinkError): TL411 for a value that does not fit.
    """
    own = {name: value for name, value in section.items() if name not in _SECTIONS}
    data, model = section.get("data", {}), section.get("model", {})
    where = "reranker.data"
    check(isinstance(data, dict) and bool(data), where, data, "a section [reranker.data.NAME]")
    check(isinstance(model, dict), "reranker.model", model, "a section")
    config = RerankConfig(
        run=read_settings(RerankRunSettings, own, "reranker"),
        optimizer=read_settings(
            OptimizerSettings, section.get("optimizer", {}), "reranker.optimizer"
        ),
        dev=read_settings(DevSettings, section.get("dev", {}), "reranker.dev"),
        # sorted: confection's releases keep the sections of a file in different orders
        data={
            name: read_settings(SourceSettings, data[name], f"{where}.{name}")
            for name in sorted(data)
        },
        model=dict(model),
        raw=json.loads(json.dumps(section)),
    )
    known = sorted(rerankers.get_all())
    check(config.run.kind in known, "reranker.kind", config.run.kind, f"one of {', '.join(known)}")
    return config
