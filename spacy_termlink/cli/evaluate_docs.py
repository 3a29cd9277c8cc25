"""`termlink evaluate-docs`: a pipeline end to end on annotated documents."""

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ._common import keep_inputs, note, print_table, save_json

#: Key of the figures -> what the table calls them.
ROWS = {
    "mentions_strict": "finding mentions, strict",
    "mentions_partial": "finding mentions, partial",
    "mentions_documents": "finding mentions, document level (texts)",
    "linking_strict": "linking gold mentions, strict",
    "linking_partial": "linking gold mentions, partial",
    "linking_documents": "linking gold mentions, document level",
    "strict": "both, strict (offsets and concept)",
    "partial": "both, partial (overlap and concept)",
    "documents": "both, document level (concepts)",
}


def evaluate_docs_command(
    pipeline: Annotated[
        str, typer.Argument(metavar="PIPELINE_OR_KB", help="A spaCy pipeline, or a KB folder.")
    ],
    docs: Annotated[Path, typer.Argument(metavar="DOCS", help="Annotated docs.jsonl.")],
    split: Annotated[Optional[str], typer.Option(help="Only documents of this split.")] = None,
    json: Annotated[
        Optional[Path], typer.Option(help="Write the figures to this file; - is stdout.")
    ] = None,
) -> None:
    """Find and link mentions in documents: strict, partial and document-level P, R and F1."""
    from ..annotate.pipelines import load_pipeline
    from ..evaluation.documents import evaluate_documents
    from ..evaluation.mentions import read_docs
    from ..evaluation.pipelines import (
        check_documents,
        find_scored_linker,
        link_gold_mentions,
        predict_documents,
    )

    keep_inputs((docs,), (json,))
    gold = read_docs(docs, split=split, as_gold=True)
    nlp = load_pipeline([pipeline])
    linker = find_scored_linker(nlp, pipeline)
    check_documents(nlp, gold, docs)
    resolve = linker.kb.terminology.resolve
    note(f"Annotating {len(gold)} documents ...")
    pred = list(predict_documents(nlp, gold, linker=linker))
    figures: dict[str, Any] = {
        **evaluate_documents(gold, pred, resolve=resolve),
        "linking_on_gold": link_gold_mentions(nlp, gold, linker=linker, resolve=resolve),
        "set": str(docs),
        "split": split,
        "pipeline": pipeline,
        "kb": linker.kb.name,
        "release": linker.kb.release,
    }
    if json is None or str(json) != "-":
        _print(figures)
    save_json(json, figures)


def _print(figures: dict[str, Any]) -> None:
    print(f"{figures['kb']} {figures['release']}".rstrip() + f", {figures['set']}: ", end="")
    print(f"{figures['n']} documents, {figures['n_entities']} entities")
    names = ("precision", "recall", "f1")
    linking = figures["linking_on_gold"] or {}
    rows = []
    for key, title in ROWS.items():
        on_gold = key.startswith("linking_")
        row = linking.get(key.removeprefix("linking_")) if on_gold else figures[key]
        if row:
            rows.append([title, *(_figure(row, name) for name in names)])
    print_table(["", *names], rows)
    if linking.get("accuracy") is not None:
        right, refused = linking["accuracy"], linking["refused"]
        print(f"linking on the {linking['n']} gold mentions: {right:.4f} right, {refused:.4f} NIL")


def _figure(figures: dict[str, Any], name: str) -> str:
    low, high = figures["ci"].get(name, (None, None))
    interval = "" if low is None else f" [{low:.4f}, {high:.4f}]"
    return f"{figures[name]:.4f}{interval}"
