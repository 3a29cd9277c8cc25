"""What a release changes: each kind of change by hand, the same in any order, against a plain oracle."""

import json
import random

import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app
from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Concept, Name, Relation, Terminology
from spacy_termlink.terminology import diff as diff_module
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.terminology.diff import CHANGES, diff_terminologies, write_changes


def concept(concept_id, name, *names, parents=(), **fields):
    relations = [Relation("is_a", parent) for parent in parents]
    return Concept(
        concept_id, name, [Name(n, "exact") for n in names], relations=relations, **fields
    )


OLD = [
    concept("1", "root"),
    concept("2", "same", "alike", parents=["1"], alt_ids=["2a", "2b"]),
    concept("3", "old name", "kept", "gone name", parents=["1"]),
    concept("4", "to retire", parents=["1"]),
    concept("5", "to merge", parents=["1"]),
    concept("6", "to vanish", parents=["1"]),
    concept("7", "retired", obsolete=True),
    concept("8", "retired with heir", obsolete=True, replaced_by="5"),
    concept("9", "mover", parents=["2", "3"]),
]
NEW = [
    concept("1", "root"),
    concept("2", "same", "alike", parents=["1"], alt_ids=["2a", "5", "new alternative"]),
    concept("3", "new name", "kept", "come\tname", parents=["1"]),
    concept("4", "to retire", obsolete=True),
    concept("7", "retired"),
    concept("8", "retired with heir", obsolete=True, replaced_by="2"),
    concept("9", "mover", parents=["3", "1"]),
    concept("10", "newcomer", "with a name", parents=["1"]),
]
EXPECTED = [
    ("added", "10", "newcomer", "", ""),
    ("redirected", "2b", "same", "2", ""),
    ("renamed", "3", "new name", "old name", "new name"),
    ("name_added", "3", "new name", "", "come\tname"),
    ("name_added", "3", "new name", "", "new name"),
    ("name_removed", "3", "new name", "gone name", ""),
    ("name_removed", "3", "new name", "old name", ""),
    ("retired", "4", "to retire", "", ""),
    ("redirected", "5", "same", "5", "2"),
    ("removed", "6", "to vanish", "", ""),
    ("restored", "7", "retired", "", ""),
    ("redirected", "8", "same", "5", "2"),
    ("moved", "9", "mover", "2|3", "1|3"),
]


@pytest.fixture
def folders(tmp_path):
    paths = tmp_path / "old", tmp_path / "new"
    for path, concepts in zip(paths, (OLD, NEW), strict=True):
        build_terminology(concepts, path, meta={"source": "x", "release": path.name})
    return paths


def rows(diff):
    return [tuple(row.values()) for row in diff.table.to_pylist()]


def test_every_kind_of_change(folders):
    diff = diff_terminologies(*map(Terminology.open, folders))
    assert rows(diff) == EXPECTED
    counts = {change: sum(row[0] == change for row in EXPECTED) for change in CHANGES}
    assert min(counts.values()) > 0
    assert diff.figures["changes"] == counts
    assert diff.figures["old"] == {
        "path": str(folders[0]), "source": "x", "release": "old", "living": 7, "names": 10,
    }  # fmt: skip
    # living in both: 1, 2, 3, 9; unchanged: 1, 2
    assert (diff.figures["living_in_both"], diff.figures["unchanged"]) == (4, 2)


def test_a_release_and_itself(folders):
    old = Terminology.open(folders[0])
    diff = diff_terminologies(old, old)
    assert rows(diff) == []
    assert diff.figures["unchanged"] == diff.figures["living_in_both"] == 7


def test_back_again_is_the_opposite(folders):
    """What one way adds, the other takes away."""
    there, back = (diff_terminologies(*map(Terminology.open, pair)).figures["changes"]
                   for pair in (folders, folders[::-1]))  # fmt: skip
    for one, other in (("added", "removed"), ("restored", "retired"), ("name_added", "name_removed"),
                       ("renamed", "renamed"), ("moved", "moved")):  # fmt: skip
        assert there[one] == back[other], one


