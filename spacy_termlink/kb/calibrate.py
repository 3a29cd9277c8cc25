"""Gives a KB its calibration."""

import shutil

from ..files import atomic_folder, link_or_copy, write_json
from ..rerank.calibration import FILE, Calibration
from .build import describe_file
from .termkb import TermKB, open_kb


def calibrate_kb(kb: TermKB, calibration: Calibration) -> TermKB:
    """Write `calibration.json` into the KB's folder, in the place of an older one. From then on the
    threshold is a probability.

    The folder is made anew from links to its files and takes the place of the old one at the end: a
    killed run leaves the KB as it was, and those who have it open keep what they opened.

    RETURNS (TermKB): The KB, opened again.
    RAISES (TermlinkError): TL006 if it cannot be written; TL611 for a calibration of another KB.
    """
    path = kb.path.resolve()
    meta = {key: value for key, value in kb.meta.items() if key != "files"}
    meta["score_threshold"] = kb.score_threshold
    meta["threshold"], meta["threshold_applies_to"] = calibration.threshold, "probability"
    with atomic_folder(path) as folder:
        shutil.copytree(path, folder, copy_function=link_or_copy, dirs_exist_ok=True)
        write_json(folder / FILE, calibration.to_json())
        # the other files keep the sums they were written with: a damaged one is not made good
        files = {**kb.meta["files"], FILE: describe_file(folder / FILE)}
        write_json(folder / "meta.json", {**meta, "files": dict(sorted(files.items()))})
        TermKB.open(folder).calibration  # noqa: B018  (one of another KB is refused here)
    return open_kb(path)
