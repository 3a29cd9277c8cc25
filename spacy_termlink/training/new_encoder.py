"""An encoder from nothing: where there is no pretrained one of the language, or no way to get it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Optional

import torch
from tokenizers import processors

from ..encoders import find_encoder
from ..encoders.from_names import make_tokenizer, token_vectors
from ..encoders.settings import EncoderSettings, write_settings
from ..files import atomic_folder, write_json
from ..mining.records import read_names, read_records
from .settings import AT_LEAST_0, AT_LEAST_1, setting

SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
           "mask_token": "[MASK]"}  # fmt: skip


@dataclass(frozen=True)
class NewEncoderSettings:
    """[training.model.new]: a BERT that is built where training starts.

    tokens (str): "words" are pieces of words (WordPiece), "characters" single characters, as Chinese
        wants them.
    vocabulary (int): Tokens, at most.
    width, heads, wide, layers (int): Columns, heads of attention, columns of the feed-forward layers,
        layers.
    max_length (int): Tokens of a text, special ones included.
    """

    tokens: Literal["words", "characters"] = "words"
    vocabulary: int = setting(8000, AT_LEAST_1)
    width: int = setting(256, AT_LEAST_1)
    heads: int = setting(4, AT_LEAST_1)
    wide: int = setting(512, AT_LEAST_1)
    layers: int = setting(2, AT_LEAST_0)
    max_length: int = setting(64, (lambda value: value >= 4, "a whole number, 4 or more"))


@contextmanager
def start_folder(
    name: str, new: Optional[NewEncoderSettings], records: Path, seed: int
) -> Iterator[Path]:
    """Folder of the encoder that training starts from; one from nothing lies there for so long.

    name (str): Folder, or name in the local cache, where `new` is None.
    records (Path): Records that are trained on: their names make the tokenizer.
    seed (int): Of the random weights.
    """
    if new is None:
        yield find_encoder(name)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "encoder"
        build_new_encoder(path, _name_groups(records), new, seed=seed)
        yield path


def build_new_encoder(
    folder: Path, groups: Sequence[Sequence[str]], settings: NewEncoderSettings, *, seed: int
) -> None:
    """Write an encoder folder with mean pooling. Tokens that come in names of the same concepts begin
    with like embeddings.

    groups (Sequence[Sequence[str]]): Names of one concept each, in a fixed order.
    """
    from transformers import BertConfig, BertModel

    tokenizer = make_tokenizer(
        [name for group in groups for name in group],
        characters=settings.tokens == "characters",
        n_tokens=settings.vocabulary,
        special=list(SPECIAL.values()),
        unknown=SPECIAL["unk_token"],
    )
    first, last = (
        (SPECIAL[name], tokenizer.token_to_id(SPECIAL[name])) for name in ("cls_token", "sep_token")
    )
    tokenizer.post_processor = processors.BertProcessing(last, first)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=settings.wide,
        max_position_embeddings=settings.max_length,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module: Any = BertModel(config, add_pooling_layer=False)
    vectors = torch.from_numpy(token_vectors(tokenizer, groups, settings.width, seed=seed))
    table = module.embeddings.word_embeddings.weight
    with torch.no_grad():
        known = vectors.norm(dim=1) > 0
        # as long as the random ones are
        table[known] = vectors[known] * table.norm(dim=1).mean()
    with atomic_folder(folder) as part:
        module.save_pretrained(part, safe_serialization=True)
        tokenizer.save(str(part / "tokenizer.json"))
        write_json(
            part / "tokenizer_config.json",
            {"tokenizer_class": "PreTrainedTokenizerFast", **SPECIAL},
        )
        write_settings(part, EncoderSettings("mean", settings.max_length), settings.width)


def _name_groups(records: Path) -> list[list[str]]:
    """The names of the terminologies and the mentions of the records, by concept."""
    groups: dict[str, dict[str, None]] = {}
    for row in read_names(records.parent / "names.jsonl"):
        groups.setdefault(row.concept_id, {})[row.text] = None
    for record in read_records(records):
        if record.anchor_concept == record.positive_concept:
            groups.setdefault(record.anchor_concept, {})[record.anchor] = None
    return [list(groups[concept_id]) for concept_id in sorted(groups)]
