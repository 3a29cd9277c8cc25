"""Scoring a linker in a pipeline that recognises nothing: it links the gold spans."""

from typing import Iterable, List, Optional

from spacy.tokens import Doc, Span
from spacy.training import Example


def has_spans(doc: Doc, spans_key: Optional[str]) -> bool:
    """Whether a recogniser has seen the document, even if it found nothing."""
    if spans_key is None:
        return bool(doc.has_annotation("ENT_IOB"))
    return spans_key in doc.spans


def on_gold_spans(examples: Iterable[Example], spans_key: Optional[str]) -> List[Example]:
    """Copies of the examples whose predicted documents hold the gold spans, without their ids."""
    copies = []
    for eg in examples:
        doc = eg.predicted.copy()
        gold = eg.reference.ents if spans_key is None else eg.reference.spans.get(spans_key, [])
        spans = [span_in(doc, span) for span in gold]
        found = [span for span in spans if span is not None]
        if spans_key is None:
            doc.set_ents(found)
        else:
            doc.spans[spans_key] = found
        copies.append(Example(doc, eg.reference))
    return copies


def span_in(doc: Doc, gold: Span) -> Optional[Span]:
    """The span of a document that lies where a gold span does."""
    # None where the two tokenisations disagree: scored as not recognised
    return doc.char_span(gold.start_char, gold.end_char, label=gold.label_)
