import json

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology.convert import convert_source

OBO = "format-version: 1.2\ndata-version: 2026-02-03\nproperty_value: terms:license https://l.org\n\n[Term]\nid: X:1\nname: a\n"


@pytest.fixture
def obo(tmp_path):
    path = tmp_path / "source" / "x.obo"
    path.parent.mkdir()
    path.write_text(OBO)
    return path


def test_facts_of_the_file(obo, tmp_path):
    meta = convert_source(obo, tmp_path / "t", format="obo")
    assert (meta["source"], meta["release"], meta["licence"]) == (
        "x",
        "2026-02-03",
        "https://l.org",
    )
    assert not meta["shareable"]  # nobody said that it is
    assert (meta["reader"], meta["inputs"][0]["file"]) == ("obo", "x.obo")
    assert meta["inputs"][0]["bytes"] == obo.stat().st_size
    assert json.loads((tmp_path / "t" / "meta.json").read_text()) == meta


def test_what_the_user_says_wins(obo, tmp_path):
    meta = convert_source(obo, tmp_path / "t", format="obo", name="mine", release="7", licence="own",
                          shareable=True)  # fmt: skip
    assert [meta[k] for k in ("source", "release", "licence", "shareable")] == [
        "mine",
        "7",
        "own",
        True,
    ]


def test_provenance_of_another_file_is_not_taken(obo, tmp_path):
    facts = {"source": "fetched", "release": "1", "licence": "CC0", "shareable": True, "format": "obo",
             "files": [{"file": "x.obo", "bytes": 1, "sha256": "0" * 64}]}  # fmt: skip
    (obo.parent / "source.json").write_text(json.dumps(facts))
    meta = convert_source(obo, tmp_path / "t", format="obo")
    assert (meta["source"], meta["shareable"]) == ("x", False)


@pytest.mark.parametrize(
    "make, format, message",
    [
        (
            lambda p: p,
            "rdf",
            "TL104.*'rdf'.*claml, icd10cm, indra, obo, obograph, owl, rf2, rrf, table",
        ),
        (lambda p: p, None, "TL104"),
        (lambda p: p, "icd10cm", r"TL108.*x\.obo, line 1"),
        (lambda p: p, "claml", r"TL108.*x\.obo, line 1"),
        (lambda p: p, "indra", r"TL108.*x\.obo, line 1"),
        (lambda p: p, "table", r"TL105.*x\.obo is not a table file"),
        (lambda p: p.parent, "obo", "TL008"),
        (lambda p: p.with_name("gone.obo"), "obo", "TL001"),
    ],
)
def test_the_wrong_path_or_format(obo, tmp_path, make, format, message):
    with pytest.raises(TermlinkError, match=message):
        convert_source(make(obo), tmp_path / "t", format=format)
    assert not (tmp_path / "t").exists()
