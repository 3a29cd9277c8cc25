"""What goes wrong in the clinic: does the wrong twin of a minimal pair win? (seed 000, table 1)

A mention is a name of the right concept, held out or altered; its twins are the sibling or cousin
concepts with a name that differs from it in one decisive word (`mining.minimal_pairs`).
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..candidates import make_generator
from ..errors import TermlinkError
from ..lexical.decisive import CLASSES
from ..mining.minimal_pairs import MinimalPairs, find_minimal_pairs
from ..terminology import Terminology
from ..types import Candidate
from .altered import ALTERATIONS
from .bootstrap import mean_intervals
from .left_out import LeftOutKB

HELD_OUT, ALTERED = "held out", "altered"
FORMS = (HELD_OUT, *ALTERATIONS)
#: Figures of a mention: the right concept ranks first, a wrong twin ranks first, a wrong twin has a
#: score that passes the threshold, both of these (a wrong link).
FIGURES = ("right_first", "twin_first", "twin_passes", "twin_linked")
#: Generators that find nothing of a name that is left out: they search the KB's own indexes.
LEAVING_OUT = frozenset(("exact", "dense", "ngram", "hybrid"))
#: Candidates looked at.
K = 10
ALL = "all"


class ContrastMention(NamedTuple):
    """What is searched for.

    kind (str): Class of the decisive word.
    form (str): One of FORMS.
    text (str): The mention.
    name_row (int): Name that it is made of.
    concept (int): The right concept.
    twins (frozenset[int]): The wrong ones.
    family (str): Names that differ in the decisive word only have the same.
    """

    kind: str
    form: str
    text: str
    name_row: int
    concept: int
    twins: frozenset[int]
    family: str


class Outcome(NamedTuple):
    """What became of a mention.

    right (int), twin (int): Rank of the right concept and of the best twin, from 1; 0 if not among
        the K.
    candidates (list[Candidate]): Best first.
    """

    mention: ContrastMention
    right: int
    twin: int
    candidates: list[Candidate]

    def score(self, rank: int) -> float:
        """Score at a rank, 0.0 for rank 0."""
        return self.candidates[rank - 1].score if rank else 0.0

    def figures(self, threshold: float) -> tuple[bool, ...]:
        """FIGURES of the mention."""
        passes = self.twin > 0 and self.score(self.twin) >= threshold
        return self.right == 1, self.twin == 1, passes, passes and self.twin == 1


def make_mentions(kb: Any, *, per_class: int) -> tuple[list[ContrastMention], dict[str, Any]]:
    """Mentions of every class and form, and how many minimal pairs there are.

    kb (TermKB): Only its terminology is read.
    per_class (int): Names of a class that are held out, and names that are altered, at most; spread
        evenly over those that can be.
    RETURNS (tuple): The mentions by class; class -> {"names", "families", "pairs"}.
    RAISES (TermlinkError): TL941 if there is no minimal pair.
    """
    terminology = kb.terminology
    pairs = find_minimal_pairs(terminology)
    if not pairs:
        raise TermlinkError("TL941", path=kb.path)
    by_class = {kind: [p for p in pairs if p.kind == kind] for kind in CLASSES}
    counts = {
        kind: {
            "names": len(found),
            "families": len({p.template for p in found}),
            "pairs": sum(len(p.twins) for p in found),
        }
        for kind, found in by_class.items()
        if found
    }
    mentions: list[ContrastMention] = []
    for found in by_class.values():
        held = [pair for pair in found if _can_be_held_out(terminology, pair.name_row)]
        for pair in _spread(held, per_class):
            text = terminology.name_text(pair.name_row)
            mentions.append(_mention(terminology, pair, HELD_OUT, text))
        for pair in _spread(found, per_class):
            mentions += _altered(terminology, pair)
    return mentions, counts


def run_contrast(kb: Any, mentions: Sequence[ContrastMention], generator: str) -> list[Outcome]:
    """Search every mention.

    The row of a held-out name is hidden from the search for it, and from no other. A generator that
    builds an index of its own cannot do so: held-out mentions are left out for it.

    generator (str): "hybrid", "dense", ... or a registered name.
    """
    altered = [m for m in mentions if m.form != HELD_OUT]
    made = make_generator(generator, kb)
    found = dict(zip(altered, made.generate([m.text for m in altered], k=K), strict=True))
    if generator in LEAVING_OUT:
        found.update(_search_held_out(kb, [m for m in mentions if m.form == HELD_OUT], generator))
    terminology = kb.terminology
    outcomes = []
    for mention in mentions:
        if mention in found:
            rows = [terminology.find_row(c.concept_id) for c in found[mention]]
            right = _first(rows, {mention.concept})
            twin = _first(rows, mention.twins)
            outcomes.append(Outcome(mention, right, twin, found[mention]))
    return outcomes


def summarize(outcomes: Sequence[Outcome], threshold: float) -> dict[str, dict[str, Any]]:
    """Figures by class and form; "all" classes among them, and "altered", all forms but held out. A
    mean over all forms would say how many names can be held out, and no more.

    threshold (float): Score from which a mention is linked.
    RETURNS (dict): Class -> form -> {"n", "n_families", FIGURES (shares), "ci" (figure -> 95 %
        bootstrap interval over families)}; what has no mention is left out.
    """
    report: dict[str, dict[str, Any]] = {}
    for kind in (ALL, *CLASSES):
        of_kind = [o for o in outcomes if kind in (ALL, o.mention.kind)]
        for form in (HELD_OUT, ALTERED, *ALTERATIONS):
            chosen = [
                o
                for o in of_kind
                if o.mention.form == form or (form == ALTERED and o.mention.form != HELD_OUT)
            ]
            if chosen:
                report.setdefault(kind, {})[form] = _figures(chosen, threshold)
    return report


def worst_cases(
    terminology: Terminology, outcomes: Iterable[Outcome], threshold: float
) -> list[dict[str, Any]]:
    """Mentions whose wrong twin ranks first: those that are linked before the others, the widest
    lead before the right concept first."""
    wrong = [o for o in outcomes if o.twin == 1]
    wrong.sort(
        key=lambda o: (
            o.score(1) < threshold,
            o.score(o.right) - o.score(1),
            o.mention.name_row,
            o.mention.kind,
            o.mention.form,
        )
    )
    return [_describe(terminology, outcome, threshold) for outcome in wrong]


def _mention(terminology: Terminology, pair: MinimalPairs, form: str, text: str) -> ContrastMention:
    concept = int(terminology.concept_rows[pair.name_row])
    twins = frozenset(int(terminology.concept_rows[row]) for row in pair.twins)
    return ContrastMention(pair.kind, form, text, pair.name_row, concept, twins, pair.template)


def _can_be_held_out(terminology: Terminology, name_row: int) -> bool:
    """Whether a name is a synonym of a concept that has another name beside it."""
    forms = map(
        terminology.name_normalized,
        terminology.name_rows(int(terminology.concept_rows[name_row])),
    )
    return terminology.name_kind(name_row) != "preferred" and len(set(forms)) > 1


def _altered(terminology: Terminology, pair: MinimalPairs) -> Iterable[ContrastMention]:
    words = terminology.name_normalized(pair.name_row).split(" ")
    for form, alter in ALTERATIONS.items():
        text = alter(words, pair.at)
        # what is a name already is no altered one, and may name another concept
        if text and not terminology.lookup(text):
            yield _mention(terminology, pair, form, text)


def _search_held_out(
    kb: Any, mentions: Sequence[ContrastMention], generator: str
) -> dict[ContrastMention, list[Candidate]]:
    view: Any = LeftOutKB(kb)  # its parts stand for others without being of their classes
    made = make_generator(generator, view)
    found = {}
    for mention in mentions:
        form = kb.terminology.name_normalized(mention.name_row)
        view.leave_out(kb.names.row_of(kb.terminology, form))
        found[mention] = made.generate([mention.text], k=K)[0]
    return found


def _figures(outcomes: Sequence[Outcome], threshold: float) -> dict[str, Any]:
    values = np.array([o.figures(threshold) for o in outcomes], dtype=float)
    families = [o.mention.family for o in outcomes]
    bounds = mean_intervals(values, families)
    return {
        "n": len(outcomes),
        "n_families": len(set(families)),
        **dict(zip(FIGURES, values.mean(axis=0).tolist(), strict=True)),
        "ci": dict(zip(FIGURES, map(list, bounds), strict=True)),
    }


def _describe(terminology: Terminology, outcome: Outcome, threshold: float) -> dict[str, Any]:
    mention, twin = outcome.mention, outcome.candidates[0]
    return {
        "class": mention.kind,
        "form": mention.form,
        "mention": mention.text,
        "name": terminology.name_text(mention.name_row),
        "concept": terminology.concept_id(mention.concept),
        "preferred": terminology.preferred_name(mention.concept),
        "rank": outcome.right or None,
        "score": outcome.score(outcome.right) if outcome.right else None,
        "twin": twin.to_json(),
        "passes": twin.score >= threshold,
    }


def _spread(pairs: Sequence[MinimalPairs], n: int) -> list[MinimalPairs]:
    if len(pairs) <= n:
        return list(pairs)
    return [pairs[i] for i in np.linspace(0, len(pairs) - 1, n).astype(int)]


def _first(rows: Sequence[int | None], wanted: Iterable[int]) -> int:
    among = set(wanted)
    return next((rank for rank, row in enumerate(rows, 1) if row in among), 0)
