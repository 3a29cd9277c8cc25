"""The static encoder: a vector a token, whatever its neighbours; no torch and no transformer.

Its folder is the one of sentence-transformers' StaticEmbedding: `model.safetensors` with
`embedding.weight`, and tokenizer.json. What a token weighs is the length of its vector.
"""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional

import numpy as np
from tokenizers import Tokenizer

from ..errors import TermlinkError
from ..files import read_json, require_file, sha256_file, write_json

MODULE = "StaticEmbedding"
WEIGHTS = "model.safetensors"
_TENSOR = "embedding.weight"
#: Texts whose vectors are added up at once, so that they stay in the cache.
BLOCK = 256
#: Characters of a text that are read, as 128 tokens of the transformer encoder: longer texts are cut.
MAX_CHARACTERS = 4096


class StaticEncoder:
    """Mean of the vectors of a text's tokens, at length 1 (protocol `types.Encoder`).

    folder (Path): An encoder folder, as `SentenceTransformer(path)` loads it.
    RAISES (TermlinkError): TL301 or TL303 for a folder that cannot be used.
    """

    dtype = "float32"

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._files = folder / (static_path(folder) or "")
        self._vectors = _load_vectors(self._files)
        tokenizer = require_file(self._files / "tokenizer.json")
        try:
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # the Rust library raises bare Exception
            raise TermlinkError("TL303", path=tokenizer, reason=error) from error
        self._tokenizer.no_padding()
        if self._tokenizer.get_vocab_size() > len(self._vectors):
            reason = f"{self._tokenizer.get_vocab_size()} tokens have {len(self._vectors)} vectors"
            raise TermlinkError("TL303", path=folder, reason=reason)
        # a text without a known character has a place, too
        unknown = self._tokenizer.token_to_id(getattr(self._tokenizer.model, "unk_token", "") or "")
        self._unknown = [unknown or 0]
        self._fingerprint: Optional[str] = None

    @property
    def width(self) -> int:
        """Columns of an embedding, D."""
        return int(self._vectors.shape[1])

    @property
    def fingerprint(self) -> str:
        """sha256 over vectors and tokenizer."""
        if self._fingerprint is None:
            digest = hashlib.sha256(MODULE.encode())
            digest.update(self._tokenizer.to_str().encode())
            digest.update(sha256_file(self._files / WEIGHTS).encode())
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def with_pooling(self, pooling: str) -> "StaticEncoder":
        """Itself for "mean".

        RAISES (TermlinkError): TL430 for "cls": token vectors know no such token.
        """
        if pooling != "mean":
            raise TermlinkError("TL430", path=self.path, pooling=pooling)
        return self

    def encode(
        self, texts: Sequence[str], *, progress: Optional[Callable[[int], object]] = None
    ) -> np.ndarray:
        """Embeddings of the texts, (N, D) float32 with rows of norm 1, in the order given; a row
        depends on its own text alone.

        progress (Callable[[int], object]): Called with the number of texts done since the last call.
        """
        embeddings = np.empty((len(texts), self.width), dtype=np.float32)
        for start in range(0, len(texts), BLOCK):
            ids = [self._token_ids(text) for text in texts[start : start + BLOCK]]
            lengths = np.array([len(text) for text in ids])
            starts = np.cumsum(lengths) - lengths
            flat = np.fromiter((i for text in ids for i in text), dtype=np.int64)
            sums = np.add.reduceat(self._vectors[flat], starts, axis=0)
            norms = np.linalg.norm(sums, axis=1, keepdims=True)
            embeddings[start : start + BLOCK] = sums / np.maximum(norms, 1e-12)
            if progress is not None:
                progress(len(ids))
        return embeddings

    def save(self, folder: Path) -> None:
        """Write an encoder folder that loads with the same fingerprint."""
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._files / WEIGHTS, folder / WEIGHTS)
        self._tokenizer.save(str(folder / "tokenizer.json"))
        _write_modules(folder)

    def _token_ids(self, text: str) -> list[int]:
        # lone surrogates cannot be passed on
        text = text[:MAX_CHARACTERS].encode("utf8", "replace").decode("utf8")
        return self._tokenizer.encode(text, add_special_tokens=False).ids or self._unknown


def static_path(folder: Path) -> Optional[str]:
    """Where the vectors of an encoder folder lie inside it; None for a folder of another kind."""
    modules = folder / "modules.json"
    if not modules.is_file():
        return None
    for module in read_json(modules):
        if str(module.get("type", "")).rsplit(".", 1)[-1] == MODULE:
            return str(module.get("path", ""))
    return None


def write_static(folder: Path, vectors: np.ndarray, tokenizer: Tokenizer) -> None:
    """Write the folder of a static encoder.

    vectors (np.ndarray): (V, D) float32, a row for each token of the vocabulary.
    tokenizer (Tokenizer): Its truncation is kept.
    """
    from safetensors.numpy import save_file

    save_file({_TENSOR: np.ascontiguousarray(vectors)}, folder / WEIGHTS, {"format": "pt"})
    tokenizer.no_padding()
    tokenizer.save(str(folder / "tokenizer.json"))
    _write_modules(folder)
    # safetensors makes a file that only its owner may read
    shutil.copymode(folder / "modules.json", folder / WEIGHTS)


def _write_modules(folder: Path) -> None:
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(((MODULE, ""), ("Normalize", "1_Normalize")))
    ]
    write_json(folder / "modules.json", modules)
    (folder / "1_Normalize").mkdir(exist_ok=True)


def _load_vectors(folder: Path) -> np.ndarray:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = folder / WEIGHTS
    if not path.is_file():
        raise TermlinkError("TL301", path=folder)
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as error:
        raise TermlinkError("TL303", path=path, reason=error) from error
    # model2vec's own files name it otherwise
    vectors = tensors.get(_TENSOR, tensors.get("embeddings"))
    if vectors is None or vectors.ndim != 2:
        raise TermlinkError("TL303", path=path, reason=f"it has no matrix '{_TENSOR}'")
    return np.ascontiguousarray(vectors, dtype=np.float32)
