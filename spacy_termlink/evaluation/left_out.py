"""A KB without one of its names, changed from mention to mention: a synonym is looked for as if the
terminology did not list it."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np


class LeftOutKB:
    """A KB (protocol `types.KnowledgeBase`) one name of which cannot be found.

    Everything else is the KB's own, so the words of that name are known, and the weights of its
    n-grams are those with it. Generators that build an index of their own still find the name.

    kb (KnowledgeBase): The KB.
    """

    def __init__(self, kb: Any) -> None:
        self._kb = kb
        self.left_out: Optional[int] = None
        self.terminology = _Terminology(kb.terminology, self)
        self.dictionary = _Dictionary(kb.dictionary, self)
        self.index = _Index(kb.index, self)
        self.ngram = _Index(kb.ngram, self)
        self.encoder = CachedEncoder(kb.encoder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kb, name)

    def leave_out(self, row: Optional[int]) -> None:
        """Hide a unique name, and nothing else.

        row (Optional[int]): Row of the indexes; None shows all names.
        """
        self.left_out = row

    def name_rows(self) -> list[int]:
        """Name rows that are hidden."""
        return [] if self.left_out is None else self._kb.names.rows(self.left_out).tolist()


class CachedEncoder:
    """An encoder that keeps what it has encoded: a batch at once, its texts one by one.

    encoder (Encoder): The encoder.
    """

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self._known: dict[str, np.ndarray] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """See `types.Encoder`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._known[text] for text in texts])


class _Part:
    """A part of the KB; what is not said here is the part's own."""

    def __init__(self, part: Any, owner: LeftOutKB) -> None:
        self._part = part
        self._owner = owner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)


class _Terminology(_Part):
    def lookup(self, text: str, *, normalized: bool = False) -> list[int]:
        """See `Terminology.lookup`."""
        hidden = self._owner.name_rows()
        rows = self._part.lookup(text, normalized=normalized)
        return [row for row in rows if row not in hidden]


class _Dictionary(_Part):
    def find(self, mention: str, *, allowed: Optional[np.ndarray] = None) -> tuple[int, ...]:
        """See `Dictionary.find`."""
        hidden = self._owner.name_rows()
        if hidden:
            n_names = self._owner.terminology.n_names
            allowed = np.ones(n_names, dtype=bool) if allowed is None else allowed.copy()
            allowed[hidden] = False
        return self._part.find(mention, allowed=allowed)


class _Index(_Part):
    def __len__(self) -> int:
        return len(self._part)

    def search(
        self, queries: Any, *, n: int, allowed_rows: Optional[np.ndarray] = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `DenseIndex.search` and `NgramIndex.search`."""
        if self._owner.left_out is not None:
            n_rows = len(self._owner.names)
            rows = np.ones(n_rows, dtype=bool) if allowed_rows is None else allowed_rows.copy()
            rows[self._owner.left_out] = False
            allowed_rows = rows
        return self._part.search(queries, n=n, allowed_rows=allowed_rows)
