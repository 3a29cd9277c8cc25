"""Runs systems over sets and gathers what `page` and `charts` show; it prints and draws nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

from .. import __version__
from ..errors import TermlinkError
from ..kb import TermKB, open_kb
from ..types import CandidateGenerator
from .bootstrap import mean_intervals
from .mention_set import MentionSet, prepare_mentions
from .mentions import AnnotatedDoc, Mention, read_docs, read_mentions
from .mistakes import MISTAKES, describe_mentions
from .pooled import pool_runs
from .report_settings import ReportConfig, SetSettings, System
from .significance import compare_results
from .summary import summarize
from .system import SystemResult, evaluate_system
from .thresholds import best_threshold, threshold_curve

#: Mentions shown of those that a system gets wrong with the highest scores.
N_WORST = 15
#: Mistakes that tell something of every system: the others depend on the threshold of the hybrid.
SHOWN_MISTAKES = tuple(name for name in MISTAKES if name not in ("nil_linked", "refused"))
#: Scores of pairs are counted in bins of this width, from 0 to 1.
BIN = 0.04
#: Points kept of a threshold curve.
N_POINTS = 200

#: Called with a line on what is done next.
Tell = Callable[[str], object]
#: Mentions of a set, and its documents where it names some.
_Rows = tuple[list[Mention], Optional[list[AnnotatedDoc]]]


@dataclass(frozen=True)
class SetRun:
    """The results on one set.

    name (str): Name of the set.
    settings (SetSettings): Its section.
    results (dict[str, SystemResult]): By system, in the config's order.
    kbs (dict[str, TermKB]): KB of each system.
    """

    name: str
    settings: SetSettings
    results: dict[str, SystemResult]
    kbs: dict[str, TermKB]


def run_systems(config: ReportConfig, *, tell: Tell) -> tuple[list[SetRun], list[str]]:
    """Search the mentions of every set with every system.

    Sets whose files are missing, and systems on sets for which they have no KB, are left out.

    RETURNS (tuple[list[SetRun], list[str]]): Runs of at least one system each, and a line for each
        thing left out.
    RAISES (TermlinkError): TL973 where nothing is left; what reading mentions, opening a KB and
        generating candidates raise.
    """
    left_out: list[str] = []
    # a file or KB that cannot be read is an error now, not after the sets before it
    ready: list[tuple[str, SetSettings, dict[str, TermKB], _Rows]] = []
    for name, settings in config.sets.items():
        missing = [path for path in (settings.mentions, settings.docs) if path]
        missing = [path for path in missing if not Path(path).exists()]
        if missing:
            left_out.append(f"Set {name}: there is no {missing[0]}.")
            continue
        kbs = _open_kbs(config.systems, name, settings, left_out)
        if kbs:
            ready.append((name, settings, kbs, _read_rows(settings)))
    if not ready:
        raise TermlinkError("TL973", reason=" ".join(left_out))
    runs: list[SetRun] = []
    made: dict[tuple[str, Path], CandidateGenerator] = {}
    for name, settings, kbs, rows in ready:
        tell(f"{name}:")
        results = _run_set(config.systems, kbs, rows, made, tell)
        runs.append(SetRun(name, settings, results, kbs))
    return runs, left_out


def _read_rows(settings: SetSettings) -> _Rows:
    mentions = read_mentions(
        Path(settings.mentions),
        split=settings.split or None,
        label=settings.label or None,
        cardinality=settings.cardinality,
    )
    return mentions, read_docs(Path(settings.docs)) if settings.docs else None


def _open_kbs(
    systems: Sequence[System], name: str, settings: SetSettings, left_out: list[str]
) -> dict[str, TermKB]:
    kbs = {}
    for system in systems:
        folder = system.kbs / settings.kb
        if folder.is_dir():
            kbs[system.name] = open_kb(folder)
        else:
            left_out.append(f"System {system.name} on set {name}: there is no KB {folder}.")
    return kbs


def _run_set(
    systems: Sequence[System],
    kbs: dict[str, TermKB],
    rows: _Rows,
    made: dict[tuple[str, Path], CandidateGenerator],
    tell: Tell,
) -> dict[str, SystemResult]:
    mentions, docs = rows
    prepared: dict[Path, MentionSet] = {}
    results = {}
    for system in systems:
        if system.name not in kbs:
            continue
        kb = kbs[system.name]
        tell(f"  {len(mentions):,} mentions with {system.name}")
        key = (system.name, kb.path)
        if key not in made:
            made[key] = system.make(kb)
        results[system.name] = evaluate_system(
            kb, _prepared(prepared, kb, mentions, docs), made[key], name=system.name
        )
    return results


def _prepared(
    prepared: dict[Path, MentionSet],
    kb: TermKB,
    mentions: list[Mention],
    docs: Optional[list[AnnotatedDoc]],
) -> MentionSet:
    if kb.path not in prepared:
        prepared[kb.path] = prepare_mentions(kb.terminology, mentions, docs=docs)
    return prepared[kb.path]


def describe_runs(
    config: ReportConfig, runs: Sequence[SetRun], left_out: Sequence[str]
) -> dict[str, Any]:
    """All figures of a report, plain JSON values: what report.json holds.

    RETURNS (dict): "title", "version", "systems" (name -> "title", "candidates"), "sets" (name -> see
        `describe_set`), "pooled" (mentions of several sets together, of the systems that ran on each of
        them: "sets", "by_overlap", and "by_kb" for each KB with several sets) and "left_out".
    """
    return {
        "title": config.report.title,
        "version": __version__,
        "systems": {
            system.name: {"title": system.title, "kbs": str(system.kbs), "candidates": system.block}
            for system in config.systems
        },
        "sets": {run.name: describe_set(run, config.report.reference) for run in runs},
        "pooled": pool_runs(runs, config.report.reference),
        "left_out": list(left_out),
    }


def describe_set(run: SetRun, reference: str = "") -> dict[str, Any]:
    """The figures on one set.

    reference (str): See ReportSettings.
    RETURNS (dict): "title", "set" (its settings), "n", "n_documents", "n_nil", "reference" (name of a
        system), "best" (by Hits@1; the first of several), "systems" (name -> see `_describe_system`),
        "differences" (name -> that system less the reference, see `compare_results`) and "worst"
        (mentions that the best system gets wrong, see `_worst`).
    """
    results = run.results
    best = max(results, key=lambda name: results[name].figures[:, 0].sum())
    against = reference if reference in results else best
    first = next(iter(results.values())).mention_set
    rows = {name: describe_mentions(result) for name, result in results.items()}
    return {
        "title": run.settings.title or run.name,
        "set": {key: value for key, value in vars(run.settings).items() if key != "title"},
        "n": len(first.mentions),
        "n_documents": len(set(first.documents)),
        "n_nil": len(first.nil_mentions),
        "reference": against,
        "best": best,
        "systems": {
            name: _describe_system(run.kbs[name], result, rows[name])
            for name, result in results.items()
        },
        "differences": {
            name: compare_results(result, results[against])
            for name, result in results.items()
            if name != against
        },
        "worst": _worst(results[best], rows[best]),
    }


def _describe_system(
    kb: TermKB, result: SystemResult, rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What `summarize` says but for the speed, and "kb", "mistakes", "threshold", "curve", "pairs"."""
    summary = summarize(result, rows=rows)
    del summary["mentions_per_second"]  # it differs from run to run, all else does not
    curve = threshold_curve(result)
    kept = np.unique(np.linspace(0, max(len(curve.f1) - 1, 0), N_POINTS).astype(int))
    kept = kept[: len(curve.f1)]
    return {
        **summary,
        "kb": {
            "path": str(kb.path),
            "release": kb.release,
            "licence": kb.licence,
            "encoder": kb.fingerprint,
        },
        "mistakes": _mistake_shares(rows),
        "threshold": best_threshold(result, curve),
        "curve": {name: values[kept].tolist() for name, values in vars(curve).items()},
        "pairs": _pair_bins(result),
    }


