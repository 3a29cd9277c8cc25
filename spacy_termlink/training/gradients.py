"""The gradient of a batch, however large it is (gradient caching, Gao et al. 2021).

The loss needs all embeddings at once, but not all activations: the texts are encoded without
gradients, the loss gives a gradient for each embedding, and then each chunk is encoded again and
takes its embeddings' gradients back. A batch of one chunk is encoded once.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ..encoders.encoder import token_batches
from .batches import Batch
from .losses import Loss
from .model import TrainableEncoder
from .world import World


def add_gradients(
    model: TrainableEncoder,
    batch: Batch,
    ids: Sequence[Sequence[int]],
    loss: Loss,
    *,
    normalize: bool = False,
    scale: float = 1.0,
    chunk_tokens: int = 0,
    world: World,
) -> float:
    """Add the gradient of `scale` times the loss of a batch to the parameters.

    With several processes each adds the part of its own texts; see `World.sum_gradients`.

    model (TrainableEncoder): Encodes the texts.
    batch (Batch): Texts and masks.
    ids (Sequence[Sequence[int]]): Tokens of the batch's texts, (U,) lists.
    loss (Loss): Function of the embeddings.
    normalize (bool): Give the loss embeddings of length 1.
    scale (float): 1 / batches in an update.
    chunk_tokens (int): Tokens encoded at once, at most; 0 is all.
    world (World): The processes.
    RETURNS (float): The loss.
    """
    order = np.argsort([len(text) for text in ids], kind="stable")
    own = order[world.share(len(order))]
    chunks = _chunks([len(ids[row]) for row in own], chunk_tokens)
    kept = len(chunks) == 1
    with torch.set_grad_enabled(kept):
        parts = [model.embed([ids[row] for row in own[chunk]]) for chunk in chunks]
    sorted_rows = world.gather(torch.cat(parts).detach() if parts else _none(model), len(order))
    embeddings = torch.empty_like(sorted_rows)
    embeddings[torch.from_numpy(order).to(embeddings.device)] = sorted_rows
    embeddings.requires_grad_()
    value = batch_loss(embeddings, batch, loss, normalize=normalize)
    (value * scale).backward()
    assert embeddings.grad is not None
    back = embeddings.grad[torch.from_numpy(own).to(embeddings.device)]
    for i, chunk in enumerate(chunks):
        part = parts[i] if kept else model.embed([ids[row] for row in own[chunk]])
        part.backward(back[torch.from_numpy(chunk).to(back.device)])
    return float(value.detach())


def _chunks(lengths: Sequence[int], chunk_tokens: int) -> list[np.ndarray]:
    if not lengths:
        return []
    if not chunk_tokens or sum(lengths) <= chunk_tokens:
        return [np.arange(len(lengths))]
    return token_batches(lengths, chunk_tokens)


def _none(model: TrainableEncoder) -> Tensor:
    return torch.empty((0, model.width), device=model.device)


def batch_loss(embeddings: Tensor, batch: Batch, loss: Loss, *, normalize: bool = False) -> Tensor:
    """The loss of a batch, a scalar with its graph.

    embeddings (Tensor): Of the batch's texts, (U, D).
    batch (Batch): Which of them are anchors and columns, and the masks.
    loss (Loss): Function of the embeddings.
    normalize (bool): Give the loss embeddings of length 1.
    """
    if normalize:
        embeddings = functional.normalize(embeddings, dim=-1)
    device = embeddings.device
    rows, columns = (torch.from_numpy(each).to(device) for each in (batch.rows, batch.columns))
    positive, negative = (
        torch.from_numpy(each).to(device) for each in (batch.positive, batch.negative)
    )
    return loss(embeddings[rows], embeddings[columns], positive=positive, negative=negative)
