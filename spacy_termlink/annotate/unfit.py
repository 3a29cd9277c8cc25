"""Texts that a pipeline does not take: too long, or of words that the tokenizer would need hours for."""

import re
from collections.abc import Callable
from typing import Any, Optional

from spacy.language import Language

#: Signs in a row: the tokenizer looks for an end of dots from each of them.
MOST_SIGNS = 2000
#: Work on the words of a note, in characters that the tokenizer looks at: two seconds.
MOST_WORK = 4_000_000
#: Shorter words cost little, whatever they are made of.
SHORT = 32
#: Characters of its end that tell whether a word has an affix there.
WINDOW = 64

_SIGNS = re.compile(r"(?:[^\w\s]|_)+")
_LONG = re.compile(rf"\S{{{SHORT},}}")
_DOTS = re.compile(r"\.{16,}")


def find_unfit(nlp: Language, text: str) -> Optional[str]:
    """Code of what makes a text unfit for the pipeline, None if nothing does."""
    if len(text) > nlp.max_length:
        return "too_long"
    if len(text) > MOST_SIGNS and any(
        found.end() - found.start() > MOST_SIGNS for found in _SIGNS.finditer(text)
    ):
        return "run_of_signs"
    work = 0.0
    for word in set(_LONG.findall(text)):  # it keeps the tokens of a word that it has seen
        work += _work(nlp.tokenizer, word, MOST_WORK - work)
        if work > MOST_WORK:
            return "long_word"
    return None


def _work(tokenizer: Any, word: str, most: float) -> float:
    """About how many characters spaCy's tokenizer looks at for a word; it may be more than `most` by
    any amount, then.

    It takes affixes off the ends one by one, and looks at the whole word for each. What is left is
    compared with the pattern of an address, which tries every colon and, behind it, every @.
    """
    n_colons, n_ats = word.count(":"), word.count("@")
    # weights: measured with spaCy 3.8, against a character of the search for an affix
    work = n_colons * (len(word) + 6 * n_ats) / 72
    dots = sum((found.end() - found.start()) ** 2 for found in _DOTS.finditer(word))
    each = len(word) + dots / 100
    affixes = int(max(0.0, most - work) / each) + 1
    return work + each * _count_affixes(tokenizer, word, affixes)


def _count_affixes(tokenizer: Any, word: str, most: int) -> int:
    """How many affixes the tokenizer takes off a word, up to `most`; each is looked for in the WINDOW
    characters of its end alone."""
    prefix: Optional[Callable] = getattr(tokenizer, "prefix_search", None)
    suffix: Optional[Callable] = getattr(tokenizer, "suffix_search", None)
    n, start, end = 0, 0, len(word)
    while start < end and n < most:
        front = prefix and prefix(word[start : min(end, start + WINDOW)])
        if front and front.end():
            start += front.end()
            n += 1
        back = suffix and start < end and suffix(word[max(start, end - WINDOW) : end])
        if back and back.end() > back.start():
            end -= back.end() - back.start()
            n += 1
        elif not (front and front.end()):
            break
    return n
