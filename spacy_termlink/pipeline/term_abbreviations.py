"""The component `term_abbreviations`: the abbreviations that a document defines itself."""

from typing import Any, Tuple

from spacy.pipeline import Pipe
from spacy.tokens import Doc

from ..lexical.abbreviations import find_abbreviations
from .extensions import set_extensions


class TermAbbreviations(Pipe):
    """Writes `doc._.term_abbreviations`: rows of short form, long form, and the offsets of the
    definition (short_start, short_end, long_start, long_end), after Schwartz and Hearst 2003.

    Plain lists, so that they survive `Doc.to_bytes`, DocBin and worker processes.

    DOCS: docs/pipeline.md
    """

    def __init__(self, name: str = "term_abbreviations") -> None:
        self.name = name
        set_extensions()

    def __call__(self, doc: Doc) -> Doc:
        """Find the definitions of one document."""
        doc._.term_abbreviations = [list(found) for found in find_abbreviations(doc.text)]
        return doc

    def __reduce__(self) -> Tuple[Any, ...]:
        """For workers: the extension is registered there, too."""
        return type(self), (self.name,)
