"""`termlink train`: an encoder from mined records."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from ._common import save_json

if TYPE_CHECKING:
    from ..training.settings import TrainingConfig


def train_command(
    ctx: typer.Context,
    config: Annotated[
        Path, typer.Argument(metavar="CFG", help="Training config, as configs/train_hpo.cfg.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Encoder folder to write.")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint of this encoder.")
    ] = False,
    json_path: Annotated[
        Optional[Path],
        typer.Option("--json", help="Write the figures as JSON to this file; - for stdout."),
    ] = None,
) -> None:
    """Train an encoder on mined records. Any value of the config can be given: --training.max_steps 200"""
    from ..training.config import load_config, parse_overrides

    settings = load_config(config, parse_overrides(ctx.args))
    from ..training.data import TrainingData
    from ..training.model import TrainableEncoder
    from ..training.new_encoder import start_folder
    from ..training.trainer import Trainer
    from ..training.world import World
    from ._training import make_search, print_run, reported_steps

    records = Path(settings.run.records)
    start = start_folder(settings.model.encoder, settings.new, records, settings.run.seed)
    with start as folder:
        world = World(settings.run.device)
        try:
            data = TrainingData(records, list(settings.tasks))
            model = TrainableEncoder(
                folder, settings.model, device=world.device, precision=settings.run.precision
            )
            with reported_steps(settings.run.max_steps) as report:
                trainer = Trainer(
                    settings,
                    data,
                    model,
                    world=world,
                    search=make_search(settings.refresh.index) if settings.refresh else None,
                    score=_dev_score(settings),
                    report=report if world.is_first else None,
                )
                figures = trainer.run(out, resume=resume)
        finally:
            world.close()
    if world.is_first:
        refreshed = f"{figures['refreshes']} refreshes in {figures['refresh_seconds']:.0f} s"
        print_run(figures, out, refreshed, table=str(json_path) != "-")
        save_json(json_path, {**figures, "precision": model.precision})


def _dev_score(settings: "TrainingConfig") -> Any:
    from ._training import DevScore

    if not settings.dev.every:
        return None
    beside = Path(settings.run.records).parent
    mentions = Path(settings.dev.mentions) if settings.dev.mentions else beside / "heldout.jsonl"
    return DevScore(beside / "names.jsonl", mentions, settings.dev.split or None)
