"""`termlink evaluate`: how well candidates rank the gold concepts of annotated mentions."""

from collections import Counter
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from ._common import keep_inputs, note, save_json
from ._ranking_tables import print_reports

if TYPE_CHECKING:
    from ..evaluation.system import SystemResult
    from ..kb import TermKB
    from ..types import Reranker


def evaluate_command(
    kb: Annotated[Path, typer.Argument(metavar="KB", help="KB folder.")],
    mentions: Annotated[Path, typer.Argument(metavar="MENTIONS", help="Annotated mentions.jsonl.")],
    split: Annotated[Optional[str], typer.Option(help="Only mentions of this split.")] = None,
    label: Annotated[Optional[str], typer.Option(help="Only mentions with this label.")] = None,
    cardinality: Annotated[
        Literal["single", "all"],
        typer.Option(
            help="Only mentions of one concept, or all (of several concepts any counts; figures that ask for all of them stand apart)."
        ),
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
    reranker: Annotated[
        Optional[list[str]],
        typer.Option(
            help="Reranker of the candidates: kb (the KB's own; the default of hybrid where there is "
            "one), none, a folder, or a registered name. Give it several times to compare."
        ),
    ] = None,
    context: Annotated[
        bool, typer.Option("--context", help="Give the reranker the mentions' sentences.")
    ] = False,
    noid: Annotated[
        bool, typer.Option("--noid", help="Keep mentions marked noid, as NIL mentions.")
    ] = False,
    details: Annotated[
        Optional[Path],
        typer.Option(
            help="Write each mention with its candidates and what went wrong to this .jsonl."
        ),
    ] = None,
    json: Annotated[
        Optional[Path], typer.Option(help="Write the figures to this file; - is stdout.")
    ] = None,
) -> None:
    """Rank candidates for annotated mentions: Hits@k, MRR and graded nDCG@k with 95 % intervals,
    in all and by split, label and overlap degree; paired tests between generators."""
    from ..evaluation.mention_set import prepare_mentions
    from ..evaluation.mentions import read_docs, read_mentions
    from ..evaluation.mistakes import describe_mentions
    from ..evaluation.summary import summarize
    from ..evaluation.system import K, evaluate_system
    from ..kb import open_kb

    keep_inputs((mentions, docs), (details, json))
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
        "context": context,
    }
    systems = _systems(opened, candidates or ["hybrid"], reranker or [])
    mention_set = prepare_mentions(opened.terminology, rows, docs=documents)
    results, described, reports = {}, {}, {}
    for name, (generator, order) in systems.items():
        note(f"Searching {len(rows)} mentions with {name} ...")
        results[name] = evaluate_system(
            opened, mention_set, generator, name=name, reranker=order, context=context
        )
        described[name] = describe_mentions(results[name])
        figures = summarize(results[name], rows=described[name])
        reports[name] = {**figures, **about, "candidates": name}
    if details:
        _save_details(details, described)
    data = _with_differences(results, reports) if len(reports) > 1 else next(iter(reports.values()))
    if json is None or str(json) != "-":
        print_reports(reports, data.get("differences", {}))
    save_json(json, data)


def _systems(
    kb: "TermKB", candidates: list[str], rerankers: list[str]
) -> "dict[str, tuple[str, Optional[Reranker]]]":
    """Name of each system -> its generator and its reranker. A reranker's folder goes by its own name,
    or by its path where that name stands for another one, too."""
    from ..rerank.rerankers import NONE, OWN, make_reranker

    names = Counter(Path(name).name for name in dict.fromkeys(rerankers))
    systems = {}
    for generator in dict.fromkeys(candidates):
        own = [OWN] if generator == "hybrid" and kb.reranker is not None else [NONE]
        for name in dict.fromkeys(rerankers or own):
            short = name if names[Path(name).name] > 1 else Path(name).name
            full = generator if name == NONE else f"{generator}+{short}"
            systems[full] = generator, make_reranker(name, kb)
    return systems


def _with_differences(
    results: "dict[str, SystemResult]", reports: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Reports by name, and the first one's paired difference to each other one."""
    from ..evaluation.significance import compare_results

    first, *others = results
    return {
        "results": reports,
        "differences": {
            f"{first} - {other}": compare_results(results[first], results[other])
            for other in others
        },
    }


def _save_details(path: Path, described: dict[str, list[dict[str, Any]]]) -> None:
    from ..files import atomic_file

    with atomic_file(path) as part, part.open("w", encoding="utf8") as file:
        for name, rows in described.items():
            for row in rows:
                file.write(dumps({"generator": name, **row}, ensure_ascii=False) + "\n")
