"""What the fields of a T5's questions become."""

from collections.abc import Sequence

from ..terminology.store import Terminology
from ..text import normalize
from ..types import Candidate
from .t5_settings import Questions

#: Other names of a candidate that {synonyms} gives, at most.
N_SYNONYMS = 5
#: Fields that the terminology is asked for.
_LOOKED_UP = ("synonyms", "definition")


class Fields:
    """Values of the fields of a mention and a candidate.

    questions (Questions): The templates, and which name of a candidate is meant.
    terminologies (Sequence[Terminology]): Where candidates are looked up; the first that knows one.
    """

    def __init__(self, questions: Questions, terminologies: Sequence[Terminology]) -> None:
        self._names, self._terminologies = questions.names, terminologies
        self._wanted = {name for template in questions.made for name in template.fields}

    @property
    def look_up(self) -> bool:
        """Whether the terminologies are needed."""
        return not self._wanted.isdisjoint(_LOOKED_UP)

    def values(
        self, mention: str, context: str, candidate: Candidate, *, preferred: bool = False
    ) -> dict[str, str]:
        """By field. A name that says what the mention says is no synonym: in training the mention is a
        name that was left out.

        preferred (bool): Of "both" names ask about the preferred one.
        """
        preferred = self._names == "preferred" or (preferred and self._names == "both")
        name = candidate.name if preferred else candidate.matched
        values = {"mention": mention, "name": name, "context": context}
        if not self.look_up:
            return values
        for terminology in self._terminologies:
            if terminology.resolve(candidate.concept_id) is None:
                continue
            row = terminology.row(candidate.concept_id)
            if "synonyms" in self._wanted:
                said = {normalize(mention), normalize(name)}
                names = dict.fromkeys(map(terminology.name_text, terminology.name_rows(row)))
                others = [text for text in names if normalize(text) not in said]
                values["synonyms"] = ", ".join(others[:N_SYNONYMS])
            if "definition" in self._wanted:
                values["definition"] = terminology.concepts["definition"][row].as_py() or ""
            break
        return values
