"""End to end: entities a pipeline found against annotated documents."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Optional

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from ..counts import prf
from ..errors import TermlinkError
from ..text import normalize
from .bootstrap import f1_interval
from .mentions import AnnotatedDoc, Entity

Resolve = Callable[[str], Optional[str]]
Fits = Callable[[Entity, Entity], bool]

#: Figures of finding and linking together.
BOTH = ("strict", "partial", "documents")
#: Figures of finding alone.
MENTIONS = ("mentions_strict", "mentions_partial", "mentions_documents")


def evaluate_documents(
    gold_docs: Sequence[AnnotatedDoc],
    pred_docs: Sequence[AnnotatedDoc],
    *,
    resolve: Optional[Resolve] = None,
) -> dict[str, Any]:
    """Micro precision, recall and F1 over documents, each with its 95 % bootstrap interval.

    Pairs of a gold and a predicted entity are one to one, as many as possible:
    - "strict": same start, same end, and a predicted concept is among the gold entity's;
    - "partial": at least one character in common, and a concept as above;
    - "mentions_strict", "mentions_partial": offsets alone, whatever the concept, NIL included;
    - "documents": no pairs; per document the set of gold concept ids (`doc_concepts` where the file
      has it, else those of its entities) against the set of predicted ids;
    - "mentions_documents": no pairs; per document the set of the gold entities' texts in normal form
      against that of the predicted ones, NIL included.
    In the first two, an entity without concepts (NIL) neither is predicted nor has to be found; a
    concept predicted on a gold NIL entity is a false positive. A gold entity of several concepts is
    right with any of them and is one entity; on document level each of them has to be found. Ids of
    an `accept` list are as right as the concept they stand for. Labels are not compared. The empty
    cases are those of `counts.prf`.

    gold_docs, pred_docs (Sequence[AnnotatedDoc]): The same documents in the same order.
    resolve (Optional[Resolve]): Living id of an id, None where unknown (then the id stays as it is);
        applied to both sides.
    RETURNS (dict): The six names above -> {"precision", "recall", "f1", "tp", "fp", "fn", "ci"}, and
        "n" documents, "n_entities" gold ones, "n_concepts" gold ones over documents.
    RAISES (TermlinkError): TL905 if the documents differ.
    """
    _check_same(gold_docs, pred_docs)
    golds = [_resolved(doc, resolve) for doc in gold_docs]
    preds = [_resolved(doc, resolve) for doc in pred_docs]
    pairs = list(zip(golds, preds, strict=True))
    counts = {
        "strict": [_paired(_linked(g), _linked(p), _same_link) for g, p in pairs],
        "partial": [_paired(_linked(g), _linked(p), _near_link) for g, p in pairs],
        "documents": [_sets(_concepts(g), _accepted(g, _concepts(p))) for g, p in pairs],
        "mentions_strict": [_paired(g.entities, p.entities, _same_span) for g, p in pairs],
        "mentions_partial": [_paired(g.entities, p.entities, _overlap) for g, p in pairs],
        "mentions_documents": [_sets(_texts(g), _texts(p)) for g, p in pairs],
    }
    return {
        **{name: _figures(np.array(rows).reshape(-1, 3)) for name, rows in counts.items()},
        "n": len(golds),
        "n_entities": sum(len(doc.entities) for doc in golds),
        "n_concepts": sum(len(_concepts(doc)) for doc in golds),
    }


def match_entities(gold: Sequence[Entity], pred: Sequence[Entity], fits: Fits) -> int:
    """Size of the largest one-to-one pairing (Hopcroft and Karp 1973).

    fits (Fits): Whether a gold and a predicted entity may be a pair.
    """
    table = np.array([[fits(g, p) for p in pred] for g in gold], dtype=bool)
    if not table.any():
        return 0
    return int((maximum_bipartite_matching(csr_matrix(table), perm_type="column") >= 0).sum())


def _figures(counts: np.ndarray) -> dict[str, Any]:
    tp, fp, fn = (int(n) for n in counts.sum(axis=0))
    intervals = f1_interval(counts) if len(counts) else {}
    return {**prf(tp, fp, fn)._asdict(), "ci": {name: list(ci) for name, ci in intervals.items()}}


def _paired(gold: Sequence[Entity], pred: Sequence[Entity], fits: Fits) -> tuple[int, int, int]:
    tp = match_entities(gold, pred, fits)
    return tp, len(pred) - tp, len(gold) - tp


def _sets(gold: set[str], pred: set[str]) -> tuple[int, int, int]:
    return len(gold & pred), len(pred - gold), len(gold - pred)


def _same_span(gold: Entity, pred: Entity) -> bool:
    return (gold.start, gold.end) == (pred.start, pred.end)


def _overlap(gold: Entity, pred: Entity) -> bool:
    return gold.start < pred.end and pred.start < gold.end


def _same_link(gold: Entity, pred: Entity) -> bool:
    return _same_span(gold, pred) and not gold.gold.isdisjoint(pred.concepts)


def _near_link(gold: Entity, pred: Entity) -> bool:
    return _overlap(gold, pred) and not gold.gold.isdisjoint(pred.concepts)


def _linked(doc: AnnotatedDoc) -> list[Entity]:
    return [entity for entity in doc.entities if entity.concepts]


def _texts(doc: AnnotatedDoc) -> set[str]:
    return {normalize(doc.text[entity.start : entity.end]) for entity in doc.entities}


def _concepts(doc: AnnotatedDoc) -> set[str]:
    if doc.doc_concepts is not None:
        return set(doc.doc_concepts)
    return {concept for entity in doc.entities for concept in entity.concepts}


def _accepted(gold: AnnotatedDoc, pred: set[str]) -> set[str]:
    """Predicted ids, those that a gold entity accepts in the place of its concept as that concept."""
    wanted = _concepts(gold)
    stands_for = {
        other: concept
        for entity in reversed(gold.entities)
        for concept, others in zip(entity.concepts, entity.accept, strict=False)
        for other in others
        if concept in wanted
    }
    return {i if i in wanted else stands_for.get(i, i) for i in pred}


def _resolved(doc: AnnotatedDoc, resolve: Optional[Resolve]) -> AnnotatedDoc:
    def living(ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(ids) if resolve is None else tuple(resolve(i) or i for i in ids)

    return AnnotatedDoc(
        doc.doc_id,
        doc.text,
        tuple(
            Entity(e.start, e.end, living(e.concepts), e.label, tuple(map(living, e.accept)))
            for e in doc.entities
        ),
        None if doc.doc_concepts is None else living(doc.doc_concepts),
        doc.split,
    )


def _check_same(gold: Sequence[AnnotatedDoc], pred: Sequence[AnnotatedDoc]) -> None:
    if len(gold) != len(pred):
        raise TermlinkError("TL905", difference=f"{len(gold)} and {len(pred)} documents")
    for g, p in zip(gold, pred, strict=True):
        if (g.doc_id, g.text) != (p.doc_id, p.text):
            raise TermlinkError("TL905", difference=f"document '{g.doc_id}' has another id or text")
