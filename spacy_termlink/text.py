"""Name normalisation: one function, used on every side (names, mentions, matcher)."""

import re
import unicodedata

_PUNCT = re.compile(r"[^\w]+", re.UNICODE)


def normalize(text: str) -> str:
    """Normal form under which a mention and a name count as equal."""
    return _PUNCT.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
