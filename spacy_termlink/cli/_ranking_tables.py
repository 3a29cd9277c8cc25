"""What `termlink evaluate` prints."""

import sys
from typing import Any, Optional

from ._common import print_table
from ._reliability_tables import print_reliability

#: Field of a report -> title of its table and the metric shown.
GROUPS = {
    "by_split": ("By split", "hits@1"),
    "by_label": ("By label", "hits@1"),
    "by_cardinality": ("By cardinality", "hits@1"),
    "by_overlap": ("By overlap degree with the names of the gold concept", "hits@10"),
}


def print_reports(reports: dict[str, dict[str, Any]], differences: dict[str, Any]) -> None:
    """Print tables of one or several generators on one set.

    reports (dict): Generator -> figures, as they are written with --json.
    differences (dict): "first - other" -> paired differences; {} of one generator.
    """
    from ..evaluation.ranking import METRICS

    about = next(iter(reports.values()))
    print(f"{about['kb']} {about['release']}".rstrip() + f", {about['set']}: ", end="")
    print(f"{about['n']} mentions of {about['n_documents']} documents")
    rows = [[m, *(_figure(r[m], r["ci"].get(m)) for r in reports.values())] for m in METRICS]
    rho = [r["spearman"] for r in reports.values()]
    rows.append(["spearman", *(_figure(row["rho"], row["ci"]) for row in rho)])
    speeds = [r["mentions_per_second"] for r in reports.values()]
    rows.append(["mentions/s", *(f"{speed:,.0f}" if speed else "-" for speed in speeds)])
    if any(r["n_reranked"] is not None for r in reports.values()):
        rows.append(["reranked", *(_reranked(r) for r in reports.values())])
    print_table(["", *reports], rows)
    for field, (title, metric) in GROUPS.items():
        _print_groups(reports, field, title, metric)
    _print_several(reports)
    if differences and about["n"]:
        _print_differences(differences, METRICS)
    _print_mistakes(reports)
    print_reliability({name: r["calibration"] for name, r in reports.items() if r["calibration"]})
    _print_notes(reports)
    sys.stdout.flush()


def _print_groups(reports: dict[str, dict[str, Any]], field: str, title: str, metric: str) -> None:
    """A table where there are two groups or more: one says what stands above."""
    groups = next(iter(reports.values()))[field]
    if len(groups) < 2:
        return
    print(f"\n{title}, {metric}:")
    rows = []
    for group, held in groups.items():
        found = (r[field][group] for r in reports.values())
        rows.append([group, held["n"], *(_figure(f[metric], f["ci"].get(metric)) for f in found)])
    print_table(["", "n", *reports], rows)


def _print_several(reports: dict[str, dict[str, Any]]) -> None:
    several = [r["several"] for r in reports.values()]
    if not several[0]["n"]:
        return
    print(f"\nThe {several[0]['n']} mentions of several concepts:")
    rows = [
        [name, *(_figure(s[key]["hits@1"], s[key]["ci"]["hits@1"]) for s in several)]
        for key, name in (("any", "any of them first"), ("all", "all of them first"))
    ]
    rows += [
        [f"set {name}", *(_figure(s[name], s["ci"][name]) for s in _sets(reports, "several"))]
        for name in ("precision", "recall", "f1")
    ]
    print_table(["", *reports], rows)
    print("\nSets of concepts of all mentions, at the threshold:")
    rows = [
        [name, *(_figure(s[name], s["ci"][name]) for s in _sets(reports))]
        for name in ("precision", "recall", "f1")
    ]
    print_table(["", *reports], rows)


def _sets(reports: dict[str, dict[str, Any]], part: str = "") -> list[dict[str, Any]]:
    return [r["sets"][part] if part else r["sets"] for r in reports.values()]


def _print_differences(differences: dict[str, Any], metrics: tuple[str, ...]) -> None:
    print("\nPaired differences (95 % interval and p over documents; * leaves out 0):")
    rows = [[m, *(_difference(d[m]) for d in differences.values())] for m in metrics]
    print_table(["", *differences], rows)


def _print_mistakes(reports: dict[str, dict[str, Any]]) -> None:
    errors = [r["errors"] for r in reports.values()]
    names = [name for name in errors[0] if any(e[name]["n_first"] for e in errors)]
    if names:
        print("\nWhat went wrong, mentions:")
        print_table(["", *reports], [[n, *(e[n]["n_first"] for e in errors)] for n in names])


def _print_notes(reports: dict[str, dict[str, Any]]) -> None:
    about = next(iter(reports.values()))
    if about["n_unknown_gold"]:
        unknown = about["unknown_gold"]
        shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        print(
            f"{about['n_unknown_gold']} mentions count as misses: the KB has none of their gold "
            f"concepts ({shown})."
        )
    if not about["nil"]["n"]:
        return
    for name, report in reports.items():
        nil = report["nil"]
        print(
            f"{nil['n']} mentions without a concept, apart: {nil['accuracy']:.4f} of them under "
            f"the threshold {nil['threshold']:.4f} ({name}; as NIL: precision "
            f"{nil['precision']:.4f}, recall {nil['recall']:.4f}, F1 {nil['f1']:.4f})."
        )


def _reranked(report: dict[str, Any]) -> str:
    n, searched = report["n_reranked"], report["n"] + report["nil"]["n"]
    return "-" if n is None else f"{n:,} ({n / max(1, searched):.1%})"


def _figure(value: Optional[float], interval: Optional[list[float]]) -> str:
    if value is None or interval is None:
        return "-"
    return f"{value:.4f} [{interval[0]:.4f}, {interval[1]:.4f}]"


def _difference(row: dict[str, Any]) -> str:
    low, high = row["ci"]
    beyond = "*" if low > 0 or high < 0 else " "
    return f"{row['difference']:+.4f} [{low:+.4f}, {high:+.4f}]{beyond} p={row['p']:.3f}"
