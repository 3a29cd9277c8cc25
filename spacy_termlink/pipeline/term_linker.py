"""The component `term_linker`: gives each span the id of the concept it names."""

import weakref
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from ..errors import TermlinkError
from ..kb import TermKB, open_kb
from ..rerank.groups import find_groups
from ..rerank.mention_candidates import MentionCandidates
from ..types import CandidateGenerator, Reranker
from .architectures import BiEncoderT
from .gold import has_spans, on_gold_spans
from .learning import LearnsLinks
from .learning_settings import read_learning_settings
from .links import Link, decide
from .mentions import Forms, get_forms
from .saving import SAVE_MODES
from .sentences import get_sentences
from .serialization import SavedWithKb
from .spans import get_spans, set_kb_id, warn_of_missing_group
from .workers import settle_worker

Query = Tuple[Tuple[str, ...], Forms, str]  # Types, forms of the mention, its sentence
Types = Tuple[str, ...]  # branches and semantic types a label is restricted to; () for all concepts


class TermLinker(SavedWithKb, LearnsLinks, TrainablePipe):
    """Links the spans of `doc.ents`, or of a span group, to the concepts of a KB.

    Gold links train the encoder of its KB in `spacy train`: see LearnsLinks.

    DOCS: docs/pipeline.md
    """

    def __init__(
        self,
        vocab: Vocab,
        model: BiEncoderT,
        name: str = "term_linker",
        *,
        nlp: Optional[Language] = None,
        kb: Optional[str] = None,
        spans_key: Optional[str] = None,
        k: int = 10,
        threshold: Optional[float] = None,
        label_types: Optional[Dict[str, List[str]]] = None,
        resolve_abbreviations: bool = True,
        overwrite: bool = True,
        save_kb: str = "copy",
        allow_restricted: bool = False,
        candidates: Callable[[TermKB], CandidateGenerator],
        reranker: Optional[Callable[[TermKB], Optional[Reranker]]] = None,
        scorer: Optional[Callable] = None,
        learning: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Store the settings; no file is opened.

        vocab (Vocab): The shared vocabulary.
        model (Model[List[str], Floats2d]): The bi-encoder; bound to the encoder of the KB.
        name (str): The component's name in its pipeline; results are stored under it.
        nlp (Optional[Language]): The pipeline, asked for the name the component has by now.
        kb (Optional[str]): KB folder, opened at first use if no other KB was loaded.
        spans_key (Optional[str]): Link `doc.spans[spans_key]`; None links `doc.ents`.
        k (int): Candidates per span.
        threshold (Optional[float]): Least probability, or score of a KB without calibration, of a
            link, 0 to 1; None is the KB's own.
        label_types (Optional[Dict[str, List[str]]]): Entity label -> concept ids (with all below
            them) and semantic types that its spans may be linked to. Other labels: all concepts.
        resolve_abbreviations (bool): Also search the long form of the document's abbreviations.
        overwrite (bool): Set `kb_id_`, `_.kb_ents`, `_.kb_group` and `_.term_candidates`; False
            sets only `_.term_links[name]`, for a second linker.
        save_kb (str): "copy", "hardlink" or "path".
        allow_restricted (bool): Copy a KB whose licence forbids sharing, too.
        candidates (Callable[[TermKB], CandidateGenerator]): The recall stage.
        reranker (Optional[Callable[[TermKB], Optional[Reranker]]]): The rerank stage; None for none.
        scorer (Optional[Callable]): Scores examples.
        learning (Optional[Mapping[str, Any]]): How it learns; see LearningSettings.
        RAISES (TermlinkError): TL704 for a setting out of its range.
        """
        self.vocab = vocab
        self.model = model
        self.name = name
        self.scorer = scorer
        # what find-threshold and users may set later; read at each prediction
        self.cfg = {
            "spans_key": spans_key,
            "k": k,
            "threshold": threshold,
            "resolve_abbreviations": resolve_abbreviations,
            "overwrite": overwrite,
            "save_kb": save_kb,
            "allow_restricted": allow_restricted,
        }
        self._label_types = {label: tuple(types) for label, types in (label_types or {}).items()}
        self._learning = read_learning_settings(learning or {}, name=name)
        self._check_settings()
        self._configured = dict(self.cfg)
        self._kb_path = kb
        self._make_generator = candidates
        self._make_reranker = reranker
        self._named = name
        self._forget_process()
        self._nlp = None if nlp is None else weakref.ref(nlp)

    def _check_settings(self) -> None:
        cfg, threshold = self.cfg, self.cfg["threshold"]
        modes = " or ".join(SAVE_MODES)
        # spaCy checks no live setting, and lets "3" pass in a config
        whole = isinstance(cfg["k"], (int, np.integer)) and not isinstance(cfg["k"], bool)
        self._require(whole and cfg["k"] >= 1, "k", "a whole number, at least 1", cfg["k"])
        kinds = (int, float, np.integer, np.floating)
        number = isinstance(threshold, kinds) and not isinstance(threshold, bool)
        in_range = threshold is None or (number and 0 <= threshold <= 1)
        self._require(in_range, "threshold", "null or a number from 0 to 1", threshold)
        self._require(cfg["save_kb"] in SAVE_MODES, "save_kb", modes, cfg["save_kb"])
        for label, types in self._label_types.items():
            self._require(bool(types), f"label_types.{label}", "a list with an entry", types)

    def _require(self, condition: bool, setting: str, expected: str, value: Any) -> None:
        if not condition:
            raise TermlinkError(
                "TL704", name=self.name, setting=setting, expected=expected, value=value
            )

    # --- the KB

    @property
    def kb(self) -> TermKB:
        """The KB; see `open_kb`."""
        return self.open_kb()

    def open_kb(self) -> TermKB:
        """Open the KB if it is not open yet; once, whatever the number of threads. After an update
        of the weights, build it again.

        RAISES (TermlinkError): TL701 if there is none; what opening raises.
        """
        kb = self._kb
        if kb is None or self._is_stale():
            with self._lock:
                if self._kb is None:
                    if self._kb_path is None:
                        raise TermlinkError("TL701", name=self.name)
                    self._bind(open_kb(Path(self._kb_path)))
                elif self._is_stale():  # another thread may have been first
                    self._follow_weights(self._kb)
                kb = self._kb
                assert kb is not None
        return kb

    def set_kb(self, kb: Union[TermKB, Path, str]) -> None:
        """Link to another KB from now on.

        kb (Union[TermKB, Path, str]): An open KB or the folder of one.
        RAISES (TermlinkError): What opening raises, TL703 for `label_types` it does not know.
        """
        opened = kb if isinstance(kb, TermKB) else open_kb(Path(kb))
        with self._lock:
            self._forget_learning()
            self._bind(opened)

    def _bind(self, kb: TermKB) -> None:
        masks: Dict[Types, Optional[np.ndarray]] = {(): None}
        for label, types in self._label_types.items():
            masks[types] = self._mask(kb, label, types)
        self._masks = masks
        self._generator = self._make_generator(kb)
        self._reranker = None if self._make_reranker is None else self._make_reranker(kb)
        self._stages(kb)  # a calibration of another KB is refused now
        self.model.attrs["encoder"].open_kb = self._find_kb()
        self._kb_path = str(kb.path.resolve())
        self._kb = kb  # last: other threads take it for a sign that the rest is there

    def _stages(self, kb: TermKB) -> MentionCandidates:
        return MentionCandidates(kb, self._generator, self._reranker)

    def _find_kb(self) -> Callable[[], TermKB]:
        linker = weakref.ref(self)  # a component goes, and its temporary folders, when its users do

        def find() -> TermKB:
            if (owner := linker()) is None:
                raise TermlinkError("TL701", name="term_linker")
            return owner.open_kb()

        return find

    def _mask(self, kb: TermKB, label: str, types: Types) -> np.ndarray:
        for value in types:
            try:
                kb.terminology.mask([value])
            except TermlinkError as error:
                raise TermlinkError(
                    "TL703", name=self.name, value=value, label=label, kb=kb.path
                ) from error
        return kb.terminology.mask(types)

    # --- linking

    def __call__(self, doc: Doc) -> Doc:
        """Link the spans of one document."""
        return next(self.pipe([doc], batch_size=1), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Link a stream of documents, a batch in one search.

        Where a batch fails, its documents are tried one by one, so that the error handler gets
        those that fail and no other. A KB that cannot be opened, or a setting out of its range, is
        an error outside all that.
        """
        settle_worker()
        self._check_settings()
        self.open_kb()
        for docs in util.minibatch(stream, size=batch_size):
            try:
                self.set_annotations(docs, self.predict(docs))
            except Exception:
                yield from self._one_by_one(docs)
            else:
                yield from docs

    def _one_by_one(self, docs: List[Doc]) -> Iterator[Doc]:
        handle_error = self.get_error_handler()
        for doc in docs:
            try:
                self.set_annotations([doc], self.predict([doc]))
            except Exception as error:
                handle_error(self.name, self, [doc], error)
            else:
                yield doc

    def predict(self, docs: Iterable[Doc]) -> List[List[Link]]:
        """The link of each span; equal mentions of the batch are searched once.

        docs (Iterable[Doc]): The documents, with their spans set.
        RETURNS (List[List[Link]]): Doc -> span -> link.
        """
        return self._link(docs, self._stages(self.kb))

    def _link(self, docs: Iterable[Doc], proposed: MentionCandidates) -> List[List[Link]]:
        self._check_settings()
        queries = [self._queries(doc, proposed.reads_context) for doc in docs]
        # Types -> (Forms, sentence) -> None: ordered sets, so that two runs search in the same order
        wanted: Dict[Types, Dict[Tuple[Forms, str], None]] = {}
        for types, forms, sentence in (query for doc_queries in queries for query in doc_queries):
            wanted.setdefault(types, {})[forms, sentence] = None
        threshold = self.cfg["threshold"]
        threshold = float(proposed.threshold if threshold is None else threshold)
        links: Dict[Query, Link] = {}
        for types, mentions in wanted.items():
            allowed, k = self._masks[types], self.cfg["k"]
            each = [forms for forms, _ in mentions]
            sentences = [sentence for _, sentence in mentions]
            found = proposed.generate(each, k=k, allowed=allowed, contexts=sentences)
            groups = find_groups(proposed, each, found, threshold=threshold, k=k, allowed=allowed)
            for (forms, sentence), candidates, group in zip(mentions, found, groups, strict=True):
                links[types, forms, sentence] = decide(candidates, threshold, group)
        return [[links[query] for query in doc_queries] for doc_queries in queries]

    def _queries(self, doc: Doc, with_sentences: bool) -> List[Query]:
        key, resolve = self.cfg["spans_key"], self.cfg["resolve_abbreviations"]
        warn_of_missing_group(doc, key, self.name)
        spans = self._spans(doc)
        forms = get_forms(doc, spans, spans_key=key, resolve_abbreviations=resolve)
        # without a reranker that reads them, equal mentions of two sentences are one
        sentences = get_sentences(doc, spans) if with_sentences else [""] * len(spans)
        types = (self._label_types.get(span.label_, ()) for span in spans)
        return list(zip(types, forms, sentences, strict=True))

    def _spans(self, doc: Doc) -> List[Span]:
        return get_spans(doc, self.cfg["spans_key"])

    def set_annotations(self, docs: Iterable[Doc], links: List[List[Link]]) -> None:
        """Write the links into the documents.

        docs (Iterable[Doc]): The documents.
        links (List[List[Link]]): Doc -> span -> link, from `predict`.
        """
        name, kb = self._current_name(), self.kb
        source = {"kb": kb.name, "release": kb.release, "licence": kb.licence}
        for doc, doc_links in zip(docs, links, strict=True):
            doc.user_data.setdefault("term_linker", {})[name] = dict(source)
            self._annotate(doc, doc_links, name)

    def _annotate(self, doc: Doc, links: List[Link], name: str) -> None:
        overwrite = self.cfg["overwrite"]
        first: Dict[Tuple[int, int], Dict[str, Any]] = {}
        for i, (span, link) in enumerate(zip(self._spans(doc), links, strict=True)):
            if overwrite:
                set_kb_id(span, link.kb_id, spans_key=self.cfg["spans_key"], i=i)
            place = (span.start_char, span.end_char)
            entry = link.to_json()
            if place in first:  # another label at the same place: extensions cannot tell them apart
                first[place].setdefault("by_label", {})[span.label_] = entry
                continue
            first[place] = entry
            span._.term_links = {**span._.term_links, name: entry}
            if overwrite:
                span._.kb_ents = [list(pair) for pair in entry["kb_ents"]]
                span._.kb_group = [list(pair) for pair in entry["kb_group"]]
                span._.term_candidates = [dict(candidate) for candidate in entry["candidates"]]

    def _current_name(self) -> str:
        """The name in the pipeline: `rename_pipe` does not tell the component."""
        nlp = self._nlp() if self._nlp is not None else None
        if self.name != self._named:
            # add_pipe(source=...) has named it for another pipeline, which we do not know
            self._nlp, self._named = None, self.name
        elif nlp is not None:
            names = (name for name, component in nlp.components if component is self)
            self.name = self._named = next(names, self.name)
        return self.name

    # --- scoring

    def score(self, examples: Iterable[Example], **kwargs: Any) -> Dict[str, Any]:
        """Score the links of examples. A linker with overwrite=False scores nothing: gold ids are
        those of the linker that writes `kb_id_`.

        Where no component has looked for entities, the gold spans are linked and scored, and the
        end-to-end figures are None.
        """
        if self.scorer is None or not self.cfg["overwrite"]:
            return {}
        spans_key = self.cfg["spans_key"]
        examples = list(examples)
        recognised = any(has_spans(eg.predicted, spans_key) for eg in examples)
        if not recognised:
            examples = on_gold_spans(examples, spans_key)
            list(self.pipe(eg.predicted for eg in examples))
        settings = {**self.cfg, "resolve": self.kb.terminology.resolve, **kwargs}
        scores = self.scorer(examples, **settings)
        if not recognised:
            scores.update(dict.fromkeys(key for key in scores if key.startswith("nel_e2e_")))
        return scores
