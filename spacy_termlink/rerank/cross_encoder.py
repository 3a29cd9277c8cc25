"""The cross-encoder: reads a mention and a candidate's names together (R. Nogueira, K. Cho: Passage
re-ranking with BERT, 2019; listwise over the candidates and NIL, as Z. Cao et al.: Learning to rank:
from pairwise approach to listwise approach, ICML 2007).

A candidate's sum is u = weight (score - nil) + share z: its score in the recall stage, and z, what the
encoder makes of mention and name. NIL has u = 0. Shares of the softmax over u are what training learns;
the score that comes out is score + share z / weight: the recall stage's, moved by what was read. It
stays on that scale, so that a threshold on scores keeps its meaning.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from ..candidates.hybrid import MOST
from ..encoders.encoder import TransformerEncoder
from ..errors import TermlinkError
from ..text import normalize
from ..types import NAMED, Candidate, KnowledgeBase
from .rerankers import FILE, FOLDER, read_about

#: Registered name, which a folder's FILE says.
NAME = "spacy-termlink.CrossEncoder.v1"


class CrossSettings(NamedTuple):
    """What a cross-encoder's folder says beside its weights.

    weight (float): Of the recall stage's score.
    nil (float): Score at which a candidate is worth as much as NIL, before it is read.
    share (float): What z is multiplied by; 0 leaves the recall stage's order.
    head (list[float]): (D,), see below.
    bias (float): z = SCALE (Σ head m n - bias), m and n the means over the tokens of mention and name.
    names (str): "matched" reads the matched name, "both" the preferred one, too.
    context (bool): Read the mention's sentence.
    margin (float): A first candidate that is as far before the second is not in doubt.
    """

    weight: float
    nil: float
    share: float
    head: list[float]
    bias: float
    names: str
    context: bool
    margin: float


#: With a head of ones, as training starts, z is this times the cosine of both texts, read together, less
#: the bias: what a bi-encoder knows, before anything is learned about pairs.
SCALE = 20.0


class CrossEncoder:
    """Orders candidates by reading them (protocol `types.Reranker`).

    kb (KnowledgeBase): Knows the candidates.
    folder (Path): Written by `termlink train-reranker`: an encoder folder with FILE.
    dtype (str): "auto", "float32" or "bfloat16".
    RAISES (TermlinkError): TL621 for a folder of another form.
    """

    def __init__(self, kb: KnowledgeBase, folder: Path, *, dtype: str = "auto") -> None:
        self.kb, self.folder, self._dtype = kb, folder, dtype
        self.settings = _read(folder)

    @cached_property
    def encoder(self) -> TransformerEncoder:
        """Encoder of the pairs, loaded at first use."""
        return TransformerEncoder(self.folder, dtype=self._dtype)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over encoder and settings."""
        about = json.dumps(self.settings._asdict(), sort_keys=True)
        return hashlib.sha256((self.encoder.fingerprint + about).encode()).hexdigest()[:16]

    @property
    def reads_context(self) -> bool:
        """Whether the mention's sentence plays a part."""
        return self.settings.context

    def in_doubt(self, candidates: Sequence[Candidate]) -> bool:
        """See `is_doubtful`."""
        return is_doubtful(candidates, self.settings.margin)

    def rerank(
        self,
        mentions: Sequence[str],
        candidate_lists: Sequence[Sequence[Candidate]],
        *,
        contexts: Optional[Sequence[str]] = None,
    ) -> list[list[Candidate]]:
        """See `types.Reranker`. A candidate that the mention's own words name (tier "exact") keeps its
        score, and no other gets past it; among several such the sum decides."""
        read = self.read(mentions, candidate_lists, contexts=contexts)
        unit = self.settings.share / self.settings.weight
        return [
            reorder(candidates, np.array([c.score for c in candidates]) + unit * z)
            for candidates, z in zip(candidate_lists, read, strict=True)
        ]

    def read(
        self,
        mentions: Sequence[str],
        candidate_lists: Sequence[Sequence[Candidate]],
        *,
        contexts: Optional[Sequence[str]] = None,
    ) -> list[np.ndarray]:
        """z of the candidates of each mention, (B,) arrays (K,); equal pairs are read once."""
        if not mentions:
            return []
        texts = contexts if self.reads_context and contexts is not None else [""] * len(mentions)
        pairs = [
            make_pair(mention, text, candidate, names=self.settings.names)
            for mention, text, candidates in zip(mentions, texts, candidate_lists, strict=True)
            for candidate in candidates
        ]
        distinct = list(dict.fromkeys(pairs))
        head = np.array(self.settings.head, dtype=np.float32)
        halves = self.encoder.encode_pairs(distinct)  # (N, 2, D)
        z = SCALE * ((halves[:, 0] * halves[:, 1]) @ head - self.settings.bias)
        place = {pair: i for i, pair in enumerate(distinct)}
        read = z[[place[pair] for pair in pairs]].astype(np.float64)
        bounds = np.cumsum([len(candidates) for candidates in candidate_lists])[:-1]
        return np.split(read, bounds)


