"""Writes a report: one html page that needs nothing beside it, the same in markdown, JSON and charts.

The page follows the reader's light or dark, prints on white, and its charts have titles, descriptions
and their figures in a table below.
"""

import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, Union

from ..errors import TermlinkError
from ..files import atomic_folder
from . import charts
from . import report_tables as tables
from .report_tables import Table

REPORT = "report.json"
PAGE, MARKDOWN, CHARTS = "report.html", "report.md", "charts"
_INTERVAL = re.compile(r" (\[[-+.\d]+, [-+.\d]+\]\*?)$")
#: Where the definitions of the figures are.
DEFINITIONS = (
    "Hits@k is the share of mentions with a gold concept among the first k candidates; MRR the mean of "
    "1 / its rank; nDCG gives partial gains for parents, children, siblings and their like. Intervals "
    "are 95 %, by bootstrap over documents; p values are not corrected for the number of tests. The "
    "overlap degree is the share of a mention's words that the names of its gold concept have. A "
    "positive pair is a mention and its gold concept, a negative one a mention and its best wrong "
    "candidate. docs/evaluation.md and docs/report.md define all of it."
)


class Heading(NamedTuple):
    """A heading.

    level (int): 2 or 3.
    text (str): What it says.
    """

    level: int
    text: str


class Chart(NamedTuple):
    """A chart.

    name (str): Of its file.
    caption (str): What it shows.
    svg (str): The svg element.
    """

    name: str
    caption: str
    svg: str


#: A part of a report; a string is a paragraph.
Part = Union[Heading, Table, Chart, str]


def save_report(report: dict[str, Any], out: Path) -> None:
    """Write report.html, report.md, report.json and charts/*.svg; the old report stays until the new
    one is whole.

    report (dict): From `report.describe_runs`.
    RAISES (TermlinkError): TL002 if something else is at `out`, TL004 without matplotlib, TL006 if
        it cannot be written.
    """
    check_output(out)
    parts = list(build_parts(report))
    with atomic_folder(out) as folder:
        (folder / CHARTS).mkdir()
        for part in parts:
            if isinstance(part, Chart):
                svg = charts.standalone(part.svg)
                (folder / CHARTS / f"{part.name}.svg").write_text(svg, encoding="utf8")
        (folder / REPORT).write_text(
            json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
            encoding="utf8",
        )
        page, markdown = write_html(report["title"], parts), write_markdown(report["title"], parts)
        (folder / PAGE).write_text(page, encoding="utf8")
        (folder / MARKDOWN).write_text(markdown, encoding="utf8")


def check_output(out: Path) -> None:
    """Refuse to replace what is no report, or holds anything beside one.

    RAISES (TermlinkError): TL002.
    """
    if not out.exists():
        return
    found = {path.name for path in out.iterdir()} if out.is_dir() else {out.name}
    # the folder is replaced as a whole: nothing else may lie in it
    if found and not {REPORT} <= found <= {REPORT, PAGE, MARKDOWN, CHARTS}:
        raise TermlinkError("TL002", path=out, kind="report")


def build_parts(report: dict[str, Any]) -> Iterator[Part]:
    """All parts, in the order of the page."""
    if report["left_out"]:
        yield Heading(2, "Left out")
        yield from report["left_out"]
    yield Heading(2, "All sets")
    for metric in ("hits@1", "hits@10"):
        yield tables.overview(report, metric)
    pooled = report["pooled"]["by_overlap"]
    if len(report["sets"]) > 1 and pooled:
        caption = "Hits@10 by overlap degree, mentions of all sets together"
        yield from _overlap(report, "overlap", caption, pooled)
    for kb, together in report["pooled"]["by_kb"].items():
        if together["systems"]:
            yield from _pooled_parts(report, kb, together)
    for name, each in report["sets"].items():
        yield Heading(2, each["title"])
        yield from _set_parts(report, name, each)
    yield Heading(2, "What was compared")
    yield tables.systems(report)
    yield tables.kbs(report)
    yield DEFINITIONS
    yield f"Made by spacy-termlink {report['version']}."


def _pooled_parts(report: dict[str, Any], kb: str, together: dict[str, Any]) -> Iterator[Part]:
    titles = [report["sets"][name]["title"] for name in together["sets"]]
    yield Heading(2, f"Sets of the KB {kb} together")
    yield f"{together['n']:,} mentions of {', '.join(titles)}, each counting the same."
    yield tables.figures(report, together)
    if together["differences"]:
        yield tables.differences(report, together)


def _set_parts(report: dict[str, Any], name: str, each: dict[str, Any]) -> Iterator[Part]:
    found = [(report["systems"][s]["title"], system) for s, system in each["systems"].items()]
    settings = each["set"]
    chosen = [
        f"{key} {settings[key]}" for key in ("split", "label", "cardinality") if settings[key]
    ]
    n_nil = f", {each['n_nil']:,} without a concept" if each["n_nil"] else ""
    yield (
        f"{settings['mentions']} ({', '.join(chosen)}): {each['n']:,} mentions with a concept{n_nil}, "
        f"in {each['n_documents']:,} documents, linked to the KB {settings['kb']}."
    )
    yield tables.figures(report, each)
    if each["differences"]:
        yield tables.differences(report, each)
    by_overlap = {s: system["by_overlap"] for s, system in each["systems"].items()}
    yield from _overlap(report, f"{name}-overlap", "Hits@10 by overlap degree", by_overlap)
    yield Heading(3, "Links over the threshold")
    curves = [(title, system["curve"]) for title, system in found]
    svg = charts.threshold_chart(f"{name}-threshold", curves)
    yield Chart(f"{name}-threshold", "Precision over recall, and F1 over the threshold", svg)
    yield tables.thresholds(report, each)
    yield Heading(3, "Positive and negative pairs")
    svg = charts.pair_chart(f"{name}-pairs", [(title, system["pairs"]) for title, system in found])
    yield Chart(f"{name}-pairs", "Scores of positive and negative pairs", svg)
    yield tables.pairs(report, each)
    yield Heading(3, "Errors")
    yield tables.mistakes(report, each)
    if each["worst"]:
        yield tables.worst(report, each)


