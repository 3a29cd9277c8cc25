import json

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.mining import MinedName, Record, read_names, read_records

PAIR = Record("synonym", "Fits", "Seizure", "HP:2", "HP:2")
TRIPLET = Record("triplet", "Fits", "Seizure", "HP:2", "HP:2", "Fever", "HP:8")


def test_rows_have_the_fields_of_the_design():
    assert list(PAIR.to_json()) == [
        "task", "anchor", "positive", "anchor_concept", "positive_concept",
    ]  # fmt: skip
    assert list(TRIPLET.to_json()) == [
        "task", "anchor", "positive", "negative", "anchor_concept", "positive_concept",
        "negative_concept",
    ]  # fmt: skip


def test_write_and_read(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(r.to_json()) + "\n" for r in (PAIR, TRIPLET)))
    assert list(read_records(path)) == [PAIR, TRIPLET]


def test_fields_of_other_programs_are_left_out(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps({**PAIR.to_json(), "negative": None, "weight": 3}) + "\n\n")
    assert list(read_records(path)) == [PAIR]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("nothing", "not JSON"),
        ('"text"', "not a JSON object"),
        (json.dumps({**PAIR.to_json(), "anchor": None}), "'anchor' is missing"),
        (json.dumps({**PAIR.to_json(), "anchor": 3}), "'anchor' is not a string"),
        (json.dumps({**PAIR.to_json(), "negative": "x"}), "go together"),
    ],
)
def test_a_line_in_another_form_is_named(tmp_path, row, reason):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(PAIR.to_json()) + "\n" + row + "\n")
    with pytest.raises(TermlinkError, match=f"TL220.*line 2.*{reason}"):
        list(read_records(path))


def test_names(tmp_path):
    path = tmp_path / "names.jsonl"
    path.write_text('{"concept_id": "HP:2", "text": "Fits", "kind": "layperson"}\n')
    assert list(read_names(path)) == [MinedName("HP:2", "Fits", "layperson")]
    with pytest.raises(TermlinkError, match="TL001"):
        list(read_names(tmp_path / "none.jsonl"))
