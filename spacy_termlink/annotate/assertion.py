"""Reads assertion and section from other components' attributes; assesses nothing itself."""

from typing import Optional

from spacy.language import Language
from spacy.tokens import Span

#: Attributes that are True where the status holds, in the order they win.
FLAGS = (
    ("is_family", "family"),  # medspaCy's ConText
    ("negex", "negated"),  # negspaCy
    ("is_negated", "negated"),
    ("is_hypothetical", "hypothetical"),
    ("is_uncertain", "possible"),
    ("is_historical", "historical"),
)
#: Attributes that hold the status, or the section, as a string.
ASSERTION_TEXTS = ("assertion",)
SECTION_TEXTS = ("section_category", "section")
#: Where components that assess nothing come from; medspaCy's ConText is the exception.
NO_ASSESSORS = (
    "spacy.", "spacy_termlink.", "spacy_transformers.", "scispacy.", "medspacy.", "PyRuSH.",
)  # fmt: skip
CONTEXT = "medspacy.context."


def find_assessors(nlp: Language) -> bool:
    """Whether the pipeline may assess assertion: an attribute exists, and a component that could
    have set it, which spaCy's, ours and others that are known cannot. Attributes live in the
    process, not in a pipeline, and `import medspacy` makes them all: without the second test every
    mention would be "affirmed" where nobody looked.
    """
    names = [name for name, _ in FLAGS] + list(ASSERTION_TEXTS)
    if not any(Span.has_extension(name) for name in names):
        return False
    modules = [_module(component) for _, component in nlp.pipeline]
    return any(m.startswith(CONTEXT) or not m.startswith(NO_ASSESSORS) for m in modules)


def get_assertion(span: Span) -> Optional[str]:
    """Status of a mention by the attributes that exist: "affirmed" where none of them is True.

    RETURNS (Optional[str]): None where none exists.
    """
    if text := _first_text(span, ASSERTION_TEXTS):
        return text
    present = [(name, status) for name, status in FLAGS if Span.has_extension(name)]
    if not present:
        return None
    return next((status for name, status in present if span._.get(name) is True), "affirmed")


def get_section(span: Span) -> Optional[str]:
    """Section a mention stands in, None where no component says."""
    return _first_text(span, SECTION_TEXTS)


def _first_text(span: Span, names: tuple[str, ...]) -> Optional[str]:
    values = (span._.get(name) for name in names if Span.has_extension(name))
    return next((value for value in values if isinstance(value, str) and value), None)


def _module(component: object) -> str:
    module = getattr(component, "__module__", None) or type(component).__module__
    return f"{module}."
