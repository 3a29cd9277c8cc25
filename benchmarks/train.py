"""Texts per second of training, forward and backward with the update, in bfloat16 and in float32.

    python benchmarks/train.py configs/train_hpo.cfg [--steps 20] [--training.section.key value]

Both precisions train on the same batches, in turns; the best of --repeat runs counts. One refresh of
a pool of names comes before the first step, outside the time; an idle machine is assumed.
"""

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path

import torch

from spacy_termlink.cli._training import make_search
from spacy_termlink.encoders import find_encoder
from spacy_termlink.training.config import load_config, parse_overrides
from spacy_termlink.training.data import TrainingData
from spacy_termlink.training.model import TrainableEncoder
from spacy_termlink.training.settings import TrainingConfig
from spacy_termlink.training.trainer import Trainer
from spacy_termlink.training.world import World

PRECISIONS = ("float32", "bfloat16")


def main() -> None:
    """Run the benchmark."""
    args, settings = parse_args()
    data = TrainingData(Path(settings.run.records), list(settings.tasks))
    rates: dict[str, list[float]] = defaultdict(list)
    for _ in range(args.repeat):
        for precision in PRECISIONS:
            rates[precision].append(texts_per_second(settings, data, precision))
    print(f"{settings.model.encoder}, {settings.run.device}, {torch.get_num_threads()} threads")
    for precision in PRECISIONS:
        print(f"{precision:10} {max(rates[precision]):8,.0f} texts/s")
    best = {precision: max(found) for precision, found in rates.items()}
    print(f"{'ratio':10} {best['bfloat16'] / best['float32']:8.2f}")


def parse_args() -> tuple[argparse.Namespace, TrainingConfig]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("config", type=Path, help="training config")
    parser.add_argument("--steps", type=int, default=20, help="steps per run (default 20)")
    parser.add_argument("--repeat", type=int, default=3, help="runs per precision (default 3)")
    parser.add_argument("--pool", type=int, default=4000, help="names refreshed (default 4000)")
    args, rest = parser.parse_known_args()
    fixed = {"max_steps": args.steps, "log_every": args.steps, "checkpoint_every": 0}
    overrides = {f"training.{name}": value for name, value in fixed.items()}
    overrides |= {"training.dev.every": 0, "training.refresh.pool": args.pool}
    return args, load_config(args.config, {**overrides, **parse_overrides(rest)})


def texts_per_second(settings: TrainingConfig, data: TrainingData, precision: str) -> float:
    """Of one training, from the start."""
    world = World(settings.run.device)
    model = TrainableEncoder(
        find_encoder(settings.model.encoder),
        settings.model,
        device=world.device,
        precision=precision,
    )
    search = make_search(settings.refresh.index) if settings.refresh else None
    trainer = Trainer(settings, data, model, world=world, search=search)
    with tempfile.TemporaryDirectory() as folder:
        state = trainer.run(Path(folder) / "encoder")
    world.close()
    return state["texts"] / state["train_seconds"]


if __name__ == "__main__":
    main()
