"""The model card of a trained reranker: what was run, nothing else."""

from collections.abc import Mapping
from typing import Any

from ..training.card import make_table


def make_reranker_card(summary: Mapping[str, Any]) -> str:
    """Text of README.md.

    summary (Mapping): What training.json holds.
    """
    figures, config = summary["figures"], summary["config"]
    restricted = sorted({s["source"] for s in summary["data"] if not s.get("shareable", True)})
    columns = ("source", "release", "licence", "mentions", "lists", "dev")
    parts = [
        "---\ntags: [spacy-termlink, reranker]\n---",
        f"# Reranker of candidate concepts ({config['kind']})",
        f"Trained by `termlink train-reranker` (spacy-termlink {summary['termlink_version']}). It reads "
        "a mention together with each candidate that the recall stage proposes, and orders them anew.",
        "## Data",
        make_table(columns, ([s.get(c, "") for c in columns] for s in summary["data"])),  # type: ignore[misc]
    ]
    if restricted:
        parts.append(
            f"The licence of {', '.join(restricted)} forbids passing the data on; ask its holder "
            "before you pass on this reranker."
        )
    rows = [
        ("steps", figures["step"]),
        ("texts read", figures["texts"]),
        ("seconds of training", round(figures["train_seconds"])),
        ("precision", summary["precision"]),
        ("sha256 of the data", summary["data_sha256"]),
    ]
    parts += ["## Run", make_table(("what", "value"), rows)]
    if figures["best"] is not None:
        scores = [
            (what, *(f"{value:.4f}" for value in row.values()))
            for what, row in (
                ("at the start", figures["first"]),
                (f"saved, of step {figures['best_step']}", figures["best"]),
            )
        ]
        parts += [
            "## Figures",
            "Of the lists kept for the scores, among those that hold a right candidate.",
            make_table(("weights", *figures["best"]), scores),
        ]
    return "\n\n".join(parts) + "\n"
