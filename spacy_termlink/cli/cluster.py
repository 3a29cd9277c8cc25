"""`termlink cluster`: whether the embeddings of a KB's names tell synonyms from the rest."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ._common import keep_inputs, note, print_table, progress, save_json

#: Thresholds printed on the terminal, beside the best: the JSON has all.
PRINTED = 20


def cluster_command(
    kb: Annotated[Path, typer.Argument(metavar="KB", help="KB folder.")],
    m: Annotated[int, typer.Option("-m", help="Nearest names searched for each name.", min=1)] = 30,
    thresholds: Annotated[
        int, typer.Option(help="Thresholds of the cosine, evenly spread from 0.", min=1, max=10_000)
    ] = 100,
    pairs: Annotated[
        Optional[Path],
        typer.Option(
            help="Write pairs above the best threshold that share no concept to this .tsv."
        ),
    ] = None,
    misplaced: Annotated[
        Optional[Path],
        typer.Option(
            help="Write names that lie nearer to another concept's name than to any of their own "
            "to this .tsv."
        ),
    ] = None,
    json: Annotated[
        Optional[Path], typer.Option(help="Write the figures to this file; - is stdout.")
    ] = None,
) -> None:
    """Cluster all names of a KB: precision, recall and F1 of synonym pairs over the threshold."""
    from ..evaluation.cluster_lists import misplaced_names, new_pairs, write_misplaced, write_pairs
    from ..evaluation.clustering import Clustering, check_names, find_neighbours, owners_of
    from ..kb import open_kb

    keep_inputs((), (pairs, misplaced, json))
    opened = open_kb(kb)
    check_names(opened)
    owners = owners_of(opened)
    start = time.perf_counter()
    with progress(total=len(opened.names), desc="Searching", unit="names") as bar:
        neighbours = find_neighbours(opened.index, m, progress=bar.update)
    searched = time.perf_counter()
    clustering = Clustering(neighbours, owners, n_thresholds=thresholds)
    counted = time.perf_counter()
    note(f"{searched - start:.1f} s to search, {counted - searched:.1f} s to count.")
    about = {"kb": opened.name, "release": opened.release, "index": opened.index.factory}
    data = {**about, "n_shared_names": int((owners.degree > 1).sum()), **clustering.report()}
    if json is None or str(json) != "-":
        _print(data)
    if pairs:
        found = new_pairs(neighbours, owners, data["best"]["threshold"])
        write_pairs(pairs, opened, owners, found)
        note(f"{len(found):,} pairs that share no concept in {pairs}.")
    if misplaced:
        names = misplaced_names(neighbours, owners, opened.index)
        write_misplaced(misplaced, opened, owners, names)
        note(f"{len(names):,} names nearer to another concept in {misplaced}.")
    save_json(json, data)


def _print(data: dict[str, Any]) -> None:
    print(f"{data['kb']} {data['release']}".rstrip() + f": {data['n_names']:,} names, ", end="")
    print(f"{data['n_positive_pairs']:,} pairs of synonyms,", end=" ")
    print(f"{data['n_positive_pairs_listed']:,} of them among the {data['m']} nearest")
    best, rows = data["best"], data["thresholds"]
    shown = [row for row in rows[:: max(1, len(rows) // PRINTED)] if row["tp"] + row["fp"]]
    shown = sorted({row["threshold"]: row for row in (*shown, best)}.values(), key=_threshold)
    print_table(
        ["threshold", "precision", "recall", "F1", "TP", "FP", "FN", ""],
        [
            [
                f"{row['threshold']:.4g}",
                *(f"{row[name]:.4f}" for name in ("precision", "recall", "f1")),
                *(f"{row[name]:,}" for name in ("tp", "fp", "fn")),
                "best" if row["threshold"] == best["threshold"] else "",
            ]
            for row in shown
        ],
    )
    sys.stdout.flush()


def _threshold(row: dict[str, Any]) -> float:
    return row["threshold"]
