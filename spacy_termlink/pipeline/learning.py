"""How `term_linker` learns: gold links train the encoder, and the KB follows when something links."""

import os
import shutil
import tempfile
import warnings
import weakref
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Tuple, cast

import numpy as np
from spacy.language import Language
from spacy.training import Example, validate_examples, validate_get_examples
from thinc.types import Floats2d
from thinc.util import torch2xp, xp2torch

from ..candidates.fit import fit_threshold
from ..candidates.forms import generate_forms
from ..candidates.hybrid import completed
from ..errors import MESSAGES, TermlinkError
from ..kb import TermKB, rebuild_kb
from ..kb.rebuild import set_threshold
from ..rerank.mention_candidates import MentionCandidates
from ..types import NIL, Candidate, CandidateGenerator
from .architectures import BiEncoderT
from .encoder_shim import EncoderShim
from .gold_links import GoldCounts, GoldLink, read_gold_links
from .learning_settings import LearningSettings
from .mentions import Forms
from .saving import remove_own, require_shareable

if TYPE_CHECKING:
    from .link_batches import LinkBatch

Types = Tuple[str, ...]
#: Different gold mentions from which a threshold is fitted; of fewer it would be chance.
LEAST_MENTIONS = 100


class LearnsLinks:
    """What `TermLinker` adds to TrainablePipe to learn; see docs/spacy-train.md.

    The names of the KB are encoded and indexed with the encoder that is trained. So a KB is stale
    after an update, and is built again, in a temporary folder, when something links: at an
    evaluation, when the pipeline is saved, and every `refresh_every` updates for the hard negatives.
    """

    model: BiEncoderT
    name: str
    cfg: Dict[str, Any]
    open_kb: Callable[[], TermKB]
    set_kb: Callable[[Any], None]
    finish_update: Callable[[Any], None]
    _kb: Optional[TermKB]
    _nlp: Optional["weakref.ref[Language]"]
    _generator: CandidateGenerator
    _masks: Dict[Types, Optional[np.ndarray]]
    _label_types: Dict[str, Types]
    _learning: LearningSettings
    _learner: Any  # Optional[Learner]
    _bind: Callable[[TermKB], None]
    _stages: Callable[[TermKB], MentionCandidates]

    @property
    def labels(self) -> Tuple[str, ...]:
        """The entity labels that `label_types` restricts."""
        return tuple(sorted(self._label_types))

    @property
    def gold_counts(self) -> GoldCounts:
        """Gold spans of all updates so far: how many were used, and why the others were not."""
        return self._learner.counts if self._learner is not None else GoldCounts()

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        kb: Optional[str] = None,
    ) -> None:
        """Open the KB: the one of `[initialize.components.NAME]`, else the one at hand. Learning
        starts from its encoder.

        get_examples (Callable[[], Iterable[Example]]): Gold examples; their links are looked up.
        nlp (Optional[Language]): The pipeline.
        kb (Optional[str]): KB folder.
        RAISES (TermlinkError): TL701 if there is no KB at all; what opening raises.
        """
        validate_get_examples(get_examples, "TermLinker.initialize")
        if nlp is not None:
            self._nlp = weakref.ref(nlp)
        if kb is not None:
            self.set_kb(kb)
        opened, counts = self.open_kb(), GoldCounts()
        self._gold_links(get_examples(), opened, counts)
        if counts.unknown:
            total = counts.used + counts.nil + counts.unknown + counts.barred
            examples = ", ".join(repr(kb_id) for kb_id in counts.examples_of_unknown)
            message = MESSAGES["TL720"].format(
                name=self.name, n=counts.unknown, total=total, kb=opened.name, examples=examples
            )
            warnings.warn(message, stacklevel=2)
        if not counts.used and counts.nil + counts.unknown + counts.barred:
            message = MESSAGES["TL723"].format(
                name=self.name, nil=counts.nil, unknown=counts.unknown, barred=counts.barred,
                kb=opened.name,
            )  # fmt: skip
            warnings.warn(message, stacklevel=2)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Learn from the gold links of examples, whatever a recogniser has found.

        examples (Iterable[Example]): A batch; NIL and ids that the KB lacks are skipped and counted
            in `gold_counts`.
        drop (float): Ignored: an encoder is trained without dropout, as by `termlink train`.
        sgd (Optimizer): Updates the weights; without one the gradients add up.
        losses (Dict[str, float]): The loss is added under the component's name.
        RAISES (TermlinkError): TL722 or TL702 for a KB that could not be saved afterwards.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "TermLinker.update")
        learner = self._start_learning()
        if learner.refresh_is_due():
            self.open_kb()
        batch = self._make_batch(examples, learner.counts)
        if batch is not None:
            embeddings, backprop = self.model.begin_update(batch.texts)
            loss, d_embeddings = learner.loss(batch, embeddings)
            backprop(d_embeddings)
            losses[self.name] += loss
            learner.n_batches += 1
        if sgd not in (None, False):
            self.finish_update(sgd)
        return losses

    def get_loss(self, examples: Iterable[Example], scores: Floats2d) -> Tuple[float, Floats2d]:
        """Loss and gradient of the embeddings that the model gives for a batch.

        examples (Iterable[Example]): The batch; its texts are those of `training_texts`.
        scores (Floats2d): Their embeddings, (U, D).
        RETURNS (Tuple[float, Floats2d]): The loss, and d loss / d scores.
        RAISES (TermlinkError): TL721 for another number of rows.
        """
        examples = list(examples)
        validate_examples(examples, "TermLinker.get_loss")
        learner = self._start_learning()
        batch = self._make_batch(examples, GoldCounts())
        n_texts = 0 if batch is None else len(batch.texts)
        if len(scores) != n_texts:
            raise TermlinkError("TL721", name=self.name, found=len(scores), expected=n_texts)
        return (0.0, scores * 0) if batch is None else learner.loss(batch, scores)

    def training_texts(self, examples: Iterable[Example]) -> List[str]:
        """What the next update with these examples would encode: mentions, names of their concepts,
        hard negatives, synonyms."""
        self._start_learning()
        batch = self._make_batch(list(examples), GoldCounts())
        return [] if batch is None else batch.texts

    def _start_learning(self) -> "Learner":
        if self._learner is None:
            kb = self.open_kb()
            if self.cfg["save_kb"] == "path":
                raise TermlinkError("TL722", name=self.name)
            require_shareable(kb, self.name, self.cfg["allow_restricted"])
            shim = self._shim()
            shim.open(kb.path / "encoder")
            self._learner = Learner(kb, self._learning, shim)
        return self._learner

    def _shim(self) -> EncoderShim:
        shim = self.model.shims[0]
        assert isinstance(shim, EncoderShim)
        return shim

    def _gold_links(
        self, examples: Iterable[Example], kb: TermKB, counts: GoldCounts
    ) -> List[GoldLink]:
        return read_gold_links(
            examples,
            kb.terminology,
            counts,
            spans_key=self.cfg["spans_key"],
            resolve_abbreviations=self.cfg["resolve_abbreviations"],
            allowed=lambda label: self._masks[self._label_types.get(label, ())],
        )

    def _make_batch(self, examples: List[Example], counts: GoldCounts) -> Optional["LinkBatch"]:
        """The batch of examples with the KB at hand, stale or not."""
        learner, kb = self._learner, self._kb
        assert learner is not None and kb is not None
        links = self._gold_links(examples, kb, counts)
        proposed = learner.propose(
            completed(self._generator),
            [(self._label_types.get(link.label, ()), link.forms) for link in links],
            self._masks,
        )
        anchors = [self._anchor(link) for link in links]
        return learner.batches.make(anchors, proposed, learner.n_batches)

    def _anchor(self, link: GoldLink) -> GoldLink:
        """What stands for a gold link in a batch: its forms are encoded."""
        return link

    def _is_stale(self) -> bool:
        """Whether the weights may not be those of the KB any more."""
        return self._learner is not None and self._shim().changed

    def _follow_weights(self, kb: TermKB) -> None:
        """Link with the weights of the moment: build the KB again if they are others."""
        learner, shim = self._learner, self._shim()
        assert learner is not None
        digest = shim.digest()
        if digest != learner.digest:
            rebuilt = _rebuild(kb, shim, self._learning.index, learner.counts)
            self._bind(rebuilt)
            threshold = self._fit_threshold(rebuilt, learner.counts)
            if threshold is not None:
                set_threshold(rebuilt, threshold)
                self._bind(rebuilt)  # scores of doubtful candidates follow the threshold
            learner.rebuilt(digest)
        shim.changed = False

    def _fit_threshold(self, kb: TermKB, counts: GoldCounts) -> Optional[float]:
        """The threshold that gives the best F1 on the gold spans; None if they are too few."""
        if len(counts.golds) < LEAST_MENTIONS:
            return None
        stages, by_types = self._stages(kb), defaultdict(list)
        for (label, forms), golds in counts.golds.items():
            by_types[self._label_types.get(label, ())].append((forms, golds))
        present: List[float] = []
        absent: List[float] = []
        right: List[bool] = []
        for types, mentions in by_types.items():
            each = [forms for forms, _ in mentions]
            lists = stages.generate(
                each, k=1, allowed=self._masks[types], contexts=[""] * len(each)
            )
            for (_, golds), found in zip(mentions, lists, strict=True):
                score, best = (found[0].score, found[0].concept_id) if found else (0.0, NIL)
                for gold, n in golds.items():
                    (absent if gold == NIL else present).extend([score] * n)
                    right.extend([gold == best] * (0 if gold == NIL else n))
        return fit_threshold(np.array(present), np.array(right, dtype=bool), np.array(absent))

    def _forget_learning(self) -> None:
        """Start from the KB's own weights again."""
        self._learner = None
        self._shim().close()


