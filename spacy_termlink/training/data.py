"""What a run trains on: the mined files in memory, texts and concepts as numbers."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import TermlinkError
from ..files import read_json, sha256_file
from ..mining import Equivalents, read_names, read_records
from ..mining.run import EQUIVALENTS, NAMES, meta_path
from ..text import normalize
from .config import NAMES_TASK

#: Columns of a task's records; -1 stands for no negative.
ANCHOR, POSITIVE, NEGATIVE = 0, 1, 2
ANCHOR_CONCEPT, POSITIVE_CONCEPT, NEGATIVE_CONCEPT = 3, 4, 5


class Table:
    """Strings numbered in the order they come, each once."""

    def __init__(self) -> None:
        self.items: list[str] = []
        self._rows: dict[str, int] = {}

    def row(self, item: str) -> int:
        """Number of a string, a new one if it is not there."""
        row = self._rows.setdefault(item, len(self.items))
        if row == len(self.items):
            self.items.append(item)
        return row


class Sharers(Protocol):
    """Which concepts have a normal form as a name; a dict does."""

    def get(self, normal: int, default: tuple[int, ...], /) -> tuple[int, ...]:
        """Numbers of the concepts; the default where there is none or only one."""


class TextTables:
    """Texts and concepts as numbers, and which of them must not be opposed: what batches are made of.

    equivalents (Equivalents): Concepts that are the same, or barred.
    sharers (Sharers): Concepts of a normal form that has several.
    partners (Mapping): Task -> concept -> concepts that a record of it puts beside it.
    """

    equivalents: Equivalents
    sharers: Sharers
    partners: Mapping[str, Mapping[int, frozenset[int]]]

    def __init__(self) -> None:
        self._texts, self._concepts, self._normal = Table(), Table(), Table()
        self._normals: dict[int, int] = {}
        self.texts, self.concepts = self._texts.items, self._concepts.items
        self.partners = {}

    def add_text(self, text: str) -> int:
        """Number of a text, a new one if it is not there."""
        return self._texts.row(text)

    def add_concept(self, concept_id: str) -> int:
        """Number of a concept, a new one if it is not there."""
        return self._concepts.row(concept_id)

    def normal(self, text: int) -> int:
        """Number of a text's normal form; equal for texts that are the same name."""
        if text not in self._normals:
            self._normals[text] = self._normal.row(normalize(self.texts[text]))
        return self._normals[text]

    def form(self, text: int) -> str:
        """What the encoder reads of a text: its normal form, as in a KB, or the text itself where
        nothing is left of it."""
        return self.normal_form(self.normal(text)) or self.texts[text]

    def normal_form(self, normal: int) -> str:
        """A normal form by its number."""
        return self._normal.items[normal]


class Names(NamedTuple):
    """Names that may be searched, sorted as in names.jsonl: the names of a concept stand together.

    text, concept (np.ndarray): Numbers of text and concept, (N,).
    """

    text: np.ndarray
    concept: np.ndarray


class TrainingData(TextTables):
    """Records by task, names and equivalents.

    records (Path): Records file of `termlink mine`; names.jsonl, equivalents.jsonl and the meta file
        lie beside it.
    tasks (Sequence[str]): Tasks wanted.
    RAISES (TermlinkError): TL001 to TL008 for a file that is missing or torn, TL220 for a bad line,
        TL415 for a task without records.
    """

    def __init__(self, records: Path, tasks: Sequence[str]) -> None:
        super().__init__()
        records = Path(records)
        self.meta: dict[str, Any] = read_json(meta_path(records))
        self.sha256 = sha256_file(records)
        if self.sha256 != self.meta.get("sha256"):
            raise TermlinkError(
                "TL007", path=records, found=self.sha256, expected=self.meta.get("sha256")
            )
        self.equivalents = Equivalents.open(records.parent / EQUIVALENTS)
        self.tasks = self._read_tasks(records, tasks)
        self.names = self._read_names(records.parent / NAMES)
        self.sharers = self._find_sharers()
        self.partners = {name: self._find_partners(name) for name in self.tasks}

    def weight(self, task: str) -> float:
        """The share of the training texts that mining gave a task; 1 for the task "names"."""
        return float(self.meta["tasks"].get(task, {}).get("weight", 1.0))

    def _read_tasks(self, records: Path, tasks: Sequence[str]) -> dict[str, np.ndarray]:
        rows: dict[str, list[tuple[int, ...]]] = {name: [] for name in tasks if name != NAMES_TASK}
        text, concept = self.add_text, self.add_concept
        for r in read_records(records) if rows else ():
            if r.task in rows:
                negative = (-1, -1)
                if r.negative is not None and r.negative_concept is not None:
                    negative = text(r.negative), concept(r.negative_concept)
                anchor, positive = concept(r.anchor_concept), concept(r.positive_concept)
                row = (text(r.anchor), text(r.positive), negative[0], anchor, positive, negative[1])
                rows[r.task].append(row)
        for name, found in rows.items():
            if not found:
                known = ", ".join(sorted(self.meta["tasks"]))
                raise TermlinkError("TL415", path=records, task=name, known=known)
        return {name: np.array(found, dtype=np.int32) for name, found in rows.items()}

    def _read_names(self, path: Path) -> Names:
        names = [(self.add_text(n.text), self.add_concept(n.concept_id)) for n in read_names(path)]
        found = np.array(names, dtype=np.int32).reshape(-1, 2)
        return Names(found[:, 0], found[:, 1])

    def _find_sharers(self) -> dict[int, tuple[int, ...]]:
        holders: dict[int, set[int]] = defaultdict(set)
        for text, concept in zip(
            self.names.text.tolist(), self.names.concept.tolist(), strict=True
        ):
            holders[self.normal(text)].add(concept)
        return {key: tuple(sorted(held)) for key, held in holders.items() if len(held) > 1}

    def _find_partners(self, task: str) -> dict[int, frozenset[int]]:
        """By concept, those that a record of the task puts beside it as a positive: another parent
        of an anchor is no negative of it."""
        found: dict[int, set[int]] = defaultdict(set)
        pairs = self.tasks[task][:, [ANCHOR_CONCEPT, POSITIVE_CONCEPT]]
        for anchor, positive in np.unique(pairs, axis=0).tolist():
            if anchor != positive:
                found[anchor].add(positive)
        return {concept: frozenset(others) for concept, others in found.items()}
