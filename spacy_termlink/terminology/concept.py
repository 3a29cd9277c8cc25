"""Records that readers yield: a concept with its names, relations and cross-references."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Name(NamedTuple):
    """Any string of a concept.

    text (str): As the source writes it.
    kind (str): One of `types.NAME_KINDS`.
    language (str): BCP 47 tag.
    source (str): Where the name comes from, as the source says (a vocabulary, a list of authors), or "".
    """

    text: str
    kind: str = "exact"
    language: str = "en"
    source: str = ""


class Relation(NamedTuple):
    """An edge from the concept to another one.

    type (str): "is_a" for the hierarchy; else the source's own relation ("part_of", "consider", ...).
    object (str): Id of the concept it points to.
    """

    type: str
    object: str


class Xref(NamedTuple):
    """A cross-reference.

    xref (str): CURIE in the other vocabulary, as written in the source.
    predicate (str): SKOS or oboInOwl predicate where the source gives one, else "xref".
    """

    xref: str
    predicate: str = "xref"


@dataclass
class Concept:
    """One meaning of a terminology.

    concept_id (str): Native id, as `HP:0001250` or `E11.9`.
    name (str): The preferred name. A living concept has one; readers need not repeat it in `names`.
    names (list[Name]): Every other name, of any kind. Double entries of the source are kept.
    definition (str): Text definition or "".
    semantic_types (list[str]): Semantic types, subsets, marks such as "billable".
    obsolete (bool): True for a retired concept: it keeps its row, none of its names is searched.
    replaced_by (str): Id of the concept that took its place, or "".
    alt_ids (list[str]): Other ids of this concept; they redirect to it.
    relations (list[Relation]): Outgoing edges.
    xrefs (list[Xref]): Cross-references.
    """

    concept_id: str
    name: str
    names: list[Name] = field(default_factory=list)
    definition: str = ""
    semantic_types: list[str] = field(default_factory=list)
    obsolete: bool = False
    replaced_by: str = ""
    alt_ids: list[str] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    xrefs: list[Xref] = field(default_factory=list)
    language: str = "en"
