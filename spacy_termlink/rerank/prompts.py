"""Yes/no questions about a mention and a candidate's name, for a T5 (seed 003, section 2.2.1)."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from tokenizers import Encoding, Tokenizer

from ..encoders.encoder import CHARACTERS_PER_TOKEN
from ..errors import TermlinkError

#: What a template may ask for; the first two it must.
FIELDS = ("mention", "name", "context", "synonyms", "definition")
#: Cut in this order where a prompt is too long; mention and name only when nothing else is left.
CUT_FIRST = ("context", "definition", "synonyms")
#: Least tokens that mention and name have, together, however long the question is.
LEAST_FOR_NAMES = 8


class Language(NamedTuple):
    """Shipped templates of a language, and the two answers to them."""

    templates: tuple[str, ...]
    yes: str
    no: str


LANGUAGES = {
    "en": Language(
        (
            "Do “{mention}” and “{name}” mean the same? yes or no:",
            "“{mention}” is another name of “{name}”: yes or no?",
            "mention: {mention} concept: {name} same: yes or no?",
            "Would a doctor record “{mention}” as “{name}”? yes or no:",
        ),
        "yes",
        "no",
    ),
    "zh": Language(
        (
            "{mention}和{name}表示同一个概念吗？是或否：",
            "{mention}和{name}的意思相同，是还是否？",
            "{mention}和{name}是同义词吗？回答是或否：",
            "{mention}可以标准化为{name}吗？是或否：",
        ),
        "是",
        "否",
    ),
}
_PIECE = re.compile(r"\[(?P<option>[^\[\]]*)\]|(?P<text>[^\[\]]+)|(?P<bad>[\[\]])")
_FIELD = re.compile(r"\{(\w*)\}")


class Prompt(NamedTuple):
    """A filled template.

    text (str): The question.
    places (tuple[tuple[str, int, int], ...]): Field, and where its value begins and ends.
    """

    text: str
    places: tuple[tuple[str, int, int], ...]


class Template:
    """A question with the fields {mention} and {name}, and {context}, {synonyms} or {definition} where
    wanted. A part in square brackets is left out where a field in it is empty:
    "[{context} ]Does {mention} mean {name}[ ({definition})]?"

    text (str): The template.
    RAISES (TermlinkError): TL635 for a template in another form.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        #: Literal text and field names by turns, with whether the part can be left out.
        self._parts: list[tuple[bool, list[str]]] = []
        for match in _PIECE.finditer(text):
            if match["bad"]:
                raise TermlinkError("TL635", template=text, reason="a bracket without its partner")
            option = match["option"] is not None
            self._parts.append((option, _FIELD.split(match["option"] if option else match["text"])))
        self.fields = tuple(name for _, pieces in self._parts for name in pieces[1::2])
        always = [name for option, pieces in self._parts if not option for name in pieces[1::2]]
        for name in self.fields:
            if name not in FIELDS:
                reason = f"its field '{name}' is none of {', '.join(FIELDS)}"
                raise TermlinkError("TL635", template=text, reason=reason)
        for name in FIELDS[:2]:
            if always.count(name) != 1:
                reason = f"it must have {{{name}}} once, outside square brackets"
                raise TermlinkError("TL635", template=text, reason=reason)

    def fill(self, values: Mapping[str, str]) -> Prompt:
        """Put values in the place of fields.

        values (Mapping[str, str]): By field; one that is missing is empty.
        """
        text, places = "", []
        for option, pieces in self._parts:
            if option and not all(values.get(name, "").strip() for name in pieces[1::2]):
                continue
            for i, piece in enumerate(pieces):
                value = " ".join(values.get(piece, "").split()) if i % 2 else piece
                if i % 2:
                    places.append((piece, len(text), len(text) + len(value)))
                text += value
        return Prompt(text, tuple(places))


class PromptEncoder:
    """Fills templates and tokenises the prompts; what is too long loses tokens of its long parts, and
    never of the question.

    tokenizer (Tokenizer): It must neither cut nor pad.
    max_length (int): Tokens of a prompt, special ones included.
    templates (Sequence[Template]): Those that will be filled.
    RAISES (TermlinkError): TL636 if a question alone is too long.
    """

    def __init__(
        self, tokenizer: Tokenizer, max_length: int, templates: Sequence[Template]
    ) -> None:
        self._tokenizer, self._max_length = tokenizer, max_length
        for template in templates:
            n = len(tokenizer.encode(template.fill({}).text).ids)
            if n + LEAST_FOR_NAMES > max_length:
                raise TermlinkError("TL636", template=template.text, n=n, max_length=max_length)

    def encode(self, template: Template, values: Mapping[str, str]) -> list[int]:
        """Token ids of a filled template, `max_length` at most."""
        # before it is tokenised: a context of megabytes takes minutes otherwise
        longest = self._max_length * CHARACTERS_PER_TOKEN
        context = values.get("context", "")
        if len(context) > longest:
            at = max(0, context.find(values["mention"]) - longest // 2)
            values = {**values, "context": context[at : at + longest]}
        prompt = template.fill({name: value[:longest] for name, value in values.items()})
        encoding = self._tokenizer.encode(prompt.text.encode("utf8", "replace").decode("utf8"))
        if len(encoding.ids) <= self._max_length:
            return encoding.ids
        kept = _cut(encoding, prompt, len(encoding.ids) - self._max_length)
        return np.array(encoding.ids)[kept].tolist()


def _cut(encoding: Encoding, prompt: Prompt, excess: int) -> np.ndarray:
    """Mask of the tokens to keep, `excess` of them left out."""
    kept = np.ones(len(encoding.ids), dtype=bool)
    # a token is where its last character is: a mark of a word's beginning stands for the space before
    last = np.array([end - 1 if end else -1 for _, end in encoding.offsets])
    tokens: dict[str, list[int]] = {}
    for name, start, end in prompt.places:
        tokens.setdefault(name, []).extend(np.flatnonzero((last >= start) & (last < end)).tolist())
    for name in CUT_FIRST:
        own = tokens.get(name, [])
        for _ in range(min(excess, len(own))):
            kept[own.pop(_far_end(own, encoding, prompt) if name == "context" else -1)] = False
            excess -= 1
    names = [tokens["mention"], tokens["name"]]
    for _ in range(excess):
        kept[max(names, key=len).pop()] = False
    return kept


def _far_end(own: Sequence[int], encoding: Encoding, prompt: Prompt) -> int:
    """The end of the context, 0 or -1, that is farther from the mention in it."""
    spans = {name: prompt.text[start:end] for name, start, end in prompt.places}
    at = spans["context"].find(spans["mention"])
    if at < 0:
        return -1
    begin = next(start for name, start, _ in prompt.places if name == "context")
    middle = begin + at + len(spans["mention"]) / 2
    first, final = encoding.offsets[own[0]][0], encoding.offsets[own[-1]][1]
    return 0 if middle - first > final - middle else -1
