"""One html page with every note, its mentions marked by displaCy and linked to the pages of their
concepts. Nothing on it is loaded from anywhere: it opens without a network.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import IO, Any

from spacy import displacy

from ..terminology.sources import concept_page
from ..types import NIL
from .core import Linker

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
.about { background: #f4f4f4; border-radius: 4px; padding: 0.5rem 1rem; }
.entities { white-space: pre-wrap; }
mark a, mark span.nil { font-weight: normal; font-size: 0.9em; margin-left: 0.4em; }
section { border-top: 1px solid #ccc; margin-top: 2rem; }
"""
_COLOR = "#d6e4f0"


def render_note(
    note_id: str, text: str, rows: Sequence[dict[str, Any]], linkers: Sequence[Linker]
) -> str:
    """A section of the page. Mentions that overlap are shown in a text of their own below.

    rows (Sequence[dict[str, Any]]): Annotations of the note, by offsets.
    """
    sources = {linker.kb: linker for linker in linkers}
    figures: list[str] = []
    for layer in _layers(rows) or [[]]:
        if figures:
            figures.append("<p>The same note, with mentions that overlap those above:</p>\n")
        ents = [
            {"start": start, "end": end, "label": _label(mentions, sources)}
            for (start, end), mentions in layer
        ]
        parsed = {"text": text, "ents": ents, "title": None}
        options = {"template": _TEMPLATE}
        figures.append(
            displacy.render(parsed, style="ent", manual=True, jupyter=False, options=options)
        )
    return f"<section>\n<h2>{escape(note_id)}</h2>\n{''.join(figures)}</section>\n"


_TEMPLATE = (
    f'<mark class="entity" style="background: {_COLOR}; padding: 0.2em; border-radius: 0.3em;">'
    "{text}{label}</mark>"
)

Layer = list[tuple[tuple[int, int], list[dict[str, Any]]]]


def _layers(rows: Sequence[dict[str, Any]]) -> list[Layer]:
    """Mentions, the rows of one place together, in as few layers without overlap as a scan finds."""
    places: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows:
        places.setdefault((row["start"], row["end"]), []).append(row)
    layers: list[Layer] = []
    for place, mentions in sorted(places.items(), key=lambda item: item[0]):
        layer = next((la for la in layers if la[-1][0][1] <= place[0]), None)
        if layer is None:
            layers.append(layer := [])
        layer.append((place, mentions))
    return layers


def _label(mentions: Sequence[dict[str, Any]], sources: dict[str, Linker]) -> str:
    return "".join(_link(row, sources[row["kb"]]) for row in mentions)


def _link(row: dict[str, Any], linker: Linker) -> str:
    concept_id = row["concept_id"]
    if concept_id in (None, NIL):
        return f'<span class="nil" title="{escape(linker.kb)}">{NIL}</span>'
    score = "" if row["score"] is None else f"{row['score']:.2f}"
    about = [linker.kb, row["concept_name"], f"score {score}", row["tier"], row["assertion"]]
    title = escape(", ".join(part for part in about if part))
    shown = escape(f"{concept_id} {row['concept_name'] or ''}".strip())
    if row["assertion"] not in (None, "affirmed"):
        shown += f" ({escape(row['assertion'])})"
    url = concept_page(linker.url, concept_id)
    if not url:
        return f'<span class="nil" title="{title}">{shown}</span>'
    return f'<a href="{escape(url)}" title="{title}">{shown}</a>'


def write_page(
    file: IO[str], fragments: Iterable[str], linkers: Sequence[Linker], *, assessed: bool
) -> None:
    """Write the page, a fragment at a time.

    fragments (Iterable[str]): Sections from `render_note`.
    assessed (bool): Whether a component assessed assertion; the page says so where none did.
    """
    file.write('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n')
    file.write(f"<title>Linked notes</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n")
    file.write('<h1>Linked notes</h1>\n<div class="about">\n')
    for linker in linkers:
        licence = linker.licence or "licence not stated"
        release = f"release {linker.release}" if linker.release else "release not stated"
        file.write(f"<p>{escape(linker.kb)}: {escape(release)}. {escape(licence)}</p>\n")
    if not assessed:
        file.write(
            "<p>Assertion was not assessed: a marked finding may be negated, uncertain, past, or "
            "of somebody else.</p>\n"
        )
    file.write("</div>\n")
    for fragment in fragments:
        file.write(fragment)
    file.write("</body>\n</html>\n")
