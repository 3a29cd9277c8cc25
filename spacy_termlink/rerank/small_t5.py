"""A small T5 from nothing: a tokenizer trained on names, and weights drawn at random.

It lets the whole path run on any machine. In earnest, start from a pretrained T5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from tokenizers import processors

from ..encoders.from_names import make_tokenizer, token_vectors
from ..files import atomic_folder, write_json
from ..training.settings import AT_LEAST_0, AT_LEAST_1, setting

PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
SPECIAL = [PAD, END, UNKNOWN]
#: Of the matrices that make queries and keys.
ALIKE = 0.4


@dataclass(frozen=True)
class SmallT5Settings:
    """[reranker.model.small]: what is built where no T5 to start from is given.

    tokens (str): "words" are pieces of words (WordPiece), "characters" single characters, as Chinese
        wants them.
    vocabulary (int): Tokens, at most.
    width, heads, wide (int): Columns, heads of attention, columns of the feed-forward layers.
    layers, decoder_layers (int): Of encoder and decoder.
    seed (int): Of the random weights.
    """

    tokens: Literal["words", "characters"] = "words"
    vocabulary: int = setting(8000, AT_LEAST_1)
    width: int = setting(192, AT_LEAST_1)
    heads: int = setting(4, AT_LEAST_1)
    wide: int = setting(512, AT_LEAST_1)
    layers: int = setting(3, AT_LEAST_1)
    decoder_layers: int = setting(1, AT_LEAST_1)
    seed: int = setting(0, AT_LEAST_0)


def build_small_t5(
    folder: Path,
    groups: Sequence[Sequence[str]],
    questions: Sequence[str],
    settings: SmallT5Settings,
) -> None:
    """Write a folder that `YesNoModel` and `transformers` load.

    Tokens that come in names of the same concepts begin with like embeddings, and each token of the
    encoder begins by looking at like ones: of a few minutes of training most would be spent on finding
    that out.

    groups (Sequence[Sequence[str]]): Names of one concept each, in a fixed order.
    questions (Sequence[str]): Texts whose every word has to be one token: templates and answers.
    """
    from transformers import T5Config, T5ForConditionalGeneration

    names = [name for group in groups for name in group]
    tokenizer = make_tokenizer(
        names,
        characters=settings.tokens == "characters",
        n_tokens=settings.vocabulary,
        special=SPECIAL,
        unknown=UNKNOWN,
        always=questions,
    )
    end = tokenizer.token_to_id(END)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, end)]
    )
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=settings.width,
        d_kv=settings.width // settings.heads,
        num_heads=settings.heads,
        d_ff=settings.wide,
        num_layers=settings.layers,
        num_decoder_layers=settings.decoder_layers,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
        dropout_rate=0.0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        module: Any = T5ForConditionalGeneration(config)
        with torch.no_grad():  # T5 draws them with a deviation of 1, made for long pretraining
            for weight in (module.shared.weight, module.lm_head.weight):
                weight.mul_(1 / math.sqrt(settings.width))
            for block in module.encoder.block:
                attention = block.layer[0].SelfAttention
                attention.q.weight.copy_(ALIKE * torch.linalg.qr(attention.q.weight.T)[0].T)
                attention.k.weight.copy_(attention.q.weight)
    vectors = token_vectors(tokenizer, groups, settings.width, seed=settings.seed)
    with torch.no_grad():
        rows = np.flatnonzero(np.linalg.norm(vectors, axis=1) > 0)
        module.shared.weight[rows] = torch.from_numpy(vectors[rows])
    with atomic_folder(folder) as part:
        module.save_pretrained(part, safe_serialization=True)
        tokenizer.save(str(part / "tokenizer.json"))
        special = {"pad_token": PAD, "eos_token": END, "unk_token": UNKNOWN}
        write_json(
            part / "tokenizer_config.json",
            {"tokenizer_class": "PreTrainedTokenizerFast", **special},
        )
