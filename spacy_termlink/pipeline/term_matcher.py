"""The component `term_matcher`: finds mentions with the names of a terminology themselves."""

import threading
import warnings
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Tuple,
    Union,
)

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.vocab import Vocab

from ..candidates.dictionary import NamedConcepts, finding_mask, open_dictionary
from ..errors import MESSAGES, TermlinkError
from .defined import Place, add_defined
from .matcher_saving import SavedWithTerminologies
from .mentions import set_whole_mentions
from .placing import first_come, make_spans, without_overlap
from .saving import SAVE_MODES

KbPaths = Union[str, List[str], None]


class Source(NamedTuple):
    """One terminology to look for.

    concepts (NamedConcepts): The terminology and its dictionary.
    labels (List[Tuple[str, Optional[np.ndarray]]]): Label and the name rows that get it, (n_names,)
        bool or None for all; the first that fits counts.
    allowed (Optional[np.ndarray]): Name rows that are looked for at all; None for all.
    """

    concepts: NamedConcepts
    labels: List[Tuple[str, Optional[np.ndarray]]]
    allowed: Optional[np.ndarray]

    def label(self, rows: Iterable[int]) -> str:
        """The label of a match."""
        return next(
            label for label, mask in self.labels if mask is None or any(mask[row] for row in rows)
        )


