import json

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.mentions import read_docs, read_mentions


def write(path, *rows):
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows) + "\n")
    return path


def row(text="fever", concepts=("A:1",), **more):
    return {"text": text, "concepts": list(concepts), **more}


def test_every_field_is_read(tmp_path):
    given = row(
        id="d:0", context="a fever", doc_id="d", start=2, end=7, label="X", split="dev",
        cardinality="composite", accept=[["A:1", "A:9"]],
    )  # fmt: skip
    mention = read_mentions(write(tmp_path / "m.jsonl", given))[0]
    for name, value in given.items():
        if name == "concepts":
            assert mention.concepts == ("A:1",)
        elif name == "accept":
            assert mention.accept == (("A:1", "A:9"),)
        else:
            assert getattr(mention, name) == value
    assert mention.gold == {"A:1", "A:9"}


def test_a_concept_written_twice_is_one_with_the_ids_of_both_lists(tmp_path):
    given = row(concepts=["A:1", "A:2", "A:1"], accept=[["A:9"], ["A:8"], ["A:9", "A:7"]])
    mention = read_mentions(write(tmp_path / "m.jsonl", given))[0]
    assert mention.concepts == ("A:1", "A:2")
    assert mention.accept == (("A:9", "A:7"), ("A:8",))


def test_without_cardinality_one_concept_is_single(tmp_path):
    path = write(tmp_path / "m.jsonl", row(), row(concepts=["A:1", "A:2"]), row(concepts=[]))
    assert [m.cardinality for m in read_mentions(path)] == ["single", "composite", "noid"]
    assert [m.concepts for m in read_mentions(path, cardinality="single")] == [("A:1",), ()]


def test_a_composite_mention_whose_ids_are_one_is_not_single(tmp_path):
    path = write(tmp_path / "m.jsonl", row(cardinality="composite"), row("x"))
    assert [m.text for m in read_mentions(path, cardinality="single")] == ["x"]


def test_rows_marked_noid_are_skipped_unless_asked_for(tmp_path):
    path = write(tmp_path / "m.jsonl", row("x", [], cardinality="noid"), row("y"), row("z", []))
    assert [m.text for m in read_mentions(path)] == ["y", "z"]
    assert [m.text for m in read_mentions(path, noid=True)] == ["x", "y", "z"]


@pytest.mark.parametrize("field", ["split", "label"])
def test_a_filter_that_leaves_none_lists_what_there_is(tmp_path, field):
    path = write(tmp_path / "m.jsonl", row(**{field: "dev"}), row(**{field: "dev"}), row())
    assert len(read_mentions(path, **{field: "dev"})) == 2
    with pytest.raises(TermlinkError, match=r"'tets'.*none given \(1\), 'dev' \(2\)"):
        read_mentions(path, **{field: "tets"})


def test_cardinality_that_leaves_none_is_an_error(tmp_path):
    path = write(tmp_path / "m.jsonl", row(concepts=["A:1", "A:2"]))
    with pytest.raises(TermlinkError, match="TL904.*cardinality=single"):
        read_mentions(path, cardinality="single")


