"""One system on one set of mentions: candidates and figures of every mention.

A system is a KB with a candidate generator. Averages, intervals, tables and tests are made of what
stands here, by `summary` and `significance`; nothing else searches.
"""

import time
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import numpy as np

from ..candidates import make_generator
from ..rerank.groups import find_groups
from ..rerank.mention_candidates import MentionCandidates
from ..terminology import Terminology
from ..types import Candidate, CandidateGenerator, Reranker
from .gains import Gains
from .mention_set import MentionSet
from .pairs import Pairs, score_pairs
from .ranking import METRICS, mention_figures, mention_figures_all, rank_of_first

#: Candidates searched per mention: what Hits@10 and nDCG@10 need.
K = 10


@dataclass(frozen=True)
class SystemResult:
    """What a system found for every mention of a set, and how good it is.

    name (str): The system's.
    terminology (Terminology): The KB's.
    mention_set (MentionSet): N mentions with gold concepts and M without.
    candidates (list[list[Candidate]]): (N,) lists, best first.
    nil_candidates (list[list[Candidate]]): (M,) lists.
    figures (np.ndarray): (N, 7), columns as METRICS; of several gold concepts any counts.
    figures_all (np.ndarray): (N, 7); all gold concepts have to be found.
    ranks (np.ndarray): (N,) rank of the first right candidate, 0 where none is among the k.
    top_scores (np.ndarray): (N,) what the threshold applies to, of the first candidate: its
        probability where the KB is calibrated, else its score; -inf where there is none.
    nil_top_scores (np.ndarray): (M,) likewise.
    pairs (Pairs): Scores of positive and negative pairs.
    threshold (float): Probability or score under which the KB says NIL.
    applies_to (str): Which of the two, "probability" or "score".
    k (int): Candidates searched.
    seconds (float): What searching took, after a first mention that loads what is loaded late.
    n_reranked (Optional[int]): Mentions that were in doubt and reranked; None without a reranker.
    """

    name: str
    terminology: Terminology
    mention_set: MentionSet
    candidates: list[list[Candidate]]
    nil_candidates: list[list[Candidate]]
    figures: np.ndarray
    figures_all: np.ndarray
    ranks: np.ndarray
    top_scores: np.ndarray
    nil_top_scores: np.ndarray
    pairs: Pairs
    threshold: float
    applies_to: str
    k: int
    seconds: float
    n_reranked: Optional[int] = None
    groups: list[list[str]] = field(default_factory=list)
    nil_groups: list[list[str]] = field(default_factory=list)


def evaluate_system(
    kb: Any,
    mention_set: MentionSet,
    generator: Union[str, CandidateGenerator] = "hybrid",
    *,
    name: str = "",
    k: int = K,
    reranker: Optional[Reranker] = None,
    context: bool = False,
) -> SystemResult:
    """Search every mention of a set in one batch and compare with the gold concepts.

    A candidate is right when its id, or the id it redirects to, is among the gold ids (`accept`
    lists included), redirected likewise. A mention none of whose gold ids the terminology knows is a
    miss. The figures take no notice of the threshold.

    kb (TermKB): An opened KB; of it `terminology`, `threshold` and `calibration` are used, and what
        the generator needs.
    mention_set (MentionSet): From `prepare_mentions`. Systems that are compared share one.
    generator (Union[str, CandidateGenerator]): "hybrid", "dense", ... or a generator.
    name (str): Name of the system; "" for that of the generator.
    k (int): Candidates searched; MRR counts no hit beyond. At least 10, or hits@10 means hits@k.
    reranker (Optional[Reranker]): Orders the candidates of mentions in doubt anew.
    context (bool): Give it the mentions' sentences.
    RETURNS (SystemResult): Arrays and lists, a row per mention.
    """
    made = make_generator(generator, kb) if isinstance(generator, str) else generator
    forms = [*mention_set.forms, *mention_set.nil_forms]
    contexts = [*mention_set.contexts, *mention_set.nil_contexts] if context else None
    warm = MentionCandidates(
        kb, made, reranker
    )  # loads what is loaded late, so that it is not timed
    first = warm.generate(forms[:1], k=k)
    if reranker is not None and first:
        reranker.rerank([forms[0][-1]], first)
    proposed = MentionCandidates(kb, made, reranker)
    start = time.perf_counter()
    found = proposed.generate(forms, k=k, contexts=contexts)
    seconds = time.perf_counter() - start
    n_reranked = None if reranker is None else proposed.n_reranked
    n = len(mention_set.mentions)
    candidates, nil_candidates = found[:n], found[n:]
    groups = [
        list(dict.fromkeys(living_ids(kb.terminology, group)))
        for group in find_groups(proposed, forms, found, threshold=proposed.threshold, k=k)
    ]
    ids = [living_ids(kb.terminology, of_mention) for of_mention in candidates]
    gains, any_gold = Gains(kb.terminology), mention_set.any_gold
    return SystemResult(
        name=name or (generator if isinstance(generator, str) else type(generator).__name__),
        terminology=kb.terminology,
        mention_set=mention_set,
        candidates=candidates,
        nil_candidates=nil_candidates,
        figures=_rows(mention_figures(i, g, gains) for i, g in zip(ids, any_gold, strict=True)),
        figures_all=_rows(
            mention_figures_all(i, g, gains) for i, g in zip(ids, mention_set.golds, strict=True)
        ),
        ranks=np.array([rank_of_first(*pair) for pair in zip(ids, any_gold, strict=True)], int),
        top_scores=_top_scores(candidates),
        nil_top_scores=_top_scores(nil_candidates),
        pairs=score_pairs(kb.terminology, made, mention_set, candidates, ids, k=k),
        threshold=proposed.threshold,
        applies_to=proposed.applies_to,
        k=k,
        seconds=seconds,
        n_reranked=n_reranked,
        groups=groups[:n],
        nil_groups=groups[n:],
    )


def living_ids(terminology: Terminology, candidates: list[Candidate]) -> list[str]:
    """Ids of candidates, redirected where the terminology knows where to."""
    return [terminology.resolve(c.concept_id) or c.concept_id for c in candidates]


def _rows(rows: Any) -> np.ndarray:
    return np.array(list(rows), dtype=float).reshape(-1, len(METRICS))


def _top_scores(lists: list[list[Candidate]]) -> np.ndarray:
    return np.array([found[0].certainty if found else -np.inf for found in lists])
