"""Trains a T5 to answer yes or no (seed 003, section 2.2): see `t5`."""

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
import torch
from torch import Tensor

from ..encoders import find_encoder
from ..encoders.encoder import DTYPES, token_batches
from ..files import atomic_folder
from ..terminology.store import Terminology
from ..training.loop import Loop, Report
from ..training.model import choose_precision
from ..training.schedule import generator
from ..training.world import World
from ..types import Candidate
from .config import RerankConfig
from .fgm import perturbed
from .lists import ListData, MentionList
from .prompts import PromptEncoder, Template
from .rerankers import write_about
from .small_t5 import SmallT5Settings, build_small_t5
from .t5 import NAME, TOKENS_PER_BATCH
from .t5_blend import fit_blend, fit_threshold
from .t5_fields import Fields
from .t5_model import YesNoModel
from .t5_settings import Questions, T5ModelSettings, read_t5_settings
from .trainer import RerankModel, RerankTrainer


class Asked(NamedTuple):
    """A prompt, and what its answer counts.

    prompt (list[int]): Token ids.
    right (bool): Whether the answer is yes.
    weight (float): Of its loss.
    """

    prompt: list[int]
    right: bool
    weight: float


class TrainableT5(RerankModel):
    """A T5 with gradients.

    settings (T5ModelSettings): What it is asked, and how it learns.
    model (YesNoModel): With weights in float32.
    precision (str): Of the products, by autocast: "float32" or "bfloat16".
    seed (int): Of what is drawn.
    nil_share (float): Share of the mentions that name nothing.
    fields (Fields): What the questions' fields become.
    """

    def __init__(
        self,
        settings: T5ModelSettings,
        model: YesNoModel,
        fields: Fields,
        *,
        precision: str,
        seed: int,
        nil_share: float,
    ) -> None:
        self.settings, self.model, self.precision = settings, model, precision
        self.questions, self._fields, self._seed = settings.questions, fields, seed
        self._nil_share = nil_share
        self._templates = self.questions.made
        self._prompts = PromptEncoder(model.tokenizer, settings.max_length, self._templates)
        self.parameters = dict(model.module.named_parameters())

    def add_gradients(
        self, lists: Sequence[MentionList], *, number: int, scale: float
    ) -> tuple[float, int]:
        """-log P of the right answers; of a list the right candidates count as much as the wrong ones
        together (seed 003 repeats them). Where FGM is wanted its gradients are added."""
        asked = [each for found in lists for each in self._draw(found, number)]
        prompts = [each.prompt for each in asked]
        device = self.model.device
        wanted = torch.tensor([int(not each.right) for each in asked], device=device)
        weights = torch.tensor([each.weight for each in asked], device=device)

        def loss() -> Tensor:
            found = self._log_probabilities(prompts).gather(1, wanted[:, None])[:, 0]
            return -(found * weights).sum()

        return self._add(loss, scale), len(asked)

    def values(self, lists: Sequence[MentionList]) -> list[np.ndarray]:
        """Log odds of yes against no, of the candidates of each list."""
        prompts = [
            self._prompt(self._templates[0], found, candidate)
            for found in lists
            for candidate in found.candidates
        ]
        odds = np.empty(len(prompts))
        if not lists:
            return []
        with torch.no_grad():
            for rows in token_batches([len(prompt) for prompt in prompts], TOKENS_PER_BATCH):
                with self._autocast():
                    found = self.model.log_odds([prompts[row] for row in rows])
                odds[rows] = found.double().cpu().numpy()
        return np.split(odds, np.cumsum([len(each.candidates) for each in lists])[:-1])

    def save(self, folder: Path, data: ListData, *, add: Callable[[Path], Any]) -> None:
        """Write the folder, which `transformers` loads, too; it appears when it is whole. On the dev lists
        is fitted what the answers and the recall stage's scores are worth."""
        odds = self.values(data.dev)
        blend = fit_blend(data.dev, odds)
        threshold = fit_threshold(data.dev, odds, blend, nil_share=self._nil_share)
        with atomic_folder(folder) as part:
            self.model.module.save_pretrained(part, safe_serialization=True)
            self.model.tokenizer.save(str(part / "tokenizer.json"))
            values = {**vars(self.questions), "blend": blend, "threshold": threshold}
            write_about(part, NAME, values)
            add(part)

    def _draw(self, found: MentionList, number: int) -> list[Asked]:
        """Some wrong candidates of a list, and right ones as often, each with a template of its own;
        equal prompts are asked once."""
        rng = generator(self._seed, "asked", number, found.mention)
        rows = np.array(found.right)
        wrong, right = np.flatnonzero(~rows), np.flatnonzero(rows)
        n = min(self.settings.negatives, len(wrong)) or 1
        drawn = [(row, False) for row in rng.permutation(wrong)[:n].tolist()]
        if len(right):
            drawn += [(row, True) for row in rng.choice(right, n).tolist()]
        templates = rng.integers(len(self._templates), size=len(drawn)).tolist()
        preferred = rng.integers(2, size=len(drawn)).astype(bool).tolist()
        counted: Counter[tuple[tuple[int, ...], bool]] = Counter()
        for (row, answer), number_of, own in zip(drawn, templates, preferred, strict=True):
            template, candidate = self._templates[number_of], found.candidates[row]
            counted[tuple(self._prompt(template, found, candidate, preferred=own)), answer] += 1
        return [
            Asked(list(prompt), answer, times / (2 * n))
            for (prompt, answer), times in counted.items()
        ]

    def _prompt(
        self,
        template: Template,
        found: MentionList,
        candidate: Candidate,
        *,
        preferred: bool = False,
    ) -> list[int]:
        values = self._fields.values(found.mention, found.context, candidate, preferred=preferred)
        return self._prompts.encode(template, values)

    def _log_probabilities(self, prompts: list[list[int]]) -> Tensor:
        with self._autocast():
            return self.model.log_probabilities(prompts)

    def _autocast(self) -> torch.autocast:
        enabled = self.precision != "float32"
        return torch.autocast(self.model.device.type, DTYPES[self.precision], enabled=enabled)

    def _add(self, loss: Callable[[], Tensor], scale: float) -> float:
        """Add the clean gradients, and the adversarial ones where they are wanted."""
        table = self.model.table
        before, table.grad = table.grad, None  # the step is along this batch's gradient alone
        value = loss()
        (value * scale).backward()
        if self.settings.fgm:
            with perturbed(table, self.settings.fgm) as moved:
                if moved:
                    (loss() * scale).backward()
        if before is not None:
            table.grad = before if table.grad is None else table.grad + before
        return float(value.detach())