@pytest.mark.parametrize(
    "bad, reason",
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ({"concepts": []}, "'text' is missing"),
        ({"text": 1, "concepts": []}, "'text' is not a string"),
        ({"text": " ", "concepts": []}, "'text' is empty"),
        ({"text": "x"}, "'concepts' is missing"),
        ({"text": "x", "concepts": "A:1"}, "'concepts' must be a list"),
        ({"text": "x", "concepts": [1]}, "'concepts' must be a list"),
        ({"text": "x", "concepts": ["A"], "accept": [["A"], ["B"]]}, "'accept' must hold"),
        ({"text": "x", "concepts": ["A"], "cardinality": "two"}, "'cardinality' is none of"),
        ({"text": "x", "concepts": ["A"], "start": -1}, "'start' is not an offset"),
        ({"text": "x", "concepts": ["A"], "end": "3"}, "'end' is not an offset"),
        ('{"text": "x\\ud800", "concepts": []}', "surrogate"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path, bad, reason):
    path = write(tmp_path / "m.jsonl", row(), "", bad)
    with pytest.raises(TermlinkError, match=f"line 3: .*{reason}"):
        read_mentions(path)


def test_bytes_that_are_no_utf8(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'{"text": "\xff", "concepts": []}\n')
    with pytest.raises(TermlinkError, match="line 1: not JSON"):
        read_mentions(path)


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file(tmp_path, content):
    path = tmp_path / "m.jsonl"
    path.write_text(content)
    with pytest.raises(TermlinkError, match="TL005"):
        read_mentions(path)


def test_missing_file(tmp_path):
    with pytest.raises(TermlinkError, match="TL001"):
        read_mentions(tmp_path / "none.jsonl")


def doc(doc_id="d", text="a fever", entities=(), **more):
    return {"doc_id": doc_id, "text": text, "entities": list(entities), **more}


def test_docs_are_read(tmp_path):
    entity = {"start": 2, "end": 7, "label": "X", "concepts": ["A:1"], "accept": [["A:9"]]}
    path = write(
        tmp_path / "d.jsonl",
        doc(entities=[entity], split="dev", doc_concepts=["A:1", "A:2"]),
        doc("e", doc_concepts=[]),
        doc("f"),
    )
    first, second, third = read_docs(path)
    assert (first.doc_id, first.text, first.split) == ("d", "a fever", "dev")
    assert first.doc_concepts == ("A:1", "A:2")
    found = first.entities[0]
    assert (found.start, found.end, found.label, found.concepts) == (2, 7, "X", ("A:1",))
    assert (found.accept, found.gold) == ((("A:9",),), {"A:1", "A:9"})
    # "no concept in this document" and "not said" are two things
    assert second.doc_concepts == ()
    assert third.doc_concepts is None
    assert [d.doc_id for d in read_docs(path, split="dev")] == ["d"]


def test_gold_without_entities_is_not_gold_without_any(tmp_path):
    path = write(tmp_path / "d.jsonl", doc(entities=[]), {"doc_id": "e", "text": "a fever"})
    assert len(read_docs(path)) == 2  # their texts alone
    with pytest.raises(TermlinkError, match="TL901.*line 2: 'entities' is missing"):
        read_docs(path, as_gold=True)


@pytest.mark.parametrize(
    "bad, reason",
    [
        (doc("d"), "'d' appears twice"),
        ({"text": "x"}, "'doc_id' is missing"),
        (doc("e", entities=[{"start": 5, "end": 9, "concepts": []}]), "offsets 5:9 in a text of 7"),
        (doc("e", entities=[{"start": 2, "end": 2, "concepts": []}]), "offsets 2:2"),
        (doc("e", entities=[{"start": 2, "concepts": []}]), "offsets 2:None"),
        (doc("e", entities=["x"]), "'entities' must be a list"),
        (
            doc(
                "e",
                entities=[
                    {"start": 0, "end": 1, "concepts": ["A"], "accept": []},
                    {"start": 0, "end": 1, "concepts": ["A"], "accept": [[], []]},
                ],
            ),
            "'accept' must hold",
        ),
        (doc("e", doc_concepts="A:1"), "'doc_concepts' must be a list"),
    ],
)
def test_a_bad_document_is_named_by_its_line(tmp_path, bad, reason):
    path = write(tmp_path / "d.jsonl", doc(), bad)
    with pytest.raises(TermlinkError, match=f"line 2: .*{reason}"):
        read_docs(path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[" * 100_000, "not JSON"),
        ('{"n": ' + "9" * 5000 + "}", "not JSON.*limits"),
        ('{"text": "x", "concepts": ["\\ud800"]}', "'concepts' holds half of a surrogate"),
    ],
)
def test_json_that_python_cannot_hold(tmp_path, line, reason):
    with pytest.raises(TermlinkError, match=f"TL901.*line 1.*{reason}"):
        read_mentions(write(tmp_path / "m.jsonl", line))
