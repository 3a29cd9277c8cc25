"""What models made from nothing begin with: a tokenizer of words' pieces or of characters, and vectors of
its tokens, both from the names of a terminology."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

#: Letters of a piece at least, of a word at most (a longer one is unknown), and the share of the
#: vocabulary that whole words may take.
MIN_PIECE, MAX_LETTERS = 3, 64
SHARE_OF_WORDS = 0.75
#: Of a token's vector that means something.
LEAST_NORM = 1e-6


def make_tokenizer(
    names: Sequence[str],
    *,
    characters: bool,
    n_tokens: int,
    special: Sequence[str],
    unknown: str,
    always: Sequence[str] = (),
) -> Tokenizer:
    """A tokenizer of characters, or of words' pieces: whole words that come twice, and of the rest the
    beginnings and endings that save the most letters; single characters, so that every word can be
    written. It adds no special token.

    The trainers of the library break ties by chance, so the vocabulary is counted here.

    names (Sequence[str]): What it has to write.
    n_tokens (int): Tokens at most.
    special (Sequence[str]): The first ones, `unknown` among them.
    always (Sequence[str]): Texts whose every word is to be a token.
    """
    if characters:
        normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
        splitter = pre_tokenizers.Split("", "isolated")
    else:
        normalizer = normalizers.BertNormalizer(lowercase=True)
        splitter = pre_tokenizers.BertPreTokenizer()
    counted, first = (_count(texts, normalizer, splitter) for texts in (names, always))
    if characters:
        tokens = [*sorted(first), *_best(counted)]
        model = models.WordLevel(_vocabulary(special, tokens, n_tokens), unk_token=unknown)
    else:
        tokens = [*sorted(first), *_word_tokens(counted, first, n_tokens)]
        vocabulary = _vocabulary(special, tokens, n_tokens)
        model = models.WordPiece(
            vocabulary, unk_token=unknown, max_input_chars_per_word=MAX_LETTERS
        )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    return tokenizer


def token_vectors(
    tokenizer: Tokenizer, groups: Sequence[Sequence[str]], width: int, *, seed: int
) -> np.ndarray:
    """Vectors of length 1, (V, D) float32, of the tokens that two groups or more have; else 0. Tokens
    that come in names of the same concepts have like ones (latent semantic analysis, S. Deerwester et
    al. 1990).

    groups (Sequence[Sequence[str]]): Names of one concept each, in a fixed order.
    """
    from scipy.sparse import csr_matrix
    from sklearn.utils.extmath import randomized_svd

    n_tokens = tokenizer.get_vocab_size()
    rows: list[int] = []
    columns: list[int] = []
    for column, group in enumerate(groups):
        ids = {i for name in group for i in tokenizer.encode(name, add_special_tokens=False).ids}
        rows += sorted(ids)
        columns += [column] * len(ids)
    shape = n_tokens, len(groups)
    counted = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    n_groups = np.asarray(counted.sum(axis=1))
    weighed = counted.multiply(np.log1p(len(groups) / np.maximum(n_groups, 1))).tocsr()
    vectors = np.zeros((n_tokens, width), dtype=np.float32)
    n = min(width, min(shape) - 1)
    if n > 0:
        vectors[:, :n] = randomized_svd(weighed, n, random_state=seed)[0]
    vectors[(n_groups < 2)[:, 0]] = 0
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(norms > LEAST_NORM, vectors / np.maximum(norms, LEAST_NORM), 0)


def _word_tokens(counted: Counter[str], first: Counter[str], n_tokens: int) -> list[str]:
    characters = sorted({char for word in (*counted, *first) for char in word})
    pieces: Counter[str] = Counter()
    for word in counted:
        for n in range(MIN_PIECE, len(word)):
            pieces[word[:n]] += n
            pieces[f"##{word[-n:]}"] += n
    words = [word for word in _best(counted) if counted[word] > 1]
    words = words[: int(n_tokens * SHARE_OF_WORDS)]
    return [*characters, *(f"##{char}" for char in characters), *words, *_best(pieces)]


def _count(
    texts: Sequence[str], normalizer: normalizers.Normalizer, splitter: pre_tokenizers.PreTokenizer
) -> Counter[str]:
    return Counter(
        word
        for text in texts
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))
    )


def _best(counted: Counter[str]) -> list[str]:
    """The most frequent first, equals by themselves."""
    return sorted(counted, key=lambda token: (-counted[token], token))


def _vocabulary(special: Sequence[str], tokens: Sequence[str], n: int) -> dict[str, int]:
    found = dict.fromkeys([*special, *tokens])
    return {token: i for i, token in enumerate(list(found)[:n])}
