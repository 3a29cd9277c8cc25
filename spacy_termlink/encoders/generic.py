"""Any other architecture of Hugging Face, through AutoModel, padded and masked."""

from collections.abc import Sequence
from pathlib import Path

import torch

from ..errors import TermlinkError


class AutoForward:
    """Token states by `transformers.AutoModel`.

    folder (Path): Holds config.json and the safetensors files.
    dtype (torch.dtype): Of weights and activations.
    """

    def __init__(self, folder: Path, dtype: torch.dtype) -> None:
        from transformers import AutoModel

        try:
            self._model = AutoModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, torch_dtype=dtype
            )
        except (OSError, ValueError) as error:
            raise TermlinkError("TL303", path=folder, reason=error) from error
        self._model.eval()
        self.width = int(self._model.config.hidden_size)
        pad = self._model.config.pad_token_id
        self._pad = 0 if pad is None else pad

    def __call__(self, ids: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Token states of a batch sorted by length: per group of equal length (B, T, D) float32."""
        from .bert import group_lengths

        length = max(len(text) for text in ids)
        padded = torch.full((len(ids), length), self._pad)
        mask = torch.zeros((len(ids), length), dtype=torch.long)
        for row, text in enumerate(ids):
            padded[row, : len(text)] = torch.tensor(text)
            mask[row, : len(text)] = 1
        states = self._model(input_ids=padded, attention_mask=mask).last_hidden_state.float()
        out, row = [], 0
        for _, n, n_tokens in group_lengths(ids):
            out.append(states[row : row + n, :n_tokens])
            row += n
        return out
