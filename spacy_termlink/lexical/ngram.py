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

#: Bits of a Unicode code point: three of them fit in 64 bits.
POINT_BITS = np.uint64(21)
_END = 10  # line feed: never in a normal form
ARRAYS = ("vocabulary", "idf", "by_name_offsets", "by_name_ids", "by_name_weights",
          "by_gram_offsets", "by_gram_rows", "by_gram_weights")  # fmt: skip
#: Mentions multiplied at a time: the product is a matrix of (mentions, names) with most entries
#: that share any n-gram.
CHUNK = 64


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
        self._by_gram = self._matrix("by_gram", "rows", (len(self.vocabulary), self.n_names))

    @classmethod
    def build(cls, texts: Sequence[str]) -> "NgramIndex":
        """Index texts; row i is text i.

        texts (Sequence[str]): Normal forms.
        """
        owners, grams = ngrams(texts)
        vocabulary, ids = np.unique(grams, return_inverse=True)
        counts = sp.csr_matrix(
            (np.ones(len(ids), dtype=np.float64), (owners, ids)),
            shape=(len(texts), len(vocabulary)),
        )
        counts.sum_duplicates()
        df = np.bincount(counts.indices, minlength=len(vocabulary))
        idf = np.log((1 + len(texts)) / (1 + df)) + 1  # (vocabulary,)
        by_name = _weighted(counts, idf)
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
        folder.mkdir(parents=True, exist_ok=True)
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", self._arrays[name], allow_pickle=False)

    @classmethod
    def open(cls, folder: Path) -> "NgramIndex":
        """Map the arrays of a saved index."""
        return cls(
            {
                name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False).view(
                    np.ndarray
                )
                for name in ARRAYS
            }
        )

    def search(
        self, mentions: Sequence[str], *, n: int, allowed_rows: Optional[np.ndarray] = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The n most similar names of each mention.

        mentions (Sequence[str]): Normal forms, (B,).
        n (int): Names wanted.
        allowed_rows (Optional[np.ndarray]): Boolean mask over rows.
        RETURNS (tuple[np.ndarray, np.ndarray]): Rows (B, n) int64 and cosines (B, n) float32, best
            first, ties by row; row -1 fills up where fewer share an n-gram with the mention.
        """
        n = min(n, self.n_names)
        rows = np.full((len(mentions), n), -1, dtype=np.int64)
        scores = np.zeros((len(mentions), n), dtype=np.float32)
        queries = self.vectors(mentions)
        for first in range(0, len(mentions), CHUNK):
            product = queries[first : first + CHUNK] @ self._by_gram
            for i in range(product.shape[0]):
                span = slice(product.indptr[i], product.indptr[i + 1])
                found, values = product.indices[span], product.data[span]
                if allowed_rows is not None:
                    kept = allowed_rows[found]
                    found, values = found[kept], values[kept]
                best = _top(found, values, n)
                rows[first + i, : len(best)] = found[best]
                scores[first + i, : len(best)] = values[best]
        return rows, scores

    def scores_of(self, mention: str, rows: np.ndarray) -> np.ndarray:
        """Cosines of one mention with the given rows."""
        query = self.vectors([mention])
        return (self._by_name[rows] @ query.T).toarray().ravel()

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


def _weighted(counts: sp.csr_matrix, idf: np.ndarray) -> sp.csr_matrix:
    """(1 + log count) x idf, rows of norm 1, float32."""
    weights: Any = (1 + np.log(counts.data)) * idf[counts.indices]
    lengths = np.diff(counts.indptr)
    owners = np.repeat(np.arange(counts.shape[0]), lengths)
    norms = np.sqrt(np.bincount(owners, weights * weights, minlength=counts.shape[0]))
    data = (weights / norms[owners]).astype(np.float32)
    return sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


def _top(found: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Places of the n largest values, descending; ties by row."""
    if len(values) > n:
        least = np.partition(values, len(values) - n)[len(values) - n]
        places = np.flatnonzero(values >= least)
    else:
        places = np.arange(len(values))
    return places[np.lexsort((found[places], -values[places]))][:n]
