import json

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Concept, Name, Relation, Terminology, Xref
from spacy_termlink.terminology.builder import build_terminology


def build(tmp_path, *concepts, **meta):
    build_terminology(concepts, tmp_path / "t", meta=meta)
    return Terminology.open(tmp_path / "t")


def test_every_field_comes_back(tmp_path):
    one = Concept(
        "X:2", "Kaffee", [Name("java", "layperson", "en", "WordNet"), Name("mocha", "narrow")],
        definition="Brewed.", semantic_types=["drink", "hot"], alt_ids=["X:9"],
        relations=[Relation("is_a", "X:1"), Relation("part_of", "X:1")],
        xrefs=[Xref("UMLS:C1", "skos:exactMatch")], language="de",
    )  # fmt: skip
    old = Concept("X:3", "old", [Name("older")], obsolete=True, replaced_by="X:2")
    terminology = build(tmp_path, old, one, Concept("X:1", "drink"), source="s", release="r",
                        licence="l", shareable=True, reader="obo", inputs=[{"file": "f"}])  # fmt: skip
    assert terminology.concepts.to_pylist() == [
        {"concept_id": "X:1", "name": "drink", "definition": "", "semantic_types": [],
         "obsolete": False, "replaced_by": ""},
        {"concept_id": "X:2", "name": "Kaffee", "definition": "Brewed.",
         "semantic_types": ["drink", "hot"], "obsolete": False, "replaced_by": ""},
        {"concept_id": "X:3", "name": "old", "definition": "", "semantic_types": [],
         "obsolete": True, "replaced_by": "X:2"},
    ]  # fmt: skip
    names = terminology.names.to_pylist()
    assert [(n["concept_id"], n["text"], n["kind"], n["language"], n["source"]) for n in names] == [
        ("X:1", "drink", "preferred", "en", ""),
        ("X:2", "Kaffee", "preferred", "de", ""),
        ("X:2", "mocha", "narrow", "en", ""),
        ("X:2", "java", "layperson", "en", "WordNet"),
    ]
    assert terminology.relations.to_pylist() == [
        {"subject": "X:2", "type": "is_a", "object": "X:1"},
        {"subject": "X:2", "type": "part_of", "object": "X:1"},
    ]
    assert terminology.xrefs.to_pylist() == [
        {"concept_id": "X:2", "xref": "UMLS:C1", "predicate": "skos:exactMatch"}
    ]
    assert terminology.redirects.to_pylist() == [
        {"alt_id": "X:3", "concept_id": "X:2"},
        {"alt_id": "X:9", "concept_id": "X:2"},
    ]
    meta = terminology.meta
    assert (meta["source"], meta["release"], meta["licence"], meta["shareable"]) == (
        "s",
        "r",
        "l",
        True,
    )
    assert meta["counts"] == {
        "concepts": 3, "obsolete": 1, "names": 4, "relations": 2, "redirects": 2, "xrefs": 1,
        "parents_not_found": 0,
    }  # fmt: skip


