"""Batches: which texts are encoded together, and which pairs of them a loss may use.

An anchor is never opposed to its own concept. Neither is it to a concept that is barred for it or
for its positive (a cross-reference), to another positive of it in the same task (a second parent),
or to a text that is, in normal form, a name of its concept: names are ambiguous.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from .data import (
    ANCHOR,
    ANCHOR_CONCEPT,
    NEGATIVE,
    NEGATIVE_CONCEPT,
    POSITIVE,
    POSITIVE_CONCEPT,
    TextTables,
)
from .settings import TaskSettings


@dataclass(frozen=True)
class Batch:
    """Texts of a batch, each once, and the pairs between them.

    task (str): Name of the task.
    texts (np.ndarray): Numbers of the texts, (U,); numbers of `TextTables.texts`.
    rows, columns (np.ndarray): Which of them are the anchors, (A,), and the columns, (C,).
    positive, negative (np.ndarray): Masks of pairs, (A, C) bool.
    """

    task: str
    texts: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    positive: np.ndarray
    negative: np.ndarray


@dataclass(frozen=True)
class HardNames:
    """What was drawn from a refresh for the anchors of a batch: text and concept of each name.

    positive, negative (np.ndarray): (A, k, 2) and (A, m, 2) int32; -1 fills up.
    """

    positive: np.ndarray
    negative: np.ndarray


def make_batch(
    data: TextTables,
    task: str,
    settings: TaskSettings,
    records: np.ndarray,
    hard: Optional[HardNames] = None,
) -> Batch:
    """Put records together.

    data (TextTables): Texts, concepts, equivalents.
    task (str): Task of the records.
    settings (TaskSettings): Its settings.
    records (np.ndarray): (A, 6) int32; a positive of -1 has none but the hard ones.
    hard (Optional[HardNames]): Of each anchor.
    """
    owners, texts, concepts, positives = _columns(records, hard)
    keys = _unique_columns(texts, concepts)
    texts_of, concepts_of = texts[keys.first], concepts[keys.first]
    n_rows, n_columns = len(records), len(texts_of)
    own = np.zeros((n_rows, n_columns), dtype=bool)
    own_positive = own.copy()
    own[owners, keys.column] = True
    own_positive[owners[positives], keys.column[positives]] = True

    masks = _Masks(data, task, records, texts_of, concepts_of)
    if settings.negatives == "batch":
        positive = own_positive | masks.same
        negative = ~masks.barred & ~positive
    else:
        positive = own_positive
        negative = own & ~masks.barred & ~positive
    positive = positive & ~masks.equal_to_anchor
    used, places = np.unique(np.concatenate([records[:, ANCHOR], texts_of]), return_inverse=True)
    return Batch(task, used, places[:n_rows], places[n_rows:], positive, negative)


@dataclass(frozen=True)
class _Keys:
    first: np.ndarray
    column: np.ndarray


def _columns(
    records: np.ndarray, hard: Optional[HardNames]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Owner row, text, concept and whether it is a positive, of each text that is compared with:
    positives first, then the records' negatives, then the hard names."""
    rows = np.arange(len(records))
    parts = [
        (rows, records[:, POSITIVE], records[:, POSITIVE_CONCEPT], True),
        (rows, records[:, NEGATIVE], records[:, NEGATIVE_CONCEPT], False),
    ]
    if hard is not None:
        for names, good in ((hard.positive, True), (hard.negative, False)):
            owners = np.repeat(rows, names.shape[1])
            parts.append((owners, names[:, :, 0].ravel(), names[:, :, 1].ravel(), good))
    owners, texts, concepts = (np.concatenate([part[i] for part in parts]) for i in range(3))
    positives = np.concatenate([np.full(len(part[0]), part[3]) for part in parts])
    there = texts >= 0
    return owners[there], texts[there], concepts[there], positives[there]


def _unique_columns(texts: np.ndarray, concepts: np.ndarray) -> _Keys:
    """One column a text and concept, in the order they first come."""
    pairs = texts.astype(np.int64) << 32 | concepts.astype(np.int64)
    _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return _Keys(first[order], rank[inverse])


class _Masks:
    """(A, C) bool: `same` concept as anchor and positive, `barred` as a negative, and equal in text
    to the anchor."""

    def __init__(
        self,
        data: TextTables,
        task: str,
        records: np.ndarray,
        texts: np.ndarray,
        concepts: np.ndarray,
    ) -> None:
        anchors = records[:, ANCHOR_CONCEPT]
        targets = records[:, POSITIVE_CONCEPT]
        normals = np.array([data.normal(text) for text in texts.tolist()], dtype=np.int64)
        anchor_normals = np.array([data.normal(text) for text in records[:, ANCHOR].tolist()])
        self.equal_to_anchor = anchor_normals[:, None] == normals
        target_normals = np.array(
            [data.normal(text) if text >= 0 else -1 for text in records[:, POSITIVE].tolist()]
        )
        ids = data.concepts
        # a text counts for every concept that has it as a name
        spoken = [
            (row, concept)
            for row, normal in enumerate(anchor_normals.tolist())
            for concept in {int(anchors[row]), int(targets[row]), *data.sharers.get(normal, ())}
        ]
        held = [
            (column, concept)
            for column, normal in enumerate(normals.tolist())
            for concept in {int(concepts[column]), *data.sharers.get(normal, ())}
        ]
        # (rows' concepts, columns' concepts), put together by row and column
        found = data.equivalents.barred_mask([ids[c] for _, c in spoken], [ids[c] for _, c in held])
        barred = np.logical_or.reduceat(found, _starts(spoken, len(records)), axis=0)
        barred = np.logical_or.reduceat(barred, _starts(held, len(texts)), axis=1)
        self.barred = barred | self.equal_to_anchor | (target_normals[:, None] == normals)
        self._bar_partners(data.partners.get(task, {}), anchors, concepts)
        self.same = data.equivalents.same_mask(
            [ids[a] for a in anchors], [ids[c] for c in concepts]
        )
        # of a graph task only the record's own pair is a positive
        self.same &= (anchors == targets)[:, None]

    def _bar_partners(
        self, partners: Mapping[int, frozenset[int]], anchors: np.ndarray, concepts: np.ndarray
    ) -> None:
        for row, anchor in enumerate(anchors.tolist()):
            if anchor in partners:
                self.barred[row] |= np.isin(concepts, list(partners[anchor]))


def _starts(pairs: Sequence[tuple[int, int]], n: int) -> np.ndarray:
    """Where the pairs of each of the n first members begin; every one has at least one."""
    return np.searchsorted([first for first, _ in pairs], np.arange(n))
