"""Requests and responses of the API, as its OpenAPI description states them."""

from typing import Optional

from pydantic import BaseModel, ConfigDict, Field


class SearchRequest(BaseModel):
    """What to look for."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(description="A name, or words for it.")
    k: int = Field(10, ge=1, le=100, description="Concepts wanted.")
    kb: Optional[str] = Field(None, description="Name of a KB; the first one if left out.")


class Candidate(BaseModel):
    """A concept that the text may name."""

    id: str = Field(description="Concept id, as the terminology writes it.")
    name: str = Field(description="Preferred name.")
    matched: str = Field(description="Name of the concept that matched best.")
    kind: str = Field(description="Kind of the matched name.")
    score: float = Field(description="Larger is better; 1 is an exact name.")
    probability: Optional[float] = Field(description="Calibrated probability, null without one.")
    tier: str = Field(description="Method that found it.")
    definition: Optional[str] = Field(description="Definition, where the terminology has one.")
    page: str = Field(description="Address of its page on the web, or an empty string.")


class SearchResponse(BaseModel):
    """Candidates, best first."""

    kb: str
    release: str
    threshold: float = Field(
        description="Probability, or score without one, below which a mention is not linked."
    )
    candidates: list[Candidate]


class AnnotateRequest(BaseModel):
    """A note."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(description="The note.")


class Annotation(BaseModel):
    """A mention and what one KB says of it."""

    start: int = Field(description="Offset of its first character (code points, from 0).")
    end: int = Field(description="Offset behind its last character.")
    text: str
    label: str
    kb: str
    release: Optional[str]
    concept_id: Optional[str] = Field(description="Concept id; NIL where none fits.")
    concept_name: Optional[str]
    matched: Optional[str]
    score: Optional[float]
    probability: Optional[float]
    tier: Optional[str]
    assertion: Optional[str] = Field(description="affirmed, negated, ...; null if not assessed.")
    section: Optional[str]
    page: str = Field(description="Address of the concept's page on the web, or an empty string.")


class AnnotateResponse(BaseModel):
    """Mentions by their offsets."""

    assessed: bool = Field(description="Whether a component of the pipeline assesses assertion.")
    annotations: list[Annotation]


class Name(BaseModel):
    """A name of a concept."""

    text: str
    kind: str
    language: str


class Neighbour(BaseModel):
    """A concept one step up or down."""

    id: str
    name: str


class Concept(BaseModel):
    """A concept; of names, parents and children at most 500 are listed, and all counted."""

    id: str
    kb: str
    release: str
    name: str
    definition: str
    semantic_types: list[str]
    obsolete: bool = Field(description="Retired, with nothing in its place.")
    page: str
    names: list[Name]
    n_names: int
    parents: list[Neighbour]
    n_parents: int
    children: list[Neighbour]
    n_children: int


class Kb(BaseModel):
    """A KB that is served."""

    name: str
    release: str
    licence: str
    n_concepts: int
    n_names: int


class Health(BaseModel):
    """That the server answers, and with what."""

    status: str
    version: str
    pipeline: list[str] = Field(description="Components that read a note, in order.")
    kbs: list[Kb]
    max_chars: int = Field(description="Longest note.")
    max_search_chars: int = Field(description="Longest search text.")
    timeout_seconds: float


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str
