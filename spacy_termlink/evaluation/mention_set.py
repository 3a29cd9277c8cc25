"""A set of mentions prepared once, for every system that is evaluated on it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..errors import TermlinkError
from ..lexical.abbreviations import expand, find_abbreviations, long_forms
from ..lexical.sections import find_sections, section_of, under_heading
from ..terminology import Terminology
from .mentions import AnnotatedDoc, Mention
from .overlap import overlap_degrees

#: Per gold concept the living ids that are right for it.
Golds = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class MentionSet:
    """Mentions in the file's order, those without a concept (NIL) apart.

    mentions (list[Mention]): The N mentions with gold concepts.
    forms (list[list[str]]): What each is searched by.
    golds (list[Golds]): Per mention and gold concept the living ids that are right for it (itself
        and its `accept` list, redirected), each concept once; () where the terminology knows none
        of the concept's ids.
    overlap (np.ndarray): (N,) overlap degrees, NaN where there is none.
    documents (list[str]): Document of each mention; one without a document is its own.
    unknown (list[str]): Gold ids that the terminology does not know, sorted.
    contexts (list[str]): Sentence of each mention, with the heading of its section where its document
        is there.
    nil_mentions, nil_forms, nil_documents, nil_contexts: The same of the M mentions without gold
        concepts.
    positions, nil_positions (list[int]): Place of each mention in the file's order.
    """

    mentions: list[Mention]
    forms: list[list[str]]
    golds: list[Golds]
    overlap: np.ndarray
    documents: list[str]
    unknown: list[str]
    nil_mentions: list[Mention]
    nil_forms: list[list[str]]
    nil_documents: list[str]
    contexts: list[str]
    nil_contexts: list[str]
    positions: list[int]
    nil_positions: list[int]

    @property
    def any_gold(self) -> list[list[str]]:
        """Living ids any of which is right, (N,) sorted lists."""
        return [sorted({i for gold in golds for i in gold}) for golds in self.golds]


def prepare_mentions(
    terminology: Terminology,
    mentions: Sequence[Mention],
    *,
    docs: Optional[Sequence[AnnotatedDoc]] = None,
) -> MentionSet:
    """Resolve gold ids and abbreviations, and compute overlap degrees.

    docs (Optional[Sequence[AnnotatedDoc]]): Resolve abbreviations inside these documents.
    RAISES (TermlinkError): TL903 if no mention's document is among them.
    """
    forms = mention_forms(mentions, docs)
    contexts = mention_contexts(mentions, docs)
    documents = [m.doc_id or f"mention {m.id}" for m in mentions]
    places = [i for i, m in enumerate(mentions) if m.concepts]
    nil = [i for i, m in enumerate(mentions) if not m.concepts]
    with_gold = [mentions[i] for i in places]
    golds = [_golds(terminology, mention) for mention in with_gold]
    flat = [[i for gold in of_mention for i in gold] for of_mention in golds]
    queries = [forms[i] for i in places]
    unknown = {i for m in with_gold for i in m.gold if terminology.resolve(i) is None}
    return MentionSet(
        mentions=with_gold,
        forms=queries,
        golds=golds,
        overlap=overlap_degrees(terminology, queries, flat),
        documents=[documents[i] for i in places],
        unknown=sorted(unknown),
        nil_mentions=[mentions[i] for i in nil],
        nil_forms=[forms[i] for i in nil],
        nil_documents=[documents[i] for i in nil],
        contexts=[contexts[i] for i in places],
        nil_contexts=[contexts[i] for i in nil],
        positions=places,
        nil_positions=nil,
    )


def mention_forms(
    mentions: Sequence[Mention], docs: Optional[Sequence[AnnotatedDoc]]
) -> list[list[str]]:
    """What to search each mention by: its text and, where its own document defines it or a word in
    it as an abbreviation, the text with the long form.

    docs (Optional[Sequence[AnnotatedDoc]]): Documents of the mentions; None resolves nothing. A
        mention whose document is not among them keeps its text alone.
    RETURNS (list[list[str]]): (B,) lists of one or two forms.
    RAISES (TermlinkError): TL903 if no mention's document is among them.
    """
    texts = {doc.doc_id: doc.text for doc in docs or ()}
    wanted = {m.doc_id for m in mentions if m.doc_id in texts}
    if docs is not None and not wanted:
        raise TermlinkError("TL903", example=mentions[0].doc_id or "none given")
    resolved = {doc_id: long_forms(find_abbreviations(texts[doc_id])) for doc_id in wanted}
    return [
        list(dict.fromkeys([m.text, expand(m.text, resolved.get(m.doc_id, {}))])) for m in mentions
    ]


def mention_contexts(
    mentions: Sequence[Mention], docs: Optional[Sequence[AnnotatedDoc]]
) -> list[str]:
    """The sentence of each mention as its file gives it, under the heading of its section where its
    document is among `docs` and has headings."""
    wanted = {m.doc_id for m in mentions if m.start is not None}
    sections = {doc.doc_id: find_sections(doc.text) for doc in docs or () if doc.doc_id in wanted}
    return [
        under_heading(section_of(sections.get(m.doc_id, []), m.start or 0), m.context)
        if m.context and m.start is not None
        else m.context
        for m in mentions
    ]


def _golds(terminology: Terminology, mention: Mention) -> Golds:
    accept = mention.accept or ((),) * len(mention.concepts)
    groups = (
        _living(terminology, (concept, *others))
        for concept, others in zip(mention.concepts, accept, strict=True)
    )
    return tuple(dict.fromkeys(groups))


def _living(terminology: Terminology, ids: Iterable[str]) -> tuple[str, ...]:
    """Living ids that ids stand for, each once, in order; unknown ones left out."""
    return tuple(dict.fromkeys(i for i in map(terminology.resolve, ids) if i is not None))