class Learner:
    """What a linker keeps while it learns.

    kb (TermKB): Where it starts.
    settings (LearningSettings): Its settings.
    shim (EncoderShim): The weights.
    """

    def __init__(self, kb: TermKB, settings: LearningSettings, shim: EncoderShim) -> None:
        from .link_batches import LinkBatches

        self._settings, self._shim = settings, shim
        self.batches: LinkBatches = LinkBatches(kb.terminology, settings)
        self.counts = GoldCounts()
        self.n_batches = 0
        self.rebuilt(shim.digest())

    def rebuilt(self, digest: str) -> None:
        """Note that the KB that links was built with the weights of the moment.

        digest (str): Of the weights.
        """
        self.digest, self._refreshed_at = digest, self._shim.n_updates
        self._proposed: Dict[Tuple[Types, Forms], List[Candidate]] = {}

    def refresh_is_due(self) -> bool:
        """Whether the hard negatives are to be searched with the weights of the moment."""
        every = self._settings.refresh_every if self._settings.hard_negatives else 0
        return bool(every) and self._shim.n_updates - self._refreshed_at >= every

    def propose(
        self,
        generator: CandidateGenerator,
        queries: List[Tuple[Types, Forms]],
        masks: Dict[Types, Optional[np.ndarray]],
    ) -> List[List[Candidate]]:
        """What linking proposes for mentions; each is searched once with each KB."""
        if not self._settings.hard_negatives:
            return [[] for _ in queries]
        wanted: Dict[Types, Dict[Forms, None]] = {}
        for types, forms in queries:
            if (types, forms) not in self._proposed:
                wanted.setdefault(types, {})[forms] = None
        k = self._settings.hard_negatives + 1  # the gold concept is mostly among them
        for types, mentions in wanted.items():
            found = generate_forms(generator, list(mentions), k=k, allowed=masks[types])
            for forms, candidates in zip(mentions, found, strict=True):
                self._proposed[types, forms] = candidates
        return [self._proposed[query] for query in queries]

    def loss(self, batch: "LinkBatch", embeddings: Floats2d) -> Tuple[float, Floats2d]:
        """Loss of a batch, and its gradient."""
        loss, gradient = batch.loss(xp2torch(embeddings), self.batches.loss)
        return loss, cast(Floats2d, torch2xp(gradient))


def _rebuild(kb: TermKB, shim: EncoderShim, index: Optional[str], counts: GoldCounts) -> TermKB:
    """A KB of these weights in a temporary folder, which goes when the KB does."""
    folder = Path(tempfile.mkdtemp(prefix="termlink-kb-"))
    try:
        mentions = counts.mentions or None
        rebuilt = rebuild_kb(kb, shim.save, folder / "kb", index=index, mentions=mentions)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(rebuilt, remove_own, folder, os.getpid())
    return rebuilt
