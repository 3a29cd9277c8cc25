"""Encoders: texts to embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Union

from ..errors import TermlinkError
from ..files import restore_folder

if TYPE_CHECKING:
    from .encoder import TransformerEncoder
    from .static import StaticEncoder

__all__ = ["find_encoder", "load_encoder"]


def load_encoder(
    path_or_name: Union[str, Path], *, dtype: str = "auto"
) -> Union[TransformerEncoder, StaticEncoder]:
    """Load an encoder; nothing is downloaded.

    path_or_name (str, Path): An encoder folder, or a Hugging Face name that is in the local cache.
    dtype (str): "auto" (what the processor is fast at), "float32" or "bfloat16"; a static encoder is
        float32.
    RAISES (TermlinkError): TL300 if it is neither; TL301 to TL303 if it cannot be used.
    """
    folder = find_encoder(path_or_name)
    from .static import StaticEncoder, static_path

    if static_path(folder) is not None:
        return StaticEncoder(folder)
    # torch takes a second to import: after the path is known to be right
    from .encoder import TransformerEncoder

    return TransformerEncoder(folder, dtype=dtype)


def find_encoder(path_or_name: Union[str, Path]) -> Path:
    """Folder of an encoder.

    path_or_name (str, Path): An encoder folder, or a Hugging Face name that is in the local cache.
    RAISES (TermlinkError): TL300 if it is neither.
    """
    folder = Path(path_or_name)
    restore_folder(folder)
    return folder if folder.is_dir() else _cached(str(path_or_name))


def _cached(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError) as error:
        raise TermlinkError("TL300", name=name) from error
