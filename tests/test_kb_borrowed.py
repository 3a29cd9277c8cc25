"""Names that other terminologies lend a KB."""

import json

import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app
from spacy_termlink.encoders import load_encoder
from spacy_termlink.errors import TermlinkError
from spacy_termlink.kb import TermKB, build_kb
from spacy_termlink.kb.borrowed import borrow_names
from spacy_termlink.terminology import Concept, Name, Terminology
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.terminology.concept import Xref


def lend(folder, *concepts, source="lender", shareable=True):
    meta = {"source": source, "release": "7", "licence": f"{source} terms", "shareable": shareable}
    build_terminology(concepts, folder, meta=meta)
    return Terminology.open(folder)


def concept(concept_id, name, *others, same=(), **fields):
    names = [Name(text, kind) for text, kind in others]
    return Concept(concept_id, name, names, xrefs=[Xref(other) for other in same], **fields)


def borrowed(tiny_terminology, *lenders, known=()):
    found = borrow_names(Terminology.open(tiny_terminology), lenders, known=known)
    return [tuple(name) for name in found.names]


def test_names_of_the_same_concept_come_with_their_kind_and_their_lender(
    tiny_terminology, tmp_path
):
    lender = lend(
        tmp_path / "lender",
        concept(
            "L:1", "Convulsion", ("Epileptic attack", "exact"), ("Falling sickness", "layperson"),
            ("CVS", "abbreviation"), ("Febrile convulsion", "narrow"), ("Spell", "related"),
            same=["T:0003"],
        ),
    )  # fmt: skip
    assert borrowed(tiny_terminology, lender) == [
        ("T:0003", "Convulsion", "exact", "lender"),
        ("T:0003", "Epileptic attack", "exact", "lender"),
        ("T:0003", "CVS", "abbreviation", "lender"),
        ("T:0003", "Falling sickness", "layperson", "lender"),
    ]


@pytest.mark.parametrize(
    "concepts",
    [
        pytest.param([concept("L:1", "Convulsion")], id="no reference"),
        pytest.param([concept("L:1", "Convulsion", same=["T:0003", "T:0004"])], id="to two"),
        pytest.param(
            [concept("L:1", "Convulsion", same=["T:0003"]), concept("L:2", "Fit", same=["T:0003"])],
            id="of two to one",
        ),
        pytest.param(
            [
                concept("L:1", "Convulsion", same=["T:0003"]),
                concept("L:2", "convulsions", ("Convulsion", "exact"), same=["T:0004"]),
            ],
            id="a name of two concepts",
        ),
        pytest.param([concept("L:1", "Short stature", same=["T:0003"])], id="a name of another"),
        pytest.param([concept("ICD10CM:R56", "Convulsion", same=["T:0003"])], id="an ICD code"),
        pytest.param(
            [concept("T:0003", "Convulsion", obsolete=True), concept("L:2", "Other")], id="retired"
        ),
    ],
)
def test_names_of_what_may_be_another_concept_do_not_come(tiny_terminology, tmp_path, concepts):
    names = {name[1] for name in borrowed(tiny_terminology, lend(tmp_path / "lender", *concepts))}
    assert names <= {"convulsions"}  # of the plural only one concept is left


def test_concepts_of_one_id_are_the_same(tiny_terminology, tmp_path):
    newer = lend(tmp_path / "newer", concept("T:0012", "Palate, cleft", ("CP", "abbreviation")))
    assert borrowed(tiny_terminology, newer, known={"cp"}) == [
        ("T:0012", "Palate, cleft", "exact", "lender")
    ]


def test_a_reference_to_a_replaced_id_is_one_to_what_took_its_place(tiny_terminology, tmp_path):
    lender = lend(tmp_path / "lender", concept("L:1", "Convulsion", same=["T:0099"]))
    assert borrowed(tiny_terminology, lender) == [("T:0003", "Convulsion", "exact", "lender")]


def test_several_lenders_must_agree(tiny_terminology, tmp_path):
    one = lend(tmp_path / "a", concept("A:1", "Convulsion", same=["T:0003"]), source="a")
    other = lend(tmp_path / "b", concept("B:1", "Convulsion", same=["T:0004"]), source="b")
    same = lend(tmp_path / "c", concept("C:1", "Convulsion", same=["T:0003"]), source="c")
    assert borrowed(tiny_terminology, one, same) == [("T:0003", "Convulsion", "exact", "a")]
    assert borrowed(tiny_terminology, one, other) == []


