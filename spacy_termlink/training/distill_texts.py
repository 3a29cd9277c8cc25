"""What a small encoder learns from a large one: the names of terminologies, altered names, definitions."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Optional

import numpy as np

from ..errors import TermlinkError
from ..mining.augment import change_spelling, invert_commas
from ..mining.records import read_rows
from ..terminology.store import Terminology
from ..text import normalize
from .schedule import generator

#: More texts than this are drawn from: the large encoder reads each of them once.
MAX_TEXTS = 400_000


def read_texts(
    terminologies: Sequence[Terminology],
    *,
    without: Optional[Path] = None,
    definitions: bool = True,
    seed: int = 0,
    max_texts: int = MAX_TEXTS,
) -> list[str]:
    """Normal forms, each once: what a KB gives its encoder.

    terminologies (Sequence[Terminology]): All their living names are read.
    without (Optional[Path]): heldout.jsonl: names that are left out, of every concept.
    definitions (bool): Whether the concepts' definitions are among them.
    seed (int): Of the draw, where there are more than `max_texts`.
    RAISES (TermlinkError): TL431 where nothing is left, TL220 for a bad line of `without`.
    """
    held = set() if without is None else set(_held(without))
    found = dict.fromkeys(text for text in _forms(terminologies, definitions) if text)
    texts = [text for text in found if text not in held]
    if not texts:
        raise TermlinkError("TL431", paths=", ".join(str(each.path) for each in terminologies))
    if len(texts) > max_texts:
        rows = generator(seed, "distill", "texts").permutation(len(texts))[:max_texts]
        texts = [texts[row] for row in np.sort(rows).tolist()]
    return texts


def _forms(terminologies: Iterable[Terminology], definitions: bool) -> Iterator[str]:
    for terminology in terminologies:
        for text in terminology.names["text"].to_pylist():
            yield normalize(text)
            # word order and spelling as people write them
            for other in (invert_commas(text), change_spelling(text)):
                if other is not None:
                    yield normalize(other)
        if definitions:
            living = np.flatnonzero(~terminology.obsolete)
            column = terminology.concepts["definition"]
            yield from (normalize(column[row].as_py() or "") for row in living.tolist())


def _held(path: Path) -> Iterator[str]:
    for line, row in read_rows(path):
        text = row.get("text")
        if not isinstance(text, str):
            raise TermlinkError("TL220", path=path, line=line, reason="expected 'text', a string")
        yield normalize(text)
