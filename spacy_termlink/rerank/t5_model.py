"""A T5 that answers yes or no: log-probabilities of the two answers, without any generation.

C. Raffel et al.: Exploring the limits of transfer learning with a unified text-to-text transformer,
JMLR 2020; R. Nogueira et al.: Document ranking with a pretrained sequence-to-sequence model, Findings
of EMNLP 2020 (scores from two answers at the first position).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import torch
from tokenizers import Tokenizer
from torch import Tensor

from ..encoders.encoder import DTYPES, choose_dtype, load_tokenizer
from ..encoders.weights import weight_files
from ..errors import TermlinkError
from ..files import read_json, require_file

#: `model_type` of the configs that are read.
FAMILY = ("t5", "mt5", "umt5")
#: Marks of a word's beginning that some tokenizers make a token of its own.
WORD_MARKS = ("▁", "Ġ")


class YesNoModel:
    """Prompts to log-probabilities of two answers.

    folder (Path): A Hugging Face folder of a T5 or mT5 with safetensors. A folder with a vocab.txt
        and no tokenizer of T5's kind, as T5-PEGASUS has, is read with BERT's tokenizer.
    yes, no (str): The answers.
    dtype (str): Of the weights: "auto", "float32" or "bfloat16".
    device (torch.device): Where it runs.
    RAISES (TermlinkError): TL301 without safetensors, TL637 for another architecture or a folder that
        cannot be read, TL638 for answers that cannot be told apart.
    """

    def __init__(
        self,
        folder: Path,
        *,
        yes: str,
        no: str,
        dtype: str = "auto",
        device: torch.device = torch.device("cpu"),
    ) -> None:
        weight_files(folder)
        config = read_json(require_file(folder / "config.json"))
        kind = config.get("model_type")
        if kind not in FAMILY:
            reason = f"its model_type is {kind!r}, none of {', '.join(FAMILY)}"
            raise TermlinkError("TL637", path=folder, reason=reason)
        self.tokenizer = load_t5_tokenizer(folder)
        self.answers = answer_ids(self.tokenizer, yes, no)
        self.device = device
        self.module = _load(folder, DTYPES[choose_dtype() if dtype == "auto" else dtype]).to(device)
        start = self.module.config.decoder_start_token_id
        pad = self.module.config.pad_token_id
        self._start = next((each for each in (start, pad) if each is not None), 0)
        self._pad = 0 if pad is None else pad

    @property
    def table(self) -> Tensor:
        """The embedding table, (V, D)."""
        return self.module.get_input_embeddings().weight

    def log_probabilities(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """Of "yes" and "no" for each prompt, (B, 2) float32, in one pass over the whole batch.

        An answer of one token is read off the first position of the decoder. Where one has several,
        both are scored whole, each token given those before it.

        prompts (Sequence[Sequence[int]]): Token ids, (B,) lists.
        """
        states, mask = self._encode(prompts)
        if self._short:
            hidden = self._decode(states, mask, [])[:, 0]  # (B, D)
            return torch.log_softmax(self._logits(hidden), dim=-1)[:, self._picked]
        return torch.stack([self._forced(states, mask, each) for each in self.answers], dim=1)

    def log_odds(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """log P(yes) - log P(no), (B,) float32: of answers of one token without the rest of the
        vocabulary."""
        if not self._short:
            found = self.log_probabilities(prompts)
            return found[:, 0] - found[:, 1]
        states, mask = self._encode(prompts)
        logits = self._logits(self._decode(states, mask, [])[:, 0], rows=self._picked)
        return logits[:, 0] - logits[:, 1]

    @property
    def _short(self) -> bool:
        return all(len(answer) == 1 for answer in self.answers)

    @property
    def _picked(self) -> Tensor:
        return torch.tensor([answer[0] for answer in self.answers], device=self.device)

    def _encode(self, prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        ids, mask = self._padded(prompts)
        states = self.module.get_encoder()(input_ids=ids, attention_mask=mask)
        return states.last_hidden_state, mask

    def _forced(self, states: Tensor, mask: Tensor, answer: Sequence[int]) -> Tensor:
        """Log-probability of a whole answer, (B,)."""
        logits = self._logits(self._decode(states, mask, answer[:-1]))  # (B, T, V)
        wanted = torch.tensor(answer, device=self.device).expand(len(logits), -1)[:, :, None]
        return torch.log_softmax(logits, dim=-1).gather(2, wanted).sum(dim=(1, 2))

    def _decode(self, states: Tensor, mask: Tensor, before: Sequence[int]) -> Tensor:
        """States of the decoder after the start token and others, (B, T, D)."""
        given = torch.tensor([self._start, *before], device=self.device)
        return self.module.get_decoder()(
            input_ids=given.expand(len(mask), -1),
            encoder_hidden_states=states,
            encoder_attention_mask=mask,
            use_cache=False,
        ).last_hidden_state

    def _logits(self, hidden: Tensor, rows: Optional[Tensor] = None) -> Tensor:
        """Logits of the vocabulary, or of some rows of it, in float32: in bfloat16 candidates that are
        much alike would have the same score."""
        weight = self.module.lm_head.weight
        if self.module.config.tie_word_embeddings:  # as T5 does
            hidden = hidden * self.module.config.d_model**-0.5
        with torch.autocast(self.device.type, enabled=False):
            return hidden.float() @ (weight if rows is None else weight[rows]).float().T

    def _padded(self, prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        length = max(len(prompt) for prompt in prompts)
        ids = torch.full((len(prompts), length), self._pad)
        mask = torch.zeros((len(prompts), length), dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt)] = torch.tensor(prompt)
            mask[row, : len(prompt)] = 1
        return ids.to(self.device), mask.to(self.device)


def answer_ids(tokenizer: Tokenizer, yes: str, no: str) -> tuple[list[int], list[int]]:
    """Token ids of both answers, a mark of the word's beginning that is a token of its own left out.

    RAISES (TermlinkError): TL638 for one that is empty or not in the vocabulary, or if one begins
        with the other.
    """
    found = []
    for text in (yes, no):
        encoding = tokenizer.encode(text, add_special_tokens=False)
        ids, tokens = list(encoding.ids), encoding.tokens
        if len(ids) > 1 and tokens[0] in WORD_MARKS:
            ids = ids[1:]
        unknown = _unknown_id(tokenizer)
        if not ids or unknown in ids:
            reason = "is empty" if not ids else "has a character that the tokenizer does not know"
            raise TermlinkError("TL638", yes=yes, no=no, reason=f"'{text}' {reason}")
        found.append(ids)
    first, second = found
    n = min(len(first), len(second))
    if first[:n] == second[:n]:
        raise TermlinkError("TL638", yes=yes, no=no, reason="one begins with the other")
    return first, second


def load_t5_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder, neither cutting nor padding.

    RAISES (TermlinkError): TL637 if there is none that can be read.
    """
    if not (folder / "tokenizer.json").is_file() and (folder / "vocab.txt").is_file():
        from transformers import BertTokenizerFast

        tokenizer = BertTokenizerFast.from_pretrained(
            folder, local_files_only=True
        ).backend_tokenizer
        tokenizer.no_padding()
    else:
        try:
            tokenizer = load_tokenizer(folder, 1 << 30)
        except TermlinkError as error:
            raise TermlinkError("TL637", path=folder, reason=error.values["reason"]) from error
    tokenizer.no_truncation()
    return tokenizer


def _unknown_id(tokenizer: Tokenizer) -> Any:
    names = ("<unk>", "[UNK]")
    return next((i for i in map(tokenizer.token_to_id, names) if i is not None), None)


def _load(folder: Path, dtype: torch.dtype) -> Any:
    from safetensors import SafetensorError
    from transformers import AutoModelForSeq2SeqLM

    try:
        module = AutoModelForSeq2SeqLM.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, torch_dtype=dtype
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        raise TermlinkError("TL637", path=folder, reason=reason) from error
    return module.eval()
