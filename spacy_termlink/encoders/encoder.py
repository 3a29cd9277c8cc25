"""The transformer encoder: texts in, unit-norm embeddings out."""

import copy
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Optional, Union

import numpy as np
import torch
from tokenizers import Tokenizer

from ..errors import TermlinkError
from ..files import read_json, require_file, sha256_file
from .bert import BertForward, is_plain_bert
from .generic import AutoForward
from .settings import EncoderSettings, read_settings, write_settings
from .weights import weight_files

#: What is encoded: a text, or two that are read together.
Text = Union[str, tuple[str, str]]
#: (token states (B, T, D), tokens of the texts) -> (B, ..., D).
Pool = Callable[[torch.Tensor, Sequence[Sequence[int]]], torch.Tensor]
#: Tokens a batch holds: large enough for the matrix products, small enough for the cache.
TOKENS_PER_BATCH = 2048
#: A matrix of few rows takes another way through the library, which rounds otherwise: with this many
#: tokens at least, a text alone and in a batch has the same embedding.
MIN_TOKENS = 16
#: Characters kept of a text per token of the maximum length: a longer text is cut before it is
#: tokenised, since a note of one 5 MB word takes minutes otherwise.
CHARACTERS_PER_TOKEN = 32
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class TransformerEncoder:
    """A Hugging Face transformer with mean or CLS pooling (protocol `types.Encoder`).

    folder (Path): An encoder folder, as `SentenceTransformer(path)` loads it.
    dtype (str): "auto", "float32" or "bfloat16"; "auto" takes what the processor is fast at.
    RAISES (TermlinkError): TL301, TL302, TL303 for a folder that cannot be used.
    """

    def __init__(self, folder: Path, *, dtype: str = "auto") -> None:
        self.path = folder
        self.dtype = choose_dtype() if dtype == "auto" else dtype
        self._files, self.settings = read_settings(folder)
        weight_files(self._files)
        config = read_json(require_file(self._files / "config.json"))
        self._tokenizer = load_tokenizer(self._files, self.settings.max_length)
        forward_type = DTYPES[self.dtype]
        with torch.inference_mode():
            self._forward = (
                BertForward(self._files, config, forward_type)
                if is_plain_bert(config)
                else AutoForward(self._files, forward_type)
            )
        self._fingerprint: Optional[str] = None

    @property
    def width(self) -> int:
        """Columns of an embedding, D."""
        return self._forward.width

    @property
    def fingerprint(self) -> str:
        """sha256 over weights, tokenizer and settings."""
        if self._fingerprint is None:
            digest = hashlib.sha256(repr(tuple(self.settings)).encode())
            digest.update(self._tokenizer.to_str().encode())
            for file in weight_files(self._files):
                digest.update(sha256_file(file).encode())
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def with_pooling(self, pooling: str) -> "TransformerEncoder":
        """The same weights under another pooling, "mean" or "cls"."""
        other = copy.copy(self)
        other.settings = self.settings._replace(pooling=pooling)
        other._fingerprint = None
        return other

    def encode(
        self, texts: Sequence[Text], *, progress: Optional[Callable[[int], object]] = None
    ) -> np.ndarray:
        """Embeddings of the texts, (N, D) float32 with rows of norm 1, in the order given.

        Texts are sorted by tokens, and a batch is capped by its tokens. A row depends on the other
        texts of the call by rounding only, and where the library multiplies each row of a matrix in
        the same order, as it does for BERT on the processors we know, not at all.

        texts (Sequence[Text]): Any strings, or pairs that are read together; an empty one has an
            embedding too.
        progress (Callable[[int], object]): Called with the number of texts done since the last call.
        """
        return self._encode([self._token_ids(text) for text in texts], self._pool, progress)

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Embeddings of both texts of each pair, read together, (N, 2, D) float32 of norm 1: means over
        the tokens of each, whatever the pooling; see `pool_pairs`."""
        flat = self._encode([self._token_ids(pair) for pair in pairs], pool_pairs, None, 2)
        return flat.reshape(len(pairs), 2, self.width)

    def _encode(
        self,
        ids: list[list[int]],
        pool: Pool,
        progress: Optional[Callable[[int], object]],
        n_parts: int = 1,
    ) -> np.ndarray:
        embeddings = np.empty((len(ids), n_parts * self.width), dtype=np.float32)
        lengths = [len(text) for text in ids]
        batches = token_batches(lengths, even_tokens(lengths, torch.get_num_threads()))
        for rows, encoded in self._encode_batches(partial(self._encode_batch, ids, pool), batches):
            embeddings[rows] = encoded
            if progress is not None:
                progress(len(rows))
        return embeddings

    def _encode_batches(
        self, encode: Callable[[np.ndarray], np.ndarray], batches: list[np.ndarray]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """A batch per thread, each with one thread of its own. Threads that share an operation wait
        for one another at its end, thousands of times a second, by spinning: where the processors
        are not all ours (a quota, other jobs) that costs more than all the arithmetic."""
        n_threads = torch.get_num_threads()
        if n_threads == 1:
            yield from ((rows, encode(rows)) for rows in batches)
            return
        pool = _threads(os.getpid(), n_threads)
        try:
            yield from zip(batches, pool.map(partial(_alone, encode), batches), strict=True)
        finally:  # else threads to come would start with the pool's setting
            torch.set_num_threads(n_threads)

    @torch.inference_mode()
    def _encode_batch(self, ids: list[list[int]], pool: Pool, rows: np.ndarray) -> np.ndarray:
        batch = [ids[row] for row in rows]
        if (n_tokens := sum(len(text) for text in batch)) < MIN_TOKENS:
            batch += [batch[-1]] * -(-(MIN_TOKENS - n_tokens) // len(batch[-1]))
        states = self._forward(batch)
        pooled = torch.cat(pool_groups(states, batch, pool))[: len(rows)]  # (B, ..., D)
        return torch.nn.functional.normalize(pooled, dim=-1).flatten(1).numpy()

    def save(self, folder: Path) -> None:
        """Write an encoder folder that loads with the same fingerprint."""
        folder.mkdir(parents=True, exist_ok=True)
        for file in weight_files(self._files):
            shutil.copyfile(file, folder / file.name)
        shutil.copyfile(self._files / "config.json", folder / "config.json")
        for name in (
            "tokenizer_config.json",
            "special_tokens_map.json",
            "model.safetensors.index.json",
        ):
            if (self._files / name).is_file():
                shutil.copyfile(self._files / name, folder / name)
        self._tokenizer.save(str(folder / "tokenizer.json"))
        write_settings(folder, self.settings, self.width)

    def _token_ids(self, text: Text) -> list[int]:
        return token_ids(self._tokenizer, self.settings, text)

    def _pool(self, states: torch.Tensor, ids: Sequence[Sequence[int]]) -> torch.Tensor:
        return states[:, 0] if self.settings.pooling == "cls" else states.mean(dim=1)


def pool_groups(
    states: Sequence[torch.Tensor], ids: Sequence[Sequence[int]], pool: Pool
) -> list[torch.Tensor]:
    """What a pooling makes of groups of equal length, (B, ..., D) each.

    states (Sequence[torch.Tensor]): Token states of the groups, (B, T, D).
    ids (Sequence[Sequence[int]]): Tokens of the texts, one group after the other.
    """
    made, first = [], 0
    for group in states:
        made.append(pool(group, ids[first : first + len(group)]))
        first += len(group)
    return made


def pool_pairs(states: torch.Tensor, ids: Sequence[Sequence[int]]) -> torch.Tensor:
    """Means over the tokens of both texts of pairs, (B, 2, D): the first one reaches to the special
    token that ends it, which is the one that the pair ends with.

    states (torch.Tensor): (B, T, D).
    ids (Sequence[Sequence[int]]): (B,) pairs of T tokens.
    """
    ends = torch.tensor([list(row).index(row[-1]) for row in ids], device=states.device)
    of_first = torch.arange(states.shape[1], device=states.device) <= ends[:, None]  # (B, T)
    parts = torch.stack([of_first, ~of_first], dim=1).to(states.dtype)  # (B, 2, T)
    return parts @ states / parts.sum(dim=-1, keepdim=True).clamp(min=1)


def choose_dtype() -> str:
    """bfloat16 where the processor multiplies it (AVX512_BF16, AMX), else float32."""
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        check = getattr(torch.cpu, name, None)
        if check is not None and check():
            return "bfloat16"
    return "float32"


def token_ids(tokenizer: Tokenizer, settings: EncoderSettings, text: Text) -> list[int]:
    """Ids of a text, or of two that are read together, special tokens included; cut at the maximum
    length of the tokenizer, the longer one of a pair first."""
    parts: tuple[str, ...] = (text,) if isinstance(text, str) else text
    most = tokenizer.truncation["max_length"] * CHARACTERS_PER_TOKEN
    parts = tuple(part[:most].lower() if settings.lowercase else part[:most] for part in parts)
    # lone surrogates cannot be passed on; one text at a time uses no thread pool, so that a process
    # may fork afterwards without the tokenizer's warning
    return tokenizer.encode(*(part.encode("utf8", "replace").decode("utf8") for part in parts)).ids


def load_tokenizer(folder: Path, max_length: int) -> Tokenizer:
    """The fast tokenizer, cutting at `max_length` tokens and not padding.

    A folder without tokenizer.json is converted by `transformers`.
    """
    path = folder / "tokenizer.json"
    try:
        if path.is_file():
            tokenizer = Tokenizer.from_file(str(path))
        else:
            from transformers import AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(
                folder, local_files_only=True
            ).backend_tokenizer
    except Exception as error:  # the Rust library raises bare Exception
        raise TermlinkError("TL303", path=path, reason=error) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length)
    return tokenizer


@lru_cache(maxsize=1)
def _threads(pid: int, n_threads: int) -> ThreadPoolExecutor:
    """The threads that encode. They are started once, which takes as long as a mention does, and
    again in a forked process, where they are missing."""
    return ThreadPoolExecutor(n_threads)


def _alone(encode: Callable[[np.ndarray], np.ndarray], rows: np.ndarray) -> np.ndarray:
    torch.set_num_threads(1)
    return encode(rows)


def even_tokens(lengths: Sequence[int], n_threads: int) -> int:
    """Tokens that a batch may hold, so that all threads have as much to do."""
    n_tokens = sum(lengths)
    rounds = -(-n_tokens // (n_threads * TOKENS_PER_BATCH))
    share = -(-n_tokens // max(1, rounds * n_threads))
    return max(2 * MIN_TOKENS, share + max(lengths, default=0) // 2)


def token_batches(lengths: Sequence[int], tokens_per_batch: int) -> list[np.ndarray]:
    """Rows in ascending order of length, cut so that no batch holds more tokens than allowed (a
    single longer text is a batch of its own)."""
    order = np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable")
    batches: list[np.ndarray] = []
    first, n_tokens = 0, 0
    for i, row in enumerate(order):
        if n_tokens and n_tokens + lengths[row] > tokens_per_batch:
            batches.append(order[first:i])
            first, n_tokens = i, 0
        n_tokens += lengths[row]
    if first < len(order):
        batches.append(order[first:])
    return batches
