"""Mentions by an abbreviation that the document itself defines."""

import re
from typing import Callable, Dict, List, NamedTuple, Optional

from spacy.tokens import Doc

from .mentions import get_long_forms


class Place(NamedTuple):
    """A mention in a text.

    start, end (int): `text[start:end]`.
    label (str): Its label.
    distance (int): How far it is from the name it was found by; 0 for the same words.
    whole (str): The mention in full, where it shares words with its neighbour; else "".
    """

    start: int
    end: int
    label: str
    distance: int
    whole: str = ""


def add_defined(
    doc: Doc, places: List[Place], label_of: Callable[[str], Optional[str]]
) -> List[Place]:
    """The mentions of a document with those of its abbreviations: each occurrence of a short form
    whose long form is a name. A short form that the document defines as something else is none.

    doc (Doc): The document.
    places (List[Place]): What was found by names.
    label_of (Callable[[str], Optional[str]]): Label of a mention that is a name, else None.
    """
    forms = get_long_forms(doc)
    if not forms:
        return places
    labels: Dict[str, Optional[str]] = {short: label_of(long) for short, long in forms.items()}
    text = doc.text
    kept = [place for place in places if text[place.start : place.end] not in labels]
    shorts = sorted(map(re.escape, labels), key=len, reverse=True)
    for match in re.finditer(rf"(?<![^\W_])(?:{'|'.join(shorts)})(?![^\W_])", text):
        label = labels[match.group()]
        if label is not None:
            kept.append(Place(match.start(), match.end(), label, 0))
    return kept
