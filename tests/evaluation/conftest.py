"""A small hierarchy, generators that answer from a table, and mentions in one line."""

from types import SimpleNamespace

import pytest

from spacy_termlink.evaluation.mention_set import prepare_mentions
from spacy_termlink.evaluation.mentions import Mention
from spacy_termlink.evaluation.system import evaluate_system
from spacy_termlink.terminology import Concept, Name, Relation, Terminology
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.types import Candidate

# root - grand - uncle - cousin
#              \ parent - gold - child - grandchild
#                       \ sibling - nephew
TREE = {
    "grand": "root", "uncle": "grand", "cousin": "uncle", "parent": "grand", "gold": "parent",
    "child": "gold", "grandchild": "child", "sibling": "parent", "nephew": "sibling",
}  # fmt: skip


@pytest.fixture(scope="session")
def terminology(tmp_path_factory):
    concepts = [Concept("root", "root")]
    concepts += [Concept(c, c, relations=[Relation("is_a", p)]) for c, p in TREE.items()]
    concepts[-1].alt_ids = ["nephew-alt"]
    for concept in concepts:
        if concept.concept_id in ("gold", "cousin"):
            concept.names.append(Name("shared name", "exact"))
    retired = Concept("gone", "gone", obsolete=True, replaced_by="gold")
    retired.relations = [Relation("is_a", "parent")]
    path = tmp_path_factory.mktemp("t") / "toy"
    build_terminology([*concepts, retired, Concept("lost", "lost", obsolete=True)], path)
    return Terminology.open(path)


class Table:
    """A generator that answers from a table of mention -> (id, score[, matched]), and remembers what
    it was asked."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def generate(self, mentions, *, k, allowed=None):
        self.asked.append((tuple(mentions), k, allowed is not None))
        return [
            [
                Candidate(i, i, (*more, i)[0], "exact", score, "table")
                for i, score, *more in self.answers.get(mention, [])
            ][:k]
            for mention in mentions
        ]


@pytest.fixture
def mention():
    """Function that makes a mention: `mention("text", "gold id", doc_id="e")`."""

    def make(text, *concepts, doc_id="d", **more):
        return Mention(text, text, concepts, doc_id=doc_id, **more)

    return make


@pytest.fixture
def evaluate(terminology):
    """Function that evaluates a table of answers on mentions."""

    def run(answers, mentions, *, docs=None, threshold=0.5, name="table"):
        kb = SimpleNamespace(terminology=terminology, threshold=threshold)
        table = answers if hasattr(answers, "generate") else Table(answers)
        return evaluate_system(
            kb, prepare_mentions(terminology, mentions, docs=docs), table, name=name
        )

    return run


@pytest.fixture
def make_table():
    """The class Table."""
    return Table
