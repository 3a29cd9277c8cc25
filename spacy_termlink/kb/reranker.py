"""Gives a KB its reranker."""

import shutil
from pathlib import Path
from typing import Any

from ..files import atomic_folder, link_or_copy, write_json
from ..rerank.calibration import FILE as CALIBRATION
from ..rerank.rerankers import FOLDER, read_about
from .build import describe_file
from .termkb import TermKB, open_kb


def add_reranker(kb: TermKB, reranker: Path) -> TermKB:
    """Copy a reranker's folder into the KB's, in the place of an older one. A linker over the KB reranks
    with it from then on, unless its config says otherwise. A calibration is left out, and the threshold is
    one on the score again: it was one of other scores.

    As `calibrate_kb` the folder is made anew from links and takes the place of the old one at the end.

    kb (TermKB): The KB.
    reranker (Path): Folder written by `termlink train-reranker`.
    RETURNS (TermKB): The KB, opened again.
    RAISES (TermlinkError): TL621 for a folder that is no reranker's, TL006 if it cannot be written.
    """
    read_about(reranker)
    path = kb.path.resolve()
    replaced = (FOLDER, CALIBRATION)
    meta: dict[str, Any] = {
        key: value for key, value in kb.meta.items() if key not in ("files", "score_threshold")
    }
    meta |= {"threshold": kb.score_threshold, "threshold_applies_to": "score"}
    kept = {k: v for k, v in kb.meta["files"].items() if k.split("/")[0] not in replaced}
    with atomic_folder(path) as folder:
        shutil.copytree(
            path,
            folder,
            copy_function=link_or_copy,
            dirs_exist_ok=True,
            ignore=lambda place, names: replaced if Path(place) == path else (),
        )
        shutil.copytree(reranker, folder / FOLDER)
        new = {
            file.relative_to(folder).as_posix(): describe_file(file)
            for file in sorted((folder / FOLDER).rglob("*"))
            if file.is_file()
        }
        # the other files keep the sums they were written with: a damaged one is not made good
        write_json(folder / "meta.json", {**meta, "files": dict(sorted({**kept, **new}.items()))})
        TermKB.open(folder).reranker  # noqa: B018  (one that cannot be used is refused here)
    return open_kb(path)
