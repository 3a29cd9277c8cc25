import json
import shutil

import numpy as np
import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Concept, Name, Terminology, builder, store
from spacy_termlink.terminology.builder import build_terminology


@pytest.fixture
def tiny(tiny_terminology):
    return Terminology.open(tiny_terminology)


@pytest.fixture
def copy(tiny_terminology, tmp_path):
    """A copy of the folder that a test may damage."""
    return shutil.copytree(tiny_terminology, tmp_path / "copy")


def ids(terminology, name_rows):
    return [terminology.concept_id(terminology.concept_rows[row]) for row in name_rows]


@pytest.mark.parametrize(
    "concept_id, living",
    [("T:0003", "T:0003"), ("T:9003", "T:0003"), ("T:0099", "T:0003"), ("T:1", None), ("", None)],
)
def test_resolve(tiny, concept_id, living):
    assert tiny.resolve(concept_id) == living


def test_the_row_of_an_unknown_id(tiny):
    with pytest.raises(TermlinkError, match="TL107.*'T:1'"):
        tiny.row("T:1")


@pytest.mark.parametrize(
    "text, found",
    [("seizure", ["T:0003"]), ("EPILEPTIC  FIT", ["T:0003"]), ("MI", ["T:0007", "T:0008"]),
     ("no such name", []), ("", []), ("---", [])],
)  # fmt: skip
def test_lookup(tiny, text, found):
    assert ids(tiny, tiny.lookup(text)) == found


def test_a_retired_concept_has_a_row_and_no_names(tiny):
    row = tiny.find_row("T:0099")
    assert tiny.obsolete[row] and tiny.preferred_name(row) == "Fit of old"
    assert len(tiny.name_rows(row)) == 0
    assert tiny.lookup("Fit of old") == []


def test_texts_that_share_a_hash_are_told_apart(tmp_path, monkeypatch):
    for module in (builder, store):
        monkeypatch.setattr(module, "hash_text", lambda text: len(text))
    concepts = [
        Concept("1", "abc", alt_ids=["x"]),
        Concept("2", "abd", [Name("xyz")], alt_ids=["y"]),
    ]
    build_terminology(concepts, tmp_path / "t")
    terminology = Terminology.open(tmp_path / "t")
    assert [ids(terminology, terminology.lookup(t)) for t in ("abc", "abd", "xyz", "zzz")] == [
        ["1"], ["2"], ["2"], [],
    ]  # fmt: skip
    assert [terminology.resolve(cid) for cid in ("1", "2", "3", "x", "y", "z")] == [
        "1", "2", None, "1", "2", None,
    ]  # fmt: skip


def test_names_lie_by_concept_preferred_first(tiny):
    row = tiny.row("T:0003")
    rows = tiny.name_rows(row)
    assert [tiny.name_text(r) for r in rows] == ["Seizure", "Epileptic fit", "Fits"]
    assert [tiny.name_kind(r) for r in rows] == ["preferred", "exact", "layperson"]
    assert {int(tiny.concept_rows[r]) for r in rows} == {row}


def test_the_hierarchy_by_id(tiny):
    assert tiny.parents("T:9003") == ["T:0002"]
    assert tiny.children("T:0003") == ["T:0004", "T:0005"]
    assert tiny.ancestors("T:0004") == ["T:0001", "T:0002", "T:0003"]
    assert tiny.siblings("T:0004") == ["T:0005"]
    assert tiny.depth("T:0004") == 3


@pytest.mark.parametrize(
    "wanted, allowed",
    [
        (["T:0006"], ["T:0006", "T:0007", "T:0008"]),
        (["T:9003"], ["T:0003", "T:0004", "T:0005"]),
        (["blood", "face"], ["T:0009", "T:0012"]),
        (["T:0006", "growth"], ["T:0006", "T:0007", "T:0008", "T:0011"]),
        ([], []),
    ],
)
def test_mask(tiny, wanted, allowed):
    mask = tiny.mask(wanted)
    assert [tiny.concept_id(row) for row in np.flatnonzero(mask)] == allowed


def test_a_mask_of_something_unknown(tiny):
    with pytest.raises(TermlinkError, match="TL107.*'bloood'"):
        tiny.mask(["blood", "bloood"])


def files_of(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_every_file_cut_short_missing_or_replaced_is_named(copy):
    whole = Terminology.open(copy)
    whole.verify()
    for name in files_of(copy):
        path = copy / name
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        with pytest.raises(TermlinkError, match=path.name):
            Terminology.open(copy)
        path.unlink()
        with pytest.raises(TermlinkError, match=path.name):
            Terminology.open(copy)
        path.write_bytes(data)
        if name != "meta.json":
            path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            with pytest.raises(TermlinkError, match=path.name):
                Terminology.open(copy).verify()
            path.write_bytes(data)
    Terminology.open(copy).verify()


@pytest.mark.parametrize(
    "change, code",
    [
        (lambda meta: meta.update(format_version=99), "TL109.*format version 99"),
        (lambda meta: meta.clear(), "TL109"),
    ],
)
def test_another_format_version(copy, change, code):
    meta = json.loads((copy / "meta.json").read_text())
    change(meta)
    (copy / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(TermlinkError, match=code):
        Terminology.open(copy)


def test_what_is_no_terminology(tmp_path):
    with pytest.raises(TermlinkError, match="TL001"):
        Terminology.open(tmp_path / "nowhere")
    with pytest.raises(TermlinkError, match="TL103.*no meta.json"):
        Terminology.open(tmp_path)


def test_opening_reads_no_table(tiny_terminology, monkeypatch):
    def refuse(self):
        raise AssertionError("the hierarchy was built")

    monkeypatch.setattr(store, "graph_of", refuse)
    import pyarrow as pa

    before = pa.total_allocated_bytes()
    opened = Terminology.open(tiny_terminology)
    assert opened.lookup("seizure")
    assert pa.total_allocated_bytes() - before < 4096


def test_info(tiny):
    info = tiny.info()
    assert info["kind"] == "terminology"
    assert (info["source"], info["release"], info["licence"]) == ("tiny", "2026-01-01", "CC0-1.0")
    assert info["counts"]["concepts"] == 13 and info["counts"]["obsolete"] == 1
    assert info["names_by_kind"]["preferred"] == 12
    assert sum(info["names_by_kind"].values()) == tiny.n_names
    assert info["depth"] == 3
    json.dumps(info)
