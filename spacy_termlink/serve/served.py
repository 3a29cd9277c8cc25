"""What is served: a pipeline with its linkers, and the KBs they link to."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Optional

import pyarrow as pa
from spacy.language import Language

from ..annotate.assertion import find_assessors
from ..annotate.core import annotate_batch, find_linkers
from ..annotate.notes import REJECT_CODES, bad_characters
from ..annotate.pipelines import load_pipeline
from ..errors import TermlinkError
from ..kb import TermKB
from ..rerank.mention_candidates import MentionCandidates
from ..terminology.sources import concept_page
from ..terminology.store import Terminology
from ..types import NIL

#: Parents, children and names shown of one concept: a UMLS concept can have thousands.
MOST_SHOWN = 500
#: Text of the warm-up: one name that no terminology has, so that the encoder is loaded.
WARM_UP = "warm-up of an unlisted finding"


class Served:
    """A pipeline and its KBs, asked by several threads.

    Searching and describing change nothing and may run side by side. `annotate` must not: spaCy's
    vocabulary grows while a note is read and shrinks after it (see `annotate`).

    nlp (Language): A pipeline with at least one `term_linker`.
    """

    def __init__(self, nlp: Language) -> None:
        self.nlp = nlp
        self.linkers = find_linkers(nlp)
        self.assessed = bool(find_assessors(nlp))
        self.kbs: dict[str, TermKB] = {}
        self._candidates: dict[str, MentionCandidates] = {}
        for linker in self.linkers:
            kb = nlp.get_pipe(linker.name).kb  # type: ignore[attr-defined]
            if kb.name not in self.kbs:
                self.kbs[kb.name] = kb
                self._candidates[kb.name] = MentionCandidates(kb, kb.generator(), kb.reranker)
        self._pages = {linker.kb: linker.url for linker in self.linkers}
        # spaCy 3.7 has no memory zones: there the vocabulary keeps what it has seen
        self._zone: Callable[[], AbstractContextManager] = getattr(nlp, "memory_zone", nullcontext)

    def warm_up(self) -> None:
        """Load what the first request would wait for: encoder and indexes."""
        for name in self.kbs:
            self.search(WARM_UP, kb=name)
            self.kbs[name].terminology.graph.roots()
        self.annotate(WARM_UP)

    def kb(self, name: Optional[str] = None) -> TermKB:
        """A KB by its name, the first one without a name.

        RAISES (TermlinkError): TL854 for a name that is not served.
        """
        if name is None:
            return next(iter(self.kbs.values()))
        if name not in self.kbs:
            raise TermlinkError("TL854", name=name, known=", ".join(self.kbs))
        return self.kbs[name]

    def about(self) -> list[dict[str, Any]]:
        """Name, release, licence and size of each KB."""
        return [
            {
                "name": kb.name,
                "release": kb.release,
                "licence": kb.licence,
                "n_concepts": int((~kb.terminology.obsolete).sum()),
                "n_names": kb.terminology.n_names,
            }
            for kb in self.kbs.values()
        ]

    def search(self, text: str, *, k: int = 10, kb: Optional[str] = None) -> dict[str, Any]:
        """Concepts that a text may name, best first, by the KB's own generator.

        RAISES (TermlinkError): TL854 for an unknown KB, TL855 for a NUL or half of a surrogate pair,
            TL907 for a text without a visible character.
        """
        opened = self.kb(kb)
        _check_characters(text)
        if not any(char.isprintable() and not char.isspace() for char in text):
            raise TermlinkError("TL907")
        terminology = opened.terminology
        found = []
        candidates = self._candidates[opened.name]
        for candidate in candidates.generate([[text]], k=k)[0]:
            row = terminology.row(candidate.concept_id)
            definition = terminology.concepts["definition"][row].as_py()
            page = self._page(opened.name, candidate.concept_id)
            found.append({**candidate.to_json(), "definition": definition, "page": page})
        return {
            "kb": opened.name,
            "release": opened.release,
            "threshold": candidates.threshold,
            "candidates": found,
        }

    def describe(self, concept_id: str, *, kb: Optional[str] = None) -> dict[str, Any]:
        """A concept with its names and neighbours. An alternative or retired id gives the concept it
        stands for; a retired one that nothing replaces gives itself, with `obsolete` set.

        kb (Optional[str]): Name of a KB; None takes the first that knows the id.
        RAISES (TermlinkError): TL107 for an unknown id, TL854 for an unknown KB.
        """
        kbs = list(self.kbs.values()) if kb is None else [self.kb(kb)]
        for opened in kbs:
            terminology = opened.terminology
            living = terminology.resolve(concept_id)
            row = terminology.find_row(concept_id if living is None else living)
            if row is not None:
                return self._concept(opened, row)
        known = ", ".join(opened.name for opened in kbs)
        raise TermlinkError("TL107", concept_id=concept_id, terminology=known)

    def _concept(self, kb: TermKB, row: int) -> dict[str, Any]:
        terminology = kb.terminology
        concept = terminology.concepts.slice(row, 1).to_pylist()[0]
        name_rows = terminology.name_rows(row)
        n_shown = min(len(name_rows), MOST_SHOWN)
        names = terminology.names.slice(name_rows.start, n_shown).to_pylist()
        parents, children = terminology.graph.parents(row), terminology.graph.children(row)
        return {
            "id": concept["concept_id"],
            "kb": kb.name,
            "release": kb.release,
            "name": concept["name"],
            "definition": concept["definition"] or "",
            "semantic_types": concept["semantic_types"] or [],
            "obsolete": concept["obsolete"],
            "page": self._page(kb.name, concept["concept_id"]),
            "names": [{k: name[k] or "" for k in ("text", "kind", "language")} for name in names],
            "n_names": len(name_rows),
            "parents": _neighbours(terminology, parents),
            "n_parents": len(parents),
            "children": _neighbours(terminology, children),
            "n_children": len(children),
        }

    def annotate(self, text: str) -> dict[str, Any]:
        """The links of a note; one call at a time.

        Strings the note brings are forgotten with it (spaCy's memory zone, from 3.8 on), so that a
        server that runs for weeks does not grow. Zones cannot be nested, hence one call at a time.

        RAISES (TermlinkError): TL855 for a note that cannot be annotated, TL811 for a fault of the
            pipeline.
        """
        _check_characters(text)  # Arrow holds no half of a surrogate pair
        batch = pa.RecordBatch.from_pydict({"note_id": ["note"], "text": [text]})
        with self._zone():
            found = annotate_batch(self.nlp, batch, linkers=self.linkers)
        for reject in found.rejects.to_pylist():
            raise TermlinkError("TL855", reason=_rejected(reject))
        rows = found.annotations.drop_columns(["note_id"]).to_pylist()
        for row in rows:
            row["page"] = self._page(row["kb"], row["concept_id"] or NIL)
        return {"assessed": self.assessed, "annotations": rows}

    def _page(self, kb: str, concept_id: str) -> str:
        page = "" if concept_id == NIL else concept_page(self._pages[kb], concept_id)
        # a table names its own template: nothing but an address may become a link
        return page if page.startswith(("https://", "http://")) else ""


def open_served(paths: Sequence[str]) -> Served:
    """Open KB folders, or one pipeline, for serving; see `annotate.pipelines.load_pipeline`."""
    return Served(load_pipeline(paths))


def _neighbours(terminology: Terminology, rows: Sequence[int]) -> list[dict[str, str]]:
    return [
        {"id": terminology.concept_id(row), "name": terminology.preferred_name(row)}
        for row in rows[:MOST_SHOWN]
    ]


def _check_characters(text: str) -> None:
    if code := bad_characters(text):
        raise TermlinkError("TL855", reason=REJECT_CODES[code])


def _rejected(reject: dict[str, Any]) -> str:
    reason = REJECT_CODES[reject["code"]]
    if reject["component"]:
        return f"{reason}: {reject['component']}, {reject['error'] or 'no document'}"
    return reason
