import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Name, Relation
from spacy_termlink.terminology.readers.claml import describe_claml, read_claml

CLAML = """<?xml version="1.0" encoding="UTF-8"?>
<ClaML version="2.0.0">
  <Title name="ICD-10-EN" version="2019">ICD-10</Title>
  <Modifier code="S04E10_4"><SubClass code=".0"/><SubClass code=".1"/></Modifier>
  <ModifierClass modifier="S04E10_4" code=".0">
    <SuperClass code="S04E10_4"/>
    <Rubric kind="preferred"><Label xml:lang="en">With coma</Label></Rubric>
    <Rubric kind="inclusion"><Label xml:lang="en">hypoglycaemic coma</Label></Rubric>
  </ModifierClass>
  <ModifierClass modifier="S04E10_4" code=".1">
    <Rubric kind="preferred"><Label>With ketoacidosis</Label></Rubric>
  </ModifierClass>
  <ModifierClass modifier="SITE_5" code="0"><Rubric kind="preferred"><Label>Hand</Label></Rubric></ModifierClass>
  <ModifierClass modifier="SITE_5" code="1"><Rubric kind="preferred"><Label>Foot</Label></Rubric></ModifierClass>
  <Class code="IV" kind="chapter"><SubClass code="E10-E14"/>
    <Rubric kind="preferred"><Label>Endocrine diseases</Label></Rubric></Class>
  <Class code="E10-E14" kind="block"><SuperClass code="IV"/><SubClass code="E10"/><SubClass code="E14"/>
    <ModifiedBy code="S04E10_4"/>
    <Rubric kind="preferred"><Label>Diabetes mellitus</Label></Rubric></Class>
  <Class code="E10" kind="category"><SuperClass code="E10-E14"/>
    <Rubric kind="preferred"><Label>Type 1 diabetes <Reference code="E10">(E10)</Reference></Label></Rubric>
    <Rubric kind="inclusion"><Label><Fragment type="list">diabetes:</Fragment><Fragment>juvenile-onset</Fragment></Label></Rubric>
    <Rubric kind="exclusion"><Label>neonatal diabetes</Label></Rubric>
    <Rubric kind="note"><Label>a note</Label></Rubric>
    <Rubric kind="definition"><Label>What it is.</Label></Rubric></Class>
  <Class code="E14" kind="category"><SuperClass code="E10-E14"/>
    <ExcludeModifier code="S04E10_4"/>
    <Rubric kind="preferred"><Label>Unspecified diabetes</Label></Rubric></Class>
  <Class code="M00" kind="category"><SuperClass code="IV"/><SubClass code="M00.0"/>
    <ModifiedBy code="SITE_5"/>
    <Rubric kind="preferred"><Label>Arthritis</Label></Rubric></Class>
  <Class code="M00.0" kind="category"><SuperClass code="M00"/>
    <Rubric kind="preferred"><Label>Pyogenic arthritis</Label></Rubric></Class>
  <Class code="M01" kind="category"><SuperClass code="IV"/>
    <ModifiedBy code="S04E10_4" all="false"><ValidModifierClass code=".1"/></ModifiedBy>
    <ModifiedBy code="SITE_5"/>
    <Rubric kind="preferred"><Label>Both</Label></Rubric></Class>
</ClaML>
"""
ITEMS = """<icd_10_v2019><item type="chapter"><name>I</name><description>Infections</description>
<item type="block"><name>A00-A09</name><description>Intestinal</description>
<item type="category"><name>A00</name><description>Cholera</description></item></item>
<item type="block"><name>B99</name><description>Other</description>
<item type="category"><name>B99</name><description>Other</description></item></item>
</item></icd_10_v2019>"""


@pytest.fixture
def concepts(tmp_path):
    (tmp_path / "x.xml").write_text(CLAML)
    return {concept.concept_id: concept for concept in read_claml(tmp_path / "x.xml")}


def test_modifiers_are_expanded(concepts):
    names = {cid: concept.name for cid, concept in concepts.items() if concept.relations}
    assert names == {
        "E10-E14": "Diabetes mellitus",
        "E10": "Type 1 diabetes",
        "E10.0": "Type 1 diabetes, With coma",
        "E10.1": "Type 1 diabetes, With ketoacidosis",
        "E14": "Unspecified diabetes",
        "M00": "Arthritis",
        "M00.0": "Pyogenic arthritis",
        "M00.00": "Pyogenic arthritis, Hand",
        "M00.01": "Pyogenic arthritis, Foot",
        "M01": "Both",
        "M01.1": "Both, With ketoacidosis",
        "M01.10": "Both, With ketoacidosis, Hand",
        "M01.11": "Both, With ketoacidosis, Foot",
    }


def test_rubrics(concepts):
    assert concepts["E10"].names == [Name("diabetes: juvenile-onset", "narrow", source="inclusion")]
    assert concepts["E10"].definition == "What it is."
    (name,) = concepts["E10.0"].names
    assert name.text == "Type 1 diabetes, hypoglycaemic coma"


@pytest.mark.parametrize("code, parent", [("E10-E14", "IV"), ("E10", "E10-E14"), ("E10.0", "E10"),
                                          ("M01.10", "M01.1")])  # fmt: skip
def test_parents(concepts, code, parent):
    assert concepts[code].relations == [Relation("is_a", parent)]


def test_tree_of_items(tmp_path):
    (tmp_path / "x.xml").write_text(ITEMS, encoding="utf-8-sig")
    concepts = list(read_claml(tmp_path / "x.xml"))
    assert [(c.concept_id, c.name, c.semantic_types) for c in concepts] == [
        ("I", "Infections", ["chapter"]),
        ("A00-A09", "Intestinal", ["block"]),
        ("A00", "Cholera", ["category"]),
        ("B99-B99", "Other", ["block"]),
        ("B99", "Other", ["category"]),
    ]
    assert concepts[2].relations == [Relation("is_a", "A00-A09")]


def test_release(tmp_path):
    for text in (CLAML, ITEMS):
        (tmp_path / "x.xml").write_text(text)
        assert describe_claml(tmp_path / "x.xml") == {"release": "2019"}


def test_another_file(tmp_path):
    (tmp_path / "x.xml").write_text("<ICD10CM.tabular/>")
    with pytest.raises(TermlinkError, match="TL105.*<ICD10CM.tabular>, expected <ClaML>"):
        list(read_claml(tmp_path / "x.xml"))