def _overlap(
    report: dict[str, Any], name: str, caption: str, by_system: dict[str, dict[str, Any]]
) -> Iterator[Part]:
    counts = tables.band_counts(by_system)
    if not counts:
        return
    yield Heading(3, "By overlap degree")
    lines = [
        (
            report["systems"][system]["title"],
            [bands.get(band, {}).get("hits@10") for band in counts],
        )
        for system, bands in by_system.items()
    ]
    svg = charts.overlap_chart(name, lines, counts)
    yield Chart(name, caption, svg)
    yield tables.overlap(report, by_system)


# --- html


def _style() -> str:
    light, dark = (
        "".join(f"{name}:{values[i]};" for name, values in charts.COLOURS.items()) for i in (0, 1)
    )
    return f"""
:root {{ color-scheme: light dark; {light} --paper:#fff; --stripe:#f3f5f7; }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} --paper:#15181c; --stripe:#1f242a; }} }}
@media print {{ :root {{ color-scheme: light; {light} --paper:#fff; --stripe:#f3f5f7; }}
  figure, tr {{ break-inside: avoid; }} h2, h3, caption {{ break-after: avoid; }}
  body {{ max-width: none; font-size: 10pt; margin: 0; }} table {{ font-size: 7.5pt; }}
  .wide {{ overflow: visible; }} }}
body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 68rem; padding: 0 1rem; }}
h1 {{ line-height: 1.2; }} h2 {{ border-top: 1px solid var(--grid); margin-top: 3rem; padding-top: 1rem; }}
a {{ color: var(--s0); }}
.wide {{ overflow-x: auto; margin: 1.5rem 0; }}
table {{ border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; font-weight: 600; padding-bottom: 0.3rem; }}
th, td {{ padding: 0.2rem 0.6rem; text-align: right; border-bottom: 1px solid var(--grid);
  vertical-align: top; }}
td {{ white-space: nowrap; }}
.ci {{ display: block; font-size: 0.85em; }}
th:first-child, .text {{ text-align: left; }} td.text {{ white-space: normal; }}
tbody tr:nth-child(even) {{ background: var(--stripe); }}
figure {{ margin: 1.5rem 0; }} figure svg {{ width: 100%; max-width: 60rem; height: auto; }}
figcaption {{ font-weight: 600; }}
"""


def write_html(title: str, parts: Sequence[Part]) -> str:
    """The page; nothing on it is loaded from anywhere."""
    headings = [part for part in parts if isinstance(part, Heading) and part.level == 2]
    links = "".join(
        f'<li><a href="#part-{i}">{escape(heading.text)}</a></li>\n'
        for i, heading in enumerate(headings)
    )
    body = []
    for part in parts:
        if isinstance(part, Heading) and part.level == 2:
            body.append(f'<h2 id="part-{headings.index(part)}">{escape(part.text)}</h2>\n')
        else:
            body.append(_html(part))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_style()}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(title)}</h1>\n<nav aria-label="Contents">\n<ul>\n{links}</ul>\n</nav>\n'
        f"{''.join(body)}</main>\n</body>\n</html>\n"
    )


def _html(part: Part) -> str:
    if isinstance(part, Heading):
        return f"<h{part.level}>{escape(part.text)}</h{part.level}>\n"
    if isinstance(part, Chart):
        return f"<figure>\n{part.svg}\n<figcaption>{escape(part.caption)}</figcaption>\n</figure>\n"
    if isinstance(part, Table):
        return _html_table(part)
    return f"<p>{escape(part)}</p>\n"


def _html_table(table: Table) -> str:
    def kind(column: int) -> str:
        return ' class="text"' if column in table.texts else ""

    head = "".join(
        f'<th scope="col"{kind(i)}>{escape(cell)}</th>' for i, cell in enumerate(table.header)
    )
    rows = []
    for first, *rest in table.rows:
        cells = "".join(f"<td{kind(i)}>{_cell(cell)}</td>" for i, cell in enumerate(rest, start=1))
        rows.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>\n')
    caption = escape(table.caption)
    # a region that scrolls must be reachable by keyboard
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}">\n<table>\n'
        f"<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{''.join(rows)}</tbody>\n</table>\n</div>\n"
    )


def _cell(text: str) -> str:
    """A figure's interval stands below it, so that a table of many figures fits a page."""
    return _INTERVAL.sub(r' <span class="ci">\1</span>', escape(text))


# --- markdown


def write_markdown(title: str, parts: Sequence[Part]) -> str:
    """The same as markdown; charts are links to their files."""
    return f"# {_plain(title)}\n\n" + "\n\n".join(map(_markdown, parts)) + "\n"


def _markdown(part: Part) -> str:
    if isinstance(part, Heading):
        return f"{'#' * part.level} {_plain(part.text)}"
    if isinstance(part, Chart):
        return f"![{_plain(part.caption)}](charts/{part.name}.svg)"
    if isinstance(part, Table):
        rule = [":--" if not i or i in part.texts else "--:" for i in range(len(part.header))]
        lines = [part.header, rule, *part.rows]
        rows = "\n".join(f"| {' | '.join(map(_plain, line))} |" for line in lines)
        return f"{_plain(part.caption)}:\n\n{rows}"
    return _plain(part)


def _plain(text: str) -> str:
    return "".join(f"\\{char}" if char in "|*_<`\\" else char for char in text)
