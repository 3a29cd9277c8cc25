"""A corpus of spaCy's `[corpora]`: documents with gold entities and the concepts they name.

No `from __future__ import annotations` here: spaCy reads the types of the reader's settings.
"""

from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import filter_spans

from ..annotated import AnnotatedDoc, read_docs
from ..errors import TermlinkError
from ..types import NIL

#: Where `termlink convert-corpus` puts every mention, those that overlap, too.
CONVERTED_KEY = "entities"
#: Between the ids of a mention of several concepts.
SEPARATOR = "|"

Reader = Callable[[Language], Iterator[Example]]


def make_docs_reader(
    path: Optional[Path],
    split: Optional[str] = None,
    spans_key: Optional[str] = None,
    limit: int = 0,
) -> Reader:
    """`spacy-termlink.DocsReader.v1`: examples whose reference holds gold spans with their ids.

    A span's `kb_id_` is its concept's id, "NIL" where no concept fits, and empty where it names
    several: the scorer then leaves it out, and a recogniser learns from it all the same. Tokens are
    those of the pipeline, cut where a gold span begins or ends inside of one.

    path (Optional[Path]): A `docs.jsonl`, a `.spacy`, or a folder of them (read in order of names).
    split (Optional[str]): Only documents of this split, of a `docs.jsonl`.
    spans_key (Optional[str]): Put the spans into `reference.spans[spans_key]`; None puts them into
        `reference.ents`, of those that overlap the longest. In a `.spacy` they are looked for in the
        group of that name, then in the group "entities", then in `ents`.
    limit (int): Documents read at most, 0 for all.
    RETURNS (Reader): What `[corpora]` wants, pipeline -> examples.
    RAISES (TermlinkError): TL704 without a path, or for a split of a `.spacy`. When read: TL001 for a
        missing file, TL901 and TL902 as `annotated.read_docs`, TL982 for a damaged `.spacy`.
    """
    if path is None:
        expected = "a docs.jsonl, a .spacy or a folder of them"
        raise TermlinkError(
            "TL704", name="DocsReader", setting="path", expected=expected, value=path
        )

    def read(nlp: Language) -> Iterator[Example]:
        number = 0
        for file in _files(Path(path)):
            for reference in _read_file(nlp, file, split, spans_key):
                yield Example(nlp.make_doc(reference.text), reference)
                number += 1
                if number == limit:
                    return

    return read


def _files(path: Path) -> List[Path]:
    if not path.exists():
        raise TermlinkError("TL001", path=path)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in (".jsonl", ".spacy"))
    if not files:
        raise TermlinkError("TL005", path=path)
    return files


def _read_file(
    nlp: Language, path: Path, split: Optional[str], spans_key: Optional[str]
) -> Iterator[Doc]:
    if path.suffix.lower() == ".spacy":
        if split is not None:
            expected = f"null for {path.name}, which has no splits"
            raise TermlinkError(
                "TL704", name="DocsReader", setting="split", expected=expected, value=split
            )
        return _read_docbin(nlp, path, spans_key)
    docs = read_docs(path, split=split, as_gold=True)
    return (_to_doc(nlp, doc, spans_key) for doc in docs)


def _to_doc(nlp: Language, gold: AnnotatedDoc, spans_key: Optional[str]) -> Doc:
    doc = _cut(nlp.make_doc(gold.text), {i for e in gold.entities for i in (e.start, e.end)})
    doc.user_data["note_id"] = gold.doc_id
    spans = []
    for entity in gold.entities:
        start, end = _trim(gold.text, entity.start, entity.end)
        kb_id = _kb_id(entity.concepts)
        span = doc.char_span(start, end, label=entity.label or "TERM", kb_id=kb_id)
        if span is not None:  # None: nothing but white space
            spans.append(span)
    _set_spans(doc, spans, spans_key)
    return doc


def _read_docbin(nlp: Language, path: Path, spans_key: Optional[str]) -> Iterator[Doc]:
    try:
        docs = list(DocBin().from_disk(path).get_docs(nlp.vocab))
    except Exception as error:  # zlib, msgpack, struct: whatever the bytes make spaCy do
        reason = f"no DocBin ({type(error).__name__})"
        raise TermlinkError("TL982", path=path, place="file", reason=reason) from None
    for doc in docs:
        key = next((key for key in (spans_key, CONVERTED_KEY) if key and key in doc.spans), None)
        found = doc.ents if key is None else doc.spans[key]
        spans = [
            Span(doc, span.start, span.end, span.label, kb_id=_kb_id(span.kb_id_.split(SEPARATOR)))
            for span in found
        ]
        _set_spans(doc, spans, spans_key)
        yield doc


def _kb_id(concepts: Iterable[str]) -> str:
    ids = list(concepts)
    return NIL if not ids else ids[0] if len(ids) == 1 else ""


def _set_spans(doc: Doc, spans: List[Span], spans_key: Optional[str]) -> None:
    if spans_key is None:
        doc.set_ents(filter_spans(spans))
    else:
        doc.spans[spans_key] = spans


def _trim(text: str, start: int, end: int) -> Tuple[int, int]:
    """Offsets without white space at either end, which no entity may have."""
    inner = text[start:end]
    left = len(inner) - len(inner.lstrip())
    return start + left, max(start + left, end - (len(inner) - len(inner.rstrip())))


def _cut(doc: Doc, cuts: Iterable[int]) -> Doc:
    """The document with its tokens cut at some offsets."""
    ordered = sorted(set(cuts))
    inside: Dict[int, List[int]] = {}
    for token in doc:
        first = bisect_right(ordered, token.idx)
        last = bisect_left(ordered, token.idx + len(token))
        if first < last:
            inside[token.i] = ordered[first:last]
    if not inside:
        return doc
    words, spaces = [], []
    for token in doc:
        at = [token.idx, *inside.get(token.i, ()), token.idx + len(token)]
        pieces = [doc.text[left:right] for left, right in zip(at, at[1:], strict=False)]
        words += pieces
        spaces += [False] * (len(pieces) - 1) + [bool(token.whitespace_)]
    return Doc(doc.vocab, words=words, spaces=spaces)
