"""The weights of a linker's model while it learns, as thinc's optimisers and `use_params` see them."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple, cast

from thinc.api import Optimizer, PyTorchShim
from thinc.types import ArgsKwargs, Floats2d
from thinc.util import get_torch_default_device, torch2xp, xp2torch


class EncoderShim(PyTorchShim):
    """Wraps the trainable encoder, which is read from the KB's folder at the first update.

    It serialises to nothing: the weights are saved with the KB, beside the index that fits them.

    changed (bool): The weights may be others than when this was last set to False.
    n_updates (int): Updates of the weights so far.
    """

    def __init__(self) -> None:
        super().__init__(None)
        self.changed = False
        self.n_updates = 0

    def __reduce__(self) -> Tuple[type, Tuple]:
        return EncoderShim, ()  # a copy reads the KB it is bound to

    @property
    def is_open(self) -> bool:
        """Whether there are weights to train."""
        return self._model is not None

    def open(self, folder: Path) -> None:
        """Read the weights to train, once.

        folder (Path): The encoder folder.
        RAISES (TermlinkError): TL301 to TL303 for a folder that cannot be used.
        """
        if self.is_open:
            return
        from ..training.model import TrainableEncoder
        from ..training.module import EncoderModule
        from ..training.settings import ModelSettings

        settings, device = ModelSettings(encoder=str(folder)), get_torch_default_device()
        encoder = TrainableEncoder(folder, settings, device=device, precision="auto")
        self._model = EncoderModule(encoder)

    def close(self) -> None:
        """Forget the weights: the linker has another KB."""
        self._model, self.changed = None, False

    def embed(self, texts: List[str]) -> Tuple[Floats2d, Callable[[Floats2d], None]]:
        """Embeddings of texts, (N, D), and the function that takes their gradient back."""
        ids = [self._model.encoder.token_ids(text) for text in texts]
        output, backprop = self.begin_update(ArgsKwargs(args=(ids,), kwargs={}))

        def take_back(gradient: Floats2d) -> None:
            tensor = xp2torch(gradient, device=output.device)
            backprop(ArgsKwargs(args=((output,),), kwargs={"grad_tensors": tensor}))

        return cast(Floats2d, torch2xp(output)), take_back

    def finish_update(self, optimizer: Optimizer) -> None:
        """Update the weights that have a gradient; where nothing was learned, nothing moves."""
        updated = False
        for name, value in self._named():
            if value.grad is None:
                continue
            weights, gradient = torch2xp(value.data), torch2xp(value.grad.contiguous())
            weights, _ = optimizer((self.id, name), weights, gradient)  # type: ignore[arg-type]
            value.data = xp2torch(weights, device=value.device)
            # None, not zeros: the momentum of a next batch without gold links would move them
            value.grad = None
            updated = True
        self.n_updates += updated
        self.changed |= updated

    @contextmanager
    def use_params(self, params: Dict[Any, Any]) -> Iterator[None]:
        """Put averaged weights in place. thinc's own shim looks for keys that its optimiser does not
        write, and changes nothing."""
        before = {}
        for name, value in self._named():
            if (self.id, name) in params:
                before[name] = value.data
                value.data = xp2torch(params[self.id, name], device=value.device)
        self.changed |= bool(before)
        yield
        for name, value in self._named():
            if name in before:
                value.data = before[name]
        self.changed |= bool(before)

    def digest(self) -> str:
        """Equal for equal weights."""
        return self._model.digest()

    def save(self, folder: Path) -> None:
        """Write the encoder folder."""
        self._model.encoder.save(folder, add=lambda _: None)

    def to_bytes(self) -> bytes:
        """Nothing."""
        return b""

    def from_bytes(self, bytes_data: bytes) -> "EncoderShim":
        """Reads nothing."""
        return self

    def _named(self) -> List[Tuple[str, Any]]:
        return list(self._model.named_parameters()) if self.is_open else []
