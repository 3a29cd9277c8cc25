"""From scores to the probability that a candidate is right: `calibration.json` of a KB, read with
numpy alone. `fit_calibration` makes it.

J. Platt: Probabilistic outputs for support vector machines, 1999 (the logistic part); B. Zadrozny,
C. Elkan: Transforming classifier scores into accurate multiclass probability estimates, KDD 2002
(the isotonic part).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from ..errors import TermlinkError
from ..files import read_json
from ..types import Candidate, CandidateGenerator, KnowledgeBase
from .features import FIRST, NEXT, first_features, next_features

#: Name of the file in the KB's folder.
FILE = "calibration.json"
VERSION = 1
#: Probability from which a mention is linked, unless the linker has a threshold of its own: a link is
#: then more likely right than wrong.
THRESHOLD = 0.5
#: No probability is surer than this: the mentions that one is fitted on are never so many.
LEAST = 0.001
#: Parts of a KB's folder that its scores come from.
_SCORING = (
    "terminology/", "index/", "ngram/", "dictionary/", "spelling/", "mention_counts.npy",
)  # fmt: skip
_DIGITS = 6


class Linear(NamedTuple):
    """A weighted sum of features, and how it becomes a probability.

    weights (tuple[float, ...]): One for each feature.
    intercept (float): Added to the sum.
    knots (Optional[tuple[tuple[float, ...], tuple[float, ...]]]): Sums, ascending, and their
        probabilities, never descending; between them it is interpolated. None for the logistic
        function of the sum.
    """

    weights: tuple[float, ...]
    intercept: float
    knots: Optional[tuple[tuple[float, ...], tuple[float, ...]]] = None

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Probabilities of rows of features, (B, F) -> (B,)."""
        sums = features @ np.array(self.weights) + self.intercept
        if self.knots is None:
            found = 1 / (1 + np.exp(-np.clip(sums, -50, 50)))
        else:
            found = np.interp(sums, *self.knots)
        return np.clip(found, LEAST, 1 - LEAST)


@dataclass(frozen=True)
class Calibration:
    """How probable it is that the candidates of a KB are right.

    first (Linear): That the first candidate is, from the features FIRST.
    following (Linear): That a later one is, given that none before it is; from NEXT.
    generator (str): Candidate generator whose scores it is for; see `describe_generator`.
    encoder (str): Fingerprint of the KB's encoder.
    index (str): Fingerprint of the rest that its scores come from; see `scoring_fingerprint`.
    threshold (float): Probability under which a mention is NIL.
    fitted (Mapping[str, Any]): How it was fitted: method, mentions, documents, log loss.
    """

    first: Linear
    following: Linear
    generator: str
    encoder: str
    index: str
    threshold: float
    fitted: Mapping[str, Any]

    def apply(
        self,
        kb: KnowledgeBase,
        forms: Sequence[Sequence[str]],
        lists: Sequence[Sequence[Candidate]],
    ) -> list[list[Candidate]]:
        """Candidates with their probabilities.

        A mention's probabilities never rise from one candidate to the next and sum up to 1 at most;
        what is left is the probability that none of them is right.

        forms (Sequence[Sequence[str]]): Mention -> its forms, as `generate_forms` takes them.
        lists (Sequence[Sequence[Candidate]]): Mention -> candidates, best first.
        """
        found = [i for i, candidates in enumerate(lists) if candidates]
        rows = [first_features(kb, forms[i], lists[i]) for i in found]
        firsts = dict(zip(found, self._rows(self.first, rows, FIRST), strict=True))
        later = [
            next_features(forms[i], lists[i], n) for i in found for n in range(1, len(lists[i]))
        ]
        shares = iter(self._rows(self.following, later, NEXT))
        return [
            _shared_out(candidates, firsts[i], [next(shares) for _ in candidates[1:]])
            if candidates
            else []
            for i, candidates in enumerate(lists)
        ]

    @staticmethod
    def _rows(part: Linear, rows: list[list[float]], names: Sequence[str]) -> list[float]:
        return part.probabilities(np.array(rows, dtype=float).reshape(-1, len(names))).tolist()

    def to_json(self) -> dict[str, Any]:
        """What `calibration.json` holds."""
        return {
            "kind": "calibration",
            "version": VERSION,
            "generator": self.generator,
            "encoder": self.encoder,
            "index": self.index,
            "threshold": self.threshold,
            "fitted": dict(self.fitted),
            "first": _part_to_json(self.first, FIRST),
            "next": _part_to_json(self.following, NEXT),
        }

    @classmethod
    def open(cls, path: Path) -> "Calibration":
        """Read a `calibration.json`.

        RAISES (TermlinkError): TL610 for a file in another form, or of features that this release
            does not know.
        """
        data = read_json(path)
        try:
            if (data["kind"], data["version"]) != ("calibration", VERSION):
                raise ValueError(f"kind {data['kind']!r}, version {data['version']!r}")
            return cls(
                first=_part(data["first"], FIRST),
                following=_part(data["next"], NEXT),
                generator=str(data["generator"]),
                encoder=str(data["encoder"]),
                index=str(data["index"]),
                threshold=float(data["threshold"]),
                fitted=dict(data["fitted"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise TermlinkError("TL610", path=path, reason=reason) from error


def _shared_out(
    candidates: Sequence[Candidate], first: float, shares: Sequence[float]
) -> list[Candidate]:
    """What the first candidate's probability leaves goes to the second by its share, and so on."""
    made, left, last = [], 1.0, 1.0
    for candidate, share in zip(candidates, (first, *shares), strict=True):
        last = min(last, left * share)
        left -= last
        # rounded down: the sum stays at 1 or under
        made.append(candidate._replace(probability=floor(last * 10**_DIGITS) / 10**_DIGITS))
    return made


def describe_generator(generator: CandidateGenerator) -> str:
    """What tells generators of other scores apart: the class, and whether exact names come first."""
    exact = getattr(generator, "exact", True)
    return type(generator).__name__ + ("" if exact else "(exact=False)")


def scoring_fingerprint(meta: Mapping[str, Any]) -> str:
    """sha256 over what the scores of a KB come from besides its encoder: names, indexes, weights.

    meta (Mapping[str, Any]): The KB's meta.json.
    """
    files = {
        name: file["sha256"] for name, file in meta["files"].items() if name.startswith(_SCORING)
    }
    of_score = meta.get("score_threshold", meta["threshold"])
    parts = [files, meta["index"], meta["hybrid"], of_score]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf8")).hexdigest()


def _part_to_json(part: Linear, names: Sequence[str]) -> dict[str, Any]:
    knots = None if part.knots is None else {"x": list(part.knots[0]), "y": list(part.knots[1])}
    weights = dict(zip(names, part.weights, strict=True))
    return {"weights": weights, "intercept": part.intercept, "knots": knots}


def _part(data: Mapping[str, Any], names: Sequence[str]) -> Linear:
    weights = data["weights"]
    if set(weights) != set(names):
        raise ValueError(f"its features are {', '.join(weights)}; this release has others")
    knots = None
    if data["knots"] is not None:
        x, y = (tuple(float(value) for value in data["knots"][axis]) for axis in "xy")
        if not x or len(x) != len(y) or list(x) != sorted(x) or list(y) != sorted(y):
            raise ValueError("its knots do not ascend")
        knots = x, y
    part = Linear(tuple(float(weights[n]) for n in names), float(data["intercept"]), knots)
    numbers = [*part.weights, part.intercept, *(v for axis in knots or () for v in axis)]
    if not np.isfinite(numbers).all():
        raise ValueError("a weight is not a number")
    return part
