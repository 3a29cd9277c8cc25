"""Concepts of a KB in the shape of scispaCy's `linker.kb.cui_to_entity`."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Optional

import numpy as np

from ..terminology.store import Terminology


class Entity(NamedTuple):
    """A concept, with the fields of scispaCy's `Entity` in its order.

    concept_id (str): Native id.
    canonical_name (str): Preferred name.
    aliases (list[str]): The other names, in the terminology's order.
    types (list[str]): Semantic types.
    definition (Optional[str]): None where the terminology has none.
    """

    concept_id: str
    canonical_name: str
    aliases: list[str]
    types: list[str]
    definition: Optional[str] = None

    def __repr__(self) -> str:
        """The lines that scispaCy prints."""
        n = len(self.aliases)
        total = f"(abbreviated, total: {n})" if n > 10 else f"(total: {n})"
        return (
            f"CUI: {self.concept_id}, Name: {self.canonical_name}\n"
            f"Definition: {self.definition}\n"
            f"TUI(s): {', '.join(self.types)}\n"
            f"Aliases {total}: \n\t {', '.join(self.aliases[:10])}"
        )


class Entities(Mapping[str, Entity]):
    """Living concepts by id, read when asked for: nothing is kept in memory.

    An alternative or retired id gives the concept it stands for; iteration has living ids only.

    terminology (Terminology): Where they are read.
    """

    def __init__(self, terminology: Terminology) -> None:
        self._terminology = terminology

    def __getitem__(self, concept_id: str) -> Entity:
        terminology = self._terminology
        living = terminology.resolve(concept_id) if isinstance(concept_id, str) else None
        row = None if living is None else terminology.find_row(living)
        if living is None or row is None:
            raise KeyError(concept_id)
        concept = terminology.concepts.slice(row, 1).to_pylist()[0]
        name_rows = terminology.name_rows(row)
        texts = dict.fromkeys(terminology.name_text(name_row) for name_row in name_rows)
        return Entity(
            concept_id=living,
            canonical_name=concept["name"],
            aliases=[text for text in texts if text != concept["name"]],
            types=concept["semantic_types"] or [],
            definition=concept["definition"] or None,
        )

    def __iter__(self) -> Iterator[str]:
        terminology = self._terminology
        for row in np.flatnonzero(~terminology.obsolete).tolist():
            yield terminology.concept_id(row)

    def __len__(self) -> int:
        return int((~self._terminology.obsolete).sum())
