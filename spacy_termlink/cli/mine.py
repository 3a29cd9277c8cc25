"""`termlink mine`: training records from terminologies."""

from pathlib import Path
from typing import Annotated, List, Optional

import typer

from ._common import note, print_table, progress, save_json


def mine_command(
    terminologies: Annotated[
        List[Path], typer.Argument(help="Terminology folders, of 'termlink convert'.")
    ],
    config: Annotated[
        Path, typer.Option("--config", "-c", help="Mining config, as configs/mine.cfg.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Records file to write (.jsonl). heldout.jsonl, names.jsonl and equivalents.jsonl "
            "are written beside it.",
        ),
    ],
    json_path: Annotated[
        Optional[Path],
        typer.Option("--json", help="Write the counts as JSON to this file; - for stdout."),
    ] = None,
) -> None:
    """Mine training records from terminologies: synonyms, relations, triplets, negatives."""
    from ..mining.config import load_config
    from ..mining.run import meta_path, mine_records

    settings = load_config(config)
    with progress(desc="Mining", unit="records") as bar:

        def count(task: str) -> None:
            bar.set_postfix_str(task, refresh=False)
            bar.update(1)

        meta = mine_records(terminologies, settings, out, progress=count)
    if str(json_path) != "-":
        rows = [
            (name, t["records"], t["augmented"], t["weight"]) for name, t in meta["tasks"].items()
        ]
        print_table(("task", "records", "augmented", "weight"), rows)
    note(
        f"{meta['counts']['records']:,} records in {out}, {meta['counts']['heldout']:,} held-out "
        f"names in {out.parent / 'heldout.jsonl'}, counts in {meta_path(out)}."
    )
    save_json(json_path, meta)
