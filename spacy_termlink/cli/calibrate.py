"""`termlink calibrate`: from scores to probabilities."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from ._common import keep_inputs, note, save_json
from ._reliability_tables import print_reliability


def calibrate_command(
    kb: Annotated[
        Path, typer.Argument(metavar="KB", help="KB folder; the calibration goes there.")
    ],
    mentions: Annotated[Path, typer.Argument(metavar="MENTIONS", help="Annotated mentions.jsonl.")],
    docs: Annotated[
        Optional[Path],
        typer.Option(help="docs.jsonl: resolve abbreviations inside a mention's own document."),
    ] = None,
    split: Annotated[Optional[str], typer.Option(help="Only mentions of this split.")] = None,
    label: Annotated[Optional[str], typer.Option(help="Only mentions with this label.")] = None,
    noid: Annotated[
        bool, typer.Option("--noid", help="Keep mentions marked noid, as NIL mentions.")
    ] = False,
    plot: Annotated[
        Optional[Path], typer.Option(help="Draw the reliability diagram to this .svg.")
    ] = None,
    json: Annotated[
        Optional[Path], typer.Option(help="Write the figures to this file; - is stdout.")
    ] = None,
) -> None:
    """Learn from annotated mentions how probable it is that a first candidate is right, and keep it
    in the KB: the threshold is a probability from then on. The figures printed are of mentions whose
    documents were left out of the fit (in turn, five parts)."""
    from tqdm import tqdm

    from ..evaluation.calibrate import calibrate
    from ..evaluation.charts import reliability_chart, require_matplotlib, standalone
    from ..evaluation.mention_set import prepare_mentions
    from ..evaluation.mentions import read_docs, read_mentions
    from ..files import atomic_file
    from ..kb import calibrate_kb, open_kb

    keep_inputs((mentions, docs), (plot, json))
    if plot:
        require_matplotlib()
    rows = read_mentions(mentions, split=split, label=label, noid=noid)
    documents = read_docs(docs) if docs else None
    opened = open_kb(kb)
    mention_set = prepare_mentions(opened.terminology, rows, docs=documents)
    given = {"set": mentions.name, "split": split, "label": label}
    about = {name: value for name, value in given.items() if value is not None}
    with tqdm(total=len(rows), desc="Searching", unit=" mentions", disable=None) as bar:
        found = calibrate(opened, mention_set, about=about, progress=bar.update)
    calibrate_kb(opened, found.calibration)
    fitted = found.calibration.fitted
    data = {"kb": opened.name, "release": opened.release, **fitted, **found.figures,
            "threshold": found.calibration.threshold}  # fmt: skip
    if plot:
        chart = reliability_chart("reliability", [(opened.name, found.figures)])
        with atomic_file(plot) as part:
            part.write_text(standalone(chart), encoding="utf8")
    if json is None or str(json) != "-":
        print(f"{opened.name}: {fitted['method']}, fitted on {fitted['mentions']:,} mentions of "
              f"{fitted['documents']:,} documents ({mentions.name})")  # fmt: skip
        print_reliability({"left out": found.figures})
        print(f"Mentions with a probability under {found.calibration.threshold} are NIL now.")
    save_json(json, data)
    note(f"{kb}: calibration written")
