"""The terminologies of one run, seen as training may see them: without what is held out."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import NamedTuple, Optional

from ..errors import TermlinkError
from ..terminology import Terminology
from ..text import normalize
from .draws import draws
from .equivalents import curie, find_equivalents
from .heldout import Heldout, HeldoutSettings, held_names, heldout_row, is_held_concept


class UsableName(NamedTuple):
    """A name of a concept that may be trained on.

    text, normalized, kind, source (str): As in the terminology's table.
    """

    text: str
    normalized: str
    kind: str
    source: str


class Source(NamedTuple):
    """One terminology of the run.

    number (int): Its place among them.
    name (str): Its `source` in meta.json, else the folder's name: what a task's `terminologies` lists.
    terminology (Terminology): The terminology.
    """

    number: int
    name: str
    terminology: Terminology


class Item(NamedTuple):
    """A concept with at least one usable name.

    source (Source): Where it is from.
    row (int): Its concept row there.
    concept (str): Its id in the records.
    names (list[UsableName]): Usable names, preferred first; no text twice.
    """

    source: Source
    row: int
    concept: str
    names: list[UsableName]


class Corpus:
    """Concepts and names of all terminologies, with held-out ones left out.

    seed (int): Seed of every random choice.
    sources (list[Source]): The terminologies.
    equivalents (Equivalents): Cross-references between them.
    heldout (Heldout): What is held out.
    """

    def __init__(
        self,
        terminologies: Sequence[Terminology],
        *,
        seed: int = 0,
        heldout: Optional[HeldoutSettings] = None,
        branches: Optional[Mapping[str, Sequence[str]]] = None,
    ) -> None:
        """Open to all tasks.

        branches (Mapping[str, Sequence[str]]): By name of a terminology, the only branches and
            semantic types to train on, as `Terminology.mask` takes them.
        RAISES (TermlinkError): TL221 if two terminologies have the same name, TL222 for a name
            that is none of the run's, TL107 for a branch that the terminology lacks.
        """
        self.seed = seed
        self.settings = heldout or HeldoutSettings()
        self.sources = [
            Source(number, str(t.meta.get("source") or Path(t.path).name), t)
            for number, t in enumerate(terminologies)
        ]
        names = [source.name for source in self.sources]
        for name in names:
            if names.count(name) > 1:
                raise TermlinkError("TL221", name=name)
        self._allowed = {
            source.number: source.terminology.mask(branches[source.name])
            for source in self.select(branches or ())
            if branches
        }
        self._ambiguous = self._find_ambiguous()
        self.equivalents = find_equivalents(self._ids(), self._references())
        self.heldout = self._hold_out()
        # tasks come back to the names of a concept: as a parent, a sibling, a negative
        self._names = lru_cache(maxsize=1 << 16)(self._read_names)

    def draws(self, task: str, *key: object) -> random.Random:
        """The random choices of a task for one concept."""
        return draws(self.seed, task, *key)

    def concept(self, source: Source, row: int) -> str:
        """Id of a concept in the records: its native one, with the namespace before it where
        another terminology of the run uses the same id for something else."""
        native = source.terminology.concept_id(row)
        return curie(native, source.name) if native in self._ambiguous else native

    def is_allowed(self, source: Source, row: int) -> bool:
        """Whether a concept lies in a branch to train on."""
        mask = self._allowed.get(source.number)
        return mask is None or bool(mask[row])

    def names(self, source: Source, row: int) -> list[UsableName]:
        """Names of a concept that may be trained on, preferred first; no text twice."""
        return self._names(source.number, row)

    def _read_names(self, number: int, row: int) -> list[UsableName]:
        source = self.sources[number]
        if not self.is_allowed(source, row):
            return []
        if self.concept(source, row) in self.heldout.concepts:
            return []
        terminology, found = source.terminology, {}
        for name_row in terminology.name_rows(row):
            form, text = terminology.name_normalized(name_row), terminology.name_text(name_row)
            if form and form not in self.heldout.forms and text not in found:
                origin = terminology.names["source"][name_row].as_py() or ""
                found[text] = UsableName(text, form, terminology.name_kind(name_row), origin)
        return list(found.values())

    def preferred(self, source: Source, row: int) -> Optional[UsableName]:
        """The preferred name of a concept, None where it is held out."""
        names = self.names(source, row)
        return names[0] if names and names[0].kind == "preferred" else None

    def walk(self, terminologies: Iterable[str] = ()) -> Iterator[Item]:
        """Concepts with a usable name, terminology by terminology, by id.

        terminologies (Iterable[str]): Names of those wanted; empty for all.
        """
        for source in self.select(terminologies):
            for row in range(source.terminology.n_concepts):
                if names := self.names(source, row):
                    yield Item(source, row, self.concept(source, row), names)

    def select(self, terminologies: Iterable[str] = ()) -> list[Source]:
        """Terminologies by name; all for none.

        RAISES (TermlinkError): TL222 for a name that is none of the run's.
        """
        wanted = list(terminologies)
        known = {source.name: source for source in self.sources}
        for name in wanted:
            if name not in known:
                raise TermlinkError("TL222", name=name, known=", ".join(known))
        return [known[name] for name in wanted] if wanted else self.sources

    def forms(self, source: Source, row: int) -> set[str]:
        """Normal forms of every name of a concept, held out or not."""
        terminology = source.terminology
        return {terminology.name_normalized(r) for r in terminology.name_rows(row)}

    def may_oppose(self, item: Item, concept: str, name: UsableName) -> bool:
        """Whether a name can be a negative of a concept: not where a cross-reference bars it, nor
        where the concept has that name too.

        item (Item): The concept.
        concept (str): The name's concept.
        """
        barred = self.equivalents.is_barred(item.concept, concept)
        return not barred and name.normalized not in self.forms(item.source, item.row)

    def is_held(self, text: str) -> bool:
        """Whether a text is held out by its normal form, or has none."""
        form = normalize(text)
        return not form or form in self.heldout.forms

    def is_taken(self, text: str, concept: str) -> bool:
        """Whether a made-up text must not stand for a concept: it is held out, or the name of a
        concept that is not the same."""
        return self.is_held(text) or any(
            not self.equivalents.is_same(concept, other)
            for other in self.concepts_named(normalize(text))
        )

    def concepts_named(self, form: str) -> set[str]:
        """Concepts of any terminology that have a name with this normal form."""
        return {
            self.concept(source, int(source.terminology.concept_rows[name_row]))
            for source in self.sources
            for name_row in source.terminology.lookup(form, normalized=True)
        }

    def find(self, concept_id: str) -> Optional[tuple[Source, int]]:
        """The living concept an id stands for, in the first terminology that knows it."""
        for source in self.sources:
            living = source.terminology.resolve(concept_id)
            row = None if living is None else source.terminology.find_row(living)
            if row is not None:
                return source, row
        return None

    @cached_property
    def rows(self) -> dict[str, tuple[Source, int]]:
        """Where each concept that is the same as another one is: id in the records -> place."""
        return {
            concept: (source, row)
            for source, row in self.living()
            if (concept := self.concept(source, row)) in self.equivalents.same
        }

    def living(self) -> Iterator[tuple[Source, int]]:
        """Concepts that are not retired, terminology by terminology, by id."""
        for source in self.sources:
            obsolete = source.terminology.obsolete
            for row in range(source.terminology.n_concepts):
                if not obsolete[row]:
                    yield source, row

    def _find_ambiguous(self) -> set[str]:
        if len(self.sources) == 1:
            return set()
        curies: dict[str, str] = {}
        ambiguous = set()
        for source, row in self.living():
            native = source.terminology.concept_id(row)
            name = curie(native, source.name)
            if curies.setdefault(native, name) != name:
                ambiguous.add(native)
        return ambiguous

    def _ids(self) -> Iterator[tuple[int, str, str]]:
        if len(self.sources) == 1:  # nothing to compare with
            return
        for source, row in self.living():
            native = source.terminology.concept_id(row)
            yield source.number, self.concept(source, row), curie(native, source.name)
        for source in self.sources:
            redirects = source.terminology.redirects
            for alt, living in zip(*_columns(redirects, "alt_id", "concept_id"), strict=True):
                found = source.terminology.find_row(living)
                if found is not None:
                    yield source.number, self.concept(source, found), curie(alt, source.name)

    def _references(self) -> Iterator[tuple[int, str, str, str]]:
        if len(self.sources) == 1:
            return
        for source in self.sources:
            terminology = source.terminology
            columns = _columns(terminology.xrefs, "concept_id", "xref", "predicate")
            for concept_id, xref, predicate in zip(*columns, strict=True):
                found = terminology.find_row(concept_id)
                if found is not None and not terminology.obsolete[found]:
                    yield source.number, self.concept(source, found), xref, predicate or ""

    def _hold_out(self) -> Heldout:
        held = Heldout()
        wanted = self.select(self.settings.terminologies)
        for source, row in self.living():
            if source not in wanted or not self.is_allowed(source, row):
                continue
            terminology = source.terminology
            concept = self.concept(source, row)
            name = curie(terminology.concept_id(row), source.name)
            concept_held = is_held_concept(name, self.settings.concepts)
            if concept_held:
                # what is known to be the same or close in another terminology would give it away
                held.concepts |= {concept, *self.equivalents.barred.get(concept, ())}
            for name_row in held_names(terminology, row, self.settings, concept_held=concept_held):
                held.forms.add(terminology.name_normalized(name_row))
                held.rows.append(
                    heldout_row(
                        terminology,
                        name_row,
                        self.settings,
                        source=source.name,
                        concept_held=concept_held,
                        record_id=partial(self.concept, source),
                    )
                )
        return held


def _columns(table: object, *names: str) -> list[list]:
    return [table[name].to_pylist() for name in names]  # type: ignore[index]
