"""Names that other terminologies have for a KB's concepts."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from ..mining.corpus import Corpus
from ..terminology.store import Terminology
from .names import AddedName

#: Kinds that are borrowed, and what they are in the KB: the preferred names of it stay its own.
_KINDS = {
    "preferred": "exact", "exact": "exact", "layperson": "layperson", "abbreviation": "abbreviation"
}  # fmt: skip


class Borrowed(NamedTuple):
    """Names from other terminologies.

    names (list[AddedName]): Their `source` is the name of the lender.
    lenders (dict[str, dict[str, Any]]): By name: release, licence, shareable, and how many names.
    """

    names: list[AddedName]
    lenders: dict[str, dict[str, Any]]


def borrow_names(
    terminology: Terminology, others: Sequence[Terminology], *, known: Collection[str] = ()
) -> Borrowed:
    """Names of concepts that cross-references say are the same as the KB's.

    The same are concepts whose cross-reference is one-to-one in both directions and that are no ICD
    codes (DESIGN.md, section 7), and concepts of one id. A name that several concepts would get, or
    that any concept of the terminology has itself, is not borrowed: what a terminology says of
    its own words holds.

    terminology (Terminology): Gets the names.
    others (Sequence[Terminology]): Lend theirs.
    known (Collection[str]): Normal forms that are not to be borrowed, as those left out on purpose.
    RETURNS (Borrowed): The names, by lender and concept.
    RAISES (TermlinkError): TL221 where two terminologies have the same name.
    """
    if not others:
        return Borrowed([], {})
    corpus = Corpus([terminology, *others])
    own = {
        corpus.concept(s, row): terminology.concept_id(row)
        for s, row in corpus.living()
        if not s.number
    }
    taken = {*known, *terminology.names["normalized"].to_pylist()}
    owners: dict[str, set[str]] = defaultdict(set)
    found: dict[str, AddedName] = {}
    for source, row in corpus.living():
        concept = corpus.concept(source, row)
        same = {concept, *corpus.equivalents.same.get(concept, ())} & own.keys()
        if not source.number or not same:
            continue
        for name in corpus.names(source, row):
            if name.kind in _KINDS and name.normalized not in taken:
                owners[name.normalized] |= same
                added = AddedName(own[min(same)], name.text, _KINDS[name.kind], source.name)
                found.setdefault(name.normalized, added)
    names = [name for form, name in found.items() if len(owners[form]) == 1]
    counts = Counter(name.source for name in names)
    facts = ("release", "licence", "shareable")
    lenders = {
        s.name: {**{key: s.terminology.meta[key] for key in facts}, "names": counts[s.name]}
        for s in corpus.sources[1:]
    }
    return Borrowed(names, lenders)


def with_licences(meta: dict[str, Any], lenders: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Facts of a terminology that holds names of others: their licences bind it, too."""
    licences = [meta["licence"], *(lender["licence"] for lender in lenders.values())]
    return {
        **meta,
        "licence": "; ".join(dict.fromkeys(filter(None, licences))),
        "shareable": meta["shareable"] and all(other["shareable"] for other in lenders.values()),
    }
