"""Scores links against gold links, leaving out what nobody annotated."""

from collections import defaultdict
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from spacy.tokens import Span
from spacy.training import Example

from ..counts import PRF, prf
from ..types import NIL
from .spans import get_spans

Resolve = Callable[[str], Optional[str]]
Counts = List[int]  # true positives, false positives, false negatives


def make_linker_scorer() -> Callable[..., Dict[str, Any]]:
    """The scorer of the config's `scorer` block."""
    return score_linker


def score_linker(
    examples: Iterable[Example],
    *,
    spans_key: Optional[str] = None,
    resolve: Optional[Resolve] = None,
    **cfg: Any,
) -> Dict[str, Any]:
    """Precision, recall and F1 of links.

    Gold spans are those with a `kb_id_`; the others, and what is predicted at their place, count
    nowhere. A gold "NIL" says that no concept fits: a link there is a false positive, NIL is right
    and counts nowhere. A wrong id counts as one false positive and one false negative.

    `nel_micro_*`, `nel_macro_*` (mean over labels), `nel_f_per_type` and `nel_score` count only
    gold spans that were predicted with the same offsets (and the same label where several spans
    lie there), to tell linking from recognition. `nel_e2e_*` also counts the gold spans that were
    not recognised, and the links at places without a gold span in documents that have any gold link.
    Where nothing was to be found and nothing was found, or there is no gold link at all, the
    figures are None.

    examples (Iterable[Example]): Predicted and reference documents.
    spans_key (Optional[str]): Score `doc.spans[spans_key]`; None scores `doc.ents`.
    resolve (Optional[Callable]): Living id that an alternative id stands for, None if unknown.
    RETURNS (Dict[str, Any]): The figures, 0 to 1.
    """
    per_type: Dict[str, Counts] = defaultdict(lambda: [0, 0, 0])
    missed: Counts = [0, 0, 0]
    for eg in examples:
        gold_spans = get_spans(eg.reference, spans_key)
        if not any(span.kb_id_ for span in gold_spans):
            continue
        predicted = _by_place(get_spans(eg.predicted, spans_key))
        for gold in gold_spans:
            if not gold.kb_id_:
                continue
            gold_id = _living(gold.kb_id_, resolve)
            pred = _at(predicted, gold)
            counts = missed if pred is None else per_type[gold.label_]
            _count(counts, gold_id, NIL if pred is None else _living(pred.kb_id_ or NIL, resolve))
        places = {(span.start_char, span.end_char) for span in gold_spans}
        for place, spans in predicted.items():
            if place not in places:
                missed[1] += sum(span.kb_id_ not in ("", NIL) for span in spans)
    return _figures(per_type, missed)


def _count(counts: Counts, gold: str, pred: str) -> None:
    if gold == pred:
        counts[0] += gold != NIL
        return
    counts[1] += pred != NIL
    counts[2] += gold != NIL


def _living(kb_id: str, resolve: Optional[Resolve]) -> str:
    if resolve is None or kb_id == NIL:
        return kb_id
    return resolve(kb_id) or kb_id


def _by_place(spans: List[Span]) -> Dict[Tuple[int, int], List[Span]]:
    places: Dict[Tuple[int, int], List[Span]] = defaultdict(list)
    for span in spans:
        places[(span.start_char, span.end_char)].append(span)
    return places


def _at(predicted: Dict[Tuple[int, int], List[Span]], gold: Span) -> Optional[Span]:
    spans = predicted.get((gold.start_char, gold.end_char), [])
    same_label = [span for span in spans if span.label_ == gold.label_]
    return next(iter(same_label or spans), None)


def _figures(per_type: Dict[str, Counts], missed: Counts) -> Dict[str, Any]:
    types = {label: _prf(counts) for label, counts in sorted(per_type.items())}
    scored = [figures for figures in types.values() if figures is not None]
    matched = (
        [sum(column) for column in zip(*per_type.values(), strict=True)] if per_type else [0, 0, 0]
    )
    micro = _prf(matched)
    end_to_end = _prf([a + b for a, b in zip(matched, missed, strict=True)])
    macro = [_mean([figures[i] for figures in scored]) for i in range(3)]
    result: Dict[str, Any] = {"nel_score": micro.f1 if micro else None, "nel_score_desc": "micro F"}
    for i, letter in enumerate("prf"):
        result[f"nel_micro_{letter}"] = micro[i] if micro else None
        result[f"nel_macro_{letter}"] = macro[i]
        result[f"nel_e2e_{letter}"] = end_to_end[i] if end_to_end else None
    result["nel_f_per_type"] = {
        label: {"p": figures.precision, "r": figures.recall, "f": figures.f1}
        for label, figures in types.items()
        if figures is not None
    }
    return result


def _prf(counts: Counts) -> Optional[PRF]:
    return prf(*counts) if any(counts) else None


def _mean(values: List[float]) -> Optional[float]:
    return sum(values) / len(values) if values else None
