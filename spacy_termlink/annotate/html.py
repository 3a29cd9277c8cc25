"""One html page with every note, its mentions marked by displaCy and linked to the pages of their
concepts. Nothing on it is loaded from anywhere: it opens without a network.
"""

import re
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
_ADDRESS = re.compile(r"https?://[^\s<>\"']*[^\s<>\"',;.)]")


def render_note(
    note_id: str, text: str, rows: Sequence[dict[str, Any]], linkers: Sequence[Linker]
) -> str:
    """A section of the page. Of mentions that overlap the longest is marked, the others are listed
    below the text.

    rows (Sequence[dict[str, Any]]): Annotations of the note, by offsets.
    """
    sources = {linker.kb: linker for linker in linkers}
    marked, others = _split_overlapping(rows)
    ents = [
        {"start": start, "end": end, "label": _label(mentions, sources)}
        for (start, end), mentions in marked
    ]
    parsed = {"text": text, "ents": ents, "title": None}
    options = {"template": _TEMPLATE}
    shown = displacy.render(parsed, style="ent", manual=True, jupyter=False, options=options)
    if others:
        items = "".join(
            f"<li>{_TEMPLATE.format(text=escape(text[start:end]), label=_label(mentions, sources))}</li>\n"
            for (start, end), mentions in others
        )
        shown += f"<p>Mentions that overlap those marked:</p>\n<ul>\n{items}</ul>\n"
    return f"<section>\n<h2>{escape(note_id)}</h2>\n{shown}</section>\n"


_TEMPLATE = (
    f'<mark class="entity" style="background: {_COLOR}; padding: 0.2em; border-radius: 0.3em;">'
    "{text}{label}</mark>"
)

#: (start, end) and the rows that have it.
Place = tuple[tuple[int, int], list[dict[str, Any]]]


def _split_overlapping(rows: Sequence[dict[str, Any]]) -> tuple[list[Place], list[Place]]:
    """Mentions without overlap, the longest first chosen, and the rest; each in their order."""
    places: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows:
        places.setdefault((row["start"], row["end"]), []).append(row)
    taken: set[int] = set()
    marked: list[Place] = []
    others: list[Place] = []
    for place, mentions in sorted(
        places.items(), key=lambda item: (item[0][0] - item[0][1], item[0])
    ):
        free = taken.isdisjoint(range(*place))
        taken.update(range(*place))
        (marked if free else others).append((place, mentions))
    return sorted(marked, key=_offsets), sorted(others, key=_offsets)


def _offsets(place: Place) -> tuple[int, int]:
    return place[0]


def _label(mentions: Sequence[dict[str, Any]], sources: dict[str, Linker]) -> str:
    return "".join(_link(row, sources[row["kb"]]) for row in mentions)


def _link(row: dict[str, Any], linker: Linker) -> str:
    concept_id = row["concept_id"]
    if concept_id in (None, NIL):
        return f'<span class="nil" title="{escape(linker.kb)}">{NIL}</span>'
    score = "" if row["score"] is None else f"{row['score']:.2f}"
    name, matched = row["concept_name"] or "", row["matched"] or ""
    other_name = "" if matched.lower() == name.lower() else f"by its name {matched}"
    about = [linker.kb, name, other_name, f"score {score}", row["tier"], row["assertion"]]
    title = escape(", ".join(part for part in about if part))
    shown = escape(f"{concept_id} {name}".strip())
    if row["assertion"] not in (None, "affirmed"):
        shown += f" ({escape(row['assertion'])})"
    url = concept_page(linker.url, concept_id)
    if not url:
        return f'<span class="nil" title="{title}">{shown}</span>'
    return f'<a href="{escape(url)}" title="{title}">{shown}</a>'


def _linked(text: str) -> str:
    """Text with its web addresses as links."""
    return _ADDRESS.sub(r'<a href="\g<0>">\g<0></a>', escape(text))


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
        file.write(f"<p>{escape(linker.kb)}: {escape(release)}. {_linked(licence)}</p>\n")
    if not assessed:
        file.write(
            "<p>Assertion was not assessed: a marked finding may be negated, uncertain, past, or "
            "of somebody else.</p>\n"
        )
    file.write("</div>\n")
    for fragment in fragments:
        file.write(fragment)
    file.write("</body>\n</html>\n")
