"""Charts of a report as SVG: the same bytes for the same figures, no colour fixed, text as text.

Colours are CSS variables, which the page sets for light, dark and print; series differ by marker and
dashes too. matplotlib (extra `report`) is imported when a chart is drawn.
"""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Iterator, Optional

from ..errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Values of the variables, also written into each SVG file: light, then dark.
COLOURS = {
    "--ink": ("#1b1f24", "#e6e6e6"),
    "--grid": ("#d0d4da", "#454b54"),
    "--s0": ("#0b62a3", "#6cb6ff"),
    "--s1": ("#b4540a", "#f0a35e"),
    "--s2": ("#0f7a4d", "#57d19a"),
    "--s3": ("#a3238e", "#f08be0"),
    "--s4": ("#7a5c00", "#e3c341"),
    "--s5": ("#c0202b", "#ff8087"),
    "--s6": ("#4b3fa8", "#b0a6ff"),
    "--s7": ("#3d4650", "#b5bdc8"),
}
#: What matplotlib is told: colours that occur nowhere else, to be replaced by the variables.
_STANDS_FOR = {f"#0102{i:02x}": name for i, name in enumerate(COLOURS)}
_PLACEHOLDER = {name: colour for colour, name in _STANDS_FOR.items()}
_INK, _GRID = _PLACEHOLDER["--ink"], _PLACEHOLDER["--grid"]
SERIES = [_PLACEHOLDER[name] for name in COLOURS if name.startswith("--s")]
_MARKERS = "os^DvPX*"
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))
_FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif"

#: (title, values) of a line, None where there is no value.
Line = tuple[str, Sequence[Optional[float]]]


def require_matplotlib() -> None:
    """Ask for matplotlib before hours of work, not after.

    RAISES (MissingExtraError): TL004 without it.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("TL004", library="matplotlib", extra="report") from None


def overlap_chart(name: str, lines: Sequence[Line], bands: Mapping[str, Optional[int]]) -> str:
    """Hits@10 by overlap degree, the most alike to the left (figure 3 of seed 002).

    name (str): Of the chart; its ids start with it.
    lines (Sequence[Line]): A system's title and its Hits@10 in each band; None where it has none.
    bands (Mapping[str, Optional[int]]): Names of the bands, in the order to draw them in, and mentions in
        each; None where that differs between systems.
    RETURNS (str): The svg element.
    """
    about = "Line chart. " + " ".join(
        f"{title}: {_listed(list(bands), values)}." for title, values in lines
    )
    with _drawing(name, 1, (8.2, 4.2)) as (figure, [axes], save):
        for i, (title, values) in enumerate(lines):
            points = [float("nan") if value is None else value for value in values]
            axes.plot(range(len(bands)), points, label=title, **_style(i))
        axes.set_xticks(range(len(bands)))
        axes.set_xticklabels(
            [band if n is None else f"{band}\nn = {n:,}" for band, n in bands.items()]
        )
        axes.set_xlabel("share of the mention's words that names of its concept have")
        axes.set_ylabel("Hits@10")
        axes.set_ylim(-0.03, 1.03)
        _legend(figure, axes, len(lines))
        return save("Hits@10 by overlap degree", about)


def threshold_chart(name: str, curves: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Precision over recall, and F1 over the threshold.

    curves (Sequence[tuple[str, dict]]): A system's title and its "thresholds", "precision",
        "recall" and "f1".
    """
    best = ", ".join(f"{title} {max(curve['f1'], default=0):.2f}" for title, curve in curves)
    about = f"Two line charts: precision over recall, and F1 over the threshold. Best F1: {best}."
    with _drawing(name, 2, (8.2, 4.2)) as (figure, [left, right], save):
        for i, (title, curve) in enumerate(curves):
            style = {**_style(i), "markevery": 0.18}
            left.plot(curve["recall"], curve["precision"], label=title, **style)
            right.plot(curve["thresholds"], curve["f1"], **style)
        left.set_xlabel("recall")
        left.set_ylabel("precision")
        right.set_xlabel("threshold")
        right.set_ylabel("F1")
        for axes in (left, right):
            axes.set_xlim(-0.03, 1.03)
            axes.set_ylim(-0.03, 1.03)
        _legend(figure, left, len(curves))
        return save("Precision, recall and F1 over the threshold", about)


