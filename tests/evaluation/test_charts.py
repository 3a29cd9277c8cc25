"""Charts: well-formed, the same bytes twice, no fixed colour, nothing from elsewhere, readable aloud."""

import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from spacy_termlink.errors import MissingExtraError
from spacy_termlink.evaluation import charts

CURVE = {
    "thresholds": [0.1, 0.5, 0.9], "precision": [0.5, 0.7, 1.0], "recall": [0.5, 0.4, 0.2],
    "f1": [0.5, 0.51, 0.33],
}  # fmt: skip
BINS = {"edges": [0.0, 0.5, 1.0], "positive": [1, 3], "negative": [2, 0]}
EMPTY = {"thresholds": [], "precision": [], "recall": [], "f1": []}
RELIABILITY = {
    "ece": 0.05,
    "bins": [{"probability": 0.2, "accuracy": 0.25}, {"probability": 0.9, "accuracy": 0.85}],
    "coverage": [{"coverage": 1.0, "accuracy": 0.5}, {"coverage": 0.5, "accuracy": 0.85}],
}

DRAW = {
    "overlap": lambda name="a": charts.overlap_chart(
        name, [("A & B", [0.9, 0.1]), ("C", [1.0, None])], {"(0.8, 1]": 1200, "0": None}
    ),
    "threshold": lambda name="a": charts.threshold_chart(name, [("A", CURVE), ("B", EMPTY)]),
    "reliability": lambda name="a": charts.reliability_chart(name, [("A & B", RELIABILITY)]),
    "pairs": lambda name="a": charts.pair_chart(name, [(t, BINS) for t in "ABCD"]),
}


@pytest.fixture(params=DRAW)
def draw(request):
    return DRAW[request.param]


def test_same_bytes_twice_whatever_the_users_style(draw):
    import matplotlib as mpl

    first = draw()
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.fonttype": "path"}):
        assert draw() == first


def test_no_colour_is_fixed_and_nothing_is_loaded(draw):
    svg = draw()
    assert not re.search(r"(fill|stroke|color): ?(#|rgb|black|white)", svg)
    assert set(re.findall(r"var\((--\w+)\)", svg)) <= set(charts.COLOURS)
    assert "http" not in svg
    assert "<style" not in svg
    assert "<text" in svg


def test_well_formed_with_title_and_description(draw):
    svg = ElementTree.fromstring(draw())
    assert svg.attrib["role"] == "img"
    title, about = svg.attrib["aria-labelledby"].split()
    named = {e.attrib["id"]: e.text for e in svg.iter() if "id" in e.attrib}
    assert named[title] and named[about].endswith(".")


def test_ids_are_used_and_differ_between_charts(draw):
    first, second = draw("one"), draw("two")
    ids = [set(re.findall(r' id="([^"]+)"', svg)) for svg in (first, second)]
    assert ids[0].isdisjoint(ids[1])
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', first))
    assert used and used <= ids[0]


def test_description_says_the_figures():
    assert "A &amp; B: (0.8, 1] 0.90, 0 0.10." in DRAW["overlap"]()
    assert "Best F1: A 0.51, B 0.00." in DRAW["threshold"]()
    assert (
        "A, median bin of positive pairs 0.50 to 1.00, of negative pairs 0.00 to 0.50"
        in DRAW["pairs"]()
    )


def test_standalone_file_has_its_colours(draw):
    svg = charts.standalone(draw())
    ElementTree.fromstring(svg)
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    for light, dark in charts.COLOURS.values():
        assert light in svg and dark in svg


def test_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError) as error:
        charts.require_matplotlib()
    assert "spacy-termlink[report]" in str(error.value)
