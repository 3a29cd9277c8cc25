"""The log of a run: log.jsonl, and TensorBoard where it is wanted."""

import json
from pathlib import Path
from typing import Any

from ..errors import TermlinkError
from ..files import atomic_file


class RunLog:
    """Appends lines {"step", "event", ...}; an event is train, refresh, dev or end.

    path (Path): log.jsonl.
    step (int): Lines of later steps are dropped: a resumed run writes them again.
    tensorboard (bool): Write numbers for TensorBoard beside it.
    RAISES (TermlinkError): TL420 if TensorBoard is wanted and not installed.
    """

    def __init__(self, path: Path, *, step: int, tensorboard: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        kept = [row for row in read_log(path) if row["step"] <= step and step]
        with atomic_file(path) as part:
            part.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf8")
        self._board: Any = None
        if tensorboard:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise TermlinkError("TL420") from None
            self._board = SummaryWriter(str(path.parent / "tensorboard"), purge_step=step)

    def write(self, event: str, step: int, **values: Any) -> None:
        """Append a line."""
        with self._path.open("a", encoding="utf8") as file:
            file.write(json.dumps({"event": event, "step": step, **values}) + "\n")
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, (int, float)):
                    self._board.add_scalar(f"{event}/{name}", value, step)
            self._board.flush()


def read_log(path: Path) -> list[dict[str, Any]]:
    """Rows of a log; a last line that a killed process left half written is dropped."""
    rows: list[dict[str, Any]] = []
    if not path.is_file():
        return rows
    for line in path.read_text(encoding="utf8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows
