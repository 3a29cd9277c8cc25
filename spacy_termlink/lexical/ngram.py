"""Character n-gram TF-IDF over names: finds misspellings and near forms without a model.

Trigrams of the normal form, spaces included, so that word ends count; characters of Chinese,
Japanese and Korean, whose words have no spaces, count alone and in pairs. An n-gram is the number
made of its code points, so the vocabulary is one sorted array and no string is looked up.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
import scipy.sparse as sp

from ..files import map_array, save_arrays

#: Bits of a Unicode code point: three of them fit in 64 bits.
POINT_BITS = np.uint64(21)
_END = 10  # line feed: never in a normal form
ARRAYS = ("vocabulary", "idf", "by_name_offsets", "by_name_ids", "by_name_weights",
          "by_gram_offsets", "by_gram_rows", "by_gram_weights")  # fmt: skip
#: Names counted together when an index is built.
BLOCK_NAMES = 200_000
#: Mentions looked at together.
CHUNK = 64
#: A mention's rarest n-grams are followed until this many names were met: the others say little and
#: cost most. Names found so are then compared in full.
POSTINGS = 4000
#: Names compared in full per name wanted, and at least.
PER_WANTED = 4
LEAST_COMPARED = 100
#: Up to this many allowed rows each is compared in full.
FEW_ROWS = 2000


class NgramIndex:
    """TF-IDF rows of names, by name and by n-gram.

    arrays (dict[str, np.ndarray]): See ARRAYS; two compressed sparse matrices share nothing.
    """

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._arrays = arrays
        self.vocabulary = arrays["vocabulary"]
        self.idf = arrays["idf"]
        self.n_names = len(arrays["by_name_offsets"]) - 1
        self._by_name = self._matrix("by_name", "ids", (self.n_names, len(self.vocabulary)))
        self.df = np.diff(arrays["by_gram_offsets"])  # names that have the n-gram
        self._by_gram = self._matrix("by_gram", "rows", (len(self.vocabulary), self.n_names))

    @classmethod
    def build(cls, texts: Sequence[str]) -> "NgramIndex":
        """Index texts; row i is text i.

        texts (Sequence[str]): Normal forms.
        """
        blocks = [_count(texts[i : i + BLOCK_NAMES]) for i in range(0, len(texts), BLOCK_NAMES)]
        vocabulary, df = _merge(blocks)
        idf = np.log((1 + len(texts)) / (1 + df)) + 1  # (vocabulary,)
        by_name = _weigh_blocks(blocks, vocabulary, idf)
        by_gram = by_name.T.tocsr()
        return cls(
            {
                "vocabulary": vocabulary,
                "idf": idf,
                "by_name_offsets": by_name.indptr.astype(np.int64),
                "by_name_ids": by_name.indices.astype(np.int32),
                "by_name_weights": by_name.data,
                "by_gram_offsets": by_gram.indptr.astype(np.int64),
                "by_gram_rows": by_gram.indices.astype(np.int32),
                "by_gram_weights": by_gram.data,
            }
        )

    def save(self, folder: Path) -> None:
        """Write one .npy per array."""
        save_arrays(folder, self._arrays)

    @classmethod
    def open(cls, folder: Path) -> "NgramIndex":
        """Map the arrays of a saved index.

        RAISES (TermlinkError): TL505, naming a file that is damaged.
        """
        return cls({name: map_array(folder / f"{name}.npy") for name in ARRAYS})

    def search(
        self, queries: sp.csr_matrix, *, n: int, allowed_rows: Optional[np.ndarray] = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The n most similar names of each mention, among those that share one of its rarest
        n-grams (POSTINGS).

        queries (sp.csr_matrix): The mentions, from `vectors`, (B, vocabulary).
        n (int): Names wanted.
        allowed_rows (Optional[np.ndarray]): Boolean mask over rows.
        RETURNS (tuple[np.ndarray, np.ndarray]): Rows (B, n) int64 and cosines (B, n) float32, best
            first, ties by row; row -1 fills up where fewer share an n-gram with the mention.
        """
        n = min(n, self.n_names)
        rows = np.full((queries.shape[0], n), -1, dtype=np.int64)
        scores = np.zeros((queries.shape[0], n), dtype=np.float32)
        for first in range(0, queries.shape[0], CHUNK):
            chunk = _chunk(queries, first)
            found = self._propose(chunk, n, allowed_rows)
            values = self.scores_of(chunk, found)
            # best first, ties by row; what fills up or shares nothing goes last
            order = np.lexsort((found, -np.where(found < 0, -1, values)), axis=1)[:, :n]
            width = order.shape[1]
            values = np.take_along_axis(values, order, axis=1)
            found = np.take_along_axis(found, order, axis=1)
            rows[first : first + CHUNK, :width] = np.where(values > 0, found, -1)
            scores[first : first + CHUNK, :width] = values
        return rows, scores

    def scores_of(self, queries: sp.csr_matrix, rows: np.ndarray) -> np.ndarray:
        """Cosines of mentions with rows of their own.

        queries (sp.csr_matrix): From `vectors`, (B, vocabulary).
        rows (np.ndarray): (B, M) index rows; -1 gives 0.
        RETURNS (np.ndarray): (B, M) float32; a sum does not depend on the rest of the batch.
        """
        n_grams = len(self.vocabulary)
        out = np.zeros(rows.shape, dtype=np.float32)
        for first in range(0, len(rows), CHUNK):
            chunk = rows[first : first + CHUNK]
            mentions, places = np.nonzero(chunk >= 0)
            names = self._by_name[chunk[mentions, places]]
            # one vector for all mentions: the n-grams of mention i start at i * n_grams
            dense = _chunk(queries, first).toarray().ravel()
            shifts = (mentions * n_grams).astype(names.indices.dtype)
            names.indices += np.repeat(shifts, np.diff(names.indptr))
            beside = sp.csr_matrix(
                (names.data, names.indices, names.indptr), shape=(len(mentions), len(dense))
            )
            out[first + mentions, places] = beside @ dense
        return out

    def _propose(
        self, queries: sp.csr_matrix, n: int, allowed_rows: Optional[np.ndarray]
    ) -> np.ndarray:
        """Rows to compare in full, (B, M), -1 where there are fewer."""
        wanted = min(self.n_names, max(PER_WANTED * n, LEAST_COMPARED))
        if allowed_rows is not None:
            few = np.flatnonzero(allowed_rows)
            if len(few) <= max(FEW_ROWS, wanted):
                return np.broadcast_to(few, (queries.shape[0], len(few)))
        rare = self._rarest(queries)
        product = rare @ self._by_gram
        rows = np.full((queries.shape[0], wanted), -1, dtype=np.int64)
        for i in range(len(rows)):
            found = _best(product, i, wanted, allowed_rows)
            if len(found) < n and rare.indptr[i + 1] - rare.indptr[i] < queries[i].nnz:
                found = _best(queries[i] @ self._by_gram, 0, wanted, allowed_rows)
            rows[i, : len(found)] = found
        return rows

    def _rarest(self, queries: sp.csr_matrix) -> sp.csr_matrix:
        """The mentions' rarest n-grams, as many as lead to POSTINGS names (one at least)."""
        owners = np.repeat(np.arange(queries.shape[0]), np.diff(queries.indptr))
        order = np.lexsort((queries.indices, self.df[queries.indices], owners))
        total = np.cumsum(self.df[queries.indices[order]])
        before = np.concatenate([[0], total])[queries.indptr[:-1]]  # of earlier mentions
        kept = total - before[owners] <= POSTINGS
        kept[queries.indptr[:-1][np.diff(queries.indptr) > 0]] = True
        order, owners = order[kept], owners[kept]
        return sp.csr_matrix(
            (queries.data[order], (owners, queries.indices[order])), shape=queries.shape
        )

    def vectors(self, mentions: Sequence[str]) -> sp.csr_matrix:
        """TF-IDF rows of mentions, (B, vocabulary); n-grams that no name has count for the norm
        only, as rare ones, so that a mention half unknown cannot reach a cosine of 1."""
        owners, grams = ngrams(mentions)
        ids = np.searchsorted(self.vocabulary, grams)
        ids[ids == len(self.vocabulary)] = 0
        if len(self.vocabulary):
            unknown = self.vocabulary[ids] != grams
        else:
            unknown = np.ones(len(grams), dtype=bool)
        ids[unknown] = len(self.vocabulary)  # one more column, cut off below
        counts = sp.csr_matrix(
            (np.ones(len(ids), dtype=np.float64), (owners, ids)),
            shape=(len(mentions), len(self.vocabulary) + 1),
        )
        counts.sum_duplicates()
        rarest = np.log(1 + self.n_names) + 1
        weighted = _weighted(counts, np.append(self.idf, rarest))
        return weighted[:, : len(self.vocabulary)]

    def _matrix(self, prefix: str, ids: str, shape: tuple[int, int]) -> sp.csr_matrix:
        arrays = self._arrays
        return sp.csr_matrix(
            (
                arrays[f"{prefix}_weights"],
                arrays[f"{prefix}_{ids}"],
                arrays[f"{prefix}_offsets"],
            ),
            shape=shape,
            copy=False,
        )


