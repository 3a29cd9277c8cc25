"""The T5 reranker: asks a T5 about each candidate whether it is what the mention names (seed 003)."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, Optional

import numpy as np
import torch

from ..encoders import find_encoder
from ..encoders.encoder import token_batches
from ..encoders.weights import weight_files
from ..errors import TermlinkError
from ..files import sha256_file
from ..types import NAMED, Candidate, KnowledgeBase
from .cross_encoder import is_doubtful, reorder
from .groups import LIKELY
from .prompts import LANGUAGES, PromptEncoder
from .rerankers import FILE, FOLDER, read_about
from .t5_blend import Blend
from .t5_fields import Fields
from .t5_model import YesNoModel
from .t5_settings import Questions

#: Registered name, which a folder's FILE says.
NAME = "spacy-termlink.T5Reranker.v1"
#: Tokens of a batch of prompts, padding left out.
TOKENS_PER_BATCH = 8192
_MAX_LENGTH = 128


class T5Reranker:
    """Orders candidates by P(yes) (protocol `types.Reranker`).

    kb (KnowledgeBase): Knows the candidates.
    folder (Path): A T5 folder.
    questions (Questions): Of the templates the first is asked.
    blend (Blend): What the answers and the recall stage's scores are worth.
    threshold (float): Probability under which a mention is NIL.
    dtype (str): "auto", "float32" or "bfloat16".
    RAISES (TermlinkError): TL635 for a template in another form. Loading, at first use: TL301, TL636 to
        TL638 for a folder or questions that cannot be used.
    """

    #: A candidate's score is its own probability: several may be right.
    every = True

    def __init__(
        self,
        kb: KnowledgeBase,
        folder: Path,
        questions: Questions,
        *,
        blend: Blend = Blend(),
        threshold: float = LIKELY,
        dtype: str = "auto",
    ) -> None:
        self.kb, self.folder, self.questions = kb, folder, questions
        self._blend, self._dtype = blend, dtype
        self.threshold = threshold
        #: Score from which the recall stage links; one on the T5's scale has to be as sure.
        self._linked = max(kb.meta.get("score_threshold", kb.meta["threshold"]), threshold)
        self._template = questions.made[0]
        self._fields = Fields(questions, [kb.terminology])

    @cached_property
    def model(self) -> YesNoModel:
        """The T5, loaded at first use."""
        return YesNoModel(
            self.folder, yes=self.questions.yes, no=self.questions.no, dtype=self._dtype
        )

    @cached_property
    def _prompts(self) -> PromptEncoder:
        return PromptEncoder(self.model.tokenizer, self.questions.max_length, [self._template])

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over weights, tokenizer, questions and blend."""
        about = repr((self.questions, tuple(self._blend)))
        digest = hashlib.sha256(about.encode("utf8"))
        digest.update(self.model.tokenizer.to_str().encode("utf8"))
        for file in weight_files(self.folder):
            digest.update(sha256_file(file).encode())
        return digest.hexdigest()[:16]

    @property
    def reads_context(self) -> bool:
        """Whether the question has the mention's sentence in it."""
        return "context" in self._template.fields

    def in_doubt(self, candidates: Sequence[Candidate]) -> bool:
        """Whether anything is proposed, unless the mention's own words name the first candidate alone.
        However far ahead, a score of the recall stage is none on the scale of the answers."""
        if candidates and self._is_named(candidates[0]):
            return is_doubtful(candidates, 0.0)
        return bool(candidates)

    def rerank(
        self,
        mentions: Sequence[str],
        candidate_lists: Sequence[Sequence[Candidate]],
        *,
        contexts: Optional[Sequence[str]] = None,
    ) -> list[list[Candidate]]:
        """See `types.Reranker`; the new scores are P(yes), or the blend's. A candidate that the mention's
        own words name keeps its score, and no other gets past it."""
        texts = contexts if contexts is not None else [""] * len(mentions)
        values = [
            self._fields.values(mention, text, candidate)
            for mention, text, candidates in zip(mentions, texts, candidate_lists, strict=True)
            for candidate in candidates
        ]
        recalled = np.array([c.score for candidates in candidate_lists for c in candidates])
        scores = iter(self._blend.probabilities(self.log_odds(values), recalled).tolist())
        return [
            reorder(
                candidates,
                np.array([next(scores) for _ in candidates]),
                named=[self._is_named(c) for c in candidates],
            )
            for candidates in candidate_lists
        ]

    def _is_named(self, candidate: Candidate) -> bool:
        """Whether the mention's own words name a candidate for certain. A corrected spelling that nothing
        confirms, "proposed, but not linked", lies under the KB's threshold: that is to be asked about."""
        return candidate.tier in NAMED and candidate.score >= self._linked

    def probabilities(self, values: Sequence[Mapping[str, str]]) -> np.ndarray:
        """P(yes) / (P(yes) + P(no)) at the first position of the decoder, (B,) float64."""
        return Blend().probabilities(self.log_odds(values), np.zeros(len(values)))

    @torch.inference_mode()
    def log_odds(self, values: Sequence[Mapping[str, str]]) -> np.ndarray:
        """Log odds of yes against no at the first position of the decoder, (B,) float64.

        Equal questions are asked once. A row depends on the other ones by rounding only.

        values (Sequence[Mapping[str, str]]): By field, for each question.
        """
        prompts = [tuple(self._prompts.encode(self._template, value)) for value in values]
        distinct = list(dict.fromkeys(prompts))
        odds = np.empty(len(distinct))
        for part in token_batches([len(prompt) for prompt in distinct], TOKENS_PER_BATCH):
            found = self.model.log_odds([distinct[row] for row in part])
            odds[part] = found.double().cpu().numpy()
        place = {prompt: i for i, prompt in enumerate(distinct)}
        rows = np.array([place[prompt] for prompt in prompts], dtype=np.int64)
        return odds[rows]


