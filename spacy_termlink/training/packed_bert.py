"""BERT without padding, with gradients: what `encoders.bert` computes, on weights that train.

Weights stay in float32 under the names of their file, and are cast where the layers run in bfloat16.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from ..encoders.bert import Group, group_lengths
from ..encoders.weights import load_weights
from ..errors import TermlinkError


class PackedBert:
    """The encoder stack of BERT, with dropout off.

    folder (Path): Holds the safetensors files.
    config (dict): Its config.json.
    device (torch.device): Where it runs.
    dtype (torch.dtype): Of the layers' activations.
    RAISES (TermlinkError): TL301 or TL303 for weights that cannot be used.
    """

    def __init__(
        self, folder: Path, config: dict[str, Any], device: torch.device, dtype: torch.dtype
    ) -> None:
        self.device, self.dtype = device, dtype
        self.width = int(config["hidden_size"])
        self._n_layers = int(config["num_hidden_layers"])
        self._n_heads = int(config["num_attention_heads"])
        self._eps = float(config.get("layer_norm_eps", 1e-12))
        weights = load_weights(folder)
        self._prefix = "bert." if "bert.embeddings.word_embeddings.weight" in weights else ""
        #: Every tensor of the file, those too that this forward pass does not read (a pooler, ids).
        self.tensors: dict[str, Tensor] = {}
        for name, value in weights.items():
            used = name.removeprefix(self._prefix).startswith(("embeddings.", "encoder."))
            if used and value.is_floating_point():
                value = torch.nn.Parameter(value.to(device, torch.float32).clone())
            self.tensors[name] = value
        try:
            with torch.no_grad():
                self({1: torch.zeros((1, 1), dtype=torch.long)})
        except KeyError as error:
            raise TermlinkError("TL303", path=folder, reason=f"no weight {error}") from error

    def __call__(self, ids: dict[int, Tensor]) -> list[Tensor]:
        """Token states, (B, T, D) float32 a group.

        ids (dict[int, Tensor]): By number of tokens T, the ids of the texts that long, (B, T).
        """
        groups = _groups(ids)
        flat = torch.cat([group.flatten() for group in ids.values()]).to(self.device)
        places = torch.cat([torch.arange(t).repeat(len(group)) for t, group in ids.items()])
        x = self._embed(flat, places.to(self.device))
        for i in range(self._n_layers):
            x = self._layer(f"encoder.layer.{i}.", x, groups)
        parts = x.split([n * t for _, n, t in groups])
        return [
            part.view(n, t, self.width).float()
            for part, (_, n, t) in zip(parts, groups, strict=True)
        ]

    def _embed(self, flat: Tensor, places: Tensor) -> Tensor:
        words = F.embedding(flat, self._weight("embeddings.word_embeddings.weight"))
        positions = F.embedding(places, self._weight("embeddings.position_embeddings.weight"))
        # one segment: its embedding is the same for every token
        segment = self._weight("embeddings.token_type_embeddings.weight")[0]
        return self._norm("embeddings.LayerNorm", words + positions + segment).to(self.dtype)

    def _layer(self, name: str, x: Tensor, groups: Sequence[Group]) -> Tensor:
        parts = [f"{name}attention.self.{part}" for part in ("query", "key", "value")]
        attended = self._attend(self._linear(parts, x), groups)
        attended = self._linear([f"{name}attention.output.dense"], attended)
        x = self._norm(f"{name}attention.output.LayerNorm", x + attended)
        hidden = F.gelu(self._linear([f"{name}intermediate.dense"], x))
        hidden = self._linear([f"{name}output.dense"], hidden)
        return self._norm(f"{name}output.LayerNorm", x + hidden)

    def _attend(self, qkv: Tensor, groups: Sequence[Group]) -> Tensor:
        # split, not slices: a slice's gradient is a whole matrix of zeros around it
        out = []
        rows = qkv.split([n * n_tokens for _, n, n_tokens in groups])
        for part, (_, n, n_tokens) in zip(rows, groups, strict=True):
            shape = (n, n_tokens, 3, self._n_heads, self.width // self._n_heads)
            query, key, value = part.view(shape).permute(2, 0, 3, 1, 4).unbind()
            context = attention(query, key, value)  # (B, heads, T, head)
            out.append(context.transpose(1, 2).reshape(n * n_tokens, self.width))
        return torch.cat(out)

    def _linear(self, names: Sequence[str], x: Tensor) -> Tensor:
        """Linear layers side by side, as one matrix product."""
        parts = []
        for kind in ("weight", "bias"):
            values = [self._weight(f"{name}.{kind}").to(self.dtype) for name in names]
            parts.append(torch.cat(values) if len(values) > 1 else values[0])
        return F.linear(x, *parts)

    def _norm(self, name: str, x: Tensor) -> Tensor:
        weight, bias = (self._weight(f"{name}.{p}").to(x.dtype) for p in ("weight", "bias"))
        return F.layer_norm(x, (self.width,), weight, bias, self._eps)

    def _weight(self, name: str) -> Tensor:
        return self.tensors[self._prefix + name]


def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention of texts without padding, (B, heads, T, head) each.

    On a processor written out: torch's own kernel is made for long texts, and its gradient takes
    five to ten times as long for a name of ten tokens.
    """
    if query.device.type != "cpu":
        return F.scaled_dot_product_attention(query, key, value)
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5  # (B, heads, T, T)
    return scores.softmax(dim=-1) @ value


def _groups(ids: dict[int, Tensor]) -> list[Group]:
    return group_lengths([range(t) for t, group in ids.items() for _ in range(len(group))])
