"""Mentions that are a name with words misspelled, and words that an embedding says little about."""

from typing import Optional

import numpy as np

from ..lexical.misspelling import one_edit
from ..lexical.stems import stem
from ..text import normalize
from ..types import KnowledgeBase
from .exact import exact_concepts
from .ranking import Ranked

#: Score of a name with misspelled words where the other words confirm it.
CONFIRMED = 0.9
#: Share of the KB's threshold that is the score of one where nothing does, or where the words may
#: be others, and of a lookalike: proposed, but not linked.
DOUBTFUL = 0.9
#: A word that confirms has a stem of so many letters.
LEAST_LETTERS = 3


def spelled_concepts(
    kb: KnowledgeBase, text: str, allowed: Optional[np.ndarray] = None
) -> list[Ranked]:
    """Concepts named by a mention once its misspelled words are corrected.

    A wrong code with a good score is worse than none, and a word one letter away from a word of the
    names may be another word. So the score is CONFIRMED only where each corrected word can only be
    a slip (`SpellingIndex.is_slip`) and another word of the mention is one of the names'. Where only
    one of the two holds, it lies below the KB's threshold; where neither does, nothing is found.

    text (str): Normal form of the mention.
    """
    words = text.split(" ")
    corrected = [kb.spelling.suggest(word) or word for word in words]
    if corrected == words:
        return []
    changed = [(a, b) for a, b in zip(words, corrected, strict=True) if a != b]
    kept = " ".join(a for a, b in zip(words, corrected, strict=True) if a == b)
    confirmed = _is_known(kb, kept)
    slips = all(kb.spelling.is_slip(a, b) for a, b in changed)
    if not (confirmed or slips):
        return []
    score = CONFIRMED if confirmed and slips else doubtful_score(kb)
    mention = " ".join(corrected)
    return [(score, *hit[1:]) for hit in exact_concepts(kb, mention, normalize(mention), allowed)]


def doubtful_score(kb: KnowledgeBase) -> float:
    """Score that lies under the KB's threshold on the score; of a calibrated KB `threshold` is one on
    the probability."""
    return DOUBTFUL * kb.meta.get("score_threshold", kb.meta["threshold"])


def is_lookalike(kb: KnowledgeBase, text: str, name: str) -> bool:
    """Whether a name is a mention but for one letter that makes another word of it: microcephaly and
    macrocephaly, type 1 and type 2. Encoders and n-grams find them near.

    The mention's word is a number or one of the names', or stands alone and may be no slip.

    text, name (str): Normal forms.
    """
    words, others = text.split(" "), name.split(" ")
    different = [(a, b) for a, b in zip(words, others, strict=False) if a != b]
    if len(words) != len(others) or len(different) != 1:
        return False
    [(word, other)] = different
    if not one_edit(word, other) or stem(word) == stem(other) or kb.spelling.is_slip(word, other):
        return False
    is_word = not word.isalpha() or not kb.dictionary.unknown_words(word)[0]
    return is_word or len(words) == 1


def misspelled_share(kb: KnowledgeBase, text: str) -> float:
    """Share of a mention's words that are misspelled, or short and in no name: what an encoder
    makes of such letters is chance.

    text (str): Normal form.
    """
    unknown, n_words = kb.dictionary.unknown_words(text)
    short = [word for word in unknown if len(word) < 5 and word.isalpha() and word.isascii()]
    misspelled = [word for word in unknown if kb.spelling.suggest(word)]
    return (len(short) + len(misspelled)) / max(1, n_words)


def _is_known(kb: KnowledgeBase, text: str) -> bool:
    unknown, _ = kb.dictionary.unknown_words(text)
    return any(len(stem(word)) >= LEAST_LETTERS and word not in unknown for word in text.split(" "))