def make_t5_reranker(
    path: Optional[str] = None,
    dtype: str = "auto",
    language: Literal["en", "zh"] = "en",
    template: Optional[str] = None,
    yes: Optional[str] = None,
    no: Optional[str] = None,
) -> Callable[[KnowledgeBase], T5Reranker]:
    """`spacy-termlink.T5Reranker.v1`.

    path (Optional[str]): Folder of the reranker, or of any T5 or mT5, or a Hugging Face name in the
        local cache; None for the KB's own.
    dtype (str): See T5Reranker.
    language (str): Of template and answers, where the folder does not say what it was trained with.
    template, yes, no (Optional[str]): Asked in place of the folder's.
    """
    asked = {"template": template, "yes": yes, "no": no}
    return partial(_open, path=path, dtype=dtype, language=language, asked=asked)


def _open(
    kb: Any, *, path: Optional[str], dtype: str, language: str, asked: dict[str, Optional[str]]
) -> T5Reranker:
    if path is None and f"{FOLDER}/{FILE}" not in kb.meta["files"]:
        raise TermlinkError("TL622", kb=kb.meta.get("name", ""))
    folder = kb.path / FOLDER if path is None else find_encoder(path)
    about = _about(folder) if (folder / FILE).is_file() else _shipped(language)
    templates = (asked["template"],) if asked["template"] else tuple(about["templates"])
    questions = Questions(
        templates,
        asked["yes"] or about["yes"],
        asked["no"] or about["no"],
        about["max_length"],
        about["names"],
    )
    return T5Reranker(
        kb,
        folder,
        questions,
        blend=Blend(*about["blend"]),
        threshold=about["threshold"],
        dtype=dtype,
    )


def _shipped(language: str) -> dict[str, Any]:
    found = LANGUAGES[language]
    asked = {"max_length": _MAX_LENGTH, "names": "matched"}
    return {**found._asdict(), **asked, "blend": Blend(), "threshold": LIKELY}


def _about(folder: Path) -> dict[str, Any]:
    about = read_about(folder)
    if about["reranker"] != NAME:
        raise TermlinkError("TL621", path=folder / FILE, reason=f"it is one of {about['reranker']}")
    for name in (*Questions.__dataclass_fields__, "blend", "threshold"):
        if name not in about:
            raise TermlinkError("TL621", path=folder / FILE, reason=f"no '{name}'")
    return about
