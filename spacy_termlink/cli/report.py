"""`termlink report`: systems compared on sets, as one html page."""

from pathlib import Path
from typing import Annotated

import typer

from ._common import note, print_table


def report_command(
    ctx: typer.Context,
    config: Annotated[
        Path, typer.Argument(metavar="CFG", help="Report config, as configs/report.cfg.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Folder to write: report.html, report.md, report.json, charts/."
        ),
    ],
) -> None:
    """Compare systems on sets of mentions: tables, tests and charts on one html page. Any value of the
    config can be given: --paths.data ../data"""
    from ..evaluation.charts import require_matplotlib
    from ..evaluation.page import REPORT, check_output, save_report
    from ..evaluation.report import describe_runs, run_systems
    from ..evaluation.report_settings import load_config
    from ..evaluation.report_tables import overview
    from ..training.config import parse_overrides

    settings = load_config(config, parse_overrides(ctx.args))
    require_matplotlib()
    check_output(out)
    runs, left_out = run_systems(settings, tell=note)
    note("Figures and charts ...")
    report = describe_runs(settings, runs, left_out)
    save_report(report, out)
    for line in left_out:
        note(f"Left out: {line}")
    table = overview(report, "hits@1")
    print(f"{table.caption}:")
    print_table(table.header, table.rows)
    note(f"{out / 'report.html'}; all figures are in {out / REPORT}.")
