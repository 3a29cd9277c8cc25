"""One or several processes (`torchrun`) that train as one.

Every process makes the same batches, encodes its share of the texts, and gets the embeddings of the
others; each computes the whole loss, so that negatives are shared, and sends gradients back through
its own share only. Their sum is the gradient of one process with the whole batch, for every loss.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor


class World:
    """The processes of a run.

    device (str): "auto", "cpu" or "cuda".
    """

    def __init__(self, device: str = "auto") -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
        local = int(os.environ.get("LOCAL_RANK", "0"))
        self.device = torch.device("cuda", local) if cuda else torch.device("cpu")
        if cuda:
            torch.cuda.set_device(self.device)
        if self.size > 1:
            torch.distributed.init_process_group("nccl" if cuda else "gloo")

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def share(self, n: int) -> slice:
        """What this process takes of n things: of texts sorted by length, every SIZE-th, so that all
        have as many tokens."""
        return slice(self.rank, n, self.size)

    def gather(self, own: Tensor, n: int) -> Tensor:
        """The rows of all processes, (n, ...), without gradients.

        own (Tensor): This process's rows, those of `share(n)`.
        """
        if self.size == 1:
            return own
        whole = own.new_zeros((n, *own.shape[1:]))
        whole[self.share(n)] = own
        torch.distributed.all_reduce(whole)  # the others have zeros there: exact
        return whole

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Add up the gradients of the processes, in one message."""
        if self.size == 1:
            return
        parameters = list(parameters)
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        grads: list[Any] = [parameter.grad for parameter in parameters]
        flat = torch.cat([grad.flatten() for grad in grads])
        torch.distributed.all_reduce(flat)
        for grad, part in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
            grad.copy_(part.view_as(grad))

    def wait(self) -> None:
        """Until every process is here."""
        if self.size > 1:
            torch.distributed.barrier()

    def close(self) -> None:
        """Leave the group."""
        if self.size > 1:
            with suppress(AssertionError):
                torch.distributed.destroy_process_group()
