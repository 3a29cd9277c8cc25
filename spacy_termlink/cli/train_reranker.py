"""`termlink train-reranker`: a reranker from a KB's synonyms and annotated mentions."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from ._common import note, save_json


def train_reranker_command(
    ctx: typer.Context,
    config: Annotated[Path, typer.Argument(metavar="CFG", help="Config, as configs/reranker.cfg.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Reranker folder to write.")],
    into: Annotated[
        Optional[Path], typer.Option("--into", help="KB folder that gets the reranker, too.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint of this reranker.")
    ] = False,
    json_path: Annotated[
        Optional[Path],
        typer.Option("--json", help="Write the figures as JSON to this file; - for stdout."),
    ] = None,
) -> None:
    """Train a reranker on lists of candidates. Any value of the config can be given: --reranker.max_steps 200"""
    from ..rerank.config import load_rerank_config
    from ..training.config import parse_overrides

    settings = load_rerank_config(config, parse_overrides(ctx.args))
    from ..evaluation.mention_lists import read_lists
    from ..kb import add_reranker, open_kb
    from ..registry import rerankers
    from ..training.world import World
    from ._training import print_run, reported_steps

    kb = open_kb(into) if into else None
    world = World(settings.run.device)
    try:
        data = read_lists(settings, progress=lambda name, n: note(f"{name}: {n:,} mentions"))
        with reported_steps(settings.run.max_steps) as report:
            make = rerankers.get(settings.run.kind)
            shown = report if world.is_first else None
            trainer = make(settings, data, world=world, report=shown)
            figures = trainer.run(out, resume=resume)
    finally:
        world.close()
    if world.is_first:
        if kb is not None:
            if kb.calibration is not None:
                note(f"{into}: its calibration is left out; run 'termlink calibrate' again")
            add_reranker(kb, out)
        print_run(figures, out, table=str(json_path) != "-")
        save_json(json_path, dict(figures))
