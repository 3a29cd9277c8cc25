"""Whether the names that are nearest to a mention are answers to it. Encoders and n-grams find a name
near that has the mention's words and says something else."""

from collections.abc import Sequence

from .contradictions import DENIED, contradictions, is_vague, read_claims
from .decisive import are_opposites
from .restrictions import adds_restriction, is_residual


def judge(text: str, names: Sequence[str]) -> tuple[list[bool], bool]:
    """Which names say the opposite of a mention, and whether the first that is left is unsure.

    Wrong are opposites, and "other appendicitis" for "appendicitis". Where the nearest name is an
    opposite ("fast heart rate" for "slow heart rate"), those that say nothing of the matter ("abnormal
    heart rate") stand behind one that agrees; if none does, they are unsure. So is a name that adds a
    restriction ("hyponatremia of newborn"), or that calls abnormal what the mention calls low.

    text (str): Normal form of the mention.
    names (Sequence[str]): Normal forms, nearest first.
    RETURNS (tuple[list[bool], bool]): For each name whether it is wrong; whether the first that is
        not wrong is unsure.
    """
    words = text.split(" ")
    found = [contradictions(text, name) for name in names]
    wrong = [
        bool(denied) or are_opposites(words, name.split(" ")) or is_residual(words, name)
        for denied, name in zip(found, names, strict=True)
    ]
    left = [i for i, is_wrong in enumerate(wrong) if not is_wrong]
    if not left:
        return wrong, False
    matters = found[0] - {DENIED}
    agreeing = [i for i in left if matters <= _said(names[i])] if matters else left
    if not agreeing:
        return wrong, True
    first = names[agreeing[0]]
    unsure = adds_restriction(text, first) or is_vague(text, first)
    return [i not in agreeing for i in range(len(names))], unsure


def _said(name: str) -> set[object]:
    claims = read_claims(name)
    return {*claims.poles, *claims.numbers}
