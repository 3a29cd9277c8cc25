"""Batches of gold links: mentions, names of their concepts, and hard names of others."""

from functools import cached_property
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ..mining import Equivalents
from ..terminology.store import Terminology
from ..text import normalize
from ..training.batches import Batch, HardNames, make_batch
from ..training.data import ANCHOR, ANCHOR_CONCEPT, POSITIVE, POSITIVE_CONCEPT, TextTables
from ..training.gradients import batch_loss
from ..training.losses import Loss
from ..training.losses.in_batch_nll import make_in_batch_nll
from ..training.schedule import generator
from ..training.settings import TaskSettings
from ..types import Candidate
from .gold_links import GoldLink
from .learning_settings import LearningSettings

MENTIONS, SYNONYMS = "mentions", "synonyms"


class KbTexts(TextTables):
    """Names of a KB and mentions as numbers; which concepts share a name is looked up when asked."""

    def __init__(self, terminology: Terminology) -> None:
        super().__init__()
        self.equivalents = Equivalents({}, {})
        self.sharers = _Sharers(self, terminology)


class _Sharers:
    def __init__(self, texts: KbTexts, terminology: Terminology) -> None:
        self._texts, self._terminology = texts, terminology
        self._found: Dict[int, Tuple[int, ...]] = {}

    def get(self, normal: int, default: Tuple[int, ...], /) -> Tuple[int, ...]:
        """Numbers of the concepts that have a normal form as a name, where there are several."""
        if normal not in self._found:
            terminology = self._terminology
            rows = terminology.lookup(self._texts.normal_form(normal), normalized=True)
            concepts = sorted({int(terminology.concept_rows[row]) for row in rows})
            numbers = [self._texts.add_concept(cid) for cid in terminology.concept_ids(concepts)]
            self._found[normal] = tuple(numbers) if len(numbers) > 1 else ()
        return self._found[normal] or default


class LinkBatch(NamedTuple):
    """What one update encodes, and the losses between its rows.

    texts (List[str]): What the encoder reads, (U,).
    parts (List[Tuple[float, Batch, np.ndarray]]): Weight of each loss, its masks, and the rows of
        its texts among `texts`.
    """

    texts: List[str]
    parts: List[Tuple[float, Batch, np.ndarray]]

    def loss(self, embeddings: Any, loss: Loss) -> Tuple[float, Any]:
        """Weighted sum of the losses, and its gradient.

        embeddings (torch.Tensor): Of the texts, (U, D).
        RETURNS (Tuple[float, torch.Tensor]): The loss and d loss / d embeddings.
        """
        leaf = embeddings.detach().requires_grad_()
        parts = [weight * batch_loss(leaf[rows], batch, loss) for weight, batch, rows in self.parts]
        total = sum(parts)
        assert not isinstance(total, int), "a batch has a part"
        total.backward()
        return float(total.detach()), leaf.grad


