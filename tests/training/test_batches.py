import numpy as np
import pytest

from spacy_termlink.training.batches import HardNames, make_batch
from spacy_termlink.training.data import TrainingData
from spacy_termlink.training.settings import TaskSettings


@pytest.fixture
def data(mined):
    return TrainingData(mined, ["synonym", "parent", "names"])


def build(data, task, anchors, *, negatives="batch", hard=None):
    """The batch of the records with these anchors, and a lookup of its masks by text."""
    numbers = [data.texts.index(anchor) for anchor in anchors]
    table = data.tasks[task]
    records = np.concatenate([table[table[:, 0] == number][:1] for number in numbers])
    settings = TaskSettings(loss=lambda: None, negatives=negatives)
    batch = make_batch(data, task, settings, records, hard)
    columns = [data.texts[batch.texts[column]] for column in batch.columns]
    rows = [data.texts[batch.texts[row]] for row in batch.rows]

    def pairs(mask):
        return {(rows[i], columns[j]) for i, j in zip(*np.nonzero(mask), strict=True)}

    return batch, pairs(batch.positive), pairs(batch.negative)


def test_other_concepts_are_negatives_and_the_own_is_positive(data):
    _, positive, negative = build(data, "synonym", ["pyrexia", "tussis"])
    assert positive == {("pyrexia", "fever"), ("tussis", "cough")}
    assert negative == {("pyrexia", "cough"), ("tussis", "fever")}


def test_each_text_is_encoded_once(data):
    batch, *_ = build(data, "synonym", ["epileptic fit", "convulsion", "partial seizure"])
    assert len(batch.texts) == 5 and len(set(batch.texts.tolist())) == 5


def test_a_concept_with_a_cross_reference_is_no_negative(data):
    _, _, negative = build(data, "synonym", ["pyrexia", "cephalgia", "tussis"])
    assert ("pyrexia", "headache") not in negative and ("cephalgia", "fever") not in negative
    assert ("pyrexia", "cough") in negative


def test_an_ambiguous_name_is_no_negative_of_either_concept(data):
    hard = np.array([[[data.texts.index("fits"), data.concepts.index("T:02")]]])
    none = np.full((1, 0, 2), -1)
    _, _, negative = build(data, "synonym", ["epileptic fit"], hard=HardNames(none, hard))
    assert negative == set()


def test_a_name_equal_in_normal_form_is_no_negative(data):
    hard = np.array([[[data.texts.index("seizure"), data.concepts.index("T:09")]]])
    none = np.full((1, 0, 2), -1)
    _, _, negative = build(data, "synonym", ["convulsion"], hard=HardNames(none, hard))
    assert negative == set()


def test_another_parent_is_no_negative_in_a_graph_task(data):
    table = data.tasks["parent"]
    settings = TaskSettings(loss=lambda: None)
    batch = make_batch(data, "parent", settings, table)
    columns = [data.texts[batch.texts[column]] for column in batch.columns]
    first = {columns[j]: kind for kind, mask in (("+", batch.positive), ("-", batch.negative))
             for j in np.nonzero(mask[0])[0]}  # fmt: skip
    assert first == {"seizure": "+", "pain": "-", "cough": "-"}  # "tantrum" is its other parent


def test_record_negatives_only(data):
    _, positive, negative = build(data, "parent", ["focal seizure", "headache"], negatives="record")
    assert positive == {("focal seizure", "seizure"), ("headache", "pain")}
    assert negative == {("focal seizure", "cough"), ("headache", "cough")}


def test_hard_positives_are_positives_and_fillers_are_not_there(data):
    text, concept = data.texts.index, data.concepts.index("T:00")
    good = np.array([[[text("epileptic fit"), concept], [-1, -1]]])
    bad = np.array([[[text("partial seizure"), data.concepts.index("T:01")], [-1, -1]]])
    batch, positive, negative = build(data, "synonym", ["convulsion"], hard=HardNames(good, bad))
    assert positive == {("convulsion", "seizure"), ("convulsion", "epileptic fit")}
    assert negative == {("convulsion", "partial seizure")}
    assert batch.positive.shape == (1, 3)


def test_masks_never_overlap_and_no_anchor_meets_its_concept(data):
    settings = TaskSettings(loss=lambda: None)
    records = data.tasks["synonym"]
    batch = make_batch(data, "synonym", settings, records)
    assert not (batch.positive & batch.negative).any()
    concepts = {text: set() for text in data.texts}
    for text, concept in zip(data.names.text, data.names.concept, strict=True):
        concepts[data.texts[text]].add(concept)
    for i, j in zip(*np.nonzero(batch.negative), strict=True):
        row, column = (data.texts[batch.texts[k]] for k in (batch.rows[i], batch.columns[j]))
        assert not concepts[row] & concepts[column], (row, column)
        assert records[i, 3] not in concepts[column]
