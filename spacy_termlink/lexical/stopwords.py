"""Words of grammar, which say little about what a mention names."""

from ..text import normalize
from .words import find_words

#: Lucene's English list, which Elasticsearch and with it the BM25 of seed 002 takes.
STOP_WORDS = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
     "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
     "they", "this", "to", "was", "will", "with")
)  # fmt: skip


def content_words(text: str, *, normalized: bool = False) -> list[str]:
    """Words of a text in normal form, without the stop words; all of them where there are no others.
    A Chinese or Japanese character is a word.

    normalized (bool): The text is in normal form already.
    """
    normal = text if normalized else normalize(text)
    words = normal.split() if normal.isascii() else find_words(normal).forms
    return [word for word in words if word not in STOP_WORDS] or words