def test_against_sets(tmp_path):
    """Random releases, compared with Python sets."""
    draw = random.Random(3)

    def release(path):
        concepts = []
        for number in range(400):
            if draw.random() < 0.1:
                continue
            names = draw.sample(["a", "b", "c", "d"], draw.randrange(4))
            parents = [
                f"{p:03d}" for p in draw.sample(range(number), min(number, draw.randrange(3)))
            ]
            concepts.append(
                concept(
                    f"{number:03d}",
                    draw.choice("xyz"),
                    *names,
                    parents=parents,
                    obsolete=draw.random() < 0.1,
                )  # fmt: skip
            )
        build_terminology(concepts, path)
        return Terminology.open(path), {c.concept_id: c for c in concepts}

    (old, a), (new, b) = release(tmp_path / "old"), release(tmp_path / "new")
    expected = set()
    for cid in a.keys() | b.keys():
        before = a.get(cid) if cid in a and not a[cid].obsolete else None
        after = b.get(cid) if cid in b and not b[cid].obsolete else None
        if after and not before:
            expected.add(("restored" if cid in a else "added", cid, after.name, "", ""))
        if before and not after:
            expected.add(("retired" if cid in b else "removed", cid, before.name, "", ""))
        if not (before and after):
            continue
        if before.name != after.name:
            expected.add(("renamed", cid, after.name, before.name, after.name))
        parents = ["|".join(sorted(r.object for r in c.relations)) for c in (before, after)]
        if parents[0] != parents[1]:
            expected.add(("moved", cid, after.name, *parents))
        texts = [{c.name, *(n.text for n in c.names)} for c in (before, after)]
        expected |= {("name_removed", cid, after.name, t, "") for t in texts[0] - texts[1]}
        expected |= {("name_added", cid, after.name, "", t) for t in texts[1] - texts[0]}
    found = rows(diff_terminologies(old, new))
    assert set(found) == expected and len(found) == len(expected)
    order = [(row[1], CHANGES.index(row[0]), row[3], row[4]) for row in found]
    assert order == sorted(order)


def test_written_changes_are_read_back(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(diff_module, "BLOCK_ROWS", 4)
    table = diff_terminologies(*map(Terminology.open, folders)).table
    write_changes(table, tmp_path / "c.jsonl")
    lines = (tmp_path / "c.jsonl").read_text().splitlines()
    assert [tuple(json.loads(line).values()) for line in lines] == EXPECTED
    write_changes(table, tmp_path / "c.tsv")
    import csv

    with (tmp_path / "c.tsv").open(newline="") as file:
        read = list(csv.reader(file, delimiter="\t"))
    assert read[0] == ["change", "concept_id", "name", "old", "new"]
    assert [tuple(row) for row in read[1:]] == EXPECTED


def test_two_terminologies_are_no_releases_of_one(folders, tmp_path):
    build_terminology([concept("other", "a")], tmp_path / "other")
    with pytest.raises(TermlinkError, match="TL545"):
        diff_terminologies(Terminology.open(folders[0]), Terminology.open(tmp_path / "other"))


def test_command(folders, tmp_path, tiny_kb, tiny_terminology):
    def run(*args):
        return CliRunner().invoke(app, ["diff", *map(str, args)])

    told = run(*folders, "-o", tmp_path / "c.tsv", "--json", tmp_path / "c.json")
    assert told.exit_code == 0, told.stderr
    assert ["redirected", "3"] in [line.split() for line in told.stdout.splitlines()]
    assert "2 of 4 concepts living in both are unchanged" in told.stdout
    assert json.loads((tmp_path / "c.json").read_text())["changes"]["moved"] == 1
    only_json = json.loads(run(*folders, "--json", "-").stdout)
    assert only_json["changes"]["added"] == 1
    kb = json.loads(run(tiny_kb, tiny_terminology, "--json", "-").stdout)
    assert kb["unchanged"] == kb["living_in_both"] == 12
    for args, code in (((*folders, "-o", tmp_path / "c.xlsx"), "TL547"), ((folders[0], tmp_path / "gone"), "TL001"),
                       ((*folders, "-o", folders[0]), "TL906")):  # fmt: skip
        refused = run(*args)
        assert refused.exit_code == 2 and code in refused.stderr
