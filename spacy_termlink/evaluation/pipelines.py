"""Runs a pipeline on annotated documents: from the raw text, and on the gold mentions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..annotate.notes import REJECT_CODES
from ..annotate.unfit import find_unfit
from ..errors import TermlinkError
from ..pipeline.term_linker import TermLinker
from ..types import NIL
from .bootstrap import mean_intervals
from .documents import BOTH, evaluate_documents
from .mentions import AnnotatedDoc, Entity

BATCH_SIZE = 128
#: `doc.ents` drops an entity with an empty label.
NO_LABEL = "ENTITY"


def find_scored_linker(nlp: Language, path: str) -> TermLinker:
    """The linker whose links are scored: the first that sets `kb_id_`.

    path (str): The pipeline's, for the error.
    RAISES (TermlinkError): TL806 if there is none.
    """
    for _, component in nlp.pipeline:
        if isinstance(component, TermLinker) and component.cfg["overwrite"]:
            return component
    raise TermlinkError("TL806", path=path)


def check_documents(nlp: Language, docs: Iterable[AnnotatedDoc], path: Path) -> None:
    """Refuse documents that the pipeline cannot annotate, before any work is done.

    path (Path): Where they come from, for the error.
    RAISES (TermlinkError): TL908, naming the first.
    """
    for doc in docs:
        if (code := find_unfit(nlp, doc.text)) is not None:
            reason = REJECT_CODES[code]
            raise TermlinkError("TL908", path=path, doc_id=doc.doc_id, reason=reason)


def predict_documents(
    nlp: Language, docs: Sequence[AnnotatedDoc], *, linker: TermLinker
) -> Iterator[AnnotatedDoc]:
    """Documents with the entities a pipeline finds in their text, and the concept of each.

    linker (TermLinker): Whose spans and links are taken; its component must set `kb_id_`.
    YIELDS (AnnotatedDoc): In the order given. NIL entities have no concepts.
    """
    texts = (doc.text for doc in docs)
    for gold, doc in zip(docs, nlp.pipe(texts, batch_size=BATCH_SIZE), strict=True):
        entities = tuple(_entity(span) for span in _spans(doc, linker))
        yield AnnotatedDoc(gold.doc_id, doc.text, entities, None, gold.split)


def link_gold_mentions(
    nlp: Language,
    docs: Sequence[AnnotatedDoc],
    *,
    linker: TermLinker,
    resolve: Callable[[str], Optional[str]],
) -> Optional[dict[str, Any]]:
    """Linking alone: the gold entities are given, the components that find entities left out.

    Gold entities may overlap, `doc.ents` may not: they are linked in as many rounds as it takes. One
    that does not begin and end at a token is widened to whole tokens; one of blanks is left out.

    linker (TermLinker): Whose links are taken.
    resolve (Callable[[str], Optional[str]]): Living id of an id.
    RETURNS (Optional[dict[str, Any]]): "strict", "partial" and "documents" (see `evaluate_documents`;
        a link stands at its gold entity's offsets), "accuracy" (share whose link is among the gold
        concepts), "refused" (share that got NIL, the threshold's price) and "n" of the entities with
        concepts, "nil_accuracy" (share of NIL) and "n_nil" of those without, "ci" of the three
        shares. None for a linker of a span group, whose spans another component makes.
    """
    if linker.cfg["spans_key"] is not None:
        return None
    finders = [n for n in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(n).assigns]
    preds: list[list[Entity]] = [[] for _ in docs]
    # right or not, refused or not, document: of entities with concepts and of those without
    linked: dict[bool, list[tuple[bool, bool, str]]] = {True: [], False: []}
    with nlp.select_pipes(disable=finders):
        prepared, golds = _prepare(nlp, docs)
        for (place, gold), doc in zip(
            golds, nlp.pipe(prepared, batch_size=BATCH_SIZE), strict=True
        ):
            for entity, span in zip(gold, doc.ents, strict=True):
                wanted = {resolve(i) or i for i in entity.gold} or {NIL}
                right, refused = span.kb_id_ in wanted, span.kb_id_ == NIL
                linked[bool(entity.concepts)].append((right, refused, docs[place].doc_id))
                concepts = () if refused else (span.kb_id_,)
                preds[place].append(Entity(entity.start, entity.end, concepts, entity.label))
    found = [
        AnnotatedDoc(doc.doc_id, doc.text, tuple(entities))
        for doc, entities in zip(docs, preds, strict=True)
    ]
    figures = evaluate_documents(docs, found, resolve=resolve)
    accuracy, refused_share = _shares(linked[True], 0), _shares(linked[True], 1)
    nil_accuracy = _shares(linked[False], 0)
    return {
        **{name: figures[name] for name in BOTH},
        "accuracy": accuracy[0],
        "refused": refused_share[0],
        "n": len(linked[True]),
        "nil_accuracy": nil_accuracy[0],
        "n_nil": len(linked[False]),
        "ci": {
            "accuracy": accuracy[1],
            "refused": refused_share[1],
            "nil_accuracy": nil_accuracy[1],
        },
    }


def _shares(
    rows: Sequence[tuple[bool, bool, str]], column: int
) -> tuple[Optional[float], Optional[list[float]]]:
    """Share of rows that are true in a column, with its interval over documents."""
    if not rows:
        return None, None
    values = np.array([[row[column]] for row in rows], dtype=float)
    return float(values.mean()), list(mean_intervals(values, [row[2] for row in rows])[0])


def _prepare(
    nlp: Language, docs: Iterable[AnnotatedDoc]
) -> tuple[list[Doc], list[tuple[int, list[Entity]]]]:
    """Docs with gold entities set; of each the place of its document and its entities, in order."""
    prepared: list[Doc] = []
    golds: list[tuple[int, list[Entity]]] = []
    for place, gold in enumerate(docs):
        rounds: list[list[tuple[Span, Entity]]] = []
        blank = nlp.make_doc(gold.text)
        for entity in sorted(gold.entities, key=lambda e: (e.start, e.end)):
            span = blank.char_span(
                entity.start, entity.end, label=entity.label or NO_LABEL, alignment_mode="expand"
            )
            if not span:  # no token in it
                continue
            taken = next((r for r in rounds if r[-1][0].end <= span.start), None)
            if taken is None:
                rounds.append(taken := [])
            taken.append((span, entity))
        for taken in rounds:
            doc = nlp.make_doc(gold.text)
            doc.set_ents([Span(doc, s.start, s.end, label=s.label_) for s, _ in taken])
            prepared.append(doc)
            golds.append((place, [entity for _, entity in taken]))
    return prepared, golds


def _spans(doc: Doc, linker: TermLinker) -> Sequence[Span]:
    key = linker.cfg["spans_key"]
    if key is None:
        return doc.ents
    return list(doc.spans[key]) if key in doc.spans else []


def _entity(span: Span) -> Entity:
    concepts = () if span.kb_id_ in ("", NIL) else (span.kb_id_,)
    return Entity(span.start_char, span.end_char, concepts, span.label_)