def _mistake_shares(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Share of the mentions with gold concepts whose first candidate is wrong, by the first thing
    that went wrong; they add up to 1 - Hits@1."""
    rows = [row for row in rows if row["concepts"]]
    wrong = [None if row["rank"] == 1 else row["error"] for row in rows]
    values = np.array([[float(error == name) for name in SHOWN_MISTAKES] for error in wrong])
    values = values.reshape(-1, len(SHOWN_MISTAKES))
    documents = [row["doc_id"] or f"mention {row['id']}" for row in rows]
    bounds = mean_intervals(values, documents) if len(rows) else [(0.0, 0.0)] * values.shape[1]
    return {
        name: {"n": int(values[:, i].sum()), "share": _mean(values[:, i]), "ci": list(bounds[i])}
        for i, name in enumerate(SHOWN_MISTAKES)
    }


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _pair_bins(result: SystemResult) -> dict[str, list]:
    """Histogram of the scores of positive and negative pairs; scores below 0 count as 0."""
    edges = np.linspace(0, 1, round(1 / BIN) + 1)
    scores, labels = np.clip(result.pairs.scores, 0, 1), result.pairs.labels
    return {
        "edges": edges.round(6).tolist(),
        "positive": np.histogram(scores[labels == 1], edges)[0].tolist(),
        "negative": np.histogram(scores[labels == 0], edges)[0].tolist(),
    }


def _worst(result: SystemResult, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mentions whose first candidate is wrong, those with the highest scores first, each text and
    gold concept once."""
    terminology = result.terminology
    wrong = [r for r in rows if r["concepts"] and r["rank"] != 1 and r["candidates"]]
    wrong.sort(key=lambda row: (-row["candidates"][0]["score"], row["text"]))
    shown: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}
    for row in wrong:
        key = (row["text"], tuple(row["gold"]))
        if key in shown:
            continue
        names = [terminology.preferred_name(terminology.row(i)) for i in row["gold"]]
        shown[key] = {
            "text": row["text"],
            "gold": [list(pair) for pair in zip(row["gold"], names, strict=True)],
            "concepts": row["concepts"],
            "found": row["candidates"][0],
            "rank": row["rank"],
            "error": row["error"],
            "overlap": row["overlap"],
        }
        if len(shown) == N_WORST:
            break
    return list(shown.values())
