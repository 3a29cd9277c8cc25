"""Minimal pairs: names of sibling or cousin concepts that differ in one decisive word (seed 000,
table 1: "type 1 diabetes" and "type 2 diabetes"). Only the terminology is read."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from ..lexical.decisive import CLASSES, DecisiveWords, body_part_stems, is_tabled
from ..lexical.stems import FUNCTION_WORDS, stem
from ..terminology import Terminology

#: Longer names are sentences.
MAX_WORDS = 14
#: A place in names is one of body parts when so many words that stand there are known to be some,
LEAST_KNOWN = 3
#: and so large a share of them;
LEAST_SHARE = 0.5
#: a word is a body part when it stands in so many such places.
LEAST_PLACES = 3


class MinimalPairs(NamedTuple):
    """A name and the names that differ from it in one decisive word of a class.

    kind (str): The class, one of `lexical.decisive.CLASSES`.
    name_row (int): The name.
    at (int): Which word of its normal form decides.
    template (str): The normal form with that word left open; shared by all of the family.
    twins (tuple[int, ...]): Name rows of the others, ascending.
    """

    kind: str
    name_row: int
    at: int
    template: str
    twins: tuple[int, ...]


def find_minimal_pairs(terminology: Terminology) -> list[MinimalPairs]:
    """Minimal pairs of every class, by class, concept and name; a name has one entry a class.

    Both names are of one concept each, which are siblings or cousins: they share a parent or a
    grandparent. Concepts without a parent count as siblings of each other, so that a terminology
    without a hierarchy has pairs, too. Abbreviations are left out: one letter more is no word.
    """
    names = _single_names(terminology)
    words_of = {row: terminology.name_normalized(row).split(" ") for row in names}
    vocabulary = {word for words in words_of.values() for word in words}
    decisive = DecisiveWords(vocabulary, find_body_parts(words_of.values()))
    # (class, name with the word left open) -> pole -> [(name row, place of the word)]
    families: dict[tuple[str, str], dict[str, list[tuple[int, int]]]] = {}
    for row, words in words_of.items():
        for i in range(len(words)):
            for found in decisive.read(words, i):
                template = _open(words, i, found.slot)
                poles = families.setdefault((found.kind, template), {})
                poles.setdefault(found.pole, []).append((row, i))
    near = _Near(terminology)
    pairs: dict[tuple[str, int], MinimalPairs] = {}
    for (kind, template), poles in sorted(families.items()):
        if len(poles) < 2:
            continue
        for pole, members in poles.items():
            others = [row for other in poles if other != pole for row, _ in poles[other]]
            for row, at in members:
                twins = tuple(sorted(other for other in others if near(row, other)))
                if twins and (kind, row) not in pairs:
                    pairs[kind, row] = MinimalPairs(kind, row, at, template, twins)
    return sorted(pairs.values(), key=lambda pair: (CLASSES.index(pair.kind), pair.name_row))


def find_body_parts(names: Iterable[list[str]]) -> frozenset[str]:
    """Stems of body parts: those known, and the words that a terminology puts in their places.

    In "fracture of *", of which many fillers are known, the others are body parts, too.

    names (Iterable[list[str]]): Words of normal forms.
    """
    known = body_part_stems()
    listed = [words for words in names if 2 <= len(words) <= MAX_WORDS]
    fillers: dict[str, set[str]] = {}
    for words in listed:
        for i, word in enumerate(words):
            if stem(word) in known:
                fillers.setdefault(_open(words, i, "*"), set()).add(stem(word))
    places = {place: found for place, found in fillers.items() if len(found) >= LEAST_KNOWN}
    new: dict[str, set[str]] = defaultdict(set)
    for words in listed:
        for i, word in enumerate(words):
            if _may_be_part(word) and stem(word) not in known:
                place = _open(words, i, "*")
                if place in places:
                    new[place].add(stem(word))
    seen = Counter(
        word
        for place, found in new.items()
        if len(places[place]) >= LEAST_SHARE * (len(places[place]) + len(found))
        for word in found
    )
    return known | {word for word, n in seen.items() if n >= LEAST_PLACES}


def _single_names(terminology: Terminology) -> list[int]:
    """Name rows whose normal form names one concept, the first of each form."""
    owners: dict[str, set[int]] = {}
    first: dict[str, int] = {}
    for row, form in enumerate(terminology.names["normalized"].to_pylist()):
        if form and terminology.name_kind(row) != "abbreviation":
            first.setdefault(form, row)
        owners.setdefault(form, set()).add(int(terminology.concept_rows[row]))
    return [
        row
        for form, row in first.items()
        if len(owners[form]) == 1 and len(form.split(" ")) <= MAX_WORDS
    ]


def _open(words: list[str], i: int, slot: str) -> str:
    return " ".join([*words[:i], slot, *words[i + 1 :]])


def _may_be_part(word: str) -> bool:
    return word.isalpha() and len(word) > 2 and word not in FUNCTION_WORDS and not is_tabled(word)


class _Near:
    """Whether the concepts of two names are siblings or cousins."""

    def __init__(self, terminology: Terminology) -> None:
        self._concepts = terminology.concept_rows
        self._graph = terminology.graph
        self._above: dict[int, tuple[set[int], set[int]]] = {}

    def __call__(self, a: int, b: int) -> bool:
        one, other = int(self._concepts[a]), int(self._concepts[b])
        if one == other:
            return False
        (parents, grandparents), (parents_b, grandparents_b) = self._of(one), self._of(other)
        return not (parents.isdisjoint(parents_b) and grandparents.isdisjoint(grandparents_b))

    def _of(self, concept: int) -> tuple[set[int], set[int]]:
        if concept not in self._above:
            # -1 stands above the concepts that have no parent
            parents = set(self._graph.parents(concept)) or {-1}
            above = {up for p in parents if p >= 0 for up in self._graph.parents(p)}
            self._above[concept] = parents, above
        return self._above[concept]
