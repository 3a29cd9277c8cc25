"""Builds the dense index, a block of vectors at a time: they may be more than memory holds."""

import re
from collections.abc import Callable
from typing import Any, Optional

import numpy as np

from ..errors import TermlinkError
from .coarse import ROTATED_ROWS, build_ivf_pq, build_ivf_sq8, spread_rows
from .dense_index import FILE, FILES, DenseIndex, one_thread
from .index_recall import N_QUERIES, WANTED, K, take_sample, tune
from .index_specs import MEMORY, choose_specs, factory_string

__all__ = ["FILE", "FILES", "DenseIndex", "build_index", "factory_string"]

#: Rows added at once.
BLOCK_ROWS = 65_536
#: Rows that an index of any factory string is trained on, at most.
TRAIN_ROWS = 4 * ROTATED_ROWS
#: Share of the lists of an index of inverted lists that a search goes through, and at least how many;
#: IVF_SQ8 and IVF_PQ are measured instead.
PROBED, LEAST_PROBED = 1 / 8, 8
#: What Faiss does not refuse, but dies of: parts of no size, a graph with less than two links a node
#: (and a rotation trained on less rows than columns).
_ZERO, _ONE_LINK = re.compile(r"(?<![0-9.])0+(?![0-9.])"), re.compile(r"HNSW1(?![0-9])")
EF_CONSTRUCTION = 80
#: Specs whose effort is measured, with what builds them.
_BUILDERS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "IVF_SQ8": build_ivf_sq8,
    "IVF_PQ": build_ivf_pq,
}


def build_index(vectors: Any, spec: str, *, memory: Optional[float] = None) -> DenseIndex:
    """Train and fill an index.

    vectors (np.ndarray, VectorShards): (N, D) float32, rows of norm 1; read in blocks.
    spec (str): See `factory_string`.
    memory (Optional[float]): Gigabytes that an index chosen by `auto` may take.
    RAISES (TermlinkError): TL502 for a spec that Faiss does not know or cannot train, TL546 for the
        memory.
    """
    n, width = vectors.shape
    check_spec(spec, n, width, memory=memory)
    try:
        if spec == "auto":
            return _build_auto(vectors, memory)
        if spec in _BUILDERS:
            index = _build_measured(vectors, spec)
            recall = tune(index, vectors)
            index.facts = _measured(index, recall)
            return index
        return _build_plain(vectors, factory_string(spec, n, width))
    except RuntimeError as error:
        reason = str(error).rsplit("Error: ", 1)[-1].strip()
        raise TermlinkError("TL502", spec=spec, reason=reason) from error


def check_spec(spec: str, n: int, width: int, *, memory: Optional[float] = None) -> None:
    """Refuse what Faiss does not know, before names are encoded for hours.

    RAISES (TermlinkError): TL502, TL546.
    """
    import faiss

    choose_specs(n, width, memory)
    factory = factory_string(spec, n, width)
    if _ZERO.search(factory) or _ONE_LINK.search(factory):
        raise TermlinkError("TL502", spec=spec, reason="a number in it is too small")
    if "OPQ" in factory and n < width:
        reason = f"{n:,} names are too few to train a rotation of {width} columns"
        raise TermlinkError("TL502", spec=spec, reason=reason)
    try:
        faiss.index_factory(width, factory, faiss.METRIC_INNER_PRODUCT)
    except RuntimeError as error:
        reason = str(error).rsplit("Error: ", 1)[-1].strip()
        raise TermlinkError("TL502", spec=spec, reason=reason) from error


def _build_auto(vectors: Any, memory: Optional[float]) -> DenseIndex:
    """The first of the specs that fit which finds enough of what exact search finds, else the best
    of them."""
    n, width = vectors.shape
    choice = choose_specs(n, width, memory)
    given = {"memory_gb": MEMORY if memory is None else memory}
    if choice.specs == ["Flat"]:
        index = _build_plain(vectors, "Flat")
        index.facts = {"kind": "Flat", "why": choice.why, **given}
        return index
    sample = take_sample(vectors)
    best: Optional[tuple[float, str, DenseIndex]] = None
    why = choice.why
    for spec in choice.specs:
        index = _build_measured(vectors, spec)
        recall = tune(index, vectors, sample=sample)
        why += f"; {spec} finds {recall:.3f} of the {K} nearest"
        if best is None or recall > best[0]:
            best = recall, spec, index
        if recall >= WANTED:
            break
    assert best is not None
    recall, spec, index = best
    if recall < WANTED:
        why += f", below the {WANTED} wanted"
    index.facts = {"kind": spec, "why": why, **given, **_measured(index, recall)}
    return index


def _measured(index: DenseIndex, recall: float) -> dict[str, Any]:
    effort = {"lists_searched": index.effort, "lists": index.n_lists}
    return {
        f"recall@{K}": round(recall, 3),
        "recall_queries": min(N_QUERIES, len(index)),
        **(effort if index.n_lists else {"ef_search": index.effort}),
    }


def _build_measured(vectors: Any, spec: str) -> DenseIndex:
    n, width = vectors.shape
    factory = factory_string(spec, n, width)
    if spec not in _BUILDERS:
        return _build_plain(vectors, factory)
    index, refine = _BUILDERS[spec](vectors)
    return DenseIndex(index, factory, refine=refine)


def _build_plain(vectors: Any, factory: str) -> DenseIndex:
    import faiss

    n, width = vectors.shape
    index: Any = faiss.index_factory(width, factory, faiss.METRIC_INNER_PRODUCT)
    is_graph = hasattr(index, "hnsw")
    if is_graph:
        index.hnsw.efConstruction = EF_CONSTRUCTION
    storage: Any = faiss.downcast_index(index.storage) if is_graph else index
    # threads insert into a graph in an order of their own; it must not depend on that
    with one_thread(is_graph):
        if not index.is_trained:
            index.train(np.ascontiguousarray(vectors[spread_rows(n, TRAIN_ROWS)]))
        if hasattr(storage, "codes"):
            # without room made before, a copy of all is made whenever it grows
            storage.codes.resize(n * storage.code_size)
            storage.codes.resize(0)
        for first in range(0, n, BLOCK_ROWS):
            index.add(np.ascontiguousarray(vectors[first : first + BLOCK_ROWS]))
    dense = DenseIndex(index, factory)
    if dense.n_lists:
        dense.effort = max(LEAST_PROBED, int(dense.n_lists * PROBED))
    return dense
