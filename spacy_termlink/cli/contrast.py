"""`termlink contrast`: minimal pairs of a terminology, and whether the wrong twin wins."""

import sys
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ._common import keep_inputs, note, print_table, save_json


def contrast_command(
    kb: Annotated[Path, typer.Argument(metavar="KB", help="KB folder.")],
    candidates: Annotated[
        Optional[list[str]],
        typer.Option(
            help="Candidate generator: hybrid, dense (both are the default), exact, ngram or a "
            "registered name. May be given several times."
        ),
    ] = None,
    per_class: Annotated[
        int,
        typer.Option(help="Names of each class that are held out, and that are altered.", min=1),
    ] = 200,
    details: Annotated[
        Optional[Path],
        typer.Option(help="Write the mentions whose wrong twin ranks first to this .jsonl."),
    ] = None,
    json: Annotated[
        Optional[Path], typer.Option(help="Write the figures to this file; - is stdout.")
    ] = None,
) -> None:
    """Test names that differ in one decisive word (type 1 or 2, left or right, hypo- or hyper-):
    how often the wrong one ranks first, how often it would be linked."""
    from ..evaluation.contrast import K, make_mentions, run_contrast, summarize, worst_cases
    from ..files import atomic_file
    from ..kb import open_kb

    keep_inputs((), (details, json))
    opened = open_kb(kb)
    names = list(dict.fromkeys(candidates or ["dense", "hybrid"]))
    for name in names:
        opened.generator(name)  # an unknown name is an error now, not after minutes
    mentions, counts = make_mentions(opened, per_class=per_class)
    results, worst = {}, []
    for name in names:
        note(f"Searching {len(mentions):,} mentions with {name} ...")
        outcomes = run_contrast(opened, mentions, name)
        results[name] = summarize(outcomes, opened.score_threshold)
        cases = worst_cases(opened.terminology, outcomes, opened.score_threshold)
        worst += [{"generator": name, **case} for case in cases]
    data = {
        "kb": opened.name,
        "release": opened.release,
        "threshold": opened.score_threshold,
        "k": K,
        "per_class": per_class,
        "minimal_pairs": counts,
        "results": results,
    }
    if details:
        with atomic_file(details) as part, part.open("w", encoding="utf8", newline="\n") as file:
            file.writelines(dumps(case, ensure_ascii=False) + "\n" for case in worst)
    if json is None or str(json) != "-":
        _print(data)
    save_json(json, data)


def _print(data: dict[str, Any]) -> None:
    from ..evaluation.altered import ALTERATIONS
    from ..evaluation.contrast import ALL, ALTERED, HELD_OUT

    counts = data["minimal_pairs"].values()
    print(f"{data['kb']} {data['release']}".rstrip(), end=": ")
    print(f"{sum(c['names'] for c in counts):,} names in minimal pairs; ", end="")
    print(f"threshold {data['threshold']:.2f}; shares with 95 % intervals over families of names")
    for name, report in data["results"].items():
        for form in (HELD_OUT, ALTERED):
            rows = [(kind, forms[form]) for kind, forms in report.items() if form in forms]
            if not rows:
                print(f"\n{name}: no {form} names that it can be tested with")
                continue
            everything, *by_class = rows
            if form == ALTERED:
                by_form = [(f"all: {f}", report[ALL].get(f)) for f in ALTERATIONS]
                by_class += [(label, row) for label, row in by_form if row]
            print(f"\n{name}, {form} names")
            _print_rows([*by_class, everything])
    sys.stdout.flush()


def _print_rows(rows: list[tuple[str, dict[str, Any]]]) -> None:
    print_table(
        ["", "n", "right first", "wrong twin first", "twin passes", "wrong link"],
        [
            [
                kind,
                row["n"],
                f"{row['right_first']:.3f}",
                _figure(row, "twin_first"),
                _figure(row, "twin_passes"),
                _figure(row, "twin_linked"),
            ]
            for kind, row in rows
        ],
    )


def _figure(row: dict[str, Any], name: str) -> str:
    low, high = row["ci"][name]
    return f"{row[name]:.3f} [{low:.3f}, {high:.3f}]"