def is_doubtful(candidates: Sequence[Candidate], margin: float) -> bool:
    """Whether the first candidate may have to give way: not where it stands alone, where it alone is an
    exact name or a corrected one, or where its score is ahead by a margin."""
    if len(candidates) < 2:
        return False
    first, second = candidates[0], candidates[1]
    if first.tier in NAMED:
        return second.tier == first.tier and second.score >= first.score
    return first.score - second.score < margin


def reorder(
    candidates: Sequence[Candidate], scores: np.ndarray, *, named: Optional[Sequence[bool]] = None
) -> list[Candidate]:
    """Candidates with new scores, best first: those of an exact or corrected name keep theirs and their
    place before the others; of equal ones the recall stage's order stays.

    named (Optional[Sequence[bool]]): Which those are, (K,); None for all of the tiers NAMED.
    """
    if named is None:
        named = [c.tier in NAMED for c in candidates]
    kept = [c.score for c, is_named in zip(candidates, named, strict=True) if is_named]
    most = min(kept, default=MOST)
    made = []
    for candidate, score, is_named in zip(candidates, scores.tolist(), named, strict=True):
        new = candidate.score if is_named else round(min(max(score, 0.0), most, MOST), 6)
        made.append(((not is_named, -score), candidate._replace(score=new)))
    return [candidate for _, candidate in sorted(made, key=lambda found: found[0])]


def make_pair(mention: str, context: str, candidate: Candidate, *, names: str) -> tuple[str, str]:
    """What the encoder reads: the mention, with its sentence if there is one, and the candidate's names.

    names (str): "matched", or "both": the preferred name follows where it is another one.
    """
    read = normalize(mention) or mention
    if context:
        read = f"{read} | {' '.join(context.split())}"
    text = candidate.matched
    if names == "both" and normalize(candidate.name) != normalize(candidate.matched):
        text = f"{text} | {candidate.name}"
    return read, text


def make_cross_encoder(
    path: Optional[str] = None, dtype: str = "auto"
) -> Callable[[KnowledgeBase], CrossEncoder]:
    """`spacy-termlink.CrossEncoder.v1`.

    path (Optional[str]): Folder of the reranker; None for the KB's own.
    dtype (str): See CrossEncoder.
    """
    return partial(_open, path=path, dtype=dtype)


def _open(kb: Any, *, path: Optional[Union[str, Path]], dtype: str) -> CrossEncoder:
    if path is None:
        if f"{FOLDER}/{FILE}" not in kb.meta["files"]:
            raise TermlinkError("TL622", kb=kb.meta.get("name", ""))
        path = kb.path / FOLDER
    return CrossEncoder(kb, Path(path), dtype=dtype)


def _read(folder: Path) -> CrossSettings:
    about = read_about(folder)
    if about["reranker"] != NAME:
        raise TermlinkError("TL621", path=folder / FILE, reason=f"it is one of {about['reranker']}")
    try:
        settings = CrossSettings(*(about[name] for name in CrossSettings._fields))
    except KeyError as error:
        raise TermlinkError("TL621", path=folder / FILE, reason=f"no {error}") from error
    if not settings.weight > 0:
        reason = f"its weight is {settings.weight!r}, expected a number above 0"
        raise TermlinkError("TL621", path=folder / FILE, reason=reason)
    return settings
