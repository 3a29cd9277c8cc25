"""Reading weights: safetensors only, never a pickle."""

from pathlib import Path

import torch

from ..errors import TermlinkError


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of an encoder, sorted by name.

    RAISES (TermlinkError): TL301 if there is none.
    """
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise TermlinkError("TL301", path=folder)
    return files


def load_weights(folder: Path) -> dict[str, torch.Tensor]:
    """All tensors, mapped from the files.

    RAISES (TermlinkError): TL303 for a file that is torn or none.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    weights: dict[str, torch.Tensor] = {}
    for file in weight_files(folder):
        try:
            weights.update(load_file(file))
        except (SafetensorError, OSError) as error:
            raise TermlinkError("TL303", path=file, reason=error) from error
    return weights
