"""Registers the components: names, defaults, what they read and write.

spaCy imports this module whenever a `Language` is made, so the components themselves are imported
by the functions. No `from __future__ import annotations` here: spaCy reads the types.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Union

from spacy.language import Language
from thinc.api import Config, Model

if TYPE_CHECKING:
    from .term_abbreviations import TermAbbreviations
    from .term_linker import TermLinker
    from .term_matcher import TermMatcher

DEFAULT_TERM_LINKER = """
[term_linker]
kb = null
spans_key = null
k = 10
threshold = null
label_types = {}
resolve_abbreviations = true
overwrite = true
save_kb = "copy"
allow_restricted = false

[term_linker.model]
@architectures = "spacy-termlink.BiEncoder.v1"

[term_linker.learning]
hard_negatives = 4
positives = 2
synonyms = 0.5
temperature = 0.05
refresh_every = 200
index = "Flat"
seed = 0

[term_linker.candidates]
@misc = "spacy-termlink.HybridCandidates.v1"
complete = false

[term_linker.reranker]
@misc = "spacy-termlink.KbReranker.v1"

[term_linker.scorer]
@scorers = "spacy-termlink.linker_scorer.v1"
"""


@Language.factory(
    "term_linker",
    requires=["doc.ents"],
    assigns=[
        "token.ent_kb_id",
        "span._.kb_ents",
        "span._.kb_group",
        "span._.term_candidates",
        "span._.term_links",
    ],
    default_config=Config().from_str(DEFAULT_TERM_LINKER)["term_linker"],
    default_score_weights={
        "nel_micro_f": 1.0,
        "nel_micro_p": None,
        "nel_micro_r": None,
        "nel_e2e_p": None,
        "nel_e2e_r": None,
        "nel_e2e_f": None,
    },
)
def make_term_linker(
    nlp: Language,
    name: str,
    model: Model,
    kb: Optional[str],
    spans_key: Optional[str],
    k: int,
    threshold: Optional[float],
    label_types: Dict[str, List[str]],
    resolve_abbreviations: bool,
    overwrite: bool,
    save_kb: str,
    allow_restricted: bool,
    candidates: Callable,
    reranker: Optional[Callable],
    scorer: Optional[Callable],
    learning: Dict[str, Any],
) -> "TermLinker":
    """Make a `term_linker`; see TermLinker for the settings. Opens no file."""
    from .term_linker import TermLinker as Component

    if model.name == "transformer_linker":
        from .shared_linker import SharedTermLinker as Component  # type: ignore[assignment]

    return Component(
        nlp.vocab,
        model,
        name,
        nlp=nlp,
        kb=kb,
        spans_key=spans_key,
        k=k,
        threshold=threshold,
        label_types=label_types,
        resolve_abbreviations=resolve_abbreviations,
        overwrite=overwrite,
        save_kb=save_kb,
        allow_restricted=allow_restricted,
        candidates=candidates,
        reranker=reranker,
        scorer=scorer,
        learning=learning,
    )


@Language.factory("term_abbreviations", assigns=["doc._.term_abbreviations"])
def make_term_abbreviations(nlp: Language, name: str) -> "TermAbbreviations":
    """Make a `term_abbreviations`; it has no settings."""
    from .term_abbreviations import TermAbbreviations

    return TermAbbreviations(name)


@Language.factory(
    "term_matcher",
    assigns=["doc.ents"],
    default_config={
        "kb": None,
        "label": "TERM",
        "label_types": {},
        "spans_key": None,
        "resolve_abbreviations": True,
        "overwrite": False,
        "save_kb": "copy",
        "allow_restricted": False,
    },
)
def make_term_matcher(
    nlp: Language,
    name: str,
    kb: Optional[Union[str, List[str]]],
    label: str,
    label_types: Dict[str, List[str]],
    spans_key: Optional[str],
    resolve_abbreviations: bool,
    overwrite: bool,
    save_kb: str,
    allow_restricted: bool,
) -> "TermMatcher":
    """Make a `term_matcher`; see TermMatcher for the settings. Opens no file."""
    from .term_matcher import TermMatcher

    return TermMatcher(
        nlp.vocab,
        name,
        kb=kb,
        label=label,
        label_types=label_types,
        spans_key=spans_key,
        resolve_abbreviations=resolve_abbreviations,
        overwrite=overwrite,
        save_kb=save_kb,
        allow_restricted=allow_restricted,
    )
