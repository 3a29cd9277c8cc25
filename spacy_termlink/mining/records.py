"""What mining writes and training reads: records and names, one JSON object a line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

import srsly

from ..errors import TermlinkError
from ..files import require_file


class Record(NamedTuple):
    """One training example.

    task (str): Name of the task that made it, the section of the mining config.
    anchor, positive (str): Texts that belong together.
    anchor_concept, positive_concept (str): Their concepts: the same one in synonym tasks, two
        related ones in graph tasks.
    negative (Optional[str]): A text that must end farther from the anchor than the positive.
    negative_concept (Optional[str]): Its concept.
    """

    task: str
    anchor: str
    positive: str
    anchor_concept: str
    positive_concept: str
    negative: Optional[str] = None
    negative_concept: Optional[str] = None

    def to_json(self) -> dict[str, Any]:
        """The row of DESIGN.md, section 3; without the negative's fields where there is none."""
        row = {"task": self.task, "anchor": self.anchor, "positive": self.positive}
        if self.negative is not None:
            row["negative"] = self.negative
        row["anchor_concept"] = self.anchor_concept
        row["positive_concept"] = self.positive_concept
        if self.negative_concept is not None:
            row["negative_concept"] = self.negative_concept
        return row


class MinedName(NamedTuple):
    """A name that training may use: what is searched for hard positives and negatives.

    concept_id (str): Id as in the records.
    text (str): The name.
    kind (str): One of `types.NAME_KINDS`.
    """

    concept_id: str
    text: str
    kind: str


def read_records(path: Path) -> Iterator[Record]:
    """Stream a records file.

    RAISES (TermlinkError): TL001, TL005 or TL008 without a file, TL220 for a line in another form.
    """
    required = ("task", "anchor", "positive", "anchor_concept", "positive_concept")
    for line, row in _rows(path, required, ("negative", "negative_concept")):
        if ("negative" in row) != ("negative_concept" in row):
            reason = "'negative' and 'negative_concept' go together"
            raise TermlinkError("TL220", path=path, line=line, reason=reason)
        yield Record(**row)


def read_names(path: Path) -> Iterator[MinedName]:
    """Stream a `names.jsonl`.

    RAISES (TermlinkError): As `read_records`.
    """
    for _, row in _rows(path, MinedName._fields, ()):
        yield MinedName(**row)


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number (from 1) and object of each line that is not blank.

    RAISES (TermlinkError): TL220 for a line that is no JSON object in UTF-8.
    """
    with Path(path).open("rb") as file:
        for line, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            try:
                row = srsly.json_loads(raw.decode("utf8"))
            except ValueError:
                reason = "not JSON in UTF-8"
                raise TermlinkError("TL220", path=path, line=line, reason=reason) from None
            if not isinstance(row, dict):
                raise TermlinkError("TL220", path=path, line=line, reason="not a JSON object")
            yield line, row


def _rows(
    path: Path, required: tuple[str, ...], optional: tuple[str, ...]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and fields of each line, strings all; fields of other programs are left out."""
    for line, row in read_rows(require_file(Path(path))):
        found = {f: row[f] for f in (*required, *optional) if row.get(f) is not None}
        for field in required:
            if field not in found:
                raise TermlinkError("TL220", path=path, line=line, reason=f"'{field}' is missing")
        for field, value in found.items():
            if not isinstance(value, str):
                reason = f"'{field}' is not a string"
                raise TermlinkError("TL220", path=path, line=line, reason=reason)
        yield line, found
