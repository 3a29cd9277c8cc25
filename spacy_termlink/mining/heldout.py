"""What is held out of training, by stable hash.

Two ways, which may be used together:

- name-disjoint (zero-shot on mentions): a share of the synonyms. Their concepts stay, under their
  other names.
- concept-disjoint (zero-shot on mentions and concepts): a share of the concepts. No name of theirs
  is in any record.

The unit of a held-out name is its normal form, not its text, and a held-out form is left out of the
records of every terminology mined, whatever its concept and kind there: otherwise "Lens opacity"
could be held out and "lens opacity" of the same concept be trained on. A form is never held out of
a terminology in which it is somebody's preferred name: it would answer its own mention.
Which names are held out depends on the name alone: not on the seed, the config's other values or
the other terminologies, so the figures of two trainings compare.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..terminology import Terminology
from .draws import share_of


@dataclass(frozen=True)
class HeldoutSettings:
    """The section [mining.heldout].

    names (float): Share of the synonyms, by normal form.
    concepts (float): Share of the concepts.
    dev (float): Share of what is held out that has split "dev", for early stopping; the rest has
        "test".
    terminologies (list[str]): Hold out of these only; empty for all of the run.
    """

    names: float = 0.1
    concepts: float = 0.0
    dev: float = 0.2
    terminologies: list[str] = field(default_factory=list)


@dataclass
class Heldout:
    """Names and concepts that no record may hold.

    forms (set[str]): Normal forms.
    concepts (set[str]): Concepts, by their id in the records.
    rows (list[dict]): Rows of `heldout.jsonl`.
    """

    forms: set[str] = field(default_factory=set)
    concepts: set[str] = field(default_factory=set)
    rows: list[dict[str, Any]] = field(default_factory=list)


def is_held_form(form: str, share: float) -> bool:
    """Whether a normal form belongs to the stable share of held-out names."""
    return share_of("heldout name", form) < share


def is_held_concept(curie: str, share: float) -> bool:
    """Whether a concept belongs to the stable share of held-out concepts.

    curie (str): Its id with the namespace, so that it does not depend on the release or the folder.
    """
    return share_of("heldout concept", curie) < share


def held_names(
    terminology: Terminology, row: int, settings: HeldoutSettings, *, concept_held: bool
) -> Iterator[int]:
    """Name rows of a concept that are held out: one a normal form, the first in the source's order.

    concept_held (bool): The concept as a whole is held out: all its synonyms are.
    """
    seen: set[str] = set()
    for name_row in terminology.name_rows(row):
        form = terminology.name_normalized(name_row)
        if form in seen or terminology.name_kind(name_row) == "preferred":
            continue
        seen.add(form)
        held = concept_held or is_held_form(form, settings.names)
        if held and not any(
            terminology.name_kind(r) == "preferred"
            for r in terminology.lookup(form, normalized=True)
        ):
            yield name_row


def heldout_row(
    terminology: Terminology,
    name_row: int,
    settings: HeldoutSettings,
    *,
    source: str,
    concept_held: bool,
    record_id: Callable[[int], str],
) -> dict[str, Any]:
    """A row of `heldout.jsonl`: names what `index --without-names` leaves out (concept_id, text,
    and every text of that concept with the same normal form) and is a mention for `evaluate`.

    source (str): Name of the terminology.
    record_id (Callable[[int], str]): Concept row -> its id in the records. Where that is another than
        the terminology's own, the row lists it in `record_ids`: names.jsonl knows the concept by it.

    Where concepts share the name, each is a right answer to it (`accept`).
    """
    row = int(terminology.concept_rows[name_row])
    concept_id = terminology.concept_id(row)
    text = terminology.name_text(name_row)
    form = terminology.name_normalized(name_row)
    holders = {int(terminology.concept_rows[r]) for r in terminology.lookup(form, normalized=True)}
    others = sorted(terminology.concept_id(r) for r in holders - {row})
    record_ids = sorted({record_id(r) for r in holders | {row}} - {concept_id, *others})
    return {
        "id": f"{concept_id}|{form}",
        "text": text,
        "context": "",
        "concepts": [concept_id],
        **({"accept": [[concept_id, *others]]} if others else {}),
        "cardinality": "single",
        "split": "dev" if share_of("heldout split", form) < settings.dev else "test",
        "label": "concept-disjoint" if concept_held else "name-disjoint",
        "terminology": source,
        "concept_id": concept_id,
        "kind": terminology.name_kind(name_row),
        **({"record_ids": record_ids} if record_ids else {}),
    }
