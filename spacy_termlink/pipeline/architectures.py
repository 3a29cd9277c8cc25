"""The thinc model of a linker: its bi-encoder, from strings to embeddings."""

from typing import Any, Callable, List, Optional, Tuple

from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Floats2d

from ..errors import TermlinkError
from ..kb import TermKB
from .encoder_shim import EncoderShim

BiEncoderT = Model[List[str], Floats2d]


class EncoderRef:
    """How the model finds its encoder: the weights lie in the KB and are read at first use.

    A copy, a pickle or the bytes of the model hold no encoder; the linker that owns them binds it.

    open_kb (Optional[Callable[[], TermKB]]): Called at each prediction; None while there is no KB.
    """

    def __init__(self, open_kb: Optional[Callable[[], TermKB]] = None) -> None:
        self.open_kb = open_kb

    def kb(self) -> TermKB:
        """The KB. RAISES (TermlinkError): TL701 if the linker has none."""
        if self.open_kb is None:
            raise TermlinkError("TL701", name="term_linker")
        return self.open_kb()

    def __reduce__(self) -> Tuple[type, Tuple]:
        return EncoderRef, ()


@serialize_attr.register(EncoderRef)
def _serialize(_: EncoderRef, value: EncoderRef, name: str, model: Model) -> bytes:
    return b""


@deserialize_attr.register(EncoderRef)
def _deserialize(bound: EncoderRef, value: bytes, name: str, model: Model) -> EncoderRef:
    return bound


def build_bi_encoder() -> BiEncoderT:
    """A model over the encoder of the linker's KB, texts -> embeddings of length 1, (N, D).

    To predict, it uses the encoder of the KB. The first update reads the same weights again, to
    train them: a PyTorchShim, as in thinc's PyTorchWrapper, that is empty until then. What is saved
    of the model is a few bytes: the KB keeps the weights beside the index that was built with them.
    """
    return Model("bi_encoder", forward, attrs={"encoder": EncoderRef()}, shims=[EncoderShim()])


def forward(model: BiEncoderT, texts: List[str], is_train: bool) -> Tuple[Floats2d, Callable]:
    """Embeddings of the texts, which the encoder reads as they are: names and mentions in normal
    form. RAISES (TermlinkError): TL701 if the linker has no KB."""
    encoder = model.attrs["encoder"]
    if not is_train:
        return model.ops.asarray2f(encoder.kb().encoder.encode(texts)), lambda d_embeddings: []
    shim: Any = model.shims[0]
    if not shim.is_open:
        shim.open(encoder.kb().path / "encoder")
    embeddings, take_back = shim.embed(texts)

    def backprop(d_embeddings: Floats2d) -> List:
        take_back(d_embeddings)
        return []  # texts have no gradient

    return embeddings, backprop
