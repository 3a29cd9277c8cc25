import numpy as np
import pytest

from spacy_termlink.kb import TermKB
from spacy_termlink.types import Candidate

LETTERS = np.array(list("abcdefghijklmnop"))


def made_mentions(n, *, seed=0):
    """Mentions of 40 documents with three candidates each. The first one is right with a probability
    that its score alone tells, 1 / (1 + exp(3 - 6 score)); else the second is, half of the time.

    RETURNS: forms, lists, ranks, documents, and those probabilities.
    """
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.2, 1, n).round(6)
    chance = 1 / (1 + np.exp(3 - 6 * score))
    right, second = rng.uniform(size=n) < chance, rng.uniform(size=n) < 0.5
    ranks = np.where(right, 1, np.where(second, 2, 0))
    texts = ["".join(rng.choice(LETTERS, 8)) for _ in range(n)]
    lists = [
        [
            Candidate(f"T:000{place + 3}", "Seizure", "Seizure", "exact", s * share, "hybrid")
            for place, share in enumerate((1.0, 0.5, 0.4))
        ]
        for s in score.tolist()
    ]
    documents = [f"d{i % 40}" for i in range(n)]
    return [[text] for text in texts], lists, ranks.tolist(), documents, chance


@pytest.fixture(scope="session")
def mentions():
    return made_mentions(4000)


@pytest.fixture(scope="session")
def other_mentions():
    return made_mentions(2000, seed=1)


@pytest.fixture
def kb(tiny_kb):
    return TermKB.open(tiny_kb)