def test_two_terminologies_of_one_name_are_refused(tiny_terminology):
    with pytest.raises(TermlinkError, match="TL221"):
        borrowed(tiny_terminology, Terminology.open(tiny_terminology))


@pytest.fixture
def lender(tmp_path):
    """Of three concepts, under a licence of its own."""
    lend(
        tmp_path / "lender",
        concept("L:1", "Convulsion", ("Epileptic fit", "exact"), same=["T:0003"]),
        concept("L:2", "Cleft of palate", same=["T:0012"]),
        concept("L:3", "Leukaemia of lymphoblasts", same=["T:0009"]),
        shareable=False,
    )
    return tmp_path / "lender"


def build(tiny_terminology, tiny_encoder, out, *options):
    args = ["index", tiny_terminology, "--encoder", tiny_encoder, "--index", "Flat", "-o", out]
    result = CliRunner().invoke(app, [str(arg) for arg in (*args, *options)])
    assert result.exit_code == 0, result.output
    return TermKB.open(out), result.output


def test_a_kb_links_by_borrowed_names_and_says_whose_they_are(
    tiny_terminology, tiny_encoder, lender, tmp_path
):
    kb, said = build(tiny_terminology, tiny_encoder, tmp_path / "kb", "--borrow-names", lender)
    [[first]] = kb.generator("hybrid").generate(["convulsion"], k=1)
    assert (first.concept_id, first.name, first.matched, first.tier, first.score) == (
        "T:0003", "Seizure", "Convulsion", "exact", 1.0
    )  # fmt: skip
    assert kb.licence == "CC0-1.0; lender terms"
    assert not kb.shareable
    facts = {"release": "7", "licence": "lender terms", "shareable": False, "names": 3}
    assert kb.info()["borrowed_from"] == {"lender": facts}
    assert kb.meta["counts"]["borrowed"] == 3
    assert kb.terminology.meta["licence"] == kb.licence
    assert "3 names borrowed from lender, licence: lender terms" in said
    sources = kb.terminology.names.to_pydict()
    of = dict(zip(sources["text"], sources["source"], strict=True))
    assert (of["Convulsion"], of["Epileptic fit"]) == ("lender", "")


def test_without_lenders_a_kb_says_nothing_of_them(tiny_kb):
    kb = TermKB.open(tiny_kb)
    assert "borrowed_from" not in kb.info()
    assert "borrowed" not in kb.meta["counts"]


def test_names_left_out_are_not_borrowed_back(tiny_terminology, tiny_encoder, lender, tmp_path):
    held = tmp_path / "heldout.jsonl"
    rows = [("T:0003", "Epileptic fit"), ("T:0012", "Cleft of palate")]
    held.write_text("".join(json.dumps({"concept_id": i, "text": t}) + "\n" for i, t in rows))
    options = ("--borrow-names", lender, "--without-names", held)
    kb, _ = build(tiny_terminology, tiny_encoder, tmp_path / "kb", *options)
    texts = set(kb.terminology.names["text"].to_pylist())
    assert not {"Epileptic fit", "Cleft of palate"} & texts
    assert {"Convulsion", "Leukaemia of lymphoblasts"} <= texts


def test_what_annotators_meant_by_a_name_goes_before(
    tiny_terminology, tiny_encoder, lender, tmp_path
):
    mentions = tmp_path / "mentions.jsonl"
    mentions.write_text(json.dumps({"text": "convulsion", "concepts": ["T:0004"]}) + "\n")
    options = ("--borrow-names", lender, "--add-names", mentions)
    kb, said = build(tiny_terminology, tiny_encoder, tmp_path / "kb", *options)
    [[first]] = kb.generator("exact").generate(["convulsion"], k=2)
    assert (first.concept_id, first.kind) == ("T:0004", "annotated")
    assert "2 names borrowed" in said
    assert "1 names added from 1 mentions" in said


def test_same_bytes_again(tiny_terminology, tiny_encoder, lender, tmp_path):
    encoder = load_encoder(tiny_encoder, dtype="float32")
    for name in ("a/kb", "b/kb"):
        build_kb(
            tiny_terminology, encoder, tmp_path / name, borrow_names_of=[lender], progress=False
        )
    one, other = (json.loads((tmp_path / x / "kb/meta.json").read_text()) for x in "ab")
    assert one == other
