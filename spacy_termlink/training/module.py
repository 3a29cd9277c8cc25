"""An encoder that trains, as a torch module: what thinc's PyTorch wrapper takes."""

import hashlib
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from .model import TrainableEncoder


class EncoderModule(torch.nn.Module):
    """Tokenised texts to embeddings of length 1, (N, D), as a KB compares them.

    encoder (TrainableEncoder): Its parameters are the module's, under the names of their file with
        "/" for ".", which torch keeps for modules in modules.
    """

    def __init__(self, encoder: TrainableEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        for name, value in encoder.parameters.items():
            # the tensor that the forward pass reads is itself a Parameter
            self.register_parameter(name.replace(".", "/"), cast(torch.nn.Parameter, value))

    def forward(self, ids: Sequence[Sequence[int]]) -> Tensor:
        """Embeddings of texts, tokenised by `encoder.token_ids`."""
        return torch.nn.functional.normalize(self.encoder.embed(ids), dim=-1)

    def digest(self) -> str:
        """Equal for equal weights."""
        digest = hashlib.blake2b(digest_size=16)
        for name, value in self.named_parameters():
            digest.update(name.encode())
            # 0.0 for -0.0, which an optimiser with a rate of 0 makes of it
            digest.update((value.detach() + 0.0).cpu().contiguous().numpy().data)
        return digest.hexdigest()
