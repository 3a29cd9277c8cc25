"""Trains rerankers on lists of candidates, in the loop that encoders are trained in."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Optional

import numpy as np

from .. import __version__
from ..files import write_json
from ..training.loop import Loop, Report
from ..training.model import Trainable
from ..training.world import World
from .card import make_reranker_card
from .config import RerankConfig
from .lists import ListData, MentionList
from .rerankers import FILE


class RerankModel(Trainable):
    """A reranker that trains over lists of candidates.

    precision (str): Of its products, "float32" or "bfloat16".
    """

    precision: str

    def add_gradients(
        self, lists: Sequence[MentionList], *, number: int, scale: float
    ) -> tuple[float, int]:
        """Add `scale` times the gradients of the lists' summed loss.

        number (int): Of the batch, the key of random choices.
        RETURNS (tuple[float, int]): The summed loss, and the texts that were read.
        """
        raise NotImplementedError

    def values(self, lists: Sequence[MentionList]) -> list[np.ndarray]:
        """Of each list its candidates' values, larger is better, (K,)."""
        raise NotImplementedError

    def save(self, folder: Path, data: ListData, *, add: Callable[[Path], Any]) -> None:
        """Write the folder; it appears under its name when it is whole. `add` is called with it
        before."""
        raise NotImplementedError


class RerankTrainer(Loop):
    """Trains one reranker, from the start or from a checkpoint. With several processes each reads its
    share of a batch's lists.

    config (RerankConfig): What to do.
    data (ListData): What to train on; its dev lists give the scores.
    model (RerankModel): Where to start; changed in place.
    """

    SECTION: ClassVar[str] = "reranker"
    MARK: ClassVar[str] = FILE
    KIND: ClassVar[str] = "reranker folder"

    def __init__(
        self,
        config: RerankConfig,
        data: ListData,
        model: RerankModel,
        *,
        world: World,
        report: Optional[Report] = None,
    ) -> None:
        super().__init__(
            config.run,
            config.optimizer,
            config.dev,
            model,
            world=world,
            raw=config.raw,
            data_sha256=data.sha256,
            scored=bool(config.dev.every and data.dev),
            report=report,
        )
        self.config, self.data, self.model = config, data, model

    def _gradients(self, number: int) -> tuple[str, float, int]:
        import torch

        size = self.config.run.batch_size
        batch = self.data.batch(number, size)
        own = batch[self.world.share(size)]
        scale = 1 / (size * self.config.run.accumulate)
        loss, n_texts = self.model.add_gradients(own, number=number, scale=scale)
        part = torch.tensor([loss, float(n_texts)], device=self.world.device)[None]
        total = self.world.gather(part, self.world.size).sum(dim=0).tolist()
        return self.config.run.kind, total[0] / size, int(total[1])

    def _figures(self) -> Mapping[str, float]:
        """Hits@1 and MRR of the dev lists that have a right candidate."""
        lists = [found for found in self.data.dev if any(found.right)]
        ranks = []
        for found, values in zip(lists, self.model.values(lists), strict=True):
            order = np.argsort(-values, kind="stable")
            ranks.append(1 + int(np.flatnonzero(np.array(found.right)[order])[0]))
        first = float(np.mean([rank == 1 for rank in ranks])) if ranks else 0.0
        return {"hits@1": first, "mrr": float(np.mean([1 / r for r in ranks])) if ranks else 0.0}

    def _write(self, out: Path, figures: Mapping[str, Any], log: Path) -> None:
        summary = {
            "termlink_version": __version__,
            "config": self.config.raw,
            "data_sha256": self.data.sha256,
            "data": self.data.about,
            "precision": self.model.precision,
            "figures": dict(figures),
        }

        def add(folder: Path) -> None:
            write_json(folder / "training.json", summary)
            shutil.copyfile(log, folder / "log.jsonl")
            (folder / "README.md").write_text(make_reranker_card(summary), encoding="utf8")

        self.model.save(out, self.data, add=add)
