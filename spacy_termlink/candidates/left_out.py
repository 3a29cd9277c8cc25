"""What the hybrid proposes for a name of the KB where that name is left out: mentions with known
concepts, as many as there are synonyms, to train a reranker on."""

import numpy as np

from ..types import Candidate, KnowledgeBase
from .base import make_candidates
from .hybrid import N_NAMES, SUPPORT, combine, merge_rows
from .ranking import rank_concepts

#: Names searched for at once.
_CHUNK = 512


def synonym_candidates(
    kb: KnowledgeBase, rows: np.ndarray, *, k: int, n_names: int = N_NAMES
) -> list[list[Candidate]]:
    """Candidates of the names at index rows, each searched with its own row left out: the scores of
    the hybrid, without its exact and its spelling tier.

    kb (KnowledgeBase): The KB.
    rows (np.ndarray): Index rows, (B,).
    k (int): Candidates of each at most.
    n_names (int): Names that each side proposes.
    """
    found: list[list[Candidate]] = []
    for start in range(0, len(rows), _CHUNK):
        found += _search(kb, rows[start : start + _CHUNK], k, n_names)
    return found


def _search(kb: KnowledgeBase, rows: np.ndarray, k: int, n_names: int) -> list[list[Candidate]]:
    terminology, names = kb.terminology, kb.names
    vectors = kb.index.vectors(rows)
    first = names.name_rows[names.offsets[rows]].tolist()
    queries = kb.ngram.vectors([terminology.name_normalized(row) for row in first])
    n = min(len(names), n_names + 1)
    near, _ = kb.index.search(vectors, n=n)
    alike, _ = kb.ngram.search(queries, n=n)
    others = merge_rows(near, alike)  # (B, 2n)
    others[others == rows[:, None]] = -1
    weight = kb.meta["hybrid"]["dense_weight"]
    cosine = kb.index.scores_of(vectors, others)
    scores = combine(cosine, kb.ngram.scores_of(queries, others), weight)
    ranked = rank_concepts(terminology, names, others, scores, k=k, support=SUPPORT)
    return make_candidates(terminology, ranked, tier="hybrid")
