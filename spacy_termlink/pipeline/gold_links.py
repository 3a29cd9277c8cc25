"""What a linker learns from: the gold spans of examples that name a concept of its KB."""

from collections import Counter
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

import numpy as np
from spacy.tokens import Span
from spacy.training import Example

from ..terminology.store import Terminology
from ..text import normalize
from ..types import NIL
from .gold import span_in
from .mentions import Forms, get_forms
from .spans import get_spans


class GoldLink(NamedTuple):
    """A mention and its concept.

    label (str): Of the span.
    forms (Forms): What linking would search it as: its text, then its long form if it has one.
    concept_id (str): The living concept.
    document, start, end (int): Number of its example, and its characters there.
    """

    label: str
    forms: Forms
    concept_id: str
    document: int = 0
    start: int = 0
    end: int = 0


class GoldCounts:
    """How many gold spans were used, and why others were not.

    used, nil, unknown, barred (int): Learned from; "NIL"; of an id the KB lacks, or of several; of a
        concept that `label_types` does not allow for the label.
    examples_of_unknown (List[str]): The first such ids.
    golds (Dict[Tuple[str, Forms], Counter]): (label, forms) -> concept id or "NIL" -> gold spans.
    """

    def __init__(self) -> None:
        self.used = self.nil = self.unknown = self.barred = 0
        self.golds: Dict[Tuple[str, Forms], Counter] = {}
        self._unknown: Counter = Counter()

    @property
    def examples_of_unknown(self) -> List[str]:
        """The most frequent ids that the KB lacks, at most three."""
        ranked = sorted(self._unknown.items(), key=lambda item: (-item[1], item[0]))
        return [kb_id for kb_id, _ in ranked[:3]]

    @property
    def mentions(self) -> Counter:
        """(concept id, normal form that links) -> gold spans learned from."""
        found: Counter = Counter()
        for (_, forms), golds in self.golds.items():
            text = normalize(forms[-1])
            for gold, n in golds.items():
                if gold != NIL:
                    found[gold, text] += n
        return found

    def add(self, label: str, forms: Forms, gold: str) -> None:
        """Count a gold span: of a concept, or of none ("NIL")."""
        self.golds.setdefault((label, forms), Counter())[gold] += 1

    def add_unknown(self, kb_id: str) -> None:
        """Count a gold span of an id that the KB lacks."""
        self.unknown += 1
        self._unknown[kb_id] += 1


def read_gold_links(
    examples: Iterable[Example],
    terminology: Terminology,
    counts: GoldCounts,
    *,
    spans_key: Optional[str],
    resolve_abbreviations: bool,
    allowed: Callable[[str], Optional[np.ndarray]],
) -> List[GoldLink]:
    """The gold links that can be learned, in the order of the documents.

    Gold spans without an id were not annotated, and count nowhere.

    examples (Iterable[Example]): Links are those of the reference; abbreviations are looked up in
        the predicted document, where a component of the pipeline may have set them.
    counts (GoldCounts): Counts are added.
    allowed (Callable): Label -> mask over the concepts it may be linked to, None for all.
    """
    links: List[GoldLink] = []
    for number, eg in enumerate(examples):
        spans, ids = [], []
        for span in get_spans(eg.reference, spans_key):
            living = _usable(span, terminology, counts, allowed) if span.kb_id_ else None
            if living is not None:
                spans.append(span)
                ids.append(living)
        forms = _forms(eg, spans, spans_key, resolve_abbreviations)
        for span, form, living in zip(spans, forms, ids, strict=True):
            counts.add(span.label_, form, living)
            if living != NIL:
                place = number, span.start_char, span.end_char
                links.append(GoldLink(span.label_, form, living, *place))
    return links


def _usable(
    span: Span,
    terminology: Terminology,
    counts: GoldCounts,
    allowed: Callable[[str], Optional[np.ndarray]],
) -> Optional[str]:
    """Living id of a gold span's concept, or "NIL"; None, counted, where there is nothing to learn."""
    if span.kb_id_ == NIL:
        counts.nil += 1
        return NIL
    living = terminology.resolve(span.kb_id_)
    if living is None:
        counts.add_unknown(span.kb_id_)
        return None
    mask = allowed(span.label_)
    if mask is not None and not mask[terminology.row(living)]:
        counts.barred += 1
        return None
    counts.used += 1
    return living


def _forms(
    eg: Example, spans: List[Span], spans_key: Optional[str], resolve_abbreviations: bool
) -> List[Forms]:
    # a span of the predicted document, or, where its tokens are cut otherwise, of the reference
    same = [span_in(eg.predicted, span) for span in spans]
    predicted = [span for span in same if span is not None]
    others = [span for span, found in zip(spans, same, strict=True) if found is None]
    forms: Dict[Tuple[int, int], Forms] = {}
    for doc, group in ((eg.predicted, predicted), (eg.reference, others)):
        found = get_forms(
            doc, group, spans_key=spans_key, resolve_abbreviations=resolve_abbreviations
        )
        forms.update(zip(((s.start_char, s.end_char) for s in group), found, strict=True))
    return [forms[span.start_char, span.end_char] for span in spans]
