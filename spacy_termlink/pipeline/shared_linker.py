"""A linker that reads its mentions from the transformer of its pipeline."""

import re
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, cast

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples

from ..errors import TermlinkError
from ..kb import TermKB
from ..rerank.mention_candidates import MentionCandidates
from ..text import normalize
from .gold_links import GoldCounts, GoldLink
from .learning import Learner
from .links import Link
from .mentions import get_forms
from .term_linker import TermLinker
from .transformer_listener import SharedShim, read_digest

#: Stands for a mention among the texts of a batch: where its vector comes from.
_MARK = "the mention of document {} from character {} to {}"
_MARKED = re.compile(_MARK.replace("{}", r"(\d+)"))


class SharedTermLinker(TermLinker):
    """A `term_linker` with the model `spacy-termlink.TransformerListener.v1`.

    A mention that is a name of the KB is searched by the name, as by any linker. The vector of every
    other is the mean of its tokens' in its document, out of the forward pass that the pipeline makes
    anyway. Names are encoded, each alone, by the same transformer: when the pipeline is initialised,
    and whenever something links after an update, since both sides change the same weights.

    DOCS: docs/shared-transformer.md
    """

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        kb: Optional[str] = None,
    ) -> None:
        """As TermLinker; the names are encoded with the transformer when something links."""
        super().initialize(get_examples, nlp=nlp, kb=kb)
        self._start_learning()

    def predict(self, docs: Iterable[Doc]) -> List[List[Link]]:
        """The link of each span; see TermLinker. No answer depends on the other documents.

        RAISES (TermlinkError): TL731 for a KB of other weights, TL732 for a document that no
            transformer has read.
        """
        docs, kb = list(docs), self.kb
        self._check_weights(kb)
        links: List[List[Link]] = [[] for _ in docs]
        for rows, vectors in _rounds(self._vectors(kb, docs)):
            generator = self._make_generator(cast(TermKB, _InContext(kb, vectors)))
            proposed = MentionCandidates(kb, generator, self._reranker)
            made = self._link([docs[row] for row in rows], proposed)
            for row, of_doc in zip(rows, made, strict=True):
                links[row] = of_doc
        return links

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """As TermLinker. The gradient of the names goes to the transformer first, and then that of
        the mentions, through the listener, which may make the transformer step."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "TermLinker.update")
        docs = [eg.predicted for eg in examples]
        if not any(len(doc) for doc in docs):
            return losses
        learner = self._start_learning()
        if learner.refresh_is_due():
            self.open_kb()
        tokens, to_transformer = self.model.begin_update(cast(Any, docs))
        d_tokens = [array * 0 for array in tokens]
        batch = self._make_batch(examples, learner.counts)
        if batch is not None:
            places = [_place(docs, text) for text in batch.texts]
            named = [i for i, place in enumerate(places) if place is None]
            names, to_names = self._shim().embed([batch.texts[i] for i in named])
            xp = self.model.ops.xp
            embeddings = xp.zeros((len(places), names.shape[1]), dtype="f")
            embeddings[named] = names
            for i, place in enumerate(places):
                if place is not None:
                    embeddings[i] = tokens[place[0]][place[1]].mean(axis=0)
            loss, gradient = learner.loss(batch, embeddings)
            to_names(cast(Any, xp.ascontiguousarray(gradient[named])))
            for i, place in enumerate(places):
                if place is not None:
                    d_tokens[place[0]][place[1]] += gradient[i] / len(tokens[place[0]][place[1]])
            losses[self.name] += loss
            learner.n_batches += 1
        to_transformer(d_tokens)
        shim = self._shim()
        # other components change the weights, too, and with this one's gold links or not
        shim.changed, shim.n_updates = True, shim.n_updates + 1
        if sgd not in (None, False):
            self.finish_update(sgd)
        return losses

    def _fit_threshold(self, kb: TermKB, counts: GoldCounts) -> Optional[float]:
        """None: scores of mentions depend on their documents, so the threshold stays that of names."""
        return None

    def _anchor(self, link: GoldLink) -> GoldLink:
        if len(link.forms) > 1:  # a long form is read as a name is
            return link
        return link._replace(forms=(_MARK.format(link.document, link.start, link.end),))

    def _start_learning(self) -> Learner:
        if self._learner is None:
            learner, shim = super()._start_learning(), self._shim()
            assert self._kb is not None
            learner.digest = read_digest(self._kb.path / "encoder")
            shim.changed = learner.digest != shim.digest()
        return self._learner

    def _bind(self, kb: TermKB) -> None:
        super()._bind(kb)
        shim = self._shim()
        assert isinstance(shim, SharedShim)
        linker = weakref.ref(self)

        def find() -> Any:
            owner = linker()
            transformer = None if owner is None else owner._find_transformer()
            if transformer is None:
                name = "term_linker" if owner is None else owner.name
                raise TermlinkError("TL733", name=name)
            return transformer

        shim.find = find
        self._weights_are_right = False

    def _find_transformer(self) -> Any:
        from spacy_transformers.pipeline_component import Transformer

        nlp = self._nlp() if self._nlp is not None else None
        upstream = self.model.get_ref("listener").upstream_name  # type: ignore[attr-defined]
        for name, component in nlp.components if nlp is not None else ():
            if isinstance(component, Transformer) and upstream in ("*", name):
                return component
        return None

    def _check_weights(self, kb: TermKB) -> None:
        """Refuse a KB whose names other weights have encoded; once for each KB."""
        # a worker has no pipeline to look into, and its KB is the one that was checked
        if self._weights_are_right or self._find_transformer() is None:
            return
        found, expected = read_digest(kb.path / "encoder"), self._shim().digest()
        if found != expected:
            raise TermlinkError(
                "TL731", name=self.name, kb=kb.path, found=found or "none", expected=expected
            )
        self._weights_are_right = True

    def _vectors(self, kb: TermKB, docs: Sequence[Doc]) -> List[Dict[str, np.ndarray]]:
        """Of each document, normal form -> vector of length 1 of the mentions that are no names."""
        places = [self._places(kb, doc) for doc in docs]
        with_some = [row for row, own in enumerate(places) if own]
        for row in with_some:
            if not Doc.has_extension("trf_data") or docs[row]._.trf_data is None:
                raise TermlinkError("TL732", name=self.name)
        found: List[Dict[str, np.ndarray]] = [{} for _ in docs]
        read = [docs[row] for row in with_some]
        arrays = self.model.predict(cast(Any, read)) if read else []
        for row, array in zip(with_some, arrays, strict=True):
            for text, spans in places[row].items():
                vector = sum(array[start:end].mean(axis=0) for start, end in spans)
                vector = self.model.ops.to_numpy(vector)
                found[row][text] = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return found

    def _places(self, kb: TermKB, doc: Doc) -> Dict[str, List[Tuple[int, int]]]:
        """Normal form -> tokens of the mentions that are to be read in the document."""
        places: Dict[str, List[Tuple[int, int]]] = {}
        spans = self._spans(doc)
        key = self.cfg["spans_key"]
        forms = get_forms(doc, spans, spans_key=key, resolve_abbreviations=False)
        for span, (form,) in zip(spans, forms, strict=True):
            text = normalize(form)
            # a mention put together of words that stand apart is read as a name is
            if form == span.text and kb.names.row_of(kb.terminology, text) < 0:
                places.setdefault(text, []).append((span.start, span.end))
        return places


class _InContext:
    """A KB whose encoder knows the vectors of some mentions from their document.

    kb (TermKB): All the rest is the KB's.
    vectors (Dict[str, np.ndarray]): Normal form -> vector of length 1.
    """

    def __init__(self, kb: TermKB, vectors: Dict[str, np.ndarray]) -> None:
        self._kb, self._given = kb, vectors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kb, name)

    @property
    def encoder(self) -> "_InContext":
        """This object: it encodes."""
        return self

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Embeddings of texts: as given, else out of the index for a name, else by the KB's encoder."""
        rows = np.array([self._kb.names.row_of(self._kb.terminology, t) for t in texts], np.int64)
        vectors = self._kb.index.vectors(np.maximum(rows, 0)).copy()
        left = [i for i, text in enumerate(texts) if rows[i] < 0 and text not in self._given]
        if left:
            vectors[left] = self._kb.encoder.encode([texts[i] for i in left])
        for i, text in enumerate(texts):
            if text in self._given:
                vectors[i] = self._given[text]
        return vectors


def _rounds(
    vectors: Sequence[Dict[str, np.ndarray]],
) -> Iterator[Tuple[List[int], Dict[str, np.ndarray]]]:
    """Rows of documents that can be searched at once, no two with the same text, and their vectors."""
    rounds: List[Tuple[List[int], Dict[str, np.ndarray]]] = []
    for row, own in enumerate(vectors):
        place = next((r for r in rounds if r[1].keys().isdisjoint(own)), None)
        if place is None:
            rounds.append(place := ([], {}))
        place[0].append(row)
        place[1].update(own)
    return iter(rounds)


def _place(docs: Sequence[Doc], text: str) -> Optional[Tuple[int, slice]]:
    """Document and tokens of a marked mention, None for any other text."""
    if (marked := _MARKED.fullmatch(text)) is None:
        return None
    document, start, end = map(int, marked.groups())
    span = docs[document].char_span(start, end, alignment_mode="expand")
    assert span is not None, "it was cut out of this text"
    return document, slice(span.start, span.end)