class TermMatcher(SavedWithTerminologies, Pipe):
    """Finds the names of a terminology in documents, so that raw notes need no other recogniser.

    Tolerant to case, hyphens, spelling, inflection and, where it is safe, word order; of two
    matches that overlap the longer one stays. An abbreviation that the document defines is found
    wherever it stands, if its long form is a name.

    DOCS: docs/pipeline.md
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str = "term_matcher",
        *,
        kb: KbPaths = None,
        label: str = "TERM",
        label_types: Optional[Dict[str, List[str]]] = None,
        spans_key: Optional[str] = None,
        resolve_abbreviations: bool = True,
        overwrite: bool = False,
        save_kb: str = "copy",
        allow_restricted: bool = False,
    ) -> None:
        """Store the settings; no file is opened.

        vocab (Vocab): The shared vocabulary.
        name (str): The component's name in its pipeline.
        kb (KbPaths): KB folder or terminology folder, or several; opened at first use.
        label (str): Label of the spans, where `label_types` gives none.
        label_types (Optional[Dict[str, List[str]]]): Label -> concept ids (with all below them) and
            semantic types; only these are looked for then. Without it: all concepts, of HPO those
            below HP:0000118.
        spans_key (Optional[str]): Write `doc.spans[spans_key]`; None writes `doc.ents`.
        resolve_abbreviations (bool): Find the abbreviations the document defines.
        overwrite (bool): Replace entities that are there already and overlap a match, or the whole
            group; False keeps them, and leaves out matches that overlap an entity.
        save_kb (str): "copy", "hardlink" or "path": how the terminology is saved. The rest of a KB
            is the linker's to save.
        allow_restricted (bool): Copy a terminology whose licence forbids sharing, too.
        RAISES (TermlinkError): TL704 for a setting out of its range.
        """
        self.vocab = vocab
        self.name = name
        self.cfg: Dict[str, Any] = {
            "label": label,
            "label_types": label_types or {},
            "spans_key": spans_key,
            "resolve_abbreviations": resolve_abbreviations,
            "overwrite": overwrite,
            "save_kb": save_kb,
            "allow_restricted": allow_restricted,
        }
        self._require(save_kb in SAVE_MODES, "save_kb", " or ".join(SAVE_MODES), save_kb)
        self._require(bool(label), "label", "not empty", label)
        for key, types in self.cfg["label_types"].items():
            self._require(bool(types), f"label_types.{key}", "a list with an entry", types)
        self._configured = dict(self.cfg)
        self._paths = [kb] if isinstance(kb, (str, Path)) else list(kb or ())
        self._sources: Optional[List[Source]] = None
        self._lock = threading.Lock()

    def _require(self, condition: bool, setting: str, expected: str, value: Any) -> None:
        if not condition:
            raise TermlinkError(
                "TL704", name=self.name, setting=setting, expected=expected, value=value
            )

    # --- the terminologies

    @property
    def labels(self) -> Tuple[str, ...]:
        """Labels of the spans."""
        return tuple(self.cfg["label_types"]) or (self.cfg["label"],)

    def open_sources(self) -> List[Source]:
        """Open the terminologies if they are not open yet; once, whatever the number of threads.

        RAISES (TermlinkError): TL701 if there is none; TL703 for `label_types` they do not know;
            what opening raises.
        """
        sources = self._sources
        if sources is None:
            with self._lock:
                sources = self._sources
                if sources is None:
                    sources = self._sources = self._open([Path(path) for path in self._paths])
        return sources

    def set_kb(self, kb: KbPaths) -> None:
        """Look for the names of another terminology from now on.

        kb (KbPaths): KB folder or terminology folder, or several.
        RAISES (TermlinkError): See `open_sources`.
        """
        paths = [kb] if isinstance(kb, (str, Path)) else list(kb or ())
        sources = self._open([Path(path) for path in paths])
        with self._lock:
            self._paths, self._sources = [str(s.concepts.path) for s in sources], sources

    def _open(self, paths: List[Path]) -> List[Source]:
        if not paths:
            raise TermlinkError("TL701", name=self.name)
        opened = [open_dictionary(path) for path in paths]
        self._check_label_types(opened)
        return [self._source(concepts) for concepts in opened]

    def _source(self, concepts: NamedConcepts) -> Source:
        terminology, label_types = concepts.terminology, self.cfg["label_types"]
        labels: List[Tuple[str, Optional[np.ndarray]]] = []
        for label, types in label_types.items():
            known = [value for value in types if _knows(concepts, value)]
            if known:
                mask = finding_mask(terminology, known)
                labels.append((label, None if mask is None else mask[terminology.concept_rows]))
        if not label_types:
            mask = finding_mask(terminology)
            named = None if mask is None else mask[terminology.concept_rows]
            return Source(concepts, [(self.cfg["label"], named)], named)
        allowed = np.zeros(terminology.n_names, dtype=bool)
        for _, named in labels:
            allowed |= True if named is None else named
        return Source(concepts, labels, allowed)

    def _check_label_types(self, opened: List[NamedConcepts]) -> None:
        for label, types in self.cfg["label_types"].items():
            for value in types:
                if not any(_knows(concepts, value) for concepts in opened):
                    where = ", ".join(str(concepts.path) for concepts in opened)
                    raise TermlinkError("TL703", name=self.name, value=value, label=label, kb=where)

    # --- matching

    def __call__(self, doc: Doc) -> Doc:
        """Find the mentions of one document."""
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Find the mentions of a stream of documents, a batch in one search.

        Where a batch fails, its documents are tried one by one, so that the error handler gets
        those that fail and no other.
        """
        self.open_sources()
        handle_error = self.get_error_handler()
        for docs in util.minibatch(stream, size=batch_size):
            try:
                self.set_annotations(docs, self.predict(docs))
                yield from docs
            except Exception:
                for doc in docs:
                    try:
                        self(doc)
                    except Exception as error:
                        handle_error(self.name, self, [doc], error)
                    else:
                        yield doc

    def predict(self, docs: Iterable[Doc]) -> List[List[Place]]:
        """The mentions of each document, in its order, none overlapping another.

        docs (Iterable[Doc]): The documents.
        RETURNS (List[List[Place]]): Doc -> mention.
        """
        docs = list(docs)
        texts = [doc.text for doc in docs]
        found: List[List[Place]] = [[] for _ in docs]
        for source in self.open_sources():
            matched = source.concepts.dictionary.match(texts, allowed=source.allowed)
            for places, matches in zip(found, matched, strict=True):
                places.extend(
                    Place(m.start, m.end, source.label(m.rows), m.distance, m.whole)
                    for m in matches
                )
        if self.cfg["resolve_abbreviations"]:
            for doc, places in zip(docs, found, strict=True):
                places[:] = add_defined(doc, places, self._label_of)
        return [without_overlap(places) for places in found]

    def _label_of(self, mention: str) -> Optional[str]:
        for source in self.open_sources():
            rows = source.concepts.dictionary.find(mention, allowed=source.allowed)
            if rows:
                return source.label(rows)
        return None

    def set_annotations(self, docs: Iterable[Doc], places: List[List[Place]]) -> None:
        """Write the mentions into the documents.

        docs (Iterable[Doc]): The documents.
        places (List[List[Place]]): Doc -> mention, from `predict`.
        """
        spans_key, overwrite = self.cfg["spans_key"], self.cfg["overwrite"]
        for doc, doc_places in zip(docs, places, strict=True):
            wholes = make_spans(doc, doc_places)
            spans = [span for span, _ in wholes]
            apart = first_come(spans)
            self._warn_of_shared(apart, spans)
            if spans_key is None:
                old = list(doc.ents)
                doc.ents = new = first_come([*spans, *old] if overwrite else [*old, *spans])
            else:
                group = [] if overwrite else list(doc.spans.get(spans_key, ()))
                there = {(s.start, s.end, s.label) for s in group}
                new = [s for s in apart if (s.start, s.end, s.label) not in there]
                doc.spans[spans_key] = SpanGroup(doc, name=spans_key, spans=[*group, *new])
            set_whole_mentions(doc, wholes, written=new, spans_key=spans_key)

    def _warn_of_shared(self, kept: List[Span], spans: List[Span]) -> None:
        if n := len(spans) - len(kept):
            warnings.warn(MESSAGES["TL708"].format(name=self.name, n=n), stacklevel=4)

    # --- training and saving

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        kb: KbPaths = None,
    ) -> None:
        """Open the terminologies: those of `[initialize.components.NAME]`, else those at hand.

        get_examples (Callable[[], Iterable[Example]]): Not used; there is nothing to learn.
        nlp (Optional[Language]): Not used.
        kb (KbPaths): KB folder or terminology folder, or several.
        RAISES (TermlinkError): See `open_sources`.
        """
        if kb:
            self.set_kb(kb)
        self.open_sources()

    def score(self, examples: Iterable[Example], **kwargs: Any) -> Dict[str, Any]:
        """Precision, recall and F1 of the spans, as spaCy's rulers score theirs."""
        key = self.cfg["spans_key"]
        if key is None:
            return get_ner_prf(examples)
        return Scorer.score_spans(
            examples,
            f"spans_{key}",
            allow_overlap=True,
            has_annotation=lambda doc: key in doc.spans,
            getter=lambda doc, _: doc.spans.get(key, ()),
        )

    def _concepts(self) -> List[NamedConcepts]:
        return [source.concepts for source in self.open_sources()]

    def _has_kb(self) -> bool:
        return bool(self._paths or self._sources)

    def __reduce__(self) -> Tuple[Callable, Tuple[Any, ...]]:
        """For workers: the paths go over, and are mapped again there."""
        return _new, (type(self), self.vocab, self.name, list(self._paths), dict(self.cfg))


def _new(cls: Any, vocab: Vocab, name: str, paths: List[str], cfg: Dict[str, Any]) -> TermMatcher:
    return cls(vocab, name, kb=paths, **cfg)


def _knows(concepts: NamedConcepts, value: str) -> bool:
    try:
        concepts.terminology.mask([value])
    except TermlinkError:
        return False
    return True
