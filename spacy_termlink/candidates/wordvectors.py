"""Nearest names by the mean of their words' vectors."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from ..errors import MissingExtraError, TermlinkError
from ..lexical.stopwords import content_words
from ..terminology.store import Terminology
from ..types import KnowledgeBase
from .dense import NearestNames

#: Of the vectors that are trained where none are given: a terminology is a small corpus.
WIDTH, WINDOW, EPOCHS, SEED = 100, 5, 5, 1
#: Endings of word2vec files: text, and the same packed or as binary numbers.
BINARY_ENDINGS = (".bin", ".bin.gz")
#: Python objects, which are code to whoever loads them.
PICKLED_ENDINGS = (".kv", ".model", ".wordvectors", ".pkl", ".pickle")


class WordVectors(NamedTuple):
    """A vector for each known word.

    get (Callable): Vector of a word, (D,); None for one that is not known.
    width (int): Numbers in a vector, D.
    """

    get: Callable[[str], Optional[np.ndarray]]
    width: int


class WordVectorCandidates(NearestNames):
    """Mean of the vectors of the words, without stop words (protocol `types.CandidateGenerator`).

    kb (KnowledgeBase): Its terminology and unique names are used.
    vectors (Optional[str]): A spaCy pipeline with vectors (folder or installed package), or a
        word2vec file (.txt, .vec, .bin, also .gz). None trains small ones on the terminology's
        names and definitions, which takes gensim and seconds; they are kept in memory only.
    RAISES (TermlinkError): TL004 without gensim, TL530 to TL532 for vectors that cannot be used;
        all at first use.

    Source: the baseline "Word2Vec-based average" of Ngo et al. 2021 (docs/methods.md).
    """

    def __init__(self, kb: KnowledgeBase, *, vectors: Optional[str] = None) -> None:
        super().__init__(kb, self._mean, tier="wordvectors")
        self._path = vectors

    def _mean(self, texts: Sequence[str]) -> np.ndarray:
        get, width = self._vectors
        means = np.zeros((len(texts), width), dtype=np.float32)
        for row, text in enumerate(texts):
            found = [get(word) for word in content_words(text, normalized=True)]
            known = [vector for vector in found if vector is not None]
            if known:
                means[row] = np.mean(known, axis=0)
        norms = np.linalg.norm(means, axis=1, keepdims=True)
        return means / np.where(norms > 0, norms, 1)

    @cached_property
    def _vectors(self) -> WordVectors:
        if self._path is None:
            return train_vectors(self.kb.terminology)
        return load_vectors(self._path)


def make_word_vector_candidates(
    vectors: Optional[str] = None,
) -> Callable[[KnowledgeBase], WordVectorCandidates]:
    """`spacy-termlink.WordvectorsCandidates.v1`.

    vectors (Optional[str]): See WordVectorCandidates.
    """
    return partial(WordVectorCandidates, vectors=vectors)


def train_vectors(terminology: Terminology) -> WordVectors:
    """word2vec (skip-gram) on the terminology: a concept's names and its definition are one text, so
    that words of synonyms meet. One worker and a fixed seed: equal terminologies, equal vectors.

    RAISES (MissingExtraError): TL004 without gensim.

    Source: Mikolov et al. 2013 (docs/methods.md).
    """
    models = _gensim().models
    texts = [text for text in _concept_texts(terminology) if len(text) > 1]
    if not texts:
        return WordVectors(lambda word: None, WIDTH)
    model = models.Word2Vec(
        texts, vector_size=WIDTH, window=WINDOW, epochs=EPOCHS, min_count=1, sg=1, seed=SEED,
        workers=1,
    )  # fmt: skip
    return _keyed(model.wv)


def load_vectors(path_or_name: str) -> WordVectors:
    """Vectors of a spaCy pipeline or of a word2vec file.

    RAISES (TermlinkError): TL004 where a file needs gensim, TL530 if there is no such thing, TL531
        if it cannot be read, TL532 if it has no vectors.
    """
    path = Path(path_or_name)
    if path.suffix in PICKLED_ENDINGS:
        reason = "it is a pickle; save it with save_word2vec_format"
        raise TermlinkError("TL531", path=path, reason=reason)
    if path.is_file():
        return _keyed(_read_word2vec(path))
    return _spacy_vectors(path_or_name)


def _keyed(keyed: Any) -> WordVectors:
    known = keyed.has_index_for
    return WordVectors(lambda word: keyed[word] if known(word) else None, keyed.vector_size)


def _spacy_vectors(path_or_name: str) -> WordVectors:
    """The vocabulary of a pipeline; floret vectors know parts of unseen words, too."""
    from spacy.util import get_package_path, is_package
    from spacy.vocab import Vocab

    folder = Path(path_or_name)
    if not folder.is_dir():
        if not is_package(path_or_name):
            raise TermlinkError("TL530", name=path_or_name)
        folder = next(get_package_path(path_or_name).glob("*/vocab"), folder).parent
    vocab = Vocab()
    try:
        vocab.from_disk(folder / "vocab")
    except (ValueError, OSError) as error:
        raise TermlinkError("TL531", path=folder, reason=error) from error
    if not vocab.vectors_length:
        raise TermlinkError("TL532", path=folder)

    def get(word: str) -> Optional[np.ndarray]:
        vector = vocab.get_vector(word)
        return vector if vector.any() else None

    return WordVectors(get, vocab.vectors_length)


def _read_word2vec(path: Path) -> Any:
    binary = path.name.endswith(BINARY_ENDINGS)
    try:
        return _gensim().models.KeyedVectors.load_word2vec_format(str(path), binary=binary)
    except (ValueError, OSError, EOFError, UnicodeDecodeError) as error:
        reason = f"no word2vec file ({error})"
        raise TermlinkError("TL531", path=path, reason=reason) from error


def _gensim() -> Any:
    try:
        import gensim
    except ImportError:
        raise MissingExtraError("TL004", library="gensim", extra="report") from None
    return gensim


def _concept_texts(terminology: Terminology) -> Iterable[list[str]]:
    normalized = terminology.names["normalized"].to_pylist()
    for concept, definition in enumerate(terminology.concepts["definition"].to_pylist()):
        words = [
            word
            for row in terminology.name_rows(concept)
            for word in content_words(normalized[row], normalized=True)
        ]
        if words:
            yield words + content_words(definition or "")
