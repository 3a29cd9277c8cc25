"""The tables of a report, as plain rows: `page` and `markdown` write the same ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from .overlap import BANDS
from .report import SHOWN_MISTAKES

#: Figures tested in the page; report.json has the others too.
TESTED = ("hits@1", "hits@10", "mrr", "ndcg@10")
SHOWN = ("hits@1", "hits@5", "hits@10", "mrr", "ndcg@1", "ndcg@5", "ndcg@10")
#: How figures are called on the page.
METRIC_TITLES = {
    "hits@1": "Hits@1", "hits@5": "Hits@5", "hits@10": "Hits@10", "mrr": "MRR",
    "ndcg@1": "nDCG@1", "ndcg@5": "nDCG@5", "ndcg@10": "nDCG@10",
}  # fmt: skip
MISTAKE_TITLES = {
    "unknown_id": "gold id unknown", "retired_id": "gold id retired", "ambiguous_name": "ambiguous name",
    "parent": "parent first", "child": "child first", "sibling": "sibling first",
    "recalled_not_first": "other first", "not_recalled": "not among 10",
}  # fmt: skip
#: Bands in the order of seed 002's figure 3: the most alike first.
SHOWN_BANDS = tuple(reversed(BANDS))


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row names it.

    caption (str): What it shows, of how many mentions.
    header (Sequence[str]): Names of the columns.
    rows (Sequence[Sequence[str]]): Cells.
    texts (frozenset[int]): Columns that hold text and not figures.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: frozenset[int] = field(default_factory=frozenset)


def overview(report: dict[str, Any], metric: str) -> Table:
    """One figure of every system on every set."""
    sets = report["sets"]
    rows = []
    for name, system in report["systems"].items():
        found = [each["systems"].get(name) for each in sets.values()]
        if any(found):
            rows.append([system["title"], *(_cell(f, metric) if f else "left out" for f in found)])
    header = [f"{each['title']}, n = {each['n']:,}" for each in sets.values()]
    return Table(f"{METRIC_TITLES[metric]} with 95 % interval", ["System", *header], rows)


def kbs(report: dict[str, Any]) -> Table:
    """The KBs that were searched, each once, with release and licence."""
    rows: dict[str, list[str]] = {}
    for each in report["sets"].values():
        for system in each["systems"].values():
            kb = system["kb"]
            rows.setdefault(
                kb["path"],
                [
                    kb["path"],
                    kb["release"] or "not stated",
                    kb["licence"] or "not stated",
                    kb["encoder"][:12],
                ],
            )
    header = ["KB", "Release", "Licence", "Fingerprint of its encoder"]
    return Table("KBs", header, list(rows.values()), frozenset({1, 2, 3}))


def systems(report: dict[str, Any]) -> Table:
    """What each system is."""
    rows = [
        [
            system["title"],
            system["candidates"]["@misc"],
            ", ".join(f"{k} = {v}" for k, v in system["candidates"].items() if k != "@misc")
            or "defaults",
        ]
        for system in report["systems"].values()
    ]
    return Table("Systems", ["System", "Candidates", "Settings"], rows, frozenset({1, 2}))


def figures(report: dict[str, Any], each: dict[str, Any]) -> Table:
    """All figures of every system on one set."""
    rows = [
        [_title(report, name), f"{found['n']:,}", *(_cell(found, metric) for metric in SHOWN)]
        for name, found in each["systems"].items()
    ]
    caption = f"Figures with 95 % interval over {each['n_documents']:,} documents"
    return Table(caption, ["System", "n", *(METRIC_TITLES[m] for m in SHOWN)], rows)


def differences(report: dict[str, Any], each: dict[str, Any]) -> Table:
    """Paired tests of every system against the reference."""
    rows = []
    for name, by_metric in each["differences"].items():
        for metric in TESTED:
            if metric in by_metric:
                test = by_metric[metric]
                rows.append(
                    [
                        _title(report, name),
                        METRIC_TITLES[metric],
                        f"{each['n']:,}",
                        _interval(test["difference"], test["ci"], signed=True),
                        _p(test["p"]),
                        _p(test["t_test"] and test["t_test"]["p"]),
                        _p(test["t_test_documents"] and test["t_test_documents"]["p"]),
                    ]
                )
    caption = (
        f"Difference to {_title(report, each['reference'])}, paired (* the interval leaves out 0)"
    )
    header = ["System", "Figure", "n", "Difference", "p, bootstrap", "p, t-test over mentions",
              "p, t-test over documents"]  # fmt: skip
    return Table(caption, header, rows, frozenset({1}))


def overlap(report: dict[str, Any], by_system: dict[str, dict[str, Any]]) -> Table:
    """Hits@10 by overlap degree, as the chart shows it. Where the KBs of the systems have other names,
    a band is not of the same mentions for all: each cell says of how many then."""
    counts = band_counts(by_system)
    rows = [
        [
            _title(report, name),
            *(_banded(bands.get(band), says_n=n is None) for band, n in counts.items()),
        ]
        for name, bands in by_system.items()
    ]
    header = [band if n is None else f"{band}, n = {n:,}" for band, n in counts.items()]
    return Table("Hits@10 by overlap degree, with 95 % interval", ["System", *header], rows)


def _banded(figures: Optional[dict[str, Any]], *, says_n: bool) -> str:
    if figures is None:
        return "none"
    cell = _cell(figures, "hits@10")
    return f"{cell}, n = {figures['n']:,}" if says_n else cell


def band_counts(by_system: dict[str, dict[str, Any]]) -> dict[str, Optional[int]]:
    """Bands that hold mentions for any system, in the order to show them in: how many it is for all, None
    where systems differ."""
    found: dict[str, Optional[int]] = {}
    for band in SHOWN_BANDS:
        n = {bands[band]["n"] if band in bands else 0 for bands in by_system.values()}
        if n - {0}:
            found[band] = n.pop() if len(n) == 1 else None
    return found


def thresholds(report: dict[str, Any], each: dict[str, Any]) -> Table:
    """The best F1 that a threshold on the score can give."""
    rows = []
    for name, found in each["systems"].items():
        best = found["threshold"]
        cells = [_interval(best[m], best["ci"].get(m)) for m in ("f1", "precision", "recall")]
        at = "none" if best["threshold"] is None else f"{best['threshold']:.3f}"
        rows.append([_title(report, name), f"{best['n']:,}", at, *cells])
    caption = (
        "Best F1 over all thresholds, with 95 % interval at that threshold. It is chosen on the set "
        "itself: an upper bound"
    )
    return Table(caption, ["System", "n", "Threshold", "F1", "Precision", "Recall"], rows)


def pairs(report: dict[str, Any], each: dict[str, Any]) -> Table:
    """Spearman over positive and negative pairs."""
    rows = []
    for name, found in each["systems"].items():
        spearman = found["spearman"]
        rho = "none" if spearman["rho"] is None else _interval(spearman["rho"], spearman["ci"])
        counts = [f"{spearman[f'n_{kind}']:,}" for kind in ("positive", "negative")]
        rows.append([_title(report, name), *counts, rho])
    caption = "Rank correlation (Spearman) of score and label, with 95 % interval"
    return Table(caption, ["System", "Positive pairs", "Negative pairs", "Spearman"], rows)


def mistakes(report: dict[str, Any], each: dict[str, Any]) -> Table:
    """What stands first where it is not the gold concept."""
    found = each["systems"]
    shown = [m for m in SHOWN_MISTAKES if any(s["mistakes"][m]["n"] for s in found.values())]
    rows = [
        [
            _title(report, name),
            f"{system['n']:,}",
            *(
                _interval(system["mistakes"][m]["share"], system["mistakes"][m]["ci"])
                for m in shown
            ),
        ]
        for name, system in found.items()
    ]
    caption = "What is wrong with the first candidate, share of mentions with 95 % interval"
    return Table(caption, ["System", "n", *(MISTAKE_TITLES[m] for m in shown)], rows)


def worst(report: dict[str, Any], each: dict[str, Any]) -> Table:
    """Mentions that the best system gets wrong with the highest scores."""
    rows = []
    for row in each["worst"]:
        gold = [f"{concept_id} {name}" for concept_id, name in row["gold"]]
        found = row["found"]
        rows.append(
            [
                _short(row["text"]),
                _short("; ".join(gold or row["concepts"])),
                _short(f"{found['id']} {found['name']}"),
                _short(found["matched"]),
                f"{found['score']:.3f}",
                str(row["rank"] or "none"),
                "none" if row["overlap"] is None else f"{row['overlap']:.2f}",
                MISTAKE_TITLES.get(row["error"], row["error"]),
            ]
        )
    caption = (
        f"{_title(report, each['best'])}, the best system by Hits@1: {len(rows)} wrong first "
        f"candidates with the highest scores, of n = {each['n']:,} mentions"
    )
    header = ["Mention", "Gold concept", "First candidate", "By its name", "Score",
              "Rank of the gold concept", "Overlap", "What went wrong"]  # fmt: skip
    return Table(caption, header, rows, frozenset({1, 2, 3, 7}))


def _title(report: dict[str, Any], name: str) -> str:
    return report["systems"][name]["title"]


def _cell(found: dict[str, Any], metric: str) -> str:
    return "none" if found[metric] is None else _interval(found[metric], found["ci"][metric])


def _interval(value: float, ci: Optional[Sequence[float]], *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    text = f"{value:{sign}.3f}"
    if not ci:
        return text
    beyond = "*" if signed and (ci[0] > 0 or ci[1] < 0) else ""
    return f"{text} [{ci[0]:{sign}.3f}, {ci[1]:{sign}.3f}]{beyond}"


def _p(value: Optional[float]) -> str:
    if value is None:
        return "none"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 90 else f"{text[:89]}…"
