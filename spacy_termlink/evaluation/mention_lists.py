"""The lists that a reranker is trained on, as its config names them: what `termlink train-reranker`
reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from ..candidates import make_generator
from ..candidates.forms import generate_forms
from ..kb import TermKB, open_kb
from ..rerank.config import RerankConfig, SourceSettings
from ..rerank.lists import ListData, MentionList, hold_out, make_list, synonym_lists, without_right
from ..training.schedule import generator
from ..types import Candidate
from .calibrate import CHUNK
from .mention_set import prepare_mentions
from .mentions import read_docs, read_mentions


def read_lists(
    config: RerankConfig, *, progress: Optional[Callable[[str, int], Any]] = None
) -> ListData:
    """The lists of all sources, those kept for the scores apart.

    progress (Optional[Callable[[str, int], Any]]): Told a source's name and its lists when it is done.
    RAISES (TermlinkError): What opening a KB or reading mentions raises.
    """
    lists: list[MentionList] = []
    dev: list[MentionList] = []
    about = []
    for name, source in config.data.items():
        kb = open_kb(Path(source.kb))
        found = source_lists(kb, source, seed=config.run.seed)
        trained, scored = hold_out(found, source.dev_share)
        lists += without_right(trained, config.run.nil_share, seed=config.run.seed)
        dev += scored
        about.append(_describe(name, kb, source, len(trained), len(scored)))
        if progress is not None:
            progress(name, len(found))
    return ListData(lists, dev, seed=config.run.seed, about=about)


def source_lists(kb: TermKB, source: SourceSettings, *, seed: int) -> list[MentionList]:
    """The lists of one source; mentions whose concepts the KB does not know are left out."""
    if source.mentions:
        found = _annotated_lists(kb, source, seed)
    else:
        found = synonym_lists(kb, k=source.k, most=source.most, seed=seed)
    if source.lexical or source.random:
        found = _with_more(kb, found, source, seed)
    return found


def _annotated_lists(kb: TermKB, source: SourceSettings, seed: int) -> list[MentionList]:
    rows = read_mentions(Path(source.mentions), split=source.split or None)
    docs = read_docs(Path(source.docs)) if source.docs else None
    mentions = prepare_mentions(kb.terminology, rows, docs=docs)
    places = [i for i, gold in enumerate(mentions.any_gold) if gold]
    if source.most and len(places) > source.most:
        drawn = generator(seed, "mentions").permutation(len(places))[: source.most]
        places = [places[i] for i in sorted(drawn.tolist())]
    recall = make_generator("hybrid", kb)
    made = []
    for start in range(0, len(places), CHUNK):
        part = places[start : start + CHUNK]
        forms = [mentions.forms[i] for i in part]
        for i, candidates in zip(part, generate_forms(recall, forms, k=source.k), strict=True):
            if candidates:
                text, context = mentions.forms[i][-1], mentions.contexts[i]
                gold = set(mentions.any_gold[i])
                made.append(make_list(text, candidates, gold, context))
    return made


def _with_more(
    kb: TermKB, lists: list[MentionList], source: SourceSettings, seed: int
) -> list[MentionList]:
    """Lists with the nearest concepts by BM25 and random ones behind (seed 003, section 3.1)."""
    nearest: list[list[Candidate]] = [[] for _ in lists]
    if source.lexical:
        bm25 = make_generator("bm25", kb)
        nearest = bm25.generate([found.mention for found in lists], k=source.lexical)
    terminology, made = kb.terminology, []
    for number, (found, lexical) in enumerate(zip(lists, nearest, strict=True)):
        rng = generator(seed, "more", number)
        rows = rng.integers(terminology.n_concepts, size=source.random).tolist()
        drawn = [row for row in rows if not terminology.obsolete[row]]
        more = [*lexical, *_as_candidates(kb, drawn)]
        right = {c.concept_id for c, r in zip(found.candidates, found.right, strict=True) if r}
        if not right:  # one that the recall stage missed may be among the others: not told apart
            more = []
        known = {c.concept_id: c for c in (*reversed(more), *reversed(found.candidates))}
        order = dict.fromkeys(c.concept_id for c in (*found.candidates, *more))
        candidates = [known[i] for i in order]
        made.append(make_list(found.mention, candidates, right, found.context))
    return made


def _as_candidates(kb: TermKB, rows: list[int]) -> list[Candidate]:
    ids, names = kb.terminology.concept_ids(rows), kb.terminology.preferred_names(rows)
    return [Candidate(i, n, n, "preferred", 0.0, "random") for i, n in zip(ids, names, strict=True)]


def _describe(
    name: str, kb: TermKB, source: SourceSettings, n_lists: int, n_dev: int
) -> dict[str, Any]:
    return {
        "name": name,
        "source": kb.name,
        "release": kb.release,
        "licence": kb.licence,
        "shareable": kb.shareable,
        "mentions": Path(source.mentions).parent.name if source.mentions else "its synonyms",
        "lists": n_lists,
        "dev": n_dev,
    }
