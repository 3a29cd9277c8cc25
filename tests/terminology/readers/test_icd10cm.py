import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Name, Relation
from spacy_termlink.terminology.readers.icd10cm import describe_icd10cm, read_icd10cm

XML = """<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.tabular>
  <version>2026</version>
  <introduction><introSection type="title"><title>LIST</title></introSection></introduction>
  <chapter>
    <name>19</name>
    <desc>Injury, poisoning (S00-T88)</desc>
    <includes><note>injuries of all kinds</note></includes>
    <excludes1><note>birth trauma (P10-P15)</note></excludes1>
    <section id="S00-S09">
      <desc>Injuries to the head (S00-S09)</desc>
      <diag>
        <name>S06</name>
        <desc>Intracranial injury</desc>
        <includes><note>traumatic brain injury</note></includes>
        <useAdditionalCode><note>code for open wound</note></useAdditionalCode>
        <codeFirst><note>code first this</note></codeFirst>
        <codeAlso><note>code also that</note></codeAlso>
        <excludes2><note>head injury NOS</note></excludes2>
        <sevenChrNote><note>The appropriate 7th character is to be added</note></sevenChrNote>
        <sevenChrDef>
          <extension char="A">initial encounter</extension>
          <note>first encounter</note>
          <extension char="D">subsequent encounter</extension>
          <extension char="S">sequela</extension>
          <note>Old brain injury</note>
        </sevenChrDef>
        <notes><note>7th characters D and S do not apply to codes in category S06 with 6th character
          7 - death due to brain injury, or 8 - death due to other cause.</note></notes>
        <diag>
          <name>S06.0</name>
          <desc>Concussion</desc>
          <inclusionTerm><note>Commotio cerebri</note></inclusionTerm>
        </diag>
        <diag>
          <name>S06.1</name>
          <desc>Edema</desc>
          <diag><name>S06.1X7</name><desc>Edema with death</desc></diag>
        </diag>
      </diag>
    </section>
    <section id="B99">
      <desc>Other infectious diseases (B99)</desc>
      <diag>
        <name>B99</name>
        <desc>Other infectious diseases</desc>
        <inclusionTerm>
          <note>Worms due to:</note><note>bad luck</note><note>bad food</note>
        </inclusionTerm>
      </diag>
      <diag><name>W08</name><desc>Fall</desc>
        <sevenChrDef><extension char="A">initial encounter</extension></sevenChrDef>
      </diag>
    </section>
  </chapter>
</ICD10CM.tabular>
"""


@pytest.fixture
def concepts(tmp_path):
    path = tmp_path / "tabular.xml"
    path.write_text(XML)
    return {concept.concept_id: concept for concept in read_icd10cm(path)}


def test_codes(concepts):
    assert list(concepts) == [
        "19", "S00-S09", "S06", "S06.0", "S06.0XXA", "S06.0XXD", "S06.0XXS",
        "S06.1", "S06.1X7", "S06.1X7A", "B99-B99", "B99", "W08", "W08.XXXA",
    ]  # fmt: skip


def test_billable_codes_are_those_that_no_code_extends(concepts):
    billable = [cid for cid, concept in concepts.items() if "billable" in concept.semantic_types]
    assert billable == ["S06.0XXA", "S06.0XXD", "S06.0XXS", "S06.1X7A", "B99", "W08.XXXA"]


@pytest.mark.parametrize(
    "code, kind, parent",
    [("19", "chapter", None), ("S00-S09", "section", "19"), ("S06", "category", "S00-S09"),
     ("S06.0", "subcategory", "S06"), ("S06.0XXA", "subcategory", "S06.0"),
     ("B99", "category", "B99-B99")],
)  # fmt: skip
def test_kind_and_parent(concepts, code, kind, parent):
    assert concepts[code].semantic_types[0] == kind
    assert concepts[code].relations == ([Relation("is_a", parent)] if parent else [])


@pytest.mark.parametrize(
    "code, name",
    [("19", "Injury, poisoning"), ("S00-S09", "Injuries to the head"), ("S06.0", "Concussion"),
     ("S06.0XXD", "Concussion, subsequent encounter"), ("S06.1X7A", "Edema with death, initial encounter")],
)  # fmt: skip
def test_descriptions(concepts, code, name):
    assert concepts[code].name == name


