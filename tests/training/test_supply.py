import numpy as np
import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.training.config import resolve_config
from spacy_termlink.training.data import TrainingData
from spacy_termlink.training.refresh import HardTable
from spacy_termlink.training.supply import BatchSupply

from .conftest import NAMES


def table_of(data, *, positives=True, number=0):
    """The next name of a concept as positive, the first name of the next concept as negative."""
    concept = data.names.concept
    n = len(concept)
    positive = np.array(
        [[next((j for j in range(n) if j != i and concept[j] == concept[i]), -1)] for i in range(n)]
    )
    negative = np.array(
        [[int(np.flatnonzero(concept == (concept[i] + 1) % 12)[0])] for i in range(n)]
    )
    if not positives:
        positive[:] = -1
    return HardTable(np.arange(n, dtype=np.int32), positive, negative, number, 0.0)


@pytest.fixture
def supply(section):
    section["refresh"] = {"every": 10, "positives": 1, "negatives": 1}
    section["tasks"]["names"].update(hard_positives=1, hard_negatives=1)
    section["tasks"]["synonym"]["hard_negatives"] = 1
    config = resolve_config(section)
    return BatchSupply(config, TrainingData(config.run.records, list(config.tasks)))


def test_names_task_takes_anchor_and_pairs_from_the_refresh(supply):
    supply.set_table(table_of(supply._data))
    data = supply._data
    batch = next(b for b in map(supply.next, range(20)) if b.task == "names")
    owners = {}
    for concept, names in NAMES.items():
        for name in names:
            owners.setdefault(name, set()).add(concept)
    assert len(batch.rows) == 4 and batch.positive.any(axis=1).all()
    for i, j in zip(*np.nonzero(batch.positive), strict=True):
        row, column = (data.texts[batch.texts[k]] for k in (batch.rows[i], batch.columns[j]))
        assert row != column and owners[row] & owners[column]


def test_hard_negatives_are_added_to_a_record_task(supply):
    supply.set_table(table_of(supply._data))
    data = supply._data
    batch = next(b for b in map(supply.next, range(20)) if b.task == "synonym")
    columns = {data.texts[batch.texts[column]] for column in batch.columns}
    preferred = [names[0] for names in NAMES.values()]
    for row in batch.rows:
        text = data.texts[batch.texts[row]]
        owners = [i for i, names in enumerate(NAMES.values()) if text in names]
        assert any(preferred[(owner + 1) % 12] in columns for owner in owners), text


def test_names_without_another_name_of_their_concept_are_an_error(supply):
    with pytest.raises(TermlinkError, match="TL422"):
        supply.set_table(table_of(supply._data, positives=False))


def test_mixing_gives_each_task_its_share_of_the_texts(supply):
    supply.set_table(table_of(supply._data))
    for step in range(300):
        supply.next(step)
    texts = {name: place.texts for name, place in supply.schedule.places.items()}
    assert texts["synonym"] == pytest.approx(texts["names"], rel=0.05)  # weights 1.0 and 1.0
    assert texts["parent"] == pytest.approx(texts["names"] / 2, rel=0.05)
