"""Trains a cross-encoder: see `cross_encoder`. What the recall stage's scores are worth is fitted first;
the encoder learns what they leave open; how much of it counts is fitted on the dev lists.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Literal, NamedTuple, Optional

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from ..encoders import find_encoder
from ..errors import TermlinkError
from ..training.loop import Loop, Report
from ..training.model import TrainableEncoder
from ..training.settings import AT_LEAST_0, ModelSettings, read_settings, setting
from ..training.world import World
from .config import RerankConfig
from .cross_encoder import NAME, SCALE, is_doubtful, make_pair
from .lists import ListData, MentionList
from .rerankers import write_about
from .trainer import RerankModel, RerankTrainer

HEAD, BIAS = "reranker.head", "reranker.bias"
#: Lists whose mean is the bias that training starts with.
N_FIRST = 64
#: Logarithm of the weight and the bias -weight * nil that the fit starts from, and what keeps it near them
#: where the lists do not tell: all scores equal, or no list without a right candidate.
START, PENALTY = np.array([2.5, -7.5]), 1e-5
#: Shares of z that are tried on the dev lists.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


class FittedScores(NamedTuple):
    """What a score of the recall stage is worth: u = weight (score - nil).

    weight (float): Above 0.
    nil (float): Score at which a candidate is worth as much as NIL.
    """

    weight: float
    nil: float

    def sums(self, scores: Sequence[float]) -> np.ndarray:
        """u of scores, (K,)."""
        return self.weight * (np.array(scores) - self.nil)


@dataclass(frozen=True)
class CrossModelSettings:
    """[reranker.model] of a cross-encoder.

    encoder (str): Encoder folder that it starts from, or a Hugging Face name in the local cache.
    max_length (int): Tokens of a pair, special tokens included.
    names (str): "matched" reads a candidate's matched name, "both" its preferred one, too.
    context (bool): Read the mention's sentence.
    margin (float): A first candidate that is as far ahead is not in doubt, and not reranked.
    frozen_layers (int): Layers, from the embeddings on, whose weights stay; -1 trains those, too.
    """

    encoder: str = setting()
    max_length: int = setting(48, (lambda value: value >= 8, "a whole number, 8 or more"))
    names: Literal["matched", "both"] = "both"
    context: bool = False
    margin: float = setting(0.2, AT_LEAST_0)
    frozen_layers: int = setting(-1, (lambda value: value >= -1, "a whole number, -1 or more"))


class TrainableCrossEncoder(RerankModel):
    """A cross-encoder with gradients.

    settings (CrossModelSettings): What it reads.
    fitted (FittedScores): What the recall stage's scores are worth; it does not change.
    """

    def __init__(
        self,
        settings: CrossModelSettings,
        fitted: FittedScores,
        *,
        device: torch.device,
        precision: str,
    ) -> None:
        self.settings, self._fitted = settings, fitted
        self._encoder = TrainableEncoder(
            find_encoder(settings.encoder),
            ModelSettings(encoder=settings.encoder, max_length=settings.max_length),
            device=device,
            precision=precision,
        )
        self.precision = self._encoder.precision
        self._head = torch.nn.Parameter(torch.ones(self._encoder.width, device=device))
        self._bias = torch.nn.Parameter(torch.zeros(1, device=device))
        trained = {
            name: value
            for name, value in self._encoder.parameters.items()
            if _layer_of(name) >= settings.frozen_layers or settings.frozen_layers < 0
        }
        for name, value in self._encoder.parameters.items():
            value.requires_grad_(name in trained)
        self.parameters = {**trained, HEAD: self._head, BIAS: self._bias}

    def start(self, lists: Sequence[MentionList]) -> None:
        """Set the bias so that z is 0 on average, over the candidates of some lists."""
        with torch.no_grad():
            z = np.concatenate(self._read_all(lists))
            self._bias.add_(float(z.mean()) / SCALE)

    def add_gradients(
        self, lists: Sequence[MentionList], *, number: int, scale: float
    ) -> tuple[float, int]:
        """Listwise softmax over the candidates and NIL; -log of the share of the right ones."""
        z = self._read(lists).split([len(found.candidates) for found in lists])
        losses = []
        for found, part in zip(lists, z, strict=True):
            u = torch.cat([part + self._base(found), part.new_zeros(1)])
            right = torch.tensor([*found.right, not any(found.right)], device=u.device)
            losses.append(u.logsumexp(dim=0) - u[right].logsumexp(dim=0))
        loss = torch.stack(losses).sum()
        (loss * scale).backward()
        return float(loss.detach()), len(torch.cat(z))

    def values(self, lists: Sequence[MentionList]) -> list[np.ndarray]:
        """u of the candidates of each list."""
        read = self._read_all(lists)
        return [self._base(found).cpu().numpy() + z for found, z in zip(lists, read, strict=True)]

    def save(self, folder: Path, data: ListData, *, add: Callable[[Path], Any]) -> None:
        """Write the folder, with the share of z that is best on the dev lists."""
        share = self._best_share(data.dev)

        def more(part: Path) -> None:
            values = {
                **self._fitted._asdict(),
                "share": share,
                "head": self._head.detach().cpu().tolist(),
                "bias": float(self._bias.detach()),
                "names": self.settings.names,
                "context": self.settings.context,
                "margin": self.settings.margin,
            }
            write_about(part, NAME, values)
            add(part)

        self._encoder.save(folder, add=more)

    def _best_share(self, dev: Sequence[MentionList]) -> float:
        """The share with the least loss on the dev lists; 1 without any."""
        if not dev:
            return 1.0
        read = self._read_all(dev)

        def loss(share: float) -> float:
            total = 0.0
            for found, z in zip(dev, read, strict=True):
                sums = np.append(self._base(found).cpu().numpy() + share * z, 0.0)
                total += list_loss(sums, np.array([*found.right, not any(found.right)]))
            return total

        return min(SHARES, key=loss)

    def _base(self, found: MentionList) -> Tensor:
        base = self._fitted.sums([c.score for c in found.candidates])
        return torch.from_numpy(base).float().to(self._head.device)

    def _read(self, lists: Sequence[MentionList]) -> Tensor:
        """z of all candidates, one list after the other."""
        pairs = [
            make_pair(
                found.mention,
                found.context if self.settings.context else "",
                candidate,
                names=self.settings.names,
            )
            for found in lists
            for candidate in found.candidates
        ]
        halves = self._encoder.embed_pairs([self._encoder.token_ids(pair) for pair in pairs])
        first, second = F.normalize(halves, dim=-1).unbind(dim=1)
        return SCALE * ((first * second) @ self._head - self._bias)

    @torch.no_grad()
    def _read_all(self, lists: Sequence[MentionList], n: int = 16) -> list[np.ndarray]:
        """z of each list."""
        found: list[np.ndarray] = []
        for start in range(0, len(lists), n):
            part = lists[start : start + n]
            sizes = [len(each.candidates) for each in part]
            found += [z.cpu().numpy() for z in self._read(part).split(sizes)]
        return found


def fit_scores(lists: Sequence[MentionList]) -> FittedScores:
    """Weight and NIL by conditional logit: the least mean of -log of the softmax share of the right
    candidates, of NIL where there is none."""
    from scipy.optimize import minimize

    most = max(len(found.candidates) for found in lists)
    scores = np.full((len(lists), most), -np.inf)  # (B, K)
    right = np.zeros((len(lists), most + 1), dtype=bool)
    for i, found in enumerate(lists):
        scores[i, : len(found.candidates)] = [c.score for c in found.candidates]
        right[i, : len(found.right)] = found.right
    right[:, most] = ~right.any(axis=1)  # the last column is NIL

    def loss(values: np.ndarray) -> float:
        sums = np.append(np.exp(values[0]) * scores + values[1], np.zeros((len(lists), 1)), axis=1)
        of_right = np.where(right, sums, -np.inf)
        losses = np.logaddexp.reduce(sums, axis=1) - np.logaddexp.reduce(of_right, axis=1)
        return float(losses.mean() + PENALTY * ((values - START) ** 2).sum())

    log_weight, bias = minimize(loss, START, method="Nelder-Mead").x.tolist()
    weight = float(np.exp(log_weight))
    return FittedScores(weight, -bias / weight)


def list_loss(sums: np.ndarray, right: np.ndarray) -> float:
    """-log of the softmax share of the right ones."""
    return float(np.logaddexp.reduce(sums) - np.logaddexp.reduce(sums[right]))


def lists_to_read(lists: Sequence[MentionList], *, context: bool) -> list[MentionList]:
    """The lists that a reranker may get, each once: equal mentions come again and again, and one that a
    name alone has found is not in doubt.

    context (bool): Equal mentions of two sentences are two.
    """
    kept: dict[Any, MentionList] = {}
    for found in lists:
        if is_doubtful(found.candidates, inf):
            own = found if context else found._replace(context="")
            kept.setdefault((own.mention.casefold(), *own[1:]), own)
    return list(kept.values())


def make_cross_trainer(
    config: RerankConfig,
    data: ListData,
    *,
    world: World,
    report: Optional[Report] = None,
) -> Loop:
    """Kind "cross-encoder" of rerankers.

    config (RerankConfig): What to do; its model is a CrossModelSettings.
    data (ListData): What to train on.
    RAISES (TermlinkError): TL411 for a setting that does not fit, TL300 to TL303 for the encoder, TL623
        where no list is left to learn from.
    """
    settings = read_settings(CrossModelSettings, config.model, "reranker.model")
    data = ListData(
        lists_to_read(data.lists, context=settings.context),
        lists_to_read(data.dev, context=settings.context),
        seed=config.run.seed,
        about=data.about,
    )
    if not data.lists:
        raise TermlinkError("TL623", names=", ".join(config.data))
    model = TrainableCrossEncoder(
        settings, fit_scores(data.lists), device=world.device, precision=config.run.precision
    )
    model.start(data.batch(0, min(N_FIRST, len(data.lists))))
    return RerankTrainer(config, data, model, world=world, report=report)


def _layer_of(name: str) -> int:
    """Layer of a weight of BERT, counted from 0; -1 for the embeddings, a high one for all others."""
    parts = name.split(".")
    if "layer" in parts:
        return int(parts[parts.index("layer") + 1])
    return -1 if "embeddings" in parts else 1_000_000
