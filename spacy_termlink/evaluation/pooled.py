"""Figures of several sets of a report together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .overlap import BANDS, bands
from .significance import compare_figures
from .summary import mean_figures

if TYPE_CHECKING:
    from .report import SetRun


def pool_runs(runs: Sequence["SetRun"], reference: str) -> dict[str, Any]:
    """Figures of several sets together, every mention counting the same.

    runs (Sequence[SetRun]): As the report has them.
    reference (str): System that the others are compared with; "" is the best by Hits@1.
    RETURNS (dict): "sets"; "by_overlap" (system -> band -> figures) of all of them; "by_kb" (name of a
        KB with several sets -> "sets", "n", "n_documents", "reference", "systems" and "differences",
        as of one set). Systems that did not run on each set are left out.
    """
    by_kb: dict[str, list[SetRun]] = {}
    for run in runs:
        by_kb.setdefault(run.settings.kb, []).append(run)
    return {
        "sets": [run.name for run in runs],
        "by_overlap": _pool_bands(runs),
        "by_kb": {
            kb: _pool_sets(found, reference) for kb, found in by_kb.items() if len(found) > 1
        },
    }


def _pool_sets(runs: Sequence["SetRun"], reference: str) -> dict[str, Any]:
    """The figures of the sets of one KB as if they were one, of the systems that ran on each."""
    figures = {
        name: np.concatenate([run.results[name].figures for run in runs])
        for name in _systems_of_all(runs)
    }
    if not figures:
        return {"sets": [run.name for run in runs], "systems": {}, "differences": {}}
    best = max(figures, key=lambda name: figures[name][:, 0].sum())
    against = reference if reference in figures else best
    documents = _documents_of_all(runs, against)
    return {
        "sets": [run.name for run in runs],
        "n": len(documents),
        "n_documents": len(set(documents)),
        "reference": against,
        "systems": {name: mean_figures(values, documents) for name, values in figures.items()},
        "differences": {
            name: compare_figures(values - figures[against], documents)
            for name, values in figures.items()
            if name != against
        },
    }


def _pool_bands(runs: Sequence["SetRun"]) -> dict[str, dict[str, Any]]:
    """System -> band of overlap -> figures."""
    by_system: dict[str, dict[str, Any]] = {}
    for name in _systems_of_all(runs):
        results = [run.results[name] for run in runs]
        figures = np.concatenate([result.figures for result in results])
        documents = _documents_of_all(runs, name)
        band = np.array([b for r in results for b in bands(r.mention_set.overlap)])
        by_system[name] = {
            b: mean_figures(figures[band == b], [documents[i] for i in np.flatnonzero(band == b)])
            for b in BANDS
            if (band == b).any()
        }
    return by_system


def _systems_of_all(runs: Sequence["SetRun"]) -> list[str]:
    return [name for name in runs[0].results if all(name in run.results for run in runs)]


def _documents_of_all(runs: Sequence["SetRun"], system: str) -> list[str]:
    """Document of every mention, those of each set apart."""
    return [
        f"{run.name} {document}"
        for run in runs
        for document in run.results[system].mention_set.documents
    ]
