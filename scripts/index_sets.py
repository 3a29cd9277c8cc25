"""Writes the KBs that evaluation sets need and a workflow lacks: MEDIC, whose table lies beside them.

    python scripts/index_sets.py assets/eval --encoder encoders/all --borrow-names terminologies/mondo -o kb/all

Where there is no table, nothing is written.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from evaluate_sets import run


def main() -> None:
    """Convert and index."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sets", type=Path, help="folder of sets")
    parser.add_argument("--encoder", type=Path, required=True, help="encoder folder")
    parser.add_argument("--index", default="auto", help="as in termlink index")
    parser.add_argument(
        "--borrow-names", type=Path, action="append", default=[], help="as in termlink index"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of KBs")
    args = parser.parse_args()
    table = args.sets / "medic" / "names.tsv"
    if not table.is_file():
        return
    scratch = Path(tempfile.mkdtemp())
    try:
        run("convert", table, "--format", "table", "-o", scratch / "medic")
        encoder, kb = args.encoder, args.output / "medic"
        lenders = [arg for path in args.borrow_names for arg in ("--borrow-names", path)]
        run(
            "index",
            scratch / "medic",
            "--encoder",
            encoder,
            "--index",
            args.index,
            *lenders,
            "-o",
            kb,
        )
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
