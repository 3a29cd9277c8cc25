import json

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.text import normalize
from spacy_termlink.training.data import TrainingData

from .conftest import N_NAMES


def test_records_names_and_weights(mined):
    data = TrainingData(mined, ["parent", "names"])
    assert list(data.tasks) == ["parent"] and data.tasks["parent"].shape == (4, 6)
    anchor, positive, negative, *concepts = data.tasks["parent"][0]
    assert [data.texts[t] for t in (anchor, positive, negative)] == [
        "focal seizure",
        "seizure",
        "cough",
    ]
    assert [data.concepts[c] for c in concepts] == ["T:01", "T:00", "T:09"]
    assert len(data.names.text) == N_NAMES
    assert (data.weight("parent"), data.weight("names")) == (0.5, 1.0)


def test_names_that_several_concepts_share(mined):
    data = TrainingData(mined, ["synonym"])
    shared = {
        data.texts[text]: {data.concepts[c] for c in held}
        for text in data.names.text
        if (held := data.sharers.get(data.normal(text)))
    }
    assert shared == {"fits": {"T:00", "T:02"}}


def test_texts_of_one_normal_form_have_one_number(mined):
    data = TrainingData(mined, ["synonym"])
    data.texts += ["Heart Attack", "heart-attack"]
    assert data.normal(len(data.texts) - 1) == data.normal(len(data.texts) - 2)


def test_a_task_without_records_is_named(mined):
    with pytest.raises(TermlinkError, match=r"TL415.*'layperson'.*parent, synonym"):
        TrainingData(mined, ["layperson"])


def test_records_that_are_not_those_of_the_meta_file_are_refused(mined):
    with mined.open("a") as file:
        file.write(mined.read_text().splitlines()[0] + "\n")
    with pytest.raises(TermlinkError, match="TL007"):
        TrainingData(mined, ["synonym"])


def test_missing_files_are_named(mined):
    (mined.parent / "names.jsonl").unlink()
    with pytest.raises(TermlinkError, match=r"TL001.*names.jsonl"):
        TrainingData(mined, ["synonym"])


def test_meta_file_is_needed(mined):
    path = mined.parent / "records.meta.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "sha256": None}))
    with pytest.raises(TermlinkError, match="TL007"):
        TrainingData(mined, ["synonym"])


def test_the_encoder_reads_the_normal_form_as_in_a_kb(mined):
    data = TrainingData(mined, ["synonym"])
    data.texts += ["Seizures, focal-onset", "---"]
    assert data.form(len(data.texts) - 2) == normalize("Seizures, focal-onset")
    assert data.form(len(data.texts) - 1) == "---"
