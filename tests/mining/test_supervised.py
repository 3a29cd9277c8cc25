import json

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.mining.supervised import make_supervised

TEXT = "Partial seizure (PS) since birth. No PS today."


@pytest.fixture
def write(tmp_path):
    def write_rows(name, rows):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
        return str(path)

    return write_rows


def mention(text, *concepts, split="train", **other):
    return {"text": text, "concepts": list(concepts), "doc_id": "1", "split": split, **other}


def mine(corpus, *args, **settings):
    return list(make_supervised(*args, **settings).mine(corpus, "mentions"))


def test_a_mention_with_the_preferred_name(corpus, write):
    path = write("m.jsonl", [mention("her fits", "HP:2"), mention("a fit", "HP:2", split="dev")])
    (record,) = mine(corpus, path)
    assert (record.anchor, record.positive) == ("her fits", "Seizure")
    assert record.anchor_concept == record.positive_concept == "HP:2"
    assert len(mine(corpus, path, split=None)) == 2


def test_an_abbreviation_is_resolved_in_its_own_document(corpus, write):
    path = write("m.jsonl", [mention("PS", "HP:3"), mention("PS", "HP:3", doc_id="2")])
    docs = write("d.jsonl", [{"doc_id": "1", "text": TEXT}, {"doc_id": "2", "text": "PS."}])
    found = [record.anchor for record in mine(corpus, path, docs=docs)]
    assert found == ["Partial seizure", "PS"]
    assert [record.anchor for record in mine(corpus, path)] == ["PS", "PS"]


def test_an_abbreviation_inside_a_mention_is_written_out_as_in_linking(corpus, write):
    path = write("m.jsonl", [mention("febrile PS", "HP:3")])
    docs = write("d.jsonl", [{"doc_id": "1", "text": TEXT}])
    (record,) = mine(corpus, path, docs=docs)
    assert record.anchor == "febrile Partial seizure"


def test_a_retired_id_stands_for_the_living_concept(corpus, write):
    (record,) = mine(corpus, write("m.jsonl", [mention("old fit", "HP:7")]))
    assert record.anchor_concept == "HP:2"


def test_mentions_without_a_known_concept_give_nothing(corpus, write):
    rows = [
        mention("nothing"),
        mention("unknown", "XX:1"),
        mention("fever and unknown", "HP:8", "XX:1"),
        mention("unsure", "HP:8", cardinality="noid"),
    ]
    assert mine(corpus, write("m.jsonl", rows), cardinality="all") == []


def test_several_concepts_only_where_asked_for(corpus, write):
    path = write("m.jsonl", [mention("fits with fever", "HP:2", "HP:8")])
    assert mine(corpus, path) == []
    found = [record.positive for record in mine(corpus, path, cardinality="all")]
    assert found == ["Seizure", "Fever"]


def test_negatives_of_a_mention_of_two_concepts_oppose_neither(corpus, write):
    path = write("m.jsonl", [mention("fits with fever", "HP:2", "HP:8")])
    records = mine(corpus, path, cardinality="all", nearest=4, random=2)
    assert {r.negative_concept for r in records}.isdisjoint({"HP:2", "HP:8"})
    # 4 and 2 in all, shared between the two
    per_concept = [sum(r.anchor_concept == id for r in records) for id in ("HP:2", "HP:8")]
    assert all(0 < n <= 3 for n in per_concept)


def test_what_is_held_out_is_not_learned_from_mentions_either(corpus, write):
    path = write("m.jsonl", [mention("Her fits", "HP:2"), mention("heat", "HP:8")])
    corpus.heldout.forms.add("her fits")
    corpus.heldout.concepts.add("HP:8")
    corpus._names.cache_clear()
    assert mine(corpus, path) == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [("{", "not JSON"), ("[]", "not a JSON object"), ('{"text": "a"}', "'concepts'")],
)
def test_a_line_in_another_form_is_named(corpus, tmp_path, row, reason):
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(mention("a", "HP:2")) + "\n" + row + "\n")
    with pytest.raises(TermlinkError, match=f"TL220.*line 2.*{reason}"):
        mine(corpus, str(path))


def test_a_split_that_is_not_there_is_refused(corpus, write):
    path = write("m.jsonl", [mention("a", "HP:2", split="dev")])
    with pytest.raises(TermlinkError, match="TL224.*'train'"):
        mine(corpus, path)
    with pytest.raises(TermlinkError, match="TL001"):
        mine(corpus, path + "x")