def test_names_are_inclusion_terms_and_includes_never_instructions(concepts):
    names = {cid: concept.names for cid, concept in concepts.items() if concept.names}
    assert names == {
        "19": [Name("injuries of all kinds", "narrow", source="includes")],
        "S06": [
            Name("traumatic brain injury", "narrow", source="includes"),
            Name("Old brain injury", "exact", source="sevenChrDef"),
        ],
        "S06.0": [Name("Commotio cerebri", "exact", source="inclusionTerm")],
        "S06.0XXA": [Name("Concussion, first encounter", "exact", source="sevenChrDef")],
        "S06.1X7A": [Name("Edema with death, first encounter", "exact", source="sevenChrDef")],
        "B99": [
            Name("Worms due to bad luck", "exact", source="inclusionTerm"),
            Name("Worms due to bad food", "exact", source="inclusionTerm"),
        ],
    }


PLAIN = """<ICD10CM.tabular><chapter><name>1</name><desc>All (A00-Z99)</desc>
<diag><name>{code}</name><desc>{description}</desc>
<includes><note>wave of fits (any kind)</note></includes>
<inclusionTerm><note>{term}</note></inclusionTerm></diag></chapter></ICD10CM.tabular>"""


def plain_names(tmp_path, term, *, code="N17.9", description="Failure"):
    path = tmp_path / "tabular.xml"
    path.write_text(PLAIN.format(code=code, description=description, term=term))
    _, concept = read_icd10cm(path)
    assert concept.name == description, "the description stays as it is"
    assert [name.text for name in concept.names[:2]] == [term, "wave of fits (any kind)"]
    return [(name.text, name.kind, name.source) for name in concept.names[2:]]


@pytest.mark.parametrize(
    "term, plain",
    [("Acute kidney injury (nontraumatic)", "Acute kidney injury"),
     ("Seizure(s) (convulsive) NOS", "Seizure"),
     ("Insomnia, unspecified", "Insomnia"),
     ("Unspecified jaundice", "jaundice"),
     ("Vascular dementia, NOS", "Vascular dementia"),
     ("Encephalopathy [HIE] of newborn", "Encephalopathy of newborn")],
)  # fmt: skip
def test_words_that_may_be_there_or_not_are_left_out(tmp_path, term, plain):
    assert plain_names(tmp_path, term) == [
        (plain, "exact", "inclusionTerm"), ("wave of fits", "narrow", "includes")
    ]  # fmt: skip


def test_the_plain_description_is_an_exact_name(tmp_path):
    names = plain_names(tmp_path, "Renal", description="Kidney failure, unspecified")
    assert names[0] == ("Kidney failure", "exact", "desc")
    assert len(plain_names(tmp_path, "failure (any)")) == 1, "the description says so already"


@pytest.mark.parametrize("term", ["Fit NOS", "(Any)", "Unspecified", "NOSology"])
def test_names_that_have_no_plain_form(tmp_path, term):
    assert plain_names(tmp_path, term) == [("wave of fits", "narrow", "includes")]


def test_what_is_unspecified_of_injuries_stays_so(tmp_path):
    assert plain_names(tmp_path, "Unspecified injury", code="S09.9") == [
        ("wave of fits", "narrow", "includes")
    ]


@pytest.mark.parametrize("code", ["T41.3", "T65.9", "X37.9", "Y93.9"])
def test_terms_of_external_causes_need_their_heading(tmp_path, code):
    assert plain_names(tmp_path, "Cocaine (topical)", code=code) == []


@pytest.mark.parametrize("code", ["T30.0", "T14.8", "T78.4", "Z33.1"])
def test_other_injuries_have_plain_names(tmp_path, code):
    assert ("Burn", "exact", "inclusionTerm") in plain_names(tmp_path, "Burn NOS", code=code)


def test_release(tmp_path):
    (tmp_path / "x.xml").write_text(XML)
    assert describe_icd10cm(tmp_path / "x.xml") == {"release": "2026"}


@pytest.mark.parametrize(
    "text, message",
    [
        ("<ICD10CM.tabular>\n<chapter>\n", r"TL108.*line 3: not well-formed XML"),
        ("<ClaML/>", r"TL105.*root is <ClaML>, expected <ICD10CM.tabular>"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>\n<ICD10CM.tabular>&b;</ICD10CM.tabular>', "TL105.*entities"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]>\n<ICD10CM.tabular>&b;</ICD10CM.tabular>',
         "TL105.*entities"),
        ('<?xml version="1.0" encoding="klingon"?><a/>', "TL10[58]"),
    ],
)  # fmt: skip
def test_another_file(tmp_path, text, message):
    (tmp_path / "x.xml").write_text(text)
    with pytest.raises(TermlinkError, match=message):
        list(read_icd10cm(tmp_path / "x.xml"))
