"""What a mining task is, and the settings that all of them share."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..errors import TermlinkError
from ..types import NAME_KINDS
from .corpus import Corpus, UsableName
from .records import Record

#: Kinds of names that say the concept and nothing beside it; abbreviations and lay names have tasks
#: of their own, with weights of their own.
PLAIN_KINDS = ("exact", "narrow", "broad", "related", "annotated")


@dataclass(frozen=True)
class Task:
    """A mining task, as a registered function returns it.

    mine (Callable[[Corpus, str], Iterator[Record]]): Streams the records; the string is the task's
        name in the config.
    weight (float): Share of the training texts the task asks for, relative to the others; training
        reads it from the meta file.
    augment (bool): Whether altered copies of its records are added.
    """

    mine: Callable[[Corpus, str], Iterator[Record]]
    weight: float
    augment: bool


def make_task(
    mine: Callable[[Corpus, str], Iterator[Record]], *, weight: float, augment: bool
) -> Task:
    """A task with its shared settings checked.

    RAISES (TermlinkError): TL223 for a weight that is not above zero.
    """
    check(weight > 0, "weight", weight, "a number above 0")
    return Task(mine, weight, augment)


def check(good: bool, field: str, value: object, expected: str) -> None:
    """Refuse a value of a config.

    RAISES (TermlinkError): TL223, with the field, the value and what is expected.
    """
    if not good:
        raise TermlinkError("TL223", field=field, value=value, expected=expected)


def check_kinds(field: str, kinds: Sequence[str]) -> None:
    """Refuse kinds of names that do not exist."""
    check(bool(kinds), field, kinds, "a list with at least one kind of names")
    for kind in kinds:
        check(kind in NAME_KINDS, field, kind, f"kinds of names: {', '.join(NAME_KINDS)}")


def check_cap(field: str, value: int) -> None:
    """Refuse a number of records that is not above zero."""
    check(value > 0, field, value, "a whole number above 0")


def of_kind(names: Sequence[UsableName], kinds: Sequence[str]) -> list[UsableName]:
    """The names of these kinds, one a normal form, in their order."""
    found: dict[str, UsableName] = {}
    for name in names:
        if name.kind in kinds:
            found.setdefault(name.normalized, name)
    return list(found.values())
