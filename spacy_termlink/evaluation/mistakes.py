"""What went wrong with each mention: the rows of `termlink evaluate --details`."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ..terminology import Terminology
from ..types import Candidate
from .gains import Gains
from .mentions import Mention
from .overlap import bands
from .system import SystemResult, living_ids

#: What can go wrong, in order of precedence: of several that hold, the first is a mention's `error`.
MISTAKES = (
    "nil_linked",  # a NIL mention whose first candidate is not under the threshold
    "unknown_id",  # the terminology knows none of the gold ids
    "retired_id",  # a gold id is retired, or an alternative id of another concept
    "ambiguous_name",  # the name found is a name of the gold concept, too
    "parent",  # the first candidate is a parent of the gold concept
    "child",
    "sibling",
    "recalled_not_first",
    "not_recalled",
    "refused",  # nothing was found, or the first candidate is under the threshold
)


def describe_mentions(result: SystemResult) -> list[dict[str, Any]]:
    """A row per mention, in the file's order.

    RETURNS (list[dict]): "id", "doc_id", "text", "label", "split", "cardinality", "concepts" (as
        written), "gold" (living ids, any of which is right), "overlap" (None where there is none),
        "overlap_band", "rank" of the first right candidate (None where none is), "gain" of the first
        candidate, "error" and "errors" (see `find_mistakes`), "candidates".
    """
    terminology, mention_set = result.terminology, result.mention_set
    gains = Gains(terminology)
    bands_of, any_gold = bands(mention_set.overlap), mention_set.any_gold
    rows: dict[int, dict[str, Any]] = {}
    for i, place in enumerate(mention_set.positions):
        found, gold, degree = result.candidates[i], any_gold[i], float(mention_set.overlap[i])
        first = living_ids(terminology, found[:1])
        rank = int(result.ranks[i])
        errors = find_mistakes(
            terminology, mention_set.mentions[i], gold, found, rank=rank, threshold=result.threshold
        )
        rows[place] = {
            **_about(mention_set.mentions[i], gold),
            "overlap": None if degree != degree else degree,
            "overlap_band": bands_of[i],
            "rank": rank or None,
            "gain": gains.of_all(gold).get(first[0], 0) if gold and first else 0,
            **_outcome(errors, found),
        }
    for i, place in enumerate(mention_set.nil_positions):
        linked = bool(result.nil_top_scores[i] >= result.threshold)
        rows[place] = {
            **_about(mention_set.nil_mentions[i], []),
            "overlap": None,
            "overlap_band": None,
            "rank": None,
            "gain": None,
            **_outcome(["nil_linked"] if linked else [], result.nil_candidates[i]),
        }
    return [rows[place] for place in sorted(rows)]


def find_mistakes(
    terminology: Terminology,
    mention: Mention,
    gold: list[str],
    found: list[Candidate],
    *,
    rank: int,
    threshold: float,
) -> list[str]:
    """All that went wrong with a mention that has gold concepts, in the order of MISTAKES.

    gold (list[str]): Living ids, any of which is right.
    found (list[Candidate]): Best first.
    rank (int): Of the first right candidate, 0 where none is.
    RETURNS (list[str]): [] where the first candidate is right and not under the threshold.
    """
    errors: list[str] = []
    if rank != 1:
        errors += [] if gold else ["unknown_id"]
        if any(_is_retired(terminology, i) for i in mention.concepts):
            errors = ["retired_id"]
        if found and gold:
            errors += _relations(terminology, gold, found[0])
        errors.append("recalled_not_first" if rank else "not_recalled")
    if not found or found[0].certainty < threshold:
        errors.append("refused")
    return errors


def count_mistakes(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Rows of `describe_mentions`, counted.

    RETURNS (dict): Mistake -> "n", rows that have it among their "errors", and "n_first", those whose
        "error" it is. In the order of MISTAKES; what does not occur has 0.
    """
    having = Counter(error for row in rows for error in row["errors"])
    first = Counter(row["error"] for row in rows)
    return {name: {"n": having[name], "n_first": first[name]} for name in MISTAKES}


def _relations(terminology: Terminology, gold: list[str], first: Candidate) -> Iterator[str]:
    named = {
        terminology.concept_id(int(terminology.concept_rows[row]))
        for row in terminology.lookup(first.matched)
    }
    if not named.isdisjoint(gold):
        yield "ambiguous_name"
    found = living_ids(terminology, [first])[0]
    steps: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
        ("parent", terminology.parents),
        ("child", terminology.children),
        ("sibling", terminology.siblings),
    )
    for relation, step in steps:
        if any(found in step(i) for i in gold):
            yield relation


def _is_retired(terminology: Terminology, concept_id: str) -> bool:
    living = terminology.resolve(concept_id)
    known = living is not None or terminology.find_row(concept_id) is not None
    return known and living != concept_id


def _about(mention: Mention, gold: list[str]) -> dict[str, Any]:
    names = ("id", "doc_id", "text", "label", "split", "cardinality")
    return {
        **{name: getattr(mention, name) for name in names},
        "concepts": list(mention.concepts),
        "gold": gold,
    }


def _outcome(errors: list[str], found: list[Candidate]) -> dict[str, Any]:
    return {
        "error": errors[0] if errors else None,
        "errors": errors,
        "candidates": [c.to_json() for c in found],
    }