class LinkBatches:
    """Makes the batches of a linker.

    terminology (Terminology): Of its KB.
    settings (LearningSettings): How many names of which sort.
    """

    def __init__(self, terminology: Terminology, settings: LearningSettings) -> None:
        self.texts = KbTexts(terminology)
        self._terminology, self._settings = terminology, settings

    @cached_property
    def loss(self) -> Loss:
        """The loss of both parts."""
        return make_in_batch_nll(similarity="cosine", temperature=self._settings.temperature)

    def make(
        self, links: Sequence[GoldLink], found: Sequence[List[Candidate]], number: int
    ) -> Optional[LinkBatch]:
        """Put gold links together; None where no mention has a name to be drawn to.

        links (Sequence[GoldLink]): From the documents; a form and concept that comes twice counts
            once.
        found (Sequence[List[Candidate]]): What the linker proposes for each.
        number (int): Of the batch: key of the random choices.
        """
        parts = [(1.0, self._mention_batch(links, found, number))]
        if self._settings.synonyms and parts[0][1] is not None:
            n = len(parts[0][1].rows)
            parts.append((float(self._settings.synonyms), self._synonym_batch(n, number)))
        there = [(weight, batch) for weight, batch in parts if batch is not None]
        if not there:
            return None
        numbers = np.unique(np.concatenate([batch.texts for _, batch in there]))
        placed = [(w, batch, np.searchsorted(numbers, batch.texts)) for w, batch in there]
        return LinkBatch([self.texts.form(number) for number in numbers.tolist()], placed)

    def _mention_batch(
        self, links: Sequence[GoldLink], found: Sequence[List[Candidate]], number: int
    ) -> Optional[Batch]:
        rng = generator(self._settings.seed, "positives", number)
        anchors: Dict[Tuple[str, str], Tuple[List[str], List[Candidate]]] = {}
        for link, candidates in zip(links, found, strict=True):
            # the long form decides where there is one: see `generate_forms`
            key = normalize(link.forms[-1]) or link.forms[-1], link.concept_id
            if key not in anchors and (names := self._positives(*key, candidates, rng)):
                others = [c for c in candidates if c.concept_id != link.concept_id]
                anchors[key] = names, others[: self._settings.hard_negatives]
        if not anchors:
            return None
        add_text, add_concept = self.texts.add_text, self.texts.add_concept
        records = [
            (add_text(text), add_text(names[0]), add_concept(concept))
            for (text, concept), (names, _) in anchors.items()
        ]
        concepts = [row[2] for row in records]
        positive = [
            [(add_text(name), concept) for name in names[1:]]
            for (names, _), concept in zip(anchors.values(), concepts, strict=True)
        ]
        negative = [
            [(add_text(c.matched), add_concept(c.concept_id)) for c in others]
            for _, others in anchors.values()
        ]
        hard = HardNames(
            _filled(positive, self._settings.positives - 1),
            _filled(negative, self._settings.hard_negatives),
        )
        return make_batch(self.texts, MENTIONS, self._task, _records(records), hard)

    def _positives(
        self, text: str, concept_id: str, candidates: List[Candidate], rng: np.random.Generator
    ) -> List[str]:
        """Names of the concept that are not the text itself: the one that the linker finds nearest,
        then others at random."""
        terminology = self._terminology
        rows = terminology.name_rows(terminology.row(concept_id))
        names = {terminology.name_normalized(row): terminology.name_text(row) for row in rows}
        names = {norm: name for norm, name in names.items() if norm not in ("", text)}
        own = [normalize(c.matched) for c in candidates if c.concept_id == concept_id]
        order = [norm for norm in own if norm in names]
        others = [norm for norm in names if norm not in order]
        order += [others[i] for i in rng.permutation(len(others)).tolist()]
        return [names[norm] for norm in order[: self._settings.positives]]

    def _synonym_batch(self, n: int, number: int) -> Optional[Batch]:
        """Pairs of names of one concept, drawn from all names of the KB."""
        terminology, texts = self._terminology, self.texts
        rng = generator(self._settings.seed, "synonyms", number)
        records = []
        for row in rng.integers(terminology.n_names, size=n).tolist():
            concept, text = int(terminology.concept_rows[row]), terminology.name_normalized(row)
            others = [
                other
                for other in terminology.name_rows(concept)
                if terminology.name_normalized(other) not in ("", text)
            ]
            if others and text:
                name = terminology.name_text(others[int(rng.integers(len(others)))])
                pair = texts.add_text(terminology.name_text(row)), texts.add_text(name)
                records.append((*pair, texts.add_concept(terminology.concept_id(concept))))
        if not records:
            return None
        return make_batch(texts, SYNONYMS, self._task, _records(records))

    @cached_property
    def _task(self) -> TaskSettings:
        return TaskSettings(loss=self.loss)


def _records(rows: Sequence[Tuple[int, int, int]]) -> np.ndarray:
    """(A, 6) records of (anchor, positive, concept)."""
    records = np.full((len(rows), 6), -1, dtype=np.int32)
    records[:, [ANCHOR, POSITIVE, ANCHOR_CONCEPT]] = rows
    records[:, POSITIVE_CONCEPT] = records[:, ANCHOR_CONCEPT]
    return records


def _filled(names: Sequence[Sequence[Tuple[int, int]]], n: int) -> np.ndarray:
    """(A, n, 2) texts and concepts; -1 fills up."""
    filled = np.full((len(names), n, 2), -1, dtype=np.int32)
    for row, own in enumerate(names):
        if own:
            filled[row, : len(own)] = own
    return filled
