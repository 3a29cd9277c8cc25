"""`termlink evaluate`: how well candidates rank the gold concepts of annotated mentions."""

import sys
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from ._common import keep_inputs, note, print_table, save_json

if TYPE_CHECKING:
    from ..evaluation.ranking import Ranking


def evaluate_command(
    kb: Annotated[Path, typer.Argument(metavar="KB", help="KB folder.")],
    mentions: Annotated[Path, typer.Argument(metavar="MENTIONS", help="Annotated mentions.jsonl.")],
    split: Annotated[Optional[str], typer.Option(help="Only mentions of this split.")] = None,
    label: Annotated[Optional[str], typer.Option(help="Only mentions with this label.")] = None,
    cardinality: Annotated[
        Literal["single", "all"], typer.Option(help="Only mentions of one concept, or all.")
    ] = "all",
    docs: Annotated[
        Optional[Path],
        typer.Option(help="docs.jsonl: resolve abbreviations inside a mention's own document."),
    ] = None,
    candidates: Annotated[
        Optional[list[str]],
        typer.Option(
            help="Candidate generator: hybrid (the default), exact, ngram, dense, or a registered "
            "name. Give it several times to compare: the first with each of the others."
        ),
    ] = None,
    noid: Annotated[
        bool, typer.Option("--noid", help="Keep mentions marked noid, as NIL mentions.")
    ] = False,
    details: Annotated[
        Optional[Path], typer.Option(help="Write each mention with its candidates to this .jsonl.")
    ] = None,
    json: Annotated[
        Optional[Path], typer.Option(help="Write the figures to this file; - is stdout.")
    ] = None,
) -> None:
    """Rank candidates for annotated mentions: Hits@k, MRR and graded nDCG@k with 95 % intervals."""
    from ..evaluation.mentions import read_docs, read_mentions
    from ..evaluation.ranking import rank_mentions
    from ..kb import open_kb

    keep_inputs((mentions, docs), (details, json))
    names = list(dict.fromkeys(candidates or ["hybrid"]))
    rows = read_mentions(mentions, split=split, label=label, cardinality=cardinality, noid=noid)
    documents = read_docs(docs) if docs else None
    opened = open_kb(kb)
    about = {
        "set": str(mentions),
        "split": split,
        "label": label,
        "cardinality": cardinality,
        "docs": str(docs) if docs else None,
        "kb": opened.name,
        "release": opened.release,
        "k": K,
    }
    rankings = {}
    for name in names:
        note(f"Searching {len(rows)} mentions with {name} ...")
        rankings[name] = rank_mentions(opened, rows, generator=name, k=K, docs=documents)
    reports: dict[str, dict[str, Any]] = {
        name: {**ranking.report(threshold=opened.threshold), **about, "candidates": name}
        for name, ranking in rankings.items()
    }
    if details:
        _save_details(details, rankings)
    data = _with_differences(rankings, reports) if len(names) > 1 else reports[names[0]]
    to_stdout = json is not None and str(json) == "-"
    if not to_stdout:
        _print(reports, data.get("differences", {}))
    save_json(json, data)


#: Candidates searched per mention: what hits@10 and nDCG@10 need.
K = 10


def _with_differences(
    rankings: "dict[str, Ranking]", reports: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Reports by name, and the first one's paired difference to each other one."""
    from ..evaluation.ranking import compare_rankings

    first, *others = rankings
    return {
        "results": reports,
        "differences": {
            f"{first} - {other}": compare_rankings(rankings[first], rankings[other])
            for other in others
        },
    }


def _save_details(path: Path, rankings: "dict[str, Ranking]") -> None:
    from ..files import atomic_file

    with atomic_file(path) as part, part.open("w", encoding="utf8") as file:
        for name, ranking in rankings.items():
            for row in ranking.details():
                file.write(dumps({"generator": name, **row}, ensure_ascii=False) + "\n")


def _print(reports: dict[str, dict[str, Any]], differences: dict[str, Any]) -> None:
    from ..evaluation.ranking import METRICS

    about = next(iter(reports.values()))
    print(f"{about['kb']} {about['release']}".rstrip() + f", {about['set']}: ", end="")
    print(f"{about['n']} mentions of {about['n_documents']} documents")
    rows: list[list[str]] = []
    for metric in METRICS:
        cells = [_figure(r[metric], r["ci"].get(metric)) for r in reports.values()]
        rows.append([metric, *cells])
    speeds = [r["mentions_per_second"] for r in reports.values()]
    rows.append(["mentions/s", *(f"{speed:,.0f}" if speed else "-" for speed in speeds)])
    print_table(["", *reports], rows)
    if differences:
        print("\nPaired differences (95 % interval over documents; * leaves out 0):")
        print_table(
            ["", *differences],
            [[m, *(_difference(d[m]) for d in differences.values())] for m in METRICS],
        )
    _print_notes(about)
    sys.stdout.flush()


def _print_notes(about: dict[str, Any]) -> None:
    if about["n_unknown_gold"]:
        unknown = about["unknown_gold"]
        shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        print(
            f"{about['n_unknown_gold']} mentions count as misses: the KB has none of their gold "
            f"concepts ({shown})."
        )
    nil = about["nil"]
    if nil["n"]:
        print(
            f"{nil['n']} mentions without a concept, apart: {nil['accuracy']:.4f} of them under "
            f"the threshold {nil['threshold']:.4f}."
        )


def _figure(value: Optional[float], interval: Optional[list[float]]) -> str:
    if value is None or interval is None:
        return "-"
    return f"{value:.4f} [{interval[0]:.4f}, {interval[1]:.4f}]"


def _difference(row: dict[str, Any]) -> str:
    low, high = row["ci"]
    beyond = "*" if low > 0 or high < 0 else " "
    return f"{row['difference']:+.4f} [{low:+.4f}, {high:+.4f}]{beyond}"
