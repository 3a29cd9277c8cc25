"""Names of index specs, what an index of each takes, and which of them `auto` tries."""

from typing import NamedTuple, Optional

import numpy as np

from ..errors import TermlinkError

#: From this many names on `auto` takes HNSW: flat search costs 2 x names x D operations a query.
#: (IVF is built faster, but loses two points of Hits@1 at the same speed.)
HNSW_FROM = 20_000
#: From this many names on `auto` takes inverted lists: a graph is built by one thread.
IVF_FROM = 1_000_000
#: Gigabytes that an index may take where nothing is said.
MEMORY = 8.0
#: What Faiss wants to train a centroid on.
POINTS_PER_CENTROID = 39
HNSW_LINKS = 32
#: Names in a list of IVF_SQ8 and IVF_PQ. Few: a query goes through whole lists, and finding the
#: lists costs little, since their centroids have a graph of their own.
NAMES_PER_LIST = 128
#: From this many lists on the centroids have a graph.
GRAPH_FROM = 1024
#: Columns of a vector that a product quantiser puts into one byte.
COLUMNS_PER_BYTE = 4
GIGABYTE = 1e9


class Choice(NamedTuple):
    """What `auto` tries, in this order, and why.

    specs (list[str]): The first whose recall is good enough is taken.
    why (str): In words.
    """

    specs: list[str]
    why: str


def factory_string(spec: str, n: int, width: int) -> str:
    """Faiss factory string of an index spec.

    spec (str): auto, Flat, HNSW, IVF, SQ8, PQ, IVF_SQ8, IVF_PQ, or a factory string, which is passed
        on. auto stands for the first that is tried in MEMORY.
    n (int): Names to index.
    width (int): Columns of a vector; a product quantiser splits them into equal parts.
    """
    if spec == "auto":
        spec = choose_specs(n, width, MEMORY).specs[0]
    lists = max(1, min(int(n**0.5), n // POINTS_PER_CENTROID))
    parts, few_parts = _parts(width, COLUMNS_PER_BYTE), _parts(width, 8)
    bits = int(np.clip(np.log2(max(1, n / POINTS_PER_CENTROID)), 1, 8))
    many = n_lists(n)
    ivf = f"IVF{many}_HNSW{HNSW_LINKS}" if many >= GRAPH_FROM else f"IVF{many}"
    return {
        "Flat": "Flat",
        "HNSW": f"HNSW{HNSW_LINKS},Flat",
        "IVF": f"IVF{lists},Flat",
        "HNSW_SQ8": f"HNSW{HNSW_LINKS},SQ8",
        "SQ8": "SQ8",
        "PQ": f"PQ{few_parts}x{bits}",
        "IVF_SQ8": f"{ivf},SQ8",
        "IVF_PQ": f"OPQ{parts},{ivf},PQ{parts}x{bits},Refine(SQ8)",
    }.get(spec, spec)


def n_lists(n: int) -> int:
    """Inverted lists for n names, so that they hold about NAMES_PER_LIST."""
    return max(1, round(n / NAMES_PER_LIST))


def n_parts(width: int) -> int:
    """Parts that the product quantiser of IVF_PQ splits a vector into, a byte each."""
    return _parts(width, COLUMNS_PER_BYTE)


def _parts(width: int, columns: int) -> int:
    return next(m for m in range(max(1, width // columns), 0, -1) if width % m == 0)


def index_bytes(spec: str, n: int, width: int) -> int:
    """Bytes of memory that an index of n names takes when all of it is in use. The vectors that
    refine IVF_PQ are not among them: of that file a query reads some hundred rows."""
    vector = 4 * width
    graph = 4 * 2 * HNSW_LINKS + 8
    many = n_lists(n)
    lists = many * (vector // 2 + graph if many >= GRAPH_FROM else vector)
    return {
        "Flat": n * vector,
        "HNSW": n * (vector + graph),
        # code, row number, place in the lists
        "IVF_SQ8": n * (width + 16) + lists,
        "IVF_PQ": n * (n_parts(width) + 16) + lists,
    }[spec]


def choose_specs(n: int, width: int, memory: Optional[float]) -> Choice:
    """What `auto` tries for n names.

    memory (Optional[float]): Gigabytes that the index may take; None for MEMORY.
    RAISES (TermlinkError): TL546 if it is not more than 0.
    """
    memory = MEMORY if memory is None else memory
    if not memory > 0:
        raise TermlinkError("TL546", value=memory)
    if n < HNSW_FROM:
        return Choice(["Flat"], f"{n:,} names: exact search is fast up to {HNSW_FROM:,}")

    def says(spec: str) -> str:
        return f"{spec} takes {index_bytes(spec, n, width) / GIGABYTE:.2g} GB"

    fits = [
        spec
        for spec in ("HNSW", "IVF_SQ8")
        if index_bytes(spec, n, width) <= memory * GIGABYTE and (spec != "HNSW" or n < IVF_FROM)
    ]
    if not fits:
        why = f"{says('IVF_SQ8')} of the {memory:g} GB given, {says('IVF_PQ')}"
        return Choice(["IVF_PQ"], f"{n:,} names: {why}")
    reason = f"{says(fits[0])} of the {memory:g} GB given"
    if fits[0] == "IVF_SQ8":
        small = says("HNSW") if n < IVF_FROM else f"HNSW is for less than {IVF_FROM:,} names"
        reason = f"{small}, {reason}"
    return Choice(fits, f"{n:,} names: {reason}")
