"""Token vectors whose means are the embeddings of another encoder.

A vector is begun with what the encoder makes of the token alone, shortened where the token is frequent
(smooth inverse frequency, Arora et al. 2017; Model2Vec), and then fitted by gradient descent to what
it makes of whole names.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Optional

import numpy as np
from tokenizers import Tokenizer, models

from .schedule import generator

#: Names in which a word must occur to get a vector of its own; rarer ones keep their word pieces.
MIN_WORD_NAMES = 3
#: a of a / (a + p), the weight of a token of frequency p.
SIF = 1e-3
BATCH_SIZE = 1024
LEARNING_RATE = 0.01
#: Temperature and weight of the second loss, which compares the texts of a batch with each other.
TEMPERATURE = 0.05
RELATIONS = 0.1
_BETAS = (0.9, 0.999)
_PIECE = "##"


def add_words(tokenizer: Tokenizer, texts: Iterable[str], least: int = MIN_WORD_NAMES) -> Tokenizer:
    """A tokenizer that keeps the frequent words of some texts whole.

    tokenizer (Tokenizer): One of word pieces; another kind is given back as it is.
    texts (Iterable[str]): Names.
    least (int): Times a word must occur.
    """
    if not isinstance(tokenizer.model, models.WordPiece):
        return tokenizer
    known = tokenizer.get_vocab()
    counts: Counter[str] = Counter()
    normalizer, splitter = tokenizer.normalizer, tokenizer.pre_tokenizer
    for text in texts:
        text = normalizer.normalize_str(text) if normalizer else text
        words = [word for word, _ in splitter.pre_tokenize_str(text)] if splitter else text.split()
        counts.update(words)
    new = sorted(word for word, n in counts.items() if n >= least and word not in known)
    layout: dict[str, Any] = json.loads(tokenizer.to_str())
    first = max(known.values()) + 1
    layout["model"]["vocab"].update({word: first + i for i, word in enumerate(new)})
    return Tokenizer.from_str(json.dumps(layout))


def start_vectors(
    tokenizer: Tokenizer, counts: np.ndarray, encode: Callable[[Sequence[str]], np.ndarray]
) -> np.ndarray:
    """Vectors of the vocabulary before any fit, (V, D) float32.

    counts (np.ndarray): Occurrences of each token, (V,).
    encode (Callable): Texts to embeddings.
    """
    tokens = [tokenizer.id_to_token(i) or "" for i in range(len(counts))]
    vectors = encode([token.removeprefix(_PIECE) for token in tokens])
    weights = SIF / (SIF + counts / max(1, counts.sum()))
    return vectors * weights[:, None].astype(np.float32)


def fit_vectors(
    vectors: np.ndarray,
    ids: Sequence[Sequence[int]],
    targets: np.ndarray,
    *,
    epochs: int,
    seed: int = 0,
    progress: Optional[Callable[[int, float], object]] = None,
) -> np.ndarray:
    """Vectors whose sums point where the targets do: Adam on the rows that a batch uses.

    The loss of a text is 1 - cos(sum, target), and RELATIONS times the divergence of its likeness to
    the batch's targets from that of its own target.

    vectors (np.ndarray): Where it starts, (V, D) float32; a copy is changed.
    ids (Sequence[Sequence[int]]): Tokens of each text, (N,) lists, none empty.
    targets (np.ndarray): Rows of norm 1, (N, D) float32.
    epochs (int): Passes through the texts.
    progress (Callable): Called after each batch with its texts and mean cosine.
    """
    vectors = vectors.copy()
    first, second = np.zeros_like(vectors), np.zeros_like(vectors)
    n_steps = epochs * -(-len(ids) // BATCH_SIZE)
    step = 0
    for epoch in range(epochs):
        order = generator(seed, "distill", epoch).permutation(len(ids))
        for start in range(0, len(order), BATCH_SIZE):
            batch = order[start : start + BATCH_SIZE]
            rows, gradient, cosine = _gradient(
                vectors, [ids[i] for i in batch.tolist()], targets[batch]
            )
            rate = LEARNING_RATE * (1 - step / n_steps)
            step += 1
            first[rows] = _BETAS[0] * first[rows] + (1 - _BETAS[0]) * gradient
            second[rows] = _BETAS[1] * second[rows] + (1 - _BETAS[1]) * gradient**2
            rate *= np.sqrt(1 - _BETAS[1] ** step) / (1 - _BETAS[0] ** step)
            vectors[rows] -= np.float32(rate) * first[rows] / (np.sqrt(second[rows]) + 1e-8)
            if progress is not None:
                progress(len(batch), cosine)
    return vectors


def _gradient(
    vectors: np.ndarray, ids: Sequence[Sequence[int]], targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows of the vectors in use, the gradient of the batch's mean loss for them, the mean cosine."""
    from scipy.sparse import csr_matrix

    flat = np.fromiter((i for text in ids for i in text), dtype=np.int64)
    ends = np.cumsum([0, *map(len, ids)])
    rows, columns = np.unique(flat, return_inverse=True)
    bags = csr_matrix((np.ones(len(flat), np.float32), columns, ends), (len(ids), len(rows)))
    sums = bags @ vectors[rows]  # (B, D)
    norms = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    unit = sums / norms
    back = -targets
    if RELATIONS:
        found, wanted = _softmax(unit @ targets.T), _softmax(targets @ targets.T)
        back = back + (RELATIONS / TEMPERATURE) * ((found - wanted) @ targets)
    back = (back - (back * unit).sum(axis=1, keepdims=True) * unit) / norms / len(ids)
    cosine = float((unit * targets).sum(axis=1).mean())
    return rows, bags.T @ back.astype(np.float32), cosine


def _softmax(likeness: np.ndarray) -> np.ndarray:
    scores = likeness / TEMPERATURE
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)
