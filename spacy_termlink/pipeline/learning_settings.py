"""The settings of a linker that learns, `[components.term_linker.learning]`."""

from dataclasses import dataclass, fields
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from ..errors import TermlinkError


@dataclass(frozen=True)
class LearningSettings:
    """How `term_linker` learns from gold links; see docs/spacy-train.md.

    hard_negatives (int): Of each mention, names of other concepts that the linker itself proposes.
    positives (int): Names of the gold concept that a mention is drawn to, the nearest one first and
        the others at random.
    synonyms (float): Weight of the auxiliary loss on pairs of names of the KB, one for each mention;
        0 for none.
    temperature (float): Divides the cosines in the loss.
    refresh_every (int): Updates after which the names are encoded again for the hard negatives; 0
        waits for the next evaluation.
    index (Optional[str]): Index spec of the KBs built while training, the last one included; None
        for that of the KB.
    seed (int): Of the names that are drawn.
    """

    hard_negatives: int = 4
    positives: int = 2
    synonyms: float = 0.5
    temperature: float = 0.05
    refresh_every: int = 200
    index: Optional[str] = "Flat"
    seed: int = 0


_AT_LEAST_0: Tuple[Callable[[Any], bool], str] = (
    lambda value: _is_whole(value) and value >= 0,
    "a whole number, 0 or more",
)
_RULES: Dict[str, Tuple[Callable[[Any], bool], str]] = {
    "hard_negatives": _AT_LEAST_0,
    "positives": (
        lambda value: _is_whole(value) and value >= 1,
        "a whole number, 1 or more",
    ),
    "synonyms": (lambda value: _is_number(value) and value >= 0, "a number, 0 or more"),
    "temperature": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "refresh_every": _AT_LEAST_0,
    "index": (lambda value: value is None or isinstance(value, str), "null or an index spec"),
    "seed": _AT_LEAST_0,
}


def read_learning_settings(values: Mapping[str, Any], *, name: str) -> LearningSettings:
    """Check the block; what it leaves out has its default.

    name (str): Of the component, for the message.
    RAISES (TermlinkError): TL704 with the setting, its value and what is expected.
    """
    for key, value in values.items():
        known = ", ".join(field.name for field in fields(LearningSettings))
        fits, expected = _RULES.get(key, (lambda _: False, f"one of {known}"))
        if not fits(value):
            setting = f"learning.{key}"
            raise TermlinkError("TL704", name=name, setting=setting, expected=expected, value=value)
    return LearningSettings(**values)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
