"""A forward pass of BERT without padding, on the weights alone.

`transformers` costs seconds and 200 MB to import, and half of its time goes to padding, masks and
copies. Here the tokens of a batch lie end to end, (tokens, D); the linear layers see them as one
matrix, and attention runs per group of texts of equal length. Any other architecture goes through
`AutoModel` (generic.py).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812

from ..errors import TermlinkError
from .weights import load_weights

#: Rows of a full batch (tokens), for which oneDNN picks the layout of the weights.
_PACKED_FOR = 2048
#: Same length, consecutive: (first token, texts, tokens per text).
Group = tuple[int, int, int]


class Linear:
    """A linear layer, with GELU after it if wanted.

    bfloat16 weights are packed once into the blocks that oneDNN multiplies, and GELU is applied in
    the same pass. The operators are those that
    torch.compile puts in; where they are missing, the plain ones are taken.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor, *, gelu: bool = False) -> None:
        self._weight, self._bias, self._gelu = weight, bias, gelu
        self._packed = weight.dtype == torch.bfloat16 and _can_pack()
        if self._packed:
            self._weight = torch.ops.mkldnn._reorder_linear_weight(weight, _PACKED_FOR)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """(tokens, D) to (tokens, width of the layer)."""
        if self._packed:
            after, how = ("gelu", "none") if self._gelu else ("none", "")
            multiply = torch.ops.mkldnn._linear_pointwise
            return multiply(x, self._weight, self._bias, after, [], how)
        x = F.linear(x, self._weight, self._bias)
        return F.gelu(x) if self._gelu else x


class Layer(NamedTuple):
    """One layer of the stack; norms are (weight, bias)."""

    qkv: Linear
    project: Linear
    norm: tuple[torch.Tensor, torch.Tensor]
    widen: Linear
    narrow: Linear
    last_norm: tuple[torch.Tensor, torch.Tensor]


def _can_pack() -> bool:
    names = ("_is_mkldnn_bf16_supported", "_reorder_linear_weight", "_linear_pointwise")
    operators = [getattr(torch.ops.mkldnn, name, None) for name in names]
    return None not in operators and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def is_plain_bert(config: dict[str, Any]) -> bool:
    """Whether this module computes what the configuration describes."""
    return (
        config.get("model_type") == "bert"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and config.get("hidden_act", "gelu") == "gelu"
        and not config.get("is_decoder")
    )


class BertForward:
    """The encoder stack of BERT.

    folder (Path): Holds the safetensors files.
    config (dict): Its config.json.
    dtype (torch.dtype): Of the layers' weights and activations; embeddings stay as stored.
    """

    def __init__(self, folder: Path, config: dict[str, Any], dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.width = int(config["hidden_size"])
        self.n_heads = int(config["num_attention_heads"])
        self.eps = float(config.get("layer_norm_eps", 1e-12))
        weights = load_weights(folder)
        prefix = "bert." if "bert.embeddings.word_embeddings.weight" in weights else ""
        self._weights = {key.removeprefix(prefix): value for key, value in weights.items()}
        try:
            self._take(int(config["num_hidden_layers"]))
        except KeyError as error:
            raise TermlinkError("TL303", path=folder, reason=f"no weight {error}") from error
        finally:
            self._weights = {}

    def _take(self, n_layers: int) -> None:
        name = "embeddings."
        self.words = self._weights[f"{name}word_embeddings.weight"]
        self.positions = self._weights[f"{name}position_embeddings.weight"].float()
        # one segment: its embedding is the same for every token
        self.positions = self.positions + self._weights[f"{name}token_type_embeddings.weight"][0]
        self.norm = self._pair(f"{name}LayerNorm", torch.float32)
        self.layers = [self._layer(f"encoder.layer.{i}.") for i in range(n_layers)]

    def _layer(self, name: str) -> "Layer":
        parts = [self._pair(f"{name}attention.self.{p}") for p in ("query", "key", "value")]
        return Layer(
            qkv=Linear(torch.cat([w for w, _ in parts]), torch.cat([b for _, b in parts])),
            project=Linear(*self._pair(f"{name}attention.output.dense")),
            norm=self._pair(f"{name}attention.output.LayerNorm"),
            widen=Linear(*self._pair(f"{name}intermediate.dense"), gelu=True),
            narrow=Linear(*self._pair(f"{name}output.dense")),
            last_norm=self._pair(f"{name}output.LayerNorm"),
        )

    def _pair(
        self, name: str, dtype: torch.dtype | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        dtype = dtype or self.dtype
        return self._weights[f"{name}.weight"].to(dtype), self._weights[f"{name}.bias"].to(dtype)

    def __call__(self, ids: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Token states of a batch sorted by length: per group of equal length (B, T, D) float32."""
        groups = group_lengths(ids)
        flat = torch.tensor([i for text in ids for i in text])
        places = torch.tensor([place for text in ids for place in range(len(text))])
        shape = (self.width,)
        x = self.words[flat].float() + self.positions[places]  # (tokens, D)
        x = F.layer_norm(x, shape, *self.norm, self.eps).to(self.dtype)
        for layer in self.layers:
            attended = self._attend(layer.qkv(x), groups)
            x = F.layer_norm(x + layer.project(attended), shape, *layer.norm, self.eps)
            widened = layer.narrow(layer.widen(x))
            x = F.layer_norm(x + widened, shape, *layer.last_norm, self.eps)
        return [
            x[first : first + n * n_tokens].view(n, n_tokens, self.width).float()
            for first, n, n_tokens in groups
        ]

    def _attend(self, qkv: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
        head = self.width // self.n_heads
        out = qkv.new_empty((len(qkv), self.width))
        for first, n, n_tokens in groups:
            rows = slice(first, first + n * n_tokens)
            q, k, v = qkv[rows].view(n, n_tokens, 3, self.n_heads, head).permute(2, 0, 3, 1, 4)
            context = F.scaled_dot_product_attention(q, k, v)  # (B, heads, T, head)
            out[rows].view(n, n_tokens, self.n_heads, head).copy_(context.transpose(1, 2))
        return out


def group_lengths(ids: Sequence[Sequence[int]]) -> list[Group]:
    """Runs of equal length in a batch that is sorted by length."""
    groups: list[Group] = []
    first = 0
    for text in ids:
        if groups and groups[-1][2] == len(text):
            start, n, n_tokens = groups[-1]
            groups[-1] = (start, n + 1, n_tokens)
        else:
            groups.append((first, 1, len(text)))
        first += len(text)
    return groups
