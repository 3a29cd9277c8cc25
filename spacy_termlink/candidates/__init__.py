"""Candidate generators: every way to find concepts for a mention, behind one protocol."""

from ..errors import TermlinkError
from ..registry import misc
from ..types import CandidateGenerator, KnowledgeBase

__all__ = ["make_generator"]

_PREFIX, _SUFFIX = "spacy-termlink.", "Candidates.v1"


def make_generator(name: str, kb: KnowledgeBase) -> CandidateGenerator:
    """A candidate generator over a KB.

    name (str): "exact", "dense", "ngram", "hybrid", or a name registered in spaCy's `misc`.
    RAISES (TermlinkError): TL501 for an unknown name.
    """
    registered = misc.get_all()
    full = name if name in registered else f"{_PREFIX}{name.title()}{_SUFFIX}"
    if full not in registered:
        known = [
            n[len(_PREFIX) : -len(_SUFFIX)].lower()
            for n in registered
            if n.startswith(_PREFIX) and n.endswith(_SUFFIX)
        ]
        raise TermlinkError("TL501", name=name, known=", ".join(sorted(known)))
    return registered[full]()(kb)
