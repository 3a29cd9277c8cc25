"""What a T5 reranker asks, as its folder says; and section [reranker.model] of its training."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..training.settings import AT_LEAST_0, AT_LEAST_1, check, read_settings, setting
from .prompts import LANGUAGES, Template
from .small_t5 import SmallT5Settings

WHERE = "reranker.model"


@dataclass(frozen=True)
class Questions:
    """What a T5 is asked, and what its answers are.

    templates (tuple[str, ...]): See `Template`; training draws from them, reranking asks the first.
    yes, no (str): The answers.
    max_length (int): Tokens of a prompt.
    names (str): What {name} is of a candidate: its "matched" name, its "preferred" one, or in training
        either ("both"), in reranking the matched one.
    """

    templates: tuple[str, ...]
    yes: str
    no: str
    max_length: int
    names: str

    @property
    def made(self) -> list[Template]:
        """The templates.

        RAISES (TermlinkError): TL635 for one in another form.
        """
        return [Template(text) for text in self.templates]


@dataclass(frozen=True)
class T5ModelSettings:
    """[reranker.model] of kind "t5".

    t5 (str): Folder of a T5 or mT5, or a Hugging Face name in the local cache; "" builds a small one
        from nothing, see [reranker.model.small].
    language (str): Of the templates and answers that are shipped: "en" or "zh".
    templates (list[str]): Others in their place.
    yes, no (str): The answers to them; "" for the language's.
    max_length (int): Tokens of a prompt.
    names (str): What {name} is of a candidate: its "matched" name, its "preferred" one, or in training
        either ("both"), in reranking the matched one.
    negatives (int): Wrong candidates asked about each time a list is drawn; the right ones count as
        much as they do together.
    fgm (float): Length of the step of adversarial training on the embedding table; 0 is without.
    """

    t5: str = ""
    language: Literal["en", "zh"] = "en"
    templates: list[str] = setting(())
    yes: str = ""
    no: str = ""
    max_length: int = setting(128, AT_LEAST_1)
    names: Literal["matched", "preferred", "both"] = "both"
    negatives: int = setting(4, AT_LEAST_1)
    fgm: float = setting(0.0, AT_LEAST_0)

    @property
    def questions(self) -> Questions:
        """What is asked."""
        shipped = LANGUAGES[self.language]
        return Questions(
            tuple(self.templates) or shipped.templates,
            self.yes or shipped.yes,
            self.no or shipped.no,
            self.max_length,
            self.names,
        )


def read_t5_settings(model: Mapping[str, Any]) -> tuple[T5ModelSettings, SmallT5Settings]:
    """Check a section [reranker.model] and the one of the small T5 in it.

    RAISES (TermlinkError): TL411 for a value that does not fit.
    """
    values = {name: value for name, value in model.items() if name != "small"}
    small = read_settings(SmallT5Settings, model.get("small", {}), f"{WHERE}.small")
    fits = small.width % small.heads == 0
    check(fits, f"{WHERE}.small.width", small.width, f"a multiple of heads, {small.heads}")
    return read_settings(T5ModelSettings, values, WHERE), small