def _chunk(queries: sp.csr_matrix, first: int) -> sp.csr_matrix:
    # a slice takes longer than a mention does
    return queries if queries.shape[0] <= CHUNK else queries[first : first + CHUNK]


def ngrams(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """All n-grams of all texts.

    RETURNS (tuple[np.ndarray, np.ndarray]): Text number (G,) int64 and n-gram (G,) uint64.
    """
    joined = "".join(f" {text} \n" for text in texts)
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    owners = np.cumsum(points == _END) - (points == _END)
    padded = np.concatenate([points, [_END, _END]]).astype(np.uint64)
    first, second, third = padded[:-2], padded[1:-1], padded[2:]
    end = padded == _END
    cjk = _is_cjk(padded)
    pair = first | second << POINT_BITS
    # a trigram lies in one text and touches no CJK character
    whole = ~(end[:-2] | end[1:-1] | end[2:] | cjk[:-2] | cjk[1:-1] | cjk[2:])
    doubles = cjk[:-2] & cjk[1:-1]
    singles = cjk[:-2]
    return (
        np.concatenate([owners[whole], owners[doubles], owners[singles]]),
        np.concatenate(
            [(pair | third << (POINT_BITS + POINT_BITS))[whole], pair[doubles], first[singles]]
        ),
    )


def _is_cjk(points: np.ndarray) -> np.ndarray:
    """Scripts without spaces: kana, Han, Hangul is spaced but its syllables say as much."""
    return (
        ((points >= 0x3005) & (points <= 0x30FF))
        | ((points >= 0x3400) & (points <= 0x9FFF))
        | ((points >= 0xAC00) & (points <= 0xD7A3))
        | ((points >= 0xF900) & (points <= 0xFAFF))
        | ((points >= 0x20000) & (points <= 0x3FFFF))
    )


def _count(texts: Sequence[str]) -> tuple[np.ndarray, sp.csr_matrix]:
    """N-grams of some texts, ascending, and how often each text has each of them."""
    owners, grams = ngrams(texts)
    vocabulary, ids = np.unique(grams, return_inverse=True)
    counts = sp.csr_matrix(
        (np.ones(len(ids), dtype=np.float32), (owners, ids)), shape=(len(texts), len(vocabulary))
    )
    counts.sum_duplicates()
    return vocabulary, counts


def _merge(blocks: Sequence[tuple[np.ndarray, sp.csr_matrix]]) -> tuple[np.ndarray, np.ndarray]:
    """All n-grams of the blocks, ascending, and how many texts have each."""
    vocabulary, df = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    for grams, counts in blocks:
        some = np.bincount(counts.indices, minlength=len(grams))
        vocabulary, places = np.unique(np.concatenate([vocabulary, grams]), return_inverse=True)
        df = np.bincount(places, np.concatenate([df, some]), len(vocabulary)).astype(np.int64)
    return vocabulary, df


def _weigh_blocks(
    blocks: list[tuple[np.ndarray, sp.csr_matrix]], vocabulary: np.ndarray, idf: np.ndarray
) -> sp.csr_matrix:
    """Rows of all texts; a block is let go when it is done, so that they are there once."""
    n_values = sum(counts.nnz for _, counts in blocks)
    ids, weights = np.empty(n_values, dtype=np.int32), np.empty(n_values, dtype=np.float32)
    lengths, first = [np.zeros(1, dtype=np.int64)], 0
    while blocks:
        grams, counts = blocks.pop(0)
        counts = sp.csr_matrix(
            (counts.data.astype(np.float64), np.searchsorted(vocabulary, grams)[counts.indices],
             counts.indptr), shape=(counts.shape[0], len(vocabulary)),
        )  # fmt: skip
        weighted = _weighted(counts, idf)
        last = first + weighted.nnz
        ids[first:last], weights[first:last] = weighted.indices, weighted.data
        lengths.append(np.diff(weighted.indptr).astype(np.int64))
        first = last
    offsets = np.cumsum(np.concatenate(lengths))
    return sp.csr_matrix((weights, ids, offsets), shape=(len(offsets) - 1, len(vocabulary)))


def _weighted(counts: sp.csr_matrix, idf: np.ndarray) -> sp.csr_matrix:
    """(1 + log count) x idf, rows of norm 1, float32."""
    weights: Any = (1 + np.log(counts.data)) * idf[counts.indices]
    lengths = np.diff(counts.indptr)
    owners = np.repeat(np.arange(counts.shape[0]), lengths)
    norms = np.sqrt(np.bincount(owners, weights * weights, minlength=counts.shape[0]))
    data = (weights / norms[owners]).astype(np.float32)
    return sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


def _best(
    product: sp.csr_matrix, i: int, wanted: int, allowed_rows: Optional[np.ndarray]
) -> np.ndarray:
    """Columns of the largest entries of a row; ties at the border by column."""
    span = slice(product.indptr[i], product.indptr[i + 1])
    found, values = product.indices[span], product.data[span]
    if allowed_rows is not None:
        kept = allowed_rows[found]
        found, values = found[kept], values[kept]
    if len(found) <= wanted:
        return found
    least = np.partition(values, len(values) - wanted)[len(values) - wanted]
    above, border = found[values > least], np.sort(found[values == least])
    return np.concatenate([above, border[: wanted - len(above)]])
