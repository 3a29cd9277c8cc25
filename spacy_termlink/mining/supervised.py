"""The supervised task: mentions of annotated texts with the concepts they name (seeds 001, 003)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Dict, List, Literal, NamedTuple, Optional

from ..errors import TermlinkError
from ..files import require_file
from ..lexical.abbreviations import expand, find_abbreviations, long_forms
from .corpus import Corpus, Item
from .draws import sample
from .negatives import NegativeFinder
from .records import Record, read_rows
from .task import Task, check, check_cap, check_kinds, make_task, of_kind


class AnnotatedMention(NamedTuple):
    """A mention and its gold concepts, as in `mentions.jsonl`."""

    text: str
    concepts: List[str]
    doc_id: str


def make_supervised(
    path: str,
    docs: Optional[str] = None,
    split: Optional[str] = "train",
    cardinality: Literal["single", "all"] = "single",
    positive_kinds: List[str] = ["preferred"],  # noqa: B006
    max_per_mention: int = 1,
    nearest: int = 0,
    random: int = 0,
    weight: float = 1.0,
    augment: bool = False,
) -> Task:
    """A mention with the names of its concept.

    A mention whose normal form is held out, or whose concept is held out or unknown to every
    terminology of the run, gives no record. Equal mentions give one each time they occur.

    path (str): A `mentions.jsonl`.
    docs (Optional[str]): The `docs.jsonl` with their documents: a mention that is or holds an
        abbreviation there is written out, as linking does. None takes mentions as they are.
    split (Optional[str]): Only mentions of this split; None for all.
    cardinality (str): "single" takes mentions of one concept; "all" those of several too, with a
        record for each of them.
    positive_kinds (List[str]): Kinds of the positive.
    max_per_mention (int): Names of each concept; more are drawn from.
    nearest, random (int): Negatives as in LexicalNegatives, for all concepts of a mention together.
    """
    check_kinds("positive_kinds", positive_kinds)
    check_cap("max_per_mention", max_per_mention)
    check(nearest >= 0, "nearest", nearest, "a whole number, 0 or more")
    check(random >= 0, "random", random, "a whole number, 0 or more")

    def mine(corpus: Corpus, task: str) -> Iterator[Record]:
        long_of = _long_forms(Path(docs)) if docs else {}
        finders: Dict[str, NegativeFinder] = {}
        for number, mention in enumerate(_read_mentions(Path(path), split)):
            if not mention.concepts or (cardinality == "single" and len(mention.concepts) > 1):
                continue
            text = expand(mention.text, long_of.get(mention.doc_id, {}))
            items = _items(corpus, mention.concepts)
            if corpus.is_held(text) or not items:
                continue
            rng = corpus.draws(task, number)
            for item in items:
                names = of_kind(item.names, positive_kinds)
                for positive in sample(rng, names, max_per_mention):
                    record = Record(task, text, positive.text, item.concept, item.concept)
                    if not nearest + random:
                        yield record
                        continue
                    if item.source.name not in finders:
                        finders[item.source.name] = NegativeFinder(
                            corpus, item.source, ["preferred"]
                        )
                    for negative in finders[item.source.name].find(
                        items,
                        positive.normalized,
                        rng,
                        nearest=nearest // len(items),
                        n_random=random // len(items),
                    ):
                        yield record._replace(negative=negative[0], negative_concept=negative[1])

    return make_task(mine, weight=weight, augment=augment)


def _items(corpus: Corpus, concept_ids: List[str]) -> List[Item]:
    """The concepts, empty where one of them is unknown or held out: a mention of two concepts is
    not a mention of one."""
    items = []
    for concept_id in concept_ids:
        found = corpus.find(concept_id)
        names = corpus.names(*found) if found else []
        if not found or not names:
            return []
        items.append(Item(*found, corpus.concept(*found), names))
    return items


def _read_mentions(path: Path, split: Optional[str]) -> Iterator[AnnotatedMention]:
    n_read = 0
    for line, row in read_rows(require_file(path)):
        text, concepts = row.get("text"), row.get("concepts")
        if not isinstance(text, str) or not text.strip() or not isinstance(concepts, list):
            reason = "expected 'text', a string, and 'concepts', a list"
            raise TermlinkError("TL220", path=path, line=line, reason=reason)
        if row.get("cardinality") == "noid" or (split is not None and row.get("split") != split):
            continue
        n_read += 1
        ids = list(dict.fromkeys(map(str, concepts)))
        yield AnnotatedMention(text, ids, str(row.get("doc_id") or ""))
    if not n_read:
        raise TermlinkError("TL224", path=path, split=split)


def _long_forms(path: Path) -> Dict[str, Dict[str, str]]:
    """Long form by abbreviation of each document that has any."""
    found: Dict[str, Dict[str, str]] = {}
    for line, row in read_rows(require_file(path)):
        doc_id, text = row.get("doc_id"), row.get("text")
        if not isinstance(doc_id, str) or not isinstance(text, str):
            reason = "expected 'doc_id' and 'text', strings"
            raise TermlinkError("TL220", path=path, line=line, reason=reason)
        if abbreviations := long_forms(find_abbreviations(text)):
            found[doc_id] = abbreviations
    return found
