"""The model card, README.md of a trained encoder's folder: what was run, nothing else."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..files import write_json
from .data import TrainingData
from .model import TrainableEncoder
from .settings import TrainingConfig


def write_card(
    folder: Path,
    config: TrainingConfig,
    data: TrainingData,
    model: TrainableEncoder,
    figures: Mapping[str, Any],
    tasks: Mapping[str, Any],
    log: Path,
) -> None:
    """Write README.md, training.json and log.jsonl into the encoder folder.

    folder (Path): The encoder folder.
    config (TrainingConfig): What was asked for.
    data (TrainingData): What was trained on.
    model (TrainableEncoder): What was trained.
    figures (Mapping): State of the run at its end.
    tasks (Mapping): Places of the tasks.
    log (Path): Log of the run.
    """
    summary = {
        "termlink_version": __version__,
        "config": config.raw,
        "records_sha256": data.sha256,
        "terminologies": data.meta["terminologies"],
        "mining": {"tasks": data.meta["tasks"], "counts": data.meta["counts"]},
        "precision": model.precision,
        "device": model.device.type,
        "figures": dict(figures),
        "tasks": dict(tasks),
    }
    write_json(folder / "training.json", summary)
    shutil.copyfile(log, folder / "log.jsonl")
    card = make_card(summary, config, data)
    (folder / "README.md").write_text(card, encoding="utf8")


def make_card(summary: Mapping[str, Any], config: TrainingConfig, data: TrainingData) -> str:
    """Text of the card.

    summary (Mapping): What training.json holds.
    """
    figures, tasks = summary["figures"], summary["tasks"]
    terminologies = summary["terminologies"]
    restricted = [t["source"] for t in terminologies if not t.get("shareable")]
    started = f"`{config.model.encoder}`" if config.model.encoder else "random weights"
    parts = [
        "---\npipeline_tag: sentence-similarity\ntags: [sentence-transformers, spacy-termlink]\n---",
        "# Encoder of concept names",
        f"Trained by `termlink train` (spacy-termlink {summary['termlink_version']}) from "
        f"{started}, on the names and relations of the terminologies below. It turns "
        "a name or a mention into an embedding; names of one concept lie near each other.",
        "Use: `termlink index TERMINOLOGY --encoder FOLDER -o KB`, or `SentenceTransformer(FOLDER)`.",
        "## Data",
        make_table(
            ("terminology", "release", "concepts", "names", "licence"),
            (
                (
                    t["source"],
                    t["release"],
                    t["counts"]["concepts"],
                    t["counts"]["names"],
                    t["licence"],
                )
                for t in terminologies
            ),
        ),
        make_table(
            ("task", "records", "texts seen", "weight", "loss", "batch", "negatives"),
            (_task_row(name, config, data, tasks[name]) for name in config.tasks),
        ),
    ]
    if restricted:
        parts.append(
            f"The licence of {', '.join(restricted)} forbids passing the data on; ask its holder "
            "before you pass on this encoder."
        )
    parts += ["## Run", make_table(("what", "value"), _run_rows(summary, config))]
    if figures["best"] is not None:
        parts += [
            "## Figures",
            f"Development mentions: `{config.dev.mentions or 'heldout.jsonl'}`, split "
            f"`{config.dev.split or 'all'}`; dense search in the names that training used.",
            make_table(("weights", *figures["best"]), _score_rows(figures)),
        ]
    return "\n\n".join(parts) + "\n"


def _task_row(
    name: str, config: TrainingConfig, data: TrainingData, place: Mapping[str, int]
) -> tuple[Any, ...]:
    task = config.tasks[name]
    records = len(data.tasks[name]) if name in data.tasks else len(data.names.text)
    weight = data.weight(name) if task.weight is None else task.weight
    loss = config.raw["tasks"][name]["loss"]
    settings = ", ".join(f"{k} {v}" for k, v in loss.items() if k != "@losses")
    loss_name = loss["@losses"].removeprefix("spacy-termlink.")
    drawn = f", {task.hard_positives} + {task.hard_negatives} hard" if task.hard_negatives else ""
    return (
        name, records, place["texts"], weight, f"{loss_name} {settings}".strip(),
        task.batch_size, task.negatives + drawn,
    )  # fmt: skip


def _run_rows(summary: Mapping[str, Any], config: TrainingConfig) -> Iterable[tuple[str, Any]]:
    figures = summary["figures"]
    yield "steps", f"{figures['step']:,} of {config.run.max_steps:,}"
    yield "texts", f"{figures['texts']:,}"
    yield "learning rate", f"{config.optimizer.learning_rate:g}, AdamW, linear warm-up and decay"
    yield "precision, device", f"{summary['precision']}, {summary['device']}"
    yield "seconds of training", f"{figures['train_seconds']:.0f}"
    if figures["train_seconds"]:
        yield "texts per second", f"{figures['texts'] / figures['train_seconds']:.0f}"
    if config.refresh is not None:
        kept = f"{config.refresh.positives} + {config.refresh.negatives}"
        seconds = f"{figures['refreshes']} times, {figures['refresh_seconds']:.0f} s"
        yield "refresh", f"{seconds}; hard names kept of each: {kept}"
    if config.model.average_with_start:
        yield "share of the initial weights in these", config.model.average_with_start
    yield "sha256 of the records", summary["records_sha256"]


def _score_rows(figures: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    for what, row in (
        ("at the start", figures["first"]),
        (f"saved, of step {figures['best_step']}", figures["best"]),
    ):
        yield what, *(f"{value:.4f}" for value in row.values())


def make_table(header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    """A Markdown table; whole numbers with commas."""

    def line(cells: Iterable[Any]) -> str:
        return "| " + " | ".join(f"{c:,}" if type(c) is int else str(c) for c in cells) + " |"

    return "\n".join([line(header), line("---" for _ in header), *map(line, rows)])
