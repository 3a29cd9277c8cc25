"""Runs a pipeline on annotated documents: from the raw text, and on the gold mentions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

from spacy.language import Language
from spacy.tokens import Doc, Span

from ..annotate.core import find_unfit
from ..annotate.notes import REJECT_CODES
from ..errors import TermlinkError
from ..pipeline.term_linker import TermLinker
from ..types import NIL
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
    RETURNS (Optional[dict[str, Any]]): "accuracy" (share whose link is among the gold concepts),
        "refused" (share that got NIL, the threshold's price) and "n" of the entities with concepts,
        "nil_accuracy" (share of NIL) and "n_nil" of those without. None for a linker of a span
        group, whose spans another component makes.
    """
    if linker.cfg["spans_key"] is not None:
        return None
    finders = [n for n in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(n).assigns]
    right = {True: 0, False: 0}  # by whether the entity has concepts
    n = {True: 0, False: 0}
    refused = 0
    with nlp.select_pipes(disable=finders):
        prepared, golds = _prepare(nlp, docs)
        for gold, doc in zip(golds, nlp.pipe(prepared, batch_size=BATCH_SIZE), strict=True):
            for entity, span in zip(gold, doc.ents, strict=True):
                wanted = {resolve(i) or i for i in entity.gold} or {NIL}
                n[bool(entity.concepts)] += 1
                right[bool(entity.concepts)] += span.kb_id_ in wanted
                refused += bool(entity.concepts) and span.kb_id_ == NIL
    return {
        "accuracy": right[True] / n[True] if n[True] else None,
        "refused": refused / n[True] if n[True] else None,
        "n": n[True],
        "nil_accuracy": right[False] / n[False] if n[False] else None,
        "n_nil": n[False],
    }


def _prepare(nlp: Language, docs: Iterable[AnnotatedDoc]) -> tuple[list[Doc], list[list[Entity]]]:
    """Docs with gold entities set, and the entities of each in the same order."""
    prepared: list[Doc] = []
    golds: list[list[Entity]] = []
    for gold in docs:
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
            golds.append([entity for _, entity in taken])
    return prepared, golds


def _spans(doc: Doc, linker: TermLinker) -> Sequence[Span]:
    key = linker.cfg["spans_key"]
    if key is None:
        return doc.ents
    return list(doc.spans[key]) if key in doc.spans else []


def _entity(span: Span) -> Entity:
    concepts = () if span.kb_id_ in ("", NIL) else (span.kb_id_,)
    return Entity(span.start_char, span.end_char, concepts, span.label_)
