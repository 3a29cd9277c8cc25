"""OMOP CDM 5.4, table note_nlp: one row a mention, with OMOP's concept ids where they are known."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import __version__

NLP_SYSTEM = f"spacy-termlink {__version__}"
#: Columns of note_nlp, in the order of its definition.
NOTE_NLP = (
    "note_nlp_id", "note_id", "section_concept_id", "snippet", "offset", "lexical_variant",
    "note_nlp_concept_id", "note_nlp_source_concept_id", "nlp_system", "nlp_date", "nlp_datetime",
    "term_exists", "term_temporal", "term_modifiers",
)  # fmt: skip
#: Widths of its text columns.
LEXICAL_VARIANT_WIDTH, TERM_MODIFIERS_WIDTH = 250, 2000
#: term_exists by assertion: whether the patient has or had it. What another has, or what is excluded,
#: conditional or uncertain, does not exist; what a component calls otherwise is left open.
EXISTS = {
    "affirmed": "Y", "present": "Y", "historical": "Y",
    "negated": "N", "absent": "N", "family": "N", "hypothetical": "N", "possible": "N",
}  # fmt: skip
TEMPORAL = {"historical": "past"}
MODIFIERS = (
    "kb", "release", "concept_id", "concept_name", "score", "label", "assertion", "section",
)  # fmt: skip


class OmopConcept(NamedTuple):
    """A concept of a terminology in OMOP's numbers; 0 is "no matching concept".

    standard (int): The standard concept that it is or maps to.
    source (int): The concept of the code itself.
    """

    standard: int
    source: int


NO_CONCEPT = OmopConcept(0, 0)
#: (KB, native id) -> concept; what is not there has none.
OmopConcepts = Mapping[tuple[str, str], OmopConcept]


def note_nlp_row(number: int, row: dict[str, Any], concepts: OmopConcepts, date: str) -> list[Any]:
    """A row of note_nlp.

    number (int): Its id.
    row (dict[str, Any]): Columns of ANNOTATIONS; the native id goes to term_modifiers.
    concepts (OmopConcepts): OMOP's ids.
    date (str): Day of the run, ISO 8601.
    RETURNS (list[Any]): Values of NOTE_NLP. term_exists is empty where assertion was not assessed.
    """
    concept = concepts.get((row["kb"], row["concept_id"]), NO_CONCEPT)
    assertion = row["assertion"]
    modifiers = ";".join(
        f"{name}={str(row[name]).replace(';', ',')}" for name in MODIFIERS if row[name] is not None
    )
    return [
        number, row["note_id"], 0, "", row["start"], row["text"][:LEXICAL_VARIANT_WIDTH],
        concept.standard, concept.source, NLP_SYSTEM, date, "",
        EXISTS.get(assertion, ""), TEMPORAL.get(assertion, ""), modifiers[:TERM_MODIFIERS_WIDTH],
    ]  # fmt: skip
