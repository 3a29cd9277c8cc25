"""spaCy's `.spacy`: one Doc a document.

`doc.spans["entities"]` holds every mention with label and `kb_id_` (ids of a composite mention joined
by "|", "NIL" for none); `doc.ents` those of them that do not overlap, the longest first. Tokens are
cut where a mention begins or ends inside of one, so that no offset moves.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...errors import TermlinkError
from ...files import require_file
from ...types import NIL
from .model import CorpusDoc, CorpusEntity, Report, split_ids, tuples, unpack, with_prefix
from .offsets import RawMention, place_mentions

SPANS_KEY = "entities"
#: In doc.user_data: the id, as `annotate` writes it, and what spaCy has no place for, as JSON.
ID_KEY, DATA_KEY = "note_id", "termlink_corpus"


def read_docbin(path: Path, report: Report, *, prefix: str = "") -> Iterator[CorpusDoc]:
    """Documents of a `.spacy`: the spans of the group `entities`, else `doc.ents`.

    The id is `doc.user_data["note_id"]`, else "doc-N". A span without a kb_id_ is NIL.
    prefix (str): Put before ids that have none.
    RAISES (TermlinkError): TL982 if it is no DocBin.
    """
    import spacy
    from spacy.tokens import DocBin

    try:
        stored = DocBin().from_disk(require_file(path))
        docs = list(stored.get_docs(spacy.blank("xx").vocab))
    except TermlinkError:
        raise
    except Exception as error:  # zlib, msgpack, struct: whatever the bytes make spaCy do
        reason = f"no DocBin ({type(error).__name__})"
        raise TermlinkError("TL982", path=path, place="file", reason=reason) from None
    for number, doc in enumerate(docs, start=1):
        doc_id = str(doc.user_data.get(ID_KEY, f"doc-{number}"))
        place = f"document {number}"
        with report.rejecting(doc_id, place):
            with report.parsing(path, place, "as convert-corpus writes it"):
                read = _read(path, doc_id, doc, report, prefix)
            yield read


def _read(path: Path, doc_id: str, doc: Any, report: Report, prefix: str) -> CorpusDoc:
    spans = list(doc.spans.get(SPANS_KEY, doc.ents))
    known = unpack(doc.user_data.get(DATA_KEY), f"document '{doc_id}'", path)
    rows = known.get("entities", [])
    if [row["kb_id"] for row in rows] != [span.kb_id_ for span in spans]:
        rows = [{}] * len(spans)  # edited since: what spaCy shows is what counts
    mentions = []
    for number, (span, row) in enumerate(zip(spans, rows, strict=True), start=1):
        ids, extra = split_ids("" if span.kb_id_ == NIL else span.kb_id_)
        concepts = tuple(row.get("concepts", [with_prefix(i, prefix) for i in ids]))
        entity = CorpusEntity(
            0, 0, concepts, span.label_, tuples(row.get("accept")), extra=row.get("extra", extra)
        )
        pieces = tuples(row.get("fragments")) or [(span.start_char, span.end_char)]
        mentions.append(RawMention(f"span {number}", [(s, e) for s, e in pieces], None, entity))
    text, entities = place_mentions(
        lambda unit: (doc.text, 0), mentions, path=path, doc_id=doc_id, report=report
    )
    given = known.get("doc_concepts")
    return CorpusDoc(
        doc_id, text, entities, None if given is None else tuple(given), known.get("split", ""),
        known.get("extra", {}),
    )  # fmt: skip


def write_docbin(docs: Iterable[CorpusDoc], path: Path, report: Report) -> None:
    """One DocBin with user data, tokenised by spaCy's rules of no language in particular."""
    import spacy
    from spacy.tokens import DocBin

    nlp = spacy.blank("xx")
    nlp.max_length = sys.maxsize  # a limit for parsers; there is none here
    stored = DocBin(store_user_data=True)
    for doc in docs:
        with report.rejecting(doc.doc_id):
            stored.add(_doc(nlp, doc))
    path.write_bytes(stored.to_bytes())


def _doc(nlp: Any, doc: CorpusDoc) -> Any:
    from spacy.tokens import Doc, Span
    from spacy.util import filter_spans

    words, spaces, starts, ends = _tokens(nlp, doc)
    made = Doc(nlp.vocab, words=words, spaces=spaces)
    spans = []
    for entity in doc.entities:
        kb_id = "|".join(entity.concepts) or NIL
        span = Span(
            made, starts[entity.start], ends[entity.end] + 1, label=entity.label, kb_id=kb_id
        )
        spans.append(span)
    made.spans[SPANS_KEY] = spans
    made.set_ents(filter_spans(spans))
    made.user_data[ID_KEY] = doc.doc_id
    rows = [
        {
            "kb_id": span.kb_id_,
            "concepts": entity.concepts,
            "accept": entity.accept,
            "fragments": entity.fragments,
            "extra": entity.extra,
        }
        for span, entity in zip(spans, doc.entities, strict=True)
    ]
    # JSON: spaCy's own serialisation turns lists into tuples
    made.user_data[DATA_KEY] = json.dumps(
        {
            "split": doc.split,
            "doc_concepts": doc.doc_concepts,
            "extra": doc.extra,
            "entities": rows,
        },
        ensure_ascii=False,
    )
    return made


def _tokens(
    nlp: Any, doc: CorpusDoc
) -> tuple[list[str], list[bool], dict[int, int], dict[int, int]]:
    """Words, whether a space follows, and the token that starts or ends at an offset."""
    first = {entity.start for entity in doc.entities}
    last = {entity.end for entity in doc.entities}
    cuts = first | last
    words: list[str] = []
    spaces: list[bool] = []
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}

    def add(start: int, end: int, space: bool) -> None:
        starts[start], ends[end] = len(words), len(words)
        words.append(doc.text[start:end])
        spaces.append(space)

    for token in nlp.make_doc(doc.text):
        start, end = token.idx, token.idx + len(token)
        # the space after a token is no token, but for a mention that begins or ends with it
        own_space = bool(token.whitespace_) and (end in first or end + 1 in last)
        at = [start, *sorted(cut for cut in cuts if start < cut < end), end]
        pieces = list(zip(at, at[1:], strict=False))
        for left, right in pieces[:-1]:
            add(left, right, False)
        add(*pieces[-1], bool(token.whitespace_) and not own_space)
        if own_space:
            add(end, end + 1, False)
    return words, spaces, starts, ends
