"""Whether a few words of a text are a name: what its key has proposed is compared word by word."""

import re
from typing import NamedTuple, Optional

from ..spelling import singulars
from .capitals import is_abbreviation, is_written
from .stems import VERBS, is_adjective, names_another, says_the_same
from .words import PLAIN, Words, find_words, is_cjk

#: A distance: 0 for the same words in the same order, more for each liberty taken.
Compared = int
_INFLECTED, _REORDERED, _DERIVED = 1, 4, 6
SOFT = 1000
#: More words than this are not looked for in another order.
_MAX_REORDERED = 6
_TIED_BEFORE = re.compile(r"[^\W_][-\u2010\u2011]$")
_TIED_AFTER = re.compile(r"[-\u2010\u2011](?:free|less|like|negative)\b", re.IGNORECASE)
#: Words that belong to their neighbour: a name with one is not looked for in another order.
_ORDERED = frozenset(
    ("and", "or", "with", "without", "no", "not", "to", "by", "from", "due", "than")
)


class NameWords(NamedTuple):
    """A name taken apart.

    text (str): As the source writes it.
    forms (list[str]): Normal form of each word.
    stems (list[str]): Stem of each word.
    content (list[int]): Words that have a stem.
    sorted_stems (list[str]): Stems of these, sorted.
    soft (bool): It has commas or brackets.
    """

    text: str
    forms: list[str]
    stems: list[str]
    content: list[int]
    sorted_stems: list[str]
    soft: bool


def name_words(text: str) -> NameWords:
    """Take a name apart."""
    words = find_words(text)
    content = [i for i, stem in enumerate(words.stems) if stem]
    ordered = sorted(words.stems[i] for i in content)
    return NameWords(
        text, words.forms, words.stems, content, ordered, bool((words.gaps[1:] != PLAIN).any())
    )


def compare(name: NameWords, text: str, words: Words, start: int, end: int) -> Optional[Compared]:
    """How far words start to end of a text are from a name; None if they are not that name.

    They are if their stems are the same, and
    - no comma or bracket lies between them, unless the name has one too;
    - no hyphen ties them to a word that changes them, and they do not end in an adjective that
      the next word belongs to;
    - in another order only if they are few, a rotation ("tapering of fingers", "fingers are
      tapering" for "tapered fingers"), and no word of the name as "and" or "with" hangs on the order;
    - no adjective names another thing than its noun ("aortic stenosis", "stenosis of aorta");
    - a name of one word differs by inflection, or the text has the adjective to it ("ataxic"); a
      name written as an abbreviation is written the same way.
    """
    forms, stems = words.forms[start:end], words.stems[start:end]
    content = [i for i, stem in enumerate(stems) if stem]
    if [*sorted(stems[i] for i in content)] != name.sorted_stems:  # two keys can be equal
        return None
    if not _same_edges(name, forms, content) or is_part_of_compound(text, words, start, end):
        return None
    if not name.soft and (words.gaps[start + 1 : end] != PLAIN).any():
        return None
    last = forms[content[-1]]
    followed = has_noun_after(words, end)
    if followed and is_adjective(last) and last != name.forms[name.content[-1]]:
        return None  # "abnormal renal" of "abnormal renal function"
    if len(content) == 1:
        surface = text[words.starts[start] : words.ends[end - 1]]
        if is_abbreviation(name.text) and _in_heading(text, words, start, end):
            return None
        return _compare_one(name, surface, forms[content[0]])
    order = _order(name, stems, content, forms)
    if order is None:
        return None
    moved, pairs = order
    if not all(says_the_same(name.forms[i], forms[j]) for i, j in pairs):
        return None
    if any(names_another(name.forms[i], forms[j], name.sorted_stems) for i, j in pairs):
        return None
    soft = SOFT if (words.gaps[start + 1 : end] != PLAIN).any() else 0
    if soft and any(_word_distance(name.forms[i], forms[j]) > _INFLECTED for i, j in pairs):
        return None  # "gout, arthritis" is no gouty arthritis
    return soft + moved + sum(_word_distance(name.forms[i], forms[j]) for i, j in pairs)


def is_part_of_compound(text: str, words: Words, start: int, end: int) -> bool:
    """Whether a hyphen ties the words to one that changes them: "non-obese", "seizure-free"."""
    first, last = words.starts[start], words.ends[end - 1]
    return bool(_TIED_BEFORE.search(text, max(0, first - 2), first)) or bool(
        _TIED_AFTER.match(text, last)
    )


def has_noun_after(words: Words, end: int) -> str:
    """The word that follows directly, as part of the same phrase; "" if none does."""
    if end == len(words.forms) or words.gaps[end] != PLAIN or not words.stems[end]:
        return ""
    return "" if words.forms[end] in _ORDERED else words.forms[end]


def _same_edges(name: NameWords, forms: list[str], content: list[int]) -> bool:
    """A window starts and ends with words that count, or as the name does."""
    head, tail = forms[: content[0]], forms[content[-1] + 1 :]
    return head == name.forms[: name.content[0]] and tail == name.forms[name.content[-1] + 1 :]


def _order(
    name: NameWords, stems: list[str], content: list[int], forms: list[str]
) -> Optional[tuple[int, list[tuple[int, int]]]]:
    """Which word of the name is which of the text, and what the change of order costs."""
    has_verb = any(form in VERBS for form in forms)
    wanted, found = [name.stems[i] for i in name.content], [stems[i] for i in content]
    if wanted == found:
        return None if has_verb else (0, list(zip(name.content, content, strict=True)))
    n_words = len(content)
    if n_words > _MAX_REORDERED or not _ORDERED.isdisjoint(name.forms):
        return None
    if any(is_cjk(stem) for stem in wanted):  # characters, not words
        return None
    numbered = any(stem.isdigit() for stem in wanted)
    if numbered and not any(len(stem) > 3 and stem.isalpha() for stem in wanted):
        return None  # "3 ml" is no "ML 3"
    for shift in range(1, n_words):
        if wanted[shift:] + wanted[:shift] == found:
            moved = name.content[shift:] + name.content[:shift]
            return _REORDERED, list(zip(moved, content, strict=True))
    return None


def _word_distance(wanted: str, found: str) -> int:
    if wanted == found:
        return 0
    if wanted in singulars(found) or found in singulars(wanted):
        return _INFLECTED
    return _DERIVED


def _compare_one(name: NameWords, surface: str, form: str) -> Optional[Compared]:
    wanted = name.forms[name.content[0]]
    distance = _word_distance(wanted, form)
    if is_abbreviation(name.text):
        return distance if is_written(name.text, surface) else None
    if distance == _DERIVED and not (is_adjective(form) and len(form) > 5):
        return None
    if not says_the_same(wanted, form):
        return None
    if len(form) <= 3 and surface.isupper() and not name.text.isupper():
        return None  # TIC is no tic
    return distance


def _in_heading(text: str, words: Words, start: int, end: int) -> bool:
    """Whether words in capitals stand in a heading: alone in their line, or beside long words in
    capitals ("PLAN:", "ASSESSMENT AND PLAN")."""
    first, last = words.starts[start], words.ends[end - 1]
    if not text[first:last].isupper():
        return False
    line = text[text.rfind("\n", 0, first) + 1 : first]
    following = text[last : last + 40].split("\n", 1)[0]
    if not line.strip() and following.strip() in ("", ":") and len(text) > last - first + 1:
        return True
    around = [*line[-40:].split()[-2:], *following.split()[:2]]
    return any(len(w) > 4 and w.isalpha() and w.isupper() for w in around)
