"""How places in a text become spans of tokens: tokens are cut where that may be done."""

from bisect import bisect_left, bisect_right
from typing import Any, Dict, Iterable, List, Tuple, Union, cast

from spacy.tokens import Doc, Span, SpanGroup, Token

from .defined import Place
from .mentions import ABBREVIATIONS_KEY

#: What other components may have counted tokens for.
_ATTRIBUTES = ("DEP", "HEAD", "TAG", "POS", "MORPH", "LEMMA")
#: Tokens cut, times tokens of the document: half a second. spaCy moves all that follow a cut.
MOST_MOVES = 5_000_000


def without_overlap(places: List[Place]) -> List[Place]:
    """Of places that overlap the longest, in order of the text."""
    starts: List[int] = []  # of the chosen ones, ascending; their ends in the same order
    ends: List[int] = []
    chosen: List[Place] = []
    for place in sorted(places, key=lambda p: (p.start - p.end, p.distance, p.start)):
        at = bisect_right(starts, place.start)
        before = at == 0 or ends[at - 1] <= place.start
        if before and (at == len(starts) or place.end <= starts[at]):
            starts.insert(at, place.start)
            ends.insert(at, place.end)
            chosen.append(place)
    return sorted(chosen)


def make_spans(doc: Doc, places: List[Place]) -> List[Tuple[Span, str]]:
    """The span of each place, longest places first, and what it is searched as; "" for its own text.

    Tokens are cut at the places' ends ("tremor;nystagmus") in a document that nothing else has
    annotated token by token. Elsewhere a span is as wide as its tokens, and is searched as the text
    of its place: "1)ataxia" as "ataxia".
    """
    cut_tokens(doc, places)
    text = doc.text  # spaCy puts it together each time
    found = []
    for place in sorted(places, key=lambda p: p.start - p.end):
        span = doc.char_span(place.start, place.end, label=place.label, alignment_mode="expand")
        span = cast(Span, span)  # None only for an empty place
        exact = (span.start_char, span.end_char) == (place.start, place.end)
        found.append((span, place.whole or ("" if exact else text[place.start : place.end])))
    return found


def cut_tokens(doc: Doc, places: Iterable[Place]) -> None:
    """Cut tokens where a place begins or ends inside of one; not those of an entity or of a span."""
    cuts = sorted({offset for place in places for offset in (place.start, place.end)})
    inside = _inside(doc, cuts)
    if not inside or not _may_cut(doc):
        return
    others = [*doc.ents, *(span for group in doc.spans.values() for span in group)]
    taken = {i for span in others for i in range(span.start, span.end)}
    chosen = [i for i in inside if i not in taken][: MOST_MOVES // len(doc) + 1]
    moving = set(chosen)
    has_sentences = doc.has_annotation("SENT_START")
    text = doc.text
    begun: List[int] = []  # offsets of the tokens that are new
    groups = [
        (key, group.name, dict(group.attrs), _facts(group)) for key, group in doc.spans.items()
    ]
    before = [0]  # token -> new tokens before it
    for i in range(len(doc)):
        before.append(before[-1] + (len(inside[i]) - 2 if i in moving else 0))
    with doc.retokenize() as retokenizer:
        for token in map(doc.__getitem__, chosen):
            at = inside[token.i]
            pieces = [text[i:j] for i, j in zip(at, at[1:], strict=False)]
            heads: List[Union[Token, Tuple[Token, int]]] = [(token, i) for i in range(len(pieces))]
            retokenizer.split(token, pieces, heads)
            begun.extend(at[1:-1])
    for key, name, attrs, facts in groups:  # spaCy moves entities, but no group
        spans = [Span(doc, i + before[i], j + before[j], *more) for i, j, *more in facts]
        doc.spans[key] = SpanGroup(doc, name=name, attrs=attrs, spans=spans)
    if has_sentences:  # spaCy makes of each piece without a head a sentence
        new = set(begun)
        for token in doc:
            if token.idx in new:
                token.is_sent_start = False


def _facts(group: SpanGroup) -> List[Tuple[Any, ...]]:
    return [(s.start, s.end, s.label, None, None, s.kb_id, s.id) for s in group]


def _inside(doc: Doc, cuts: List[int]) -> Dict[int, List[int]]:
    """Token -> offsets of its pieces, for tokens with a cut inside."""
    found: Dict[int, List[int]] = {}
    if cuts:
        for token in doc:
            end = token.idx + len(token)
            first, last = bisect_right(cuts, token.idx), bisect_left(cuts, end)
            if first < last:
                found[token.i] = [token.idx, *cuts[first:last], end]
    return found


def _may_cut(doc: Doc) -> bool:
    """Whether nobody counts on the tokens as they are: no tags, no vectors, no attribute of the
    document (a transformer's output, medspaCy's sections) but our own."""
    if doc.tensor.size or any(map(doc.has_annotation, _ATTRIBUTES)):
        return False
    attributes = (key for key in doc.user_data if isinstance(key, tuple) and key[0] == "._.")
    return all(key[2] is not None or key == ABBREVIATIONS_KEY for key in attributes)


def first_come(spans: Iterable[Span]) -> List[Span]:
    """The spans without those that overlap an earlier one of the list, in order of the text."""
    taken: set = set()
    kept = []
    for span in spans:
        tokens = range(span.start, span.end)
        if taken.isdisjoint(tokens):
            taken.update(tokens)
            kept.append(span)
    return sorted(kept, key=lambda span: span.start)
