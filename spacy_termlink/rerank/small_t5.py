"""A small T5 from nothing: a tokenizer trained on names, and weights drawn at random.

It lets the whole path run on any machine. In earnest, start from a pretrained T5.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from ..files import atomic_folder, write_json
from ..training.settings import AT_LEAST_0, AT_LEAST_1, setting

PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
SPECIAL = [PAD, END, UNKNOWN]
#: Letters of a piece at least, of a word at most (a longer one is unknown), and the share of the
#: vocabulary that whole words may take.
MIN_PIECE, MAX_LETTERS = 3, 64
SHARE_OF_WORDS = 0.75
#: Of the matrices that make queries and keys, and of a token's vector that means something.
ALIKE, LEAST_NORM = 0.4, 1e-6


@dataclass(frozen=True)
class SmallT5Settings:
    """[training.small_t5]: what is built where no folder to start from is given.

    tokens (str): "words" are pieces of words (WordPiece), "characters" single characters, as Chinese
        wants them.
    vocabulary (int): Tokens, at most.
    width, heads, wide (int): Columns, heads of attention, columns of the feed-forward layers.
    layers, decoder_layers (int): Of encoder and decoder.
    seed (int): Of the random weights.
    """

    tokens: Literal["words", "characters"] = "words"
    vocabulary: int = setting(8000, AT_LEAST_1)
    width: int = setting(192, AT_LEAST_1)
    heads: int = setting(4, AT_LEAST_1)
    wide: int = setting(512, AT_LEAST_1)
    layers: int = setting(3, AT_LEAST_1)
    decoder_layers: int = setting(1, AT_LEAST_1)
    seed: int = setting(0, AT_LEAST_0)


def build_small_t5(
    folder: Path,
    groups: Sequence[Sequence[str]],
    questions: Sequence[str],
    settings: SmallT5Settings,
) -> None:
    """Write a folder that `YesNoModel` and `transformers` load.

    Tokens that come in names of the same concepts begin with like embeddings (latent semantic
    analysis, S. Deerwester et al. 1990), and each token of the encoder begins by looking at like ones: of
    a few minutes of training most would be spent on finding that out.

    groups (Sequence[Sequence[str]]): Names of one concept each, in a fixed order.
    questions (Sequence[str]): Texts whose every word has to be one token: templates and answers.
    """
    from transformers import T5Config, T5ForConditionalGeneration

    names = [name for group in groups for name in group]
    tokenizer = train_tokenizer(names, questions, settings)
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=settings.width,
        d_kv=settings.width // settings.heads,
        num_heads=settings.heads,
        d_ff=settings.wide,
        num_layers=settings.layers,
        num_decoder_layers=settings.decoder_layers,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
        dropout_rate=0.0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        module: Any = T5ForConditionalGeneration(config)
        with torch.no_grad():  # T5 draws them with a deviation of 1, made for long pretraining
            for weight in (module.shared.weight, module.lm_head.weight):
                weight.mul_(1 / math.sqrt(settings.width))
            for block in module.encoder.block:
                attention = block.layer[0].SelfAttention
                attention.q.weight.copy_(ALIKE * torch.linalg.qr(attention.q.weight.T)[0].T)
                attention.k.weight.copy_(attention.q.weight)
    vectors = _token_vectors(tokenizer, groups, settings)
    with torch.no_grad():
        rows = np.flatnonzero(np.linalg.norm(vectors, axis=1) > 0)
        module.shared.weight[rows] = torch.from_numpy(vectors[rows])
    with atomic_folder(folder) as part:
        module.save_pretrained(part, safe_serialization=True)
        tokenizer.save(str(part / "tokenizer.json"))
        special = {"pad_token": PAD, "eos_token": END, "unk_token": UNKNOWN}
        write_json(
            part / "tokenizer_config.json",
            {"tokenizer_class": "PreTrainedTokenizerFast", **special},
        )


def _token_vectors(
    tokenizer: Tokenizer, groups: Sequence[Sequence[str]], settings: SmallT5Settings
) -> np.ndarray:
    """Embeddings of length 1, (V, D) float32, of the tokens that two groups or more have; else 0."""
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
    vectors = np.zeros((n_tokens, settings.width), dtype=np.float32)
    n = min(settings.width, min(shape) - 1)
    if n > 0:
        vectors[:, :n] = randomized_svd(weighed, n, random_state=settings.seed)[0]
    vectors[(n_groups < 2)[:, 0]] = 0
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(norms > LEAST_NORM, vectors / np.maximum(norms, LEAST_NORM), 0)


def train_tokenizer(
    names: Sequence[str], questions: Sequence[str], settings: SmallT5Settings
) -> Tokenizer:
    """A tokenizer of words' pieces or of characters, which ends each text with `</s>`.

    The trainers of the library break ties by chance, so the vocabulary is counted here.
    """
    make = _of_characters if settings.tokens == "characters" else _of_words
    tokenizer = make(names, questions, settings.vocabulary)
    end = tokenizer.token_to_id(END)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, end)]
    )
    return tokenizer


def _of_characters(names: Sequence[str], questions: Sequence[str], n_tokens: int) -> Tokenizer:
    normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    splitter = pre_tokenizers.Split("", "isolated")
    counted = _count(names, normalizer, splitter)
    always = _count(questions, normalizer, splitter)
    vocabulary = _vocabulary([*sorted(always), *_best(counted)], n_tokens)
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    return tokenizer


def _of_words(names: Sequence[str], questions: Sequence[str], n_tokens: int) -> Tokenizer:
    """Whole words that come twice, and of the rest the beginnings and endings that save the most
    letters; single characters, so that every word can be written."""
    normalizer, splitter = (
        normalizers.BertNormalizer(lowercase=True),
        pre_tokenizers.BertPreTokenizer(),
    )
    counted = _count(names, normalizer, splitter)
    always = _count(questions, normalizer, splitter)
    characters = {char for word in (*counted, *always) for char in word}
    pieces: Counter[str] = Counter()
    for word in counted:
        for n in range(MIN_PIECE, len(word)):
            pieces[word[:n]] += n
            pieces[f"##{word[-n:]}"] += n
    words = [word for word in _best(counted) if counted[word] > 1]
    known = [*sorted(always), *sorted(characters), *(f"##{char}" for char in sorted(characters))]
    known += words[: int(n_tokens * SHARE_OF_WORDS)]
    vocabulary = _vocabulary([*known, *_best(pieces)], n_tokens)
    model = models.WordPiece(vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=MAX_LETTERS)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    return tokenizer


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


def _vocabulary(tokens: Sequence[str], n: int) -> dict[str, int]:
    found = dict.fromkeys([*SPECIAL, *tokens])
    return {token: i for i, token in enumerate(list(found)[:n])}
