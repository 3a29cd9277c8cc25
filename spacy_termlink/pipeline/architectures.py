"""The thinc model of a linker: its bi-encoder, from strings to embeddings."""

from typing import Any, Callable, List, Optional, Tuple

from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Floats2d

from ..errors import TermlinkError
from ..types import Encoder

BiEncoderT = Model[List[str], Floats2d]


class EncoderRef:
    """How the model finds its encoder: the weights lie in the KB and are read at first use.

    A copy, a pickle or the bytes of the model hold no encoder; the linker that owns them binds it.

    load (Optional[Callable[[], Encoder]]): Called at each prediction; None while there is no KB.
    """

    def __init__(self, load: Optional[Callable[[], Encoder]] = None) -> None:
        self.load = load

    def __reduce__(self) -> Tuple[type, Tuple]:
        return EncoderRef, ()


@serialize_attr.register(EncoderRef)
def _serialize(_: EncoderRef, value: EncoderRef, name: str, model: Model) -> bytes:
    return b""


@deserialize_attr.register(EncoderRef)
def _deserialize(bound: EncoderRef, value: bytes, name: str, model: Model) -> EncoderRef:
    return bound


def build_bi_encoder() -> BiEncoderT:
    """A model over the encoder of the linker's KB, texts -> embeddings, (N, D).

    It has no parameters of its own: `termlink train` trains the encoder, and the KB keeps the
    trained weights beside the index that was built with them. A pipeline is the KB plus a few bytes.
    """
    return Model("bi_encoder", forward, attrs={"encoder": EncoderRef()})


def forward(model: BiEncoderT, texts: List[str], is_train: bool) -> Tuple[Floats2d, Callable]:
    """Embeddings of the texts. RAISES (TermlinkError): TL701 if the linker has no KB."""
    load = model.attrs["encoder"].load
    if load is None:
        raise TermlinkError("TL701", name="term_linker")

    def backprop(d_embeddings: Floats2d) -> Any:
        raise TermlinkError("TL709")

    return model.ops.asarray2f(load().encode(texts)), backprop
