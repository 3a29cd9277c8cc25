"""Any other architecture of Hugging Face, through AutoModel, with gradients: one pass a length, so
that nothing is padded here either."""

from pathlib import Path

import torch
from torch import Tensor

from ..encoders.weights import weight_files
from ..errors import TermlinkError


class AutoStack:
    """Token states by `transformers.AutoModel`, with dropout off.

    folder (Path): Holds config.json and the safetensors files.
    device (torch.device): Where it runs.
    dtype (torch.dtype): Of the products, by autocast; the weights stay in float32.
    RAISES (TermlinkError): TL301 or TL303 for a folder that cannot be used.
    """

    def __init__(self, folder: Path, device: torch.device, dtype: torch.dtype) -> None:
        from transformers import AutoModel

        weight_files(folder)
        self.device, self.dtype = device, dtype
        try:
            model = AutoModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, torch_dtype=torch.float32
            )
        except (OSError, ValueError) as error:
            raise TermlinkError("TL303", path=folder, reason=error) from error
        self._model = model.to(device).eval()  # no dropout; gradients flow all the same
        self.width = int(model.config.hidden_size)
        self.tensors: dict[str, Tensor] = dict(self._model.named_parameters())

    def __call__(self, ids: dict[int, Tensor]) -> list[Tensor]:
        """Token states, (B, T, D) float32 a group, as `PackedBert`."""
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            return [
                self._model(input_ids=group.to(self.device)).last_hidden_state.float()
                for group in ids.values()
            ]