def test_the_order_of_the_concepts_changes_no_byte(tmp_path):
    concepts = [Concept(f"X:{i}", f"name {i}", alt_ids=["Y:1"]) for i in range(5)]
    build_terminology(concepts, tmp_path / "a")
    build_terminology(reversed(concepts), tmp_path / "b")
    files = [p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*") if p.is_file()]
    assert len(files) > 10
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize(
    "concepts, redirects",
    [
        # a chain of retired ids ends at the living one
        ([("1", "", True, "2", []), ("2", "", True, "3", []), ("3", "", False, "", [])], {"1": "3", "2": "3"}),
        # by way of an alternative id
        ([("1", "", True, "9", []), ("3", "", False, "", ["9"])], {"1": "3", "9": "3"}),
        # the alternative id of a retired concept
        ([("1", "", True, "3", ["8"]), ("3", "", False, "", [])], {"1": "3", "8": "3"}),
        # into the void, and in a circle
        ([("1", "", True, "7", []), ("3", "", False, "", [])], {}),
        ([("1", "", True, "2", []), ("2", "", True, "1", []), ("3", "", False, "", [])], {}),
        # a living id never redirects
        ([("1", "", False, "", []), ("3", "", False, "", ["1"])], {}),
        # two claim it: the first in the order of ids
        ([("4", "", False, "", ["9"]), ("3", "", False, "", ["9"])], {"9": "3"}),
    ],
)  # fmt: skip
def test_redirects(tmp_path, concepts, redirects):
    terminology = build(
        tmp_path,
        *(Concept(cid, f"name {cid}", obsolete=dead, replaced_by=heir, alt_ids=alts)
          for cid, _, dead, heir, alts in concepts),
    )  # fmt: skip
    found = {row["alt_id"]: row["concept_id"] for row in terminology.redirects.to_pylist()}
    assert found == redirects
    assert all(terminology.resolve(alt) == living for alt, living in redirects.items())


@pytest.mark.parametrize(
    "concepts, message",
    [
        ([Concept("1", "a"), Concept("1", "b")], "TL101.*'1' appears twice"),
        ([Concept("NIL", "a")], "TL110.*NIL stands for"),
        ([Concept("1", "a", [Name("b\0", "exact")])], "TL110.*a NUL"),
        ([], "TL106"),
        ([Concept("1", "a", relations=[Relation("is_a", "1")])], "TL102.*1 is_a 1"),
        ([Concept("1", "a", relations=[Relation("is_a", "2")]),
          Concept("2", "b", relations=[Relation("is_a", "1")])], "TL102.*(1 is_a 2 is_a 1|2 is_a 1 is_a 2)"),
        ([Concept("1", "a\ud800")], "TL110.*concept '1': half of a surrogate"),
        ([Concept("1", None)], "TL110.*expected text, found None"),
        ([Concept("1", "a", [Name("b", "exakt")])], "TL110.*unknown kind 'exakt'; kinds are preferred"),
    ],
)  # fmt: skip
def test_what_is_refused_leaves_the_old_folder(tmp_path, concepts, message):
    old = build(tmp_path, Concept("0", "old"))
    with pytest.raises(TermlinkError, match=message):
        build_terminology(concepts, tmp_path / "t")
    assert Terminology.open(old.path).preferred_name(0) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "\ud800"}, {"definition": "\ud800"}, {"semantic_types": ["\ud800"]},
        {"obsolete": True, "replaced_by": "\ud800"}, {"alt_ids": ["\ud800"]}, {"language": "\ud800"},
        {"names": [Name("a", source="\ud800")]}, {"names": [Name("a", language="\ud800")]},
        {"relations": [Relation("\ud800", "2")]}, {"relations": [Relation("is_a", "\ud800")]},
        {"xrefs": [Xref("\ud800")]}, {"xrefs": [Xref("a", "\ud800")]}, {"alt_ids": [7]},
    ],
)  # fmt: skip
def test_no_field_takes_what_is_no_text(tmp_path, fields):
    with pytest.raises(TermlinkError, match="TL110.*concept '1': (half of a surrogate|expected)"):
        build_terminology([Concept(**{"concept_id": "1", "name": "a", **fields})], tmp_path / "t")


def test_a_folder_of_something_else_is_not_replaced(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "1.txt").write_text("a note")
    with pytest.raises(TermlinkError, match="TL002.*is no terminology"):
        build_terminology([Concept("1", "a")], tmp_path / "notes")
    assert (tmp_path / "notes" / "1.txt").read_text() == "a note"


def test_a_build_that_dies_leaves_the_old_folder(tmp_path, monkeypatch):
    build(tmp_path, Concept("0", "old"))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spacy_termlink.terminology.builder.write_lookup", full)
    with pytest.raises(TermlinkError, match="TL006.*No space left on device"):
        build_terminology([Concept("1", "new")], tmp_path / "t")
    assert Terminology.open(tmp_path / "t").preferred_name(0) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_parents_that_the_source_lacks_are_counted(tmp_path):
    terminology = build(tmp_path, Concept("1", "a", relations=[Relation("is_a", "GONE")]))
    assert terminology.meta["counts"]["parents_not_found"] == 1
    assert terminology.parents("1") == []


def test_meta_lists_every_file(tmp_path):
    path = build(tmp_path, Concept("1", "a")).path
    listed = json.loads((path / "meta.json").read_text())["files"]
    there = {p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file()}
    assert set(listed) == there - {"meta.json"}


def test_what_is_wrong_with_a_source_names_the_source(tmp_path):
    for concepts in ([], [Concept("1", "a"), Concept("1", "b")], [Concept("NIL", "a")]):
        with pytest.raises(TermlinkError, match=r"hp\.obo"):
            build(tmp_path, *concepts, inputs=[{"file": "hp.obo"}])