def make_t5_trainer(
    config: RerankConfig, data: ListData, *, world: World, report: Optional[Report] = None
) -> Loop:
    """Kind "t5" of rerankers.

    config (RerankConfig): What to do; its model is a T5ModelSettings.
    data (ListData): What to train on.
    RAISES (TermlinkError): TL411 for a setting that does not fit, TL300, TL301, TL635 to TL638 for a
        T5 or questions that cannot be used.
    """
    settings, small = read_t5_settings(config.model)
    wanted = config.run.precision
    precision = choose_precision(world.device) if wanted == "auto" else wanted
    questions = settings.questions
    fields = Fields(questions, [])
    if fields.look_up:
        folders = dict.fromkeys(Path(source.kb) / "terminology" for source in config.data.values())
        fields = Fields(questions, [Terminology.open(folder) for folder in folders])
    model = TrainableT5(
        settings,
        _start(settings.t5, questions, small, data, world.device),
        fields,
        precision=precision,
        seed=config.run.seed,
        nil_share=config.run.nil_share,
    )
    return RerankTrainer(config, data, model, world=world, report=report)


def _start(
    name: str, questions: Questions, small: SmallT5Settings, data: ListData, device: torch.device
) -> YesNoModel:
    """The T5 that training starts from."""

    def load(folder: Path) -> YesNoModel:
        return YesNoModel(
            folder, yes=questions.yes, no=questions.no, dtype="float32", device=device
        )

    if name:
        return load(find_encoder(name))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t5"
        texts = [*questions.templates, questions.yes, questions.no]
        build_small_t5(path, _name_groups(data), texts, small)
        return load(path)


def _name_groups(data: ListData) -> list[list[str]]:
    """Names of one concept each, as far as the lists tell them."""
    groups: dict[str, dict[str, None]] = {}
    for found in data.lists:
        for candidate, right in zip(found.candidates, found.right, strict=True):
            own = groups.setdefault(candidate.concept_id, {})
            own.update(dict.fromkeys((candidate.name, candidate.matched)))
            if right:
                own[found.mention] = None
    return [list(groups[concept_id]) for concept_id in sorted(groups)]
