"""`termlink train-reranker`: a reranker from a KB's synonyms and annotated mentions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ._common import note, print_table, progress, save_json


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

    kb = open_kb(into) if into else None
    world = World(settings.run.device)
    try:
        data = read_lists(settings, progress=lambda name, n: note(f"{name}: {n:,} mentions"))
        with progress(total=settings.run.max_steps, desc="Training", unit="steps") as bar:

            def report(event: Mapping[str, Any]) -> None:
                text = f"loss {event['loss']:.3f}, {event['texts_per_second']:.0f} texts/s"
                bar.set_postfix_str(text, refresh=False)
                bar.update(event["step"] - bar.n)

            make = rerankers.get(settings.run.kind)
            shown = report if world.is_first else None
            trainer = make(settings, data, world=world, report=shown)
            figures = trainer.run(out, resume=resume)
    finally:
        world.close()
    if world.is_first:
        if kb is not None:
            add_reranker(kb, out)
        _print(figures, out, to_stdout=str(json_path) == "-")
        save_json(json_path, dict(figures))


def _print(figures: Mapping[str, Any], out: Path, *, to_stdout: bool) -> None:
    if figures["best"] is not None and not to_stdout:
        names = list(figures["best"])
        rows = [
            ["start", *(f"{figures['first'][name]:.4f}" for name in names)],
            [f"step {figures['best_step']}", *(f"{figures['best'][name]:.4f}" for name in names)],
        ]
        print_table(["dev", *names], rows)
    seconds = max(figures["train_seconds"], 1e-9)
    note(
        f"{out}: {figures['step']:,} steps, {figures['texts']:,} texts in {seconds:.0f} s "
        f"({figures['texts'] / seconds:.0f} a second), scores in {figures['dev_seconds']:.0f} s."
    )
