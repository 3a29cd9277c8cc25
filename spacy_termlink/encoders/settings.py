"""How an encoder folder says what to do around the transformer: the SentenceTransformer layout.

A folder has `modules.json` (Transformer, Pooling, perhaps Normalize), `1_Pooling/config.json` and
`sentence_bert_config.json`. A plain Hugging Face folder without them is read as mean pooling.
"""

from pathlib import Path
from typing import Any, NamedTuple

from ..errors import TermlinkError
from ..files import read_json, write_json

#: SentenceTransformer module types that are understood; embeddings are normalised in any case.
KNOWN_MODULES = ("Transformer", "Pooling", "Normalize")
POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
#: Names are short. A folder that states no maximum length is cut here.
DEFAULT_MAX_LENGTH = 128


class EncoderSettings(NamedTuple):
    """What surrounds the transformer.

    pooling (str): "mean" over all tokens, or "cls".
    max_length (int): Tokens kept of a text, special tokens included.
    lowercase (bool): Lower-case a text before tokenising it.
    """

    pooling: str = "mean"
    max_length: int = DEFAULT_MAX_LENGTH
    lowercase: bool = False


def read_settings(folder: Path) -> tuple[Path, EncoderSettings]:
    """Folder of the transformer's own files, and the settings.

    RAISES (TermlinkError): TL302 for a module or pooling that is not supported.
    """
    modules_path = folder / "modules.json"
    if not modules_path.is_file():
        return folder, EncoderSettings(max_length=_max_length(folder, {}))
    modules = read_json(modules_path)
    paths: dict[str, str] = {}
    for module in modules:
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        if kind not in KNOWN_MODULES:
            raise TermlinkError("TL302", path=folder, reason=f"module '{kind}'")
        paths[kind] = module.get("path", "")
    transformer = folder / paths.get("Transformer", "")
    sentence = transformer / "sentence_bert_config.json"
    config = read_json(sentence) if sentence.is_file() else {}
    pooling = _pooling(folder, folder / paths["Pooling"]) if "Pooling" in paths else "mean"
    max_length = _max_length(transformer, config)
    return transformer, EncoderSettings(pooling, max_length, bool(config.get("do_lower_case")))


def write_settings(folder: Path, settings: EncoderSettings, width: int) -> None:
    """Write the files that `SentenceTransformer(path)` and `read_settings` need."""
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": path,
            "type": f"sentence_transformers.models.{kind}",
        }
        for i, (kind, path) in enumerate(kinds)
    ]
    write_json(folder / "modules.json", modules)
    write_json(
        folder / "sentence_bert_config.json",
        {"max_seq_length": settings.max_length, "do_lower_case": settings.lowercase},
    )
    modes = {key: settings.pooling == value for key, value in POOLINGS.items()}
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": width, **modes})
    (folder / "2_Normalize").mkdir(exist_ok=True)


def _pooling(folder: Path, path: Path) -> str:
    config: dict[str, Any] = read_json(path / "config.json")
    chosen = [
        key for key, value in config.items() if key.startswith("pooling_mode_") and value is True
    ]
    if len(chosen) != 1 or chosen[0] not in POOLINGS:
        raise TermlinkError("TL302", path=folder, reason=f"pooling {chosen}")
    return POOLINGS[chosen[0]]


def _max_length(transformer: Path, config: dict[str, Any]) -> int:
    limit = config.get("max_seq_length") or DEFAULT_MAX_LENGTH
    positions = read_json(transformer / "config.json").get("max_position_embeddings") or limit
    return int(min(limit, positions))