def reliability_chart(name: str, systems: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Share right over probability, and accuracy over coverage.

    systems (Sequence[tuple[str, dict]]): A system's title and its `reliability_figures`.
    """
    about = (
        "Two line charts: share right over probability, and accuracy over coverage. "
        + " ".join(
            f"{title}: expected calibration error {figures['ece']:.3f}."
            for title, figures in systems
        )
    )
    with _drawing(name, 2, (8.2, 4.2)) as (figure, [left, right], save):
        left.plot([0, 1], [0, 1], color=_INK, linestyle=_DASHES[1], linewidth=0.8, label="ideal")
        for i, (title, figures) in enumerate(systems):
            bins, coverage = figures["bins"], figures["coverage"]
            left.plot(
                [b["probability"] for b in bins],
                [b["accuracy"] for b in bins],
                label=title,
                **_style(i),
            )
            right.plot(
                [c["coverage"] for c in coverage], [c["accuracy"] for c in coverage], **_style(i)
            )
        left.set_xlabel("probability (mean of a tenth of the mentions)")
        left.set_ylabel("share right")
        right.set_xlabel("share of the mentions answered, the surest first")
        right.set_ylabel("accuracy")
        left.set_xlim(-0.03, 1.03)
        left.set_ylim(-0.03, 1.03)
        _legend(figure, left, len(systems) + 1)
        return save("Reliability of the probabilities", about)


def pair_chart(name: str, systems: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Histograms of the scores of positive and negative pairs, a panel for each system.

    systems (Sequence[tuple[str, dict]]): Title, and "edges", "positive" and "negative" counts.
    """
    n_rows = -(-len(systems) // 3)
    about = "Histograms of scores, a panel for each system: " + "; ".join(
        f"{title}, median bin of positive pairs {_median(bins, 'positive')}, of negative pairs "
        f"{_median(bins, 'negative')}"
        for title, bins in systems
    )
    with _drawing(name, (n_rows, 3), (8.2, 0.7 + 1.9 * n_rows)) as (figure, panels, save):
        for axes in panels[len(systems) :]:
            axes.set_axis_off()
        for axes, (title, bins) in zip(panels, systems, strict=False):
            for i, kind in enumerate(("positive", "negative")):
                total = max(1, sum(bins[kind]))
                shares = [count / total for count in bins[kind]]
                axes.stairs(shares, bins["edges"], fill=True, alpha=0.3, color=SERIES[i])
                axes.stairs(
                    shares, bins["edges"], color=SERIES[i], linestyle=_DASHES[i], linewidth=1.4,
                    label=f"{kind} pairs",
                )  # fmt: skip
            axes.set_title(title, fontsize=9)
            axes.set_xlim(0, 1)
        for axes in panels[::3]:
            axes.set_ylabel("share of pairs")
        figure.supxlabel("score", fontsize=9)
        _legend(figure, panels[0], 2)
        return save("Scores of positive and negative pairs", about + ".")


def standalone(svg: str) -> str:
    """A chart as a file of its own: with its colours, which follow the reader's light or dark."""
    light, dark = (
        "".join(f"{name}:{values[i]};" for name, values in COLOURS.items()) for i in (0, 1)
    )
    style = (
        f"<style>svg{{{light}color:var(--ink)}}"
        f"@media (prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
    )
    namespaced = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    start = namespaced.index(">") + 1
    return f"{namespaced[:start]}{style}{namespaced[start:]}\n"


@contextmanager
def _drawing(
    name: str, grid: Any, size: tuple[float, float]
) -> Iterator[tuple["Figure", list["Axes"], Callable[[str, str], str]]]:
    """A figure, its axes, and what saves it with a title and a description."""
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    n_rows, n_columns = grid if isinstance(grid, tuple) else (1, grid)
    settings: Any = {
        "svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9, "legend.frameon": False,
        "text.color": _INK, "axes.edgecolor": _INK, "axes.labelcolor": _INK, "xtick.color": _INK,
        "ytick.color": _INK, "grid.color": _GRID, "axes.grid": True, "axes.axisbelow": True,
        "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.6,
        "lines.markersize": 5, "path.simplify": False,
    }  # fmt: skip
    # the user's own style would change the bytes
    settings = {**mpl.rcParamsDefault, **settings}
    with mpl.rc_context(settings):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()

        def save(title: str, about: str) -> str:
            file = io.StringIO()
            none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            figure.savefig(file, format="svg", transparent=True, metadata=none)
            return _themed(file.getvalue(), name, title, about)

        yield figure, axes, save


def _themed(svg: str, name: str, title: str, about: str) -> str:
    """matplotlib's SVG as an element of a page: variables for colours, ids of its own, a title and a
    description for those who cannot see it, as wide as there is room."""
    svg = svg[svg.index("<svg") :].strip()
    head, body = svg.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    # a style of an svg is a style of the whole page
    body = re.sub(r"<(metadata|style)\b.*?</\1>", "", body, flags=re.DOTALL)
    body = re.sub(r"#0102[0-9a-f]{2}", lambda m: f"var({_STANDS_FOR[m.group()]})", body)
    body = re.sub(r"(font: [\d.]+px )[^;\"]*", rf"\1{_FONT}", body)
    body = body.replace("xlink:href", "href")
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", body))
    body = re.sub(r' id="([^"]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", body)
    body = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", body)
    return (
        f'<svg {box.group()} stroke-linejoin="round" role="img" aria-labelledby="{name}-title {name}-about">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-about">{escape(about)}</desc>{body}'
    )


def _style(i: int) -> dict[str, Any]:
    return {
        "color": SERIES[i % len(SERIES)],
        "marker": _MARKERS[i % len(_MARKERS)],
        "linestyle": _DASHES[i % len(_DASHES)],
    }


def _legend(figure: "Figure", axes: "Axes", n: int) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=min(n, 4))


def _listed(bands: Sequence[str], values: Sequence[Optional[float]]) -> str:
    return ", ".join(
        f"{band} {value:.2f}"
        for band, value in zip(bands, values, strict=True)
        if value is not None
    )


def _median(bins: dict[str, Any], kind: str) -> str:
    counts, edges = bins[kind], bins["edges"]
    seen, half = 0, sum(counts) / 2
    for i, count in enumerate(counts):
        seen += count
        if count and seen >= half:
            return f"{edges[i]:.2f} to {edges[i + 1]:.2f}"
    return "none"
