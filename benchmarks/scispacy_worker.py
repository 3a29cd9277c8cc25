"""The other side of link.py: scispaCy's candidate generator, in its own virtual environment.

Reads one JSON request a line on stdin and answers with one JSON line. Nothing of ours is imported here.
Its index build refuses scipy >= 1.11 (it wants to save a float16 matrix, which newer scipy cannot do),
and older scipy has no wheel for Python 3.11: that check is answered with yes, and the index is kept in
memory, so that nothing is ever saved in float16.
"""

import json
import os
import sys
import time
from pathlib import Path

# the library reports on stdout; the answers need it for themselves
ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf8")
os.dup2(2, 1)

import scispacy.candidate_generation as candidate_generation  # noqa: E402
import spacy  # noqa: E402
from scispacy.linking import EntityLinker  # noqa: E402
from scispacy.linking_utils import Entity, KnowledgeBase  # noqa: E402
from spacy.tokens import Doc  # noqa: E402

candidate_generation.scipy_supports_sparse_float16 = lambda: True


class Worker:
    """One index and the tasks on it."""

    def build(self, names: str) -> dict:
        """Index the entities of a jsonl file."""
        with Path(names).open(encoding="utf8") as file:
            entities = [Entity(**json.loads(line)) for line in file]
        kb = KnowledgeBase(entities)
        start = time.perf_counter()
        aliases, vectorizer, index = candidate_generation.create_tfidf_ann_index(None, kb)
        seconds = time.perf_counter() - start
        self.generator = candidate_generation.CandidateGenerator(index, vectorizer, aliases, kb)
        self.nlp = spacy.blank("en")
        self.linker = EntityLinker(self.nlp, candidate_generator=self.generator)
        self.k = self.linker.k
        return {"seconds": seconds, "names": len(aliases), "k": self.k}

    def batch(self, mentions: list) -> dict:
        """All mentions in one call."""
        start = time.perf_counter()
        self.generator(mentions, self.k)
        return {"seconds": time.perf_counter() - start}

    def notes(self, notes: list) -> dict:
        """One call per note, as its component does."""
        start = time.perf_counter()
        for mentions in notes:
            self.generator(mentions, self.k)
        return {"seconds": time.perf_counter() - start}

    def pipe(self, docs: list) -> dict:
        """Its component on prepared Docs; it has no `pipe`, so spaCy calls it once per Doc."""
        prepared = [self._doc(doc) for doc in docs]
        start = time.perf_counter()
        for doc in prepared:
            self.linker(doc)
        return {"seconds": time.perf_counter() - start}

    def rank(self, mentions: list) -> dict:
        """Concept ids per mention, ranked as its component ranks them (no threshold)."""
        ranked = []
        for candidates in self.generator(mentions, self.k):
            best = sorted(candidates, key=lambda c: max(c.similarities), reverse=True)
            ranked.append([candidate.concept_id for candidate in best[:10]])
        return {"ranked": ranked}

    def _doc(self, doc: dict) -> Doc:
        made = Doc(self.nlp.vocab, words=doc["words"], spaces=doc["spaces"])
        made.ents = [spacy.tokens.Span(made, start, end, label="X") for start, end in doc["ents"]]
        return made


def main() -> None:
    """Answer requests until stdin ends."""
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("task"))(**request)
        ANSWERS.write(json.dumps(answer) + "\n")
        ANSWERS.flush()


if __name__ == "__main__":
    main()
