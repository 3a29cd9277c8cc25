"""The thinc model of a linker that shares the transformer of its pipeline."""

import hashlib
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model, Optimizer
from thinc.types import Floats2d, Ragged

from ..encoders.settings import DEFAULT_MAX_LENGTH, EncoderSettings, write_settings
from ..errors import TermlinkError
from ..files import read_json, write_json
from .architectures import EncoderRef
from .encoder_shim import EncoderShim

#: Of a KB's encoder folder: says which weights of a shared transformer it was made from.
FILE = "shared_transformer.json"
NAME = "transformer_linker"


def build_transformer_listener(
    pooling: Model[Ragged, Floats2d], grad_factor: float = 1.0, upstream: str = "*"
) -> Model[List[Doc], List[Floats2d]]:
    """`spacy-termlink.TransformerListener.v1`: documents -> a vector for each token, (T, D), from the
    `doc._.trf_data` of a transformer component of spacy-transformers.

    pooling (Model[Ragged, Floats2d]): From the word pieces of a token to its vector.
    grad_factor (float): Factor of the gradient that goes to the transformer from the mentions.
    upstream (str): Name of the transformer component; "*" for any.
    RAISES (TermlinkError): TL734 if spacy-transformers is not installed.
    """
    try:
        from spacy_transformers.architectures import transformer_listener_tok2vec_v1
    except ImportError as error:
        raise TermlinkError("TL734") from error
    tokens = transformer_listener_tok2vec_v1(pooling, grad_factor, upstream)
    model: Model[List[Doc], List[Floats2d]] = Model(
        NAME, _forward, layers=[tokens], attrs={"encoder": EncoderRef()}, shims=[SharedShim()]
    )
    model.set_ref("listener", tokens.get_ref("listener"))
    return model


def _forward(model: Model, docs: List[Doc], is_train: bool) -> Tuple[List[Floats2d], Callable]:
    return model.layers[0](docs, is_train)


class SharedShim(EncoderShim):
    """The weights that names are encoded with: those of the transformer component, which updates and
    saves them itself.

    find (Callable[[], Any]): The component; the linker that owns the model sets it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.find: Callable[[], Any] = _nobody

    def __reduce__(self) -> Tuple[type, Tuple]:
        return SharedShim, ()

    @property
    def is_open(self) -> bool:
        """The component has the weights."""
        return True

    def open(self, folder: Path) -> None:
        """Reads nothing: there is one set of weights."""

    def close(self) -> None:
        """Forget that they have changed: the linker has another KB."""
        self.changed = False

    def embed(self, texts: List[str]) -> Tuple[Floats2d, Callable[[Floats2d], None]]:
        """Embeddings of texts, (N, D), each read alone, and the function that takes their gradient
        back to the transformer: the mean of all word pieces, as the encoder of the KB has it."""
        import torch
        from spacy_transformers.data_classes import WordpieceBatch
        from thinc.util import torch2xp, xp2torch
        from transformers.modeling_outputs import BaseModelOutput

        model = self.find().model
        tokens = model.tokenizer(
            texts, return_attention_mask=True, return_tensors="np", padding="longest",
            truncation=True, max_length=self._settings().max_length,
        )  # fmt: skip
        tokens["input_texts"] = [
            model.tokenizer.convert_ids_to_tokens(row) for row in tokens["input_ids"]
        ]
        output, backprop = model.layers[0](WordpieceBatch.from_batch_encoding(tokens), True)
        states = output.last_hidden_state  # (N, T, D)
        mask = torch.from_numpy(np.asarray(tokens["attention_mask"])).to(states)
        shares = (mask / mask.sum(dim=1, keepdim=True))[:, :, None]

        def take_back(gradient: Floats2d) -> None:
            tensor = xp2torch(gradient, device=states.device)
            gradients: Any = tensor[:, None, :] * shares
            backprop(BaseModelOutput(last_hidden_state=gradients))

        return torch2xp((states.detach() * shares).sum(dim=1)), take_back  # type: ignore[return-value]

    def finish_update(self, optimizer: Optimizer) -> None:
        """Nothing: the component does it."""

    @contextmanager
    def use_params(self, params: Dict[Any, Any]) -> Iterator[None]:
        """Note that the component's weights are others meanwhile."""
        self.changed |= bool(params)
        yield
        self.changed |= bool(params)

    def digest(self) -> str:
        """Equal for equal weights of the transformer."""
        digest = hashlib.blake2b(digest_size=32)
        for name, value in sorted(self.find().model.transformer.state_dict().items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(value.detach().cpu().float().numpy()).data)
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        """Write the transformer as an encoder folder, for the names of a KB."""
        model = self.find().model
        folder.mkdir(parents=True, exist_ok=True)
        model.transformer.save_pretrained(folder, safe_serialization=True)
        model.tokenizer.save_pretrained(folder)
        write_settings(folder, self._settings(), int(model.transformer.config.hidden_size))
        write_json(folder / FILE, {"weights": self.digest()})

    def _settings(self) -> EncoderSettings:
        config = self.find().model.transformer.config
        most = getattr(config, "max_position_embeddings", DEFAULT_MAX_LENGTH)
        return EncoderSettings(max_length=min(DEFAULT_MAX_LENGTH, most))


def read_digest(folder: Path) -> str:
    """Digest of the weights that the encoder folder of a KB was made from; "" if from no shared ones."""
    return read_json(folder / FILE)["weights"] if (folder / FILE).is_file() else ""


def _nobody() -> Any:
    raise TermlinkError("TL733", name="term_linker")
