"""An encoder that trains, and the folder it is saved to."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional

import numpy as np
import torch
from torch import Tensor

from ..encoders.bert import is_plain_bert
from ..encoders.encoder import (
    DTYPES,
    TOKENS_PER_BATCH,
    Pool,
    Text,
    choose_dtype,
    load_tokenizer,
    pool_groups,
    pool_pairs,
    token_batches,
    token_ids,
)
from ..encoders.settings import read_settings, write_settings
from ..files import atomic_folder, read_json, require_file
from .auto_stack import AutoStack
from .packed_bert import PackedBert
from .settings import ModelSettings

#: Files of the encoder that training started from and that its result needs too.
_KEPT = ("config.json", "tokenizer_config.json", "special_tokens_map.json")


class Trainable:
    """A model whose weights a training loop changes in place.

    parameters (dict[str, Tensor]): What trains, by name.
    """

    parameters: dict[str, Tensor]

    def snapshot(self) -> dict[str, Tensor]:
        """A copy of the weights, on the processor."""
        return {name: value.detach().cpu().clone() for name, value in self.parameters.items()}

    def load(self, weights: dict[str, Tensor]) -> None:
        """Put weights in place, by the names of `parameters`."""
        with torch.no_grad():
            for name, value in weights.items():
                self.parameters[name].copy_(value)


class TrainableEncoder(Trainable):
    """Texts to embeddings, with gradients.

    folder (Path): An encoder folder.
    settings (ModelSettings): Pooling and maximum length.
    device (torch.device): Where it runs.
    precision (str): "auto", "float32" or "bfloat16".
    RAISES (TermlinkError): TL301 to TL303 for a folder that cannot be used.
    """

    def __init__(
        self, folder: Path, settings: ModelSettings, *, device: torch.device, precision: str
    ) -> None:
        self.device = device
        self.precision = choose_precision(device) if precision == "auto" else precision
        self._files, self._settings = read_settings(folder)
        if settings.pooling != "encoder":
            self._settings = self._settings._replace(pooling=settings.pooling)
        self._max_length = min(settings.max_length, self._settings.max_length)
        # saved as it was: training on short names does not shorten what it can read
        self._full_tokenizer = load_tokenizer(self._files, self._settings.max_length)
        self._tokenizer = load_tokenizer(self._files, self._max_length)
        config = read_json(require_file(self._files / "config.json"))
        dtype = DTYPES[self.precision]
        self._stack = (
            PackedBert(self._files, config, device, dtype)
            if is_plain_bert(config)
            else AutoStack(self._files, device, dtype)
        )
        #: What trains, by its name in the file.
        self.parameters = {k: v for k, v in self._stack.tensors.items() if v.requires_grad}

    @property
    def width(self) -> int:
        """Columns of an embedding, D."""
        return self._stack.width

    def token_ids(self, text: Text) -> list[int]:
        """Ids of a text, or of two that are read together; see `encoders.encoder.token_ids`."""
        return token_ids(self._tokenizer, self._settings, text)

    def embed(self, ids: Sequence[Sequence[int]]) -> Tensor:
        """Embeddings of tokenised texts, (N, D) float32, of any length, in the order given."""
        cls = self._settings.pooling == "cls"
        return self._embed(ids, lambda states, _: states[:, 0] if cls else states.mean(dim=1))

    def embed_pairs(self, ids: Sequence[Sequence[int]]) -> Tensor:
        """Both texts of tokenised pairs, (N, 2, D) float32; see `encoders.encoder.pool_pairs`."""
        return self._embed(ids, pool_pairs)

    def _embed(self, ids: Sequence[Sequence[int]], pool: Pool) -> Tensor:
        groups: dict[int, list[int]] = {}
        for row, text in enumerate(ids):
            groups.setdefault(len(text), []).append(row)
        lengths = sorted(groups)
        states = self._stack({t: torch.tensor([ids[row] for row in groups[t]]) for t in lengths})
        order = [row for t in lengths for row in groups[t]]
        pooled = torch.cat(pool_groups(states, [ids[row] for row in order], pool))
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        return pooled[back.to(pooled.device)]

    def encode(
        self, texts: Sequence[Text], *, progress: Optional[Callable[[int], object]] = None
    ) -> np.ndarray:
        """Embeddings of length 1 without gradients, (N, D) float32, as a KB compares them."""
        ids = [self.token_ids(text) for text in texts]
        embeddings = np.empty((len(texts), self.width), dtype=np.float32)
        with torch.no_grad():
            for rows in token_batches([len(text) for text in ids], TOKENS_PER_BATCH):
                pooled = self.embed([ids[row] for row in rows])
                embeddings[rows] = torch.nn.functional.normalize(pooled).cpu().numpy()
                if progress is not None:
                    progress(len(rows))
        return embeddings

    def save(self, folder: Path, *, add: Callable[[Path], object]) -> None:
        """Write the encoder folder; it appears under its name only when it is whole.

        folder (Path): An old one is replaced at the end.
        add (Callable[[Path], object]): Called with the folder before it gets its name, to write what
            else belongs there.
        """
        from safetensors.torch import save_file

        with atomic_folder(folder) as part:
            tensors = {
                name: t.detach().cpu().contiguous() for name, t in self._stack.tensors.items()
            }
            save_file(tensors, part / "model.safetensors", {"format": "pt"})
            for name in _KEPT:
                if (self._files / name).is_file():
                    shutil.copyfile(self._files / name, part / name)
            # safetensors makes a file that only its owner may read
            shutil.copymode(part / "config.json", part / "model.safetensors")
            self._full_tokenizer.save(str(part / "tokenizer.json"))
            write_settings(part, self._settings, self.width)
            add(part)


def choose_precision(device: torch.device) -> str:
    """bfloat16 where the device multiplies it, else float32."""
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    return choose_dtype()
