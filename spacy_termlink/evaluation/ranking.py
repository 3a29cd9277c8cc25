"""Ranking of candidates against gold concepts: Hits@k, MRR and graded nDCG@k (DESIGN.md, section 7)."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

import numpy as np

from ..candidates import make_generator
from ..candidates.forms import generate_forms
from ..errors import TermlinkError
from ..lexical.abbreviations import expand, find_abbreviations, long_forms
from ..terminology import Terminology
from ..types import Candidate, CandidateGenerator
from .bootstrap import mean_intervals
from .mentions import AnnotatedDoc, Mention

METRICS = ("hits@1", "hits@5", "hits@10", "mrr", "ndcg@1", "ndcg@5", "ndcg@10")
HITS_AT = (1, 5, 10)
NDCG_AT = (1, 5, 10)

#: Gains by distance from the gold concept (DESIGN.md, section 7; seed 002).
GAIN_SELF, GAIN_NEAR, GAIN_FAR = 3, 2, 1


class Gains:
    """Graded gain of every concept for a gold one.

    3 for the concept itself, 2 for a parent or child, 1 for a grandparent, grandchild, sibling or
    uncle (a parent's sibling); else 0. A concept that stands in several relations has the best one.
    """

    def __init__(self, terminology: Terminology) -> None:
        self._terminology = terminology
        self._known: dict[str, dict[str, int]] = {}

    def of(self, gold_id: str) -> dict[str, int]:
        """Ids with a gain above 0; retired concepts have none, no search may find them."""
        if gold_id not in self._known:
            self._known[gold_id] = self._compute(gold_id)
        return self._known[gold_id]

    def _compute(self, gold_id: str) -> dict[str, int]:
        graph, terminology = self._terminology.graph, self._terminology
        row = terminology.row(gold_id)
        parents, children = graph.parents(row), graph.children(row)
        far = {*graph.siblings(row)}
        for parent in parents:
            far.update(graph.parents(parent), graph.siblings(parent))
        for child in children:
            far.update(graph.children(child))
        gains = dict.fromkeys(far, GAIN_FAR)
        gains.update(dict.fromkeys([*parents, *children], GAIN_NEAR))
        gains[row] = GAIN_SELF
        retired = terminology.obsolete
        return {terminology.concept_id(r): gain for r, gain in gains.items() if not retired[r]}


def dcg(gains: Iterable[float]) -> float:
    """Discounted cumulative gain: sum of gain / log2(rank + 1), rank from 1."""
    return float(sum(gain / np.log2(rank + 1) for rank, gain in enumerate(gains, start=1)))


def ndcg(found: Sequence[float], existing: Iterable[float], k: int) -> float:
    """nDCG@k with linear gain.

    found (Sequence[float]): Gains of the concepts found, best rank first; a short list counts as
        padded with zeros.
    existing (Iterable[float]): Gains of every concept of the terminology (zeros may be left out):
        the ideal list is the best k of them, whether found or not.
    RETURNS (float): 0 to 1; 0 where nothing with a gain exists.
    """
    ideal = dcg(sorted(existing, reverse=True)[:k])
    return dcg(found[:k]) / ideal if ideal else 0.0


def rank_of_first(ids: Sequence[str], gold: Iterable[str]) -> int:
    """Rank (from 1) of the first id that is among the gold ones, 0 where none is."""
    wanted = set(gold)
    return next((rank for rank, i in enumerate(ids, start=1) if i in wanted), 0)


def mention_figures(ids: Sequence[str], gold: Sequence[str], gains: Gains) -> np.ndarray:
    """Every metric of one mention.

    ids (Sequence[str]): Living ids found, best first.
    gold (Sequence[str]): Living gold ids; with several, any counts, and nDCG is the best over them.
        None at all makes every figure 0.
    gains (Gains): Graded gains.
    RETURNS (np.ndarray): (7,), in the order of METRICS. MRR is 1 / rank of the first right id, 0
        where it is not among the k searched.
    """
    rank = rank_of_first(ids, gold)
    figures = [float(0 < rank <= k) for k in HITS_AT] + [1 / rank if rank else 0.0]
    graded = [gains.of(g) for g in gold]
    for k in NDCG_AT:
        values = [ndcg([g.get(i, 0) for i in ids], g.values(), k) for g in graded]
        figures.append(max(values, default=0.0))
    return np.array(figures)


def resolve_all(terminology: Terminology, ids: Iterable[str]) -> list[str]:
    """Living ids that ids stand for, sorted, each once; unknown ones left out."""
    return sorted({i for i in map(terminology.resolve, ids) if i is not None})


def mention_forms(
    mentions: Sequence[Mention], docs: Optional[Sequence[AnnotatedDoc]]
) -> list[list[str]]:
    """What to search each mention by: its text and, where its own document defines it or a word in
    it as an abbreviation, the text with the long form.

    docs (Optional[Sequence[AnnotatedDoc]]): Documents of the mentions; None resolves nothing. A
        mention whose document is not among them keeps its text alone.
    RETURNS (list[list[str]]): (B,) lists of one or two forms.
    RAISES (TermlinkError): TL903 if no mention's document is among them.
    """
    texts = {doc.doc_id: doc.text for doc in docs or ()}
    wanted = {m.doc_id for m in mentions if m.doc_id in texts}
    if docs is not None and not wanted:
        raise TermlinkError("TL903", example=mentions[0].doc_id or "none given")
    resolved = {doc_id: long_forms(find_abbreviations(texts[doc_id])) for doc_id in wanted}
    return [
        list(dict.fromkeys([m.text, expand(m.text, resolved.get(m.doc_id, {}))])) for m in mentions
    ]


class Ranking:
    """Candidates of every mention with their figures, ready to be averaged or compared.

    mentions (list[Mention]): The mentions that have gold concepts, B of them.
    candidates (list[list[Candidate]]): Theirs, (B,) lists.
    golds (list[list[str]]): Living gold ids, (B,) lists; an empty one where the terminology knows
        none.
    values (np.ndarray): (B, 7), columns as METRICS.
    documents (list[str]): Document of each mention; one without a document is its own.
    seconds (float): What generating took.
    nil (list[Mention]), nil_candidates (list[list[Candidate]]): Mentions without gold concepts.
    """

    def __init__(
        self,
        terminology: Terminology,
        mentions: Sequence[Mention],
        found: Sequence[list[Candidate]],
        seconds: float,
    ) -> None:
        pairs = list(zip(mentions, found, strict=True))
        self.mentions = [m for m, _ in pairs if m.concepts]
        self.candidates = [c for m, c in pairs if m.concepts]
        self.nil = [m for m, _ in pairs if not m.concepts]
        self.nil_candidates = [c for m, c in pairs if not m.concepts]
        self.seconds = seconds
        self.golds = [resolve_all(terminology, m.gold) for m in self.mentions]
        self.documents = [m.doc_id or f"mention {m.id}" for m in self.mentions]
        gains = Gains(terminology)
        rows = [
            mention_figures(
                [terminology.resolve(c.concept_id) or c.concept_id for c in found], gold, gains
            )
            for found, gold in zip(self.candidates, self.golds, strict=True)
        ]
        self.values = np.array(rows).reshape(len(rows), len(METRICS))
        self._unknown = {i for m in self.mentions for i in m.gold if terminology.resolve(i) is None}

    def report(self, *, threshold: float) -> dict[str, Any]:
        """Means, intervals and counts; see `evaluate_mentions`."""
        n = len(self.mentions)
        figures: dict[str, Any] = dict.fromkeys(METRICS)
        intervals: dict[str, Any] = {}
        if n:
            figures = dict(zip(METRICS, self.values.mean(axis=0).tolist(), strict=True))
            bounds = mean_intervals(self.values, self.documents)
            intervals = dict(zip(METRICS, map(list, bounds), strict=True))
        searched = n + len(self.nil)
        return {
            **figures,
            "n": n,
            "mentions_per_second": searched / self.seconds if self.seconds else None,
            "ci": intervals,
            "n_documents": len(set(self.documents)),
            "n_unknown_gold": sum(not gold for gold in self.golds),
            "unknown_gold": sorted(self._unknown),
            "nil": self._nil_report(threshold),
        }

    def _nil_report(self, threshold: float) -> dict[str, Any]:
        right = sum(not found or found[0].score < threshold for found in self.nil_candidates)
        n = len(self.nil)
        return {"n": n, "accuracy": right / n if n else None, "threshold": threshold}

    def details(self) -> list[dict[str, Any]]:
        """One row per mention: gold, rank of the first right candidate, candidates."""
        return [
            {
                "id": m.id,
                "doc_id": m.doc_id,
                "text": m.text,
                "concepts": list(m.concepts),
                "gold": gold,
                "rank": round(1 / mrr) if mrr else None,
                "candidates": [c.to_json() for c in found],
            }
            for m, gold, found, mrr in zip(
                [*self.mentions, *self.nil],
                [*self.golds, *([] for _ in self.nil)],
                [*self.candidates, *self.nil_candidates],
                [*self.values[:, METRICS.index("mrr")], *(0.0 for _ in self.nil)],
                strict=True,
            )
        ]


def rank_mentions(
    kb: Any,
    mentions: Sequence[Mention],
    *,
    generator: Union[str, CandidateGenerator] = "hybrid",
    k: int = 10,
    docs: Optional[Sequence[AnnotatedDoc]] = None,
) -> Ranking:
    """Search every mention of a set in one batch; see `evaluate_mentions` for the arguments."""
    made = make_generator(generator, kb) if isinstance(generator, str) else generator
    forms = mention_forms(mentions, docs)
    generate_forms(made, forms[:1], k=k)  # loads what is loaded late, so that it is not timed
    start = time.perf_counter()
    found = generate_forms(made, forms, k=k)
    return Ranking(kb.terminology, mentions, found, time.perf_counter() - start)


def evaluate_mentions(
    kb: Any,
    mentions: Sequence[Mention],
    *,
    generator: Union[str, CandidateGenerator] = "hybrid",
    k: int = 10,
    docs: Optional[Sequence[AnnotatedDoc]] = None,
) -> dict[str, Any]:
    """Rank candidates for annotated mentions and average.

    A candidate counts when its id, or the id it redirects to, is among the gold ids (`accept` lists
    included), redirected likewise. A mention none of whose gold ids the terminology knows is a miss.
    Hits and nDCG take no notice of the threshold.

    kb (TermKB): An opened KB.
    mentions (Sequence[Mention]): From `read_mentions`.
    generator (Union[str, CandidateGenerator]): "hybrid", "dense", ... or a generator.
    k (int): Candidates searched; MRR counts no hit beyond. At least 10, or hits@10 means hits@k.
    docs (Optional[Sequence[AnnotatedDoc]]): Resolve abbreviations inside these documents.
    RETURNS (dict): METRICS (None where no mention has gold concepts), "n" (mentions with gold
        concepts), "mentions_per_second", "ci" (metric -> 95 % bootstrap interval over documents),
        "n_documents", "n_unknown_gold" (mentions counted as misses because the terminology knows no
        gold id), "unknown_gold" (those ids) and "nil": of the mentions without gold concepts, the
        share whose best candidate is under the threshold.
    """
    ranking = rank_mentions(kb, mentions, generator=generator, k=k, docs=docs)
    return ranking.report(threshold=kb.threshold)


def compare_rankings(first: Ranking, second: Ranking) -> dict[str, Any]:
    """Paired differences of two systems on the same mentions.

    RETURNS (dict): Metric -> {"difference": mean of first - second, "ci": its 95 % bootstrap
        interval over documents}. An interval that leaves out 0 is a difference beyond chance.
    """
    values = first.values - second.values
    bounds = mean_intervals(values, first.documents)
    return {
        name: {"difference": float(mean), "ci": list(interval)}
        for name, mean, interval in zip(METRICS, values.mean(axis=0), bounds, strict=True)
    }
