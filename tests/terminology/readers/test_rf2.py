"""A small snapshot in SNOMED CT's own layout, international edition and an extension; rows are made up."""

import zipfile

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Name, Relation, Terminology, Xref
from spacy_termlink.terminology.convert import convert_source
from spacy_termlink.terminology.readers.rf2 import describe_rf2, read_rf2

FSN, SYN, DEF, IS_A = "900000000000003001", "900000000000013009", "900000000000550004", "116680003"
US, GB, ES = "900000000000509007", "900000000000508004", "448879004"
PREF, ACC = "900000000000548007", "900000000000549004"
REPLACED, SAME, POSSIBLY = "900000000000526001", "900000000000527005", "900000000000523009"
DATES = ("20250101", "20260131")

CONCEPT = "id effectiveTime active moduleId definitionStatusId"
DESCRIPTION = (
    "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId"
)
RELATIONSHIP = "id effectiveTime active moduleId sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId"
LANGUAGE = "id effectiveTime active moduleId refsetId referencedComponentId acceptabilityId"
ASSOCIATION = "id effectiveTime active moduleId refsetId referencedComponentId targetComponentId"
SIMPLE = "id effectiveTime active moduleId refsetId referencedComponentId mapTarget"
EXTENDED = SIMPLE.replace(
    "mapTarget", "mapGroup mapPriority mapRule mapAdvice mapTarget correlationId mapCategoryId"
)


def table(columns, *rows):
    lines = [columns.split(), *rows]
    return "".join("\t".join(line) + "\r\n" for line in lines)


def c(key, active="1", date=DATES[0]):
    return [key, date, active, "m", "d"]


def d(key, concept, term, kind=SYN, language="en", active="1", date=DATES[0]):
    return [key, date, active, "m", concept, language, kind, term, "cs"]


def r(key, child, parent, kind=IS_A, active="1", date=DATES[0]):
    return [key, date, active, "m", child, parent, "0", kind, "ct", "mod"]


def member(key, *values, active="1", date=DATES[0]):
    return [key, date, active, "m", *values]


INTERNATIONAL = {
    "Terminology/sct2_Concept_Snapshot_INT_20250101.txt": table(
        CONCEPT, c("10"), c("20"), c("30"), c("40", "0"), c("50", "0"), c("60", "0"), c("70")),
    "Terminology/sct2_Description_Snapshot-en_INT_20250101.txt": table(
        DESCRIPTION,
        d("1", "10", "Clinical finding (finding)", FSN), d("2", "10", "Clinical finding"),
        d("3", "20", "Ischemic attack of heart (disorder)", FSN), d("4", "20", 'Heart "attack"'),
        d("5", "20", "Ischaemic attack of heart"), d("6", "20", "Old", active="0"),
        d("7", "30", "Hand (left) (body structure)", FSN), d("8", "30", "Left hand"),
        d("9", "40", "Heart attack, old code (disorder)", FSN), d("11", "50", "Unclear (disorder)", FSN),
        d("12", "60", "Twofold (disorder)", FSN), d("13", "70", "No tag", FSN)),
    "Terminology/sct2_TextDefinition_Snapshot-en_INT_20250101.txt": table(
        DESCRIPTION, d("15", "20", "Of the  heart.", DEF)),
    "Terminology/sct2_Relationship_Snapshot_INT_20250101.txt": table(
        RELATIONSHIP, r("1", "20", "10"), r("2", "20", "30", kind="363698007"),
        r("3", "30", "10", active="0"), r("4", "70", "30")),
    "Terminology/sct2_StatedRelationship_Snapshot_INT_20250101.txt": table(
        RELATIONSHIP, r("9", "30", "20")),
    "Refset/Language/der2_cRefset_LanguageSnapshot-en_INT_20250101.txt": table(
        LANGUAGE, member("a", US, "4", PREF), member("b", US, "5", ACC), member("c", GB, "5", PREF),
        member("d", GB, "4", ACC), member("e", US, "2", PREF)),
    "Refset/Content/der2_cRefset_AssociationSnapshot_INT_20250101.txt": table(
        ASSOCIATION, member("a", SAME, "40", "20"), member("b", POSSIBLY, "50", "20"),
        member("c", SAME, "60", "20"), member("d", SAME, "60", "30"),
        member("e", REPLACED, "50", "10", active="0")),
    "Refset/Map/der2_sRefset_SimpleMapSnapshot_INT_20250101.txt": table(
        SIMPLE, member("a", "446608001", "30", "C76.4"), member("b", "999", "20", "X1")),
    "Refset/Map/der2_iisssccRefset_ExtendedMapSnapshot_INT_20250101.txt": table(
        EXTENDED, member("a", "447562003", "20", "1", "1", "TRUE", "ALWAYS", "I21.9", "k", "c"),
        member("b", "447562003", "20", "1", "2", "TRUE", "ALWAYS", "I21.9", "k", "c"),
        member("c", "447562003", "30", "1", "1", "TRUE", "NOT", "", "k", "c")),
}  # fmt: skip
#: Of 2026: a concept of its own, one that is inactive now, Spanish terms, a better English term.
EXTENSION = {
    "sct2_Concept_Snapshot_ES_20260131.txt": table(
        CONCEPT, c("80", date=DATES[1]), c("70", "0", date=DATES[1])),
    "sct2_Description_Snapshot-es_ES_20260131.txt": table(
        DESCRIPTION, d("21", "20", "Ataque al coraz\u00f3n", language="es", date=DATES[1]),
        d("22", "80", "Gripe (trastorno)", FSN, "es", date=DATES[1]),
        d("23", "80", "gripe", language="es", date=DATES[1]),
        d("5", "20", "Ischaemic attack of the heart", date=DATES[1])),
    "sct2_Relationship_Snapshot_ES_20260131.txt": table(
        RELATIONSHIP, r("11", "80", "10", date=DATES[1]), r("4", "70", "30", active="0", date=DATES[1])),
    "der2_cRefset_LanguageSnapshot-es_ES_20260131.txt": table(
        LANGUAGE, member("z", ES, "21", PREF, date=DATES[1])),
}  # fmt: skip


def save(folder, files):
    for name, text in files.items():
        path = folder / "Snapshot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


@pytest.fixture
def international(tmp_path):
    return save(tmp_path / "SnomedCT_International", INTERNATIONAL)


@pytest.fixture
def merged(tmp_path):
    save(tmp_path / "both" / "A_Spanish", EXTENSION)  # its name comes first; its rows come over
    save(tmp_path / "both" / "International", INTERNATIONAL)
    return tmp_path / "both"


def read(path, **options):
    return {concept.concept_id: concept for concept in read_rf2(path, **options)}


def test_every_field(international):
    found = read(international)
    heart = found["20"]
    assert (heart.name, heart.definition) == ('Heart "attack"', "Of the heart.")
    assert heart.names == [Name("Ischaemic attack of heart"), Name("Ischemic attack of heart")]
    assert heart.semantic_types == ["disorder"]
    assert heart.relations == [Relation("is_a", "10")]
    assert heart.xrefs == [Xref("999:X1"), Xref("ICD10:I21.9")]
    assert (found["10"].name, found["10"].names) == ("Clinical finding", [])
    hand = found["30"]
    assert (hand.name, hand.names) == ("Left hand", [Name("Hand (left)")])
    assert (hand.semantic_types, hand.relations) == (["body structure"], [])
    assert hand.xrefs == [Xref("ICDO:C76.4")]
    assert (found["70"].name, found["70"].semantic_types) == ("No tag", [])


def test_inactive_concepts(international):
    found = read(international)
    facts = {k: (v.replaced_by, v.relations) for k, v in found.items() if v.obsolete}
    assert facts == {
        "40": ("20", []),
        "50": ("", [Relation("consider", "20")]),
        "60": (
            "",
            [Relation("consider", "20"), Relation("consider", "30")],
        ),  # two heirs: no single one
    }
    assert found["40"].name == "Heart attack, old code"


def test_the_preferred_name_of_a_language(international):
    heart = read(international, language=["en", GB])["20"]
    assert heart.name == "Ischaemic attack of heart"
    only = read(international, language=[US])["10"]
    assert only.name == "Clinical finding"


def test_an_extension_comes_over_the_international_edition(merged):
    found = read(merged)
    heart = found["20"]
    assert heart.name == 'Heart "attack"'
    assert heart.names == [
        Name("Ischaemic attack of the heart"), Name("Ataque al corazón", language="es"),
        Name("Ischemic attack of heart"),
    ]  # fmt: skip
    flu = found["80"]
    assert (flu.name, flu.language, flu.semantic_types) == ("gripe", "es", ["trastorno"])
    assert flu.relations == [Relation("is_a", "10")] and flu.names == [Name("Gripe", language="es")]
    assert found["70"].obsolete and found["70"].relations == []
    assert describe_rf2(merged)["release"] == "20260131"


def test_terms_of_one_language(merged):
    heart = read(merged, language=["es"])["20"]
    assert (heart.name, heart.language) == ("Ataque al corazón", "es")
    assert heart.names == [Name("Ischemic attack of heart")]  # the fully specified name stays
    assert read(merged, language=[ES])["20"].name == "Ataque al corazón"


def test_semantic_tags(international):
    assert [*read(international, semantic_type=["disorder", "finding"])] == [
        "10",
        "20",
        "40",
        "50",
        "60",
    ]


@pytest.mark.parametrize("how", ["one zip", "zips in a folder"])
def test_zips_are_read_in_place(merged, tmp_path, how):
    expected = read(merged)
    folder = tmp_path / "zips"
    folder.mkdir()
    parts = [("a.zip", EXTENSION), ("b.zip", INTERNATIONAL)]
    if how == "one zip":
        parts = [("a.zip", {**EXTENSION, **INTERNATIONAL})]
    for name, files in parts:
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, text in files.items():
                archive.writestr(f"Snapshot/{file}", text)
    assert read(folder / "a.zip" if how == "one zip" else folder) == expected


@pytest.mark.parametrize(
    "name, text, options, message",
    [
        ("Concept", None, {}, "TL140.*no rf2 release: it has no sct2_Concept_"),
        ("Description", None, {}, "TL140.*sct2_Description_"),
        ("Concept", "id\teffectiveTime\r\n1\t2\r\n", {}, "TL141.*sct2_Concept"),
        ("Concept", CONCEPT.replace(" ", "\t") + "\r\n", {}, "TL106"),
        ("Concept", "", {"language": ["fr"]}, "TL142.*no language 'fr'. It has: en"),
        ("Concept", "", {"language": ["1234"]}, "TL142.*no language '1234'"),
        ("Concept", "", {"semantic_type": ["disease"]}, "TL142.*'disease'. It has: body structure, disorder"),
    ],
)  # fmt: skip
def test_bad_input(international, name, text, options, message):
    (path,) = international.rglob(f"sct2_{name}_*")
    if text is None:
        path.unlink()
    elif text:
        path.write_text(text)
    with pytest.raises(TermlinkError, match=message):
        read(international, **options)


def test_convert(merged, tmp_path):
    meta = convert_source(merged, tmp_path / "t", format="rf2")
    assert (meta["source"], meta["release"], meta["shareable"]) == ("snomedct", "20260131", False)
    assert "SNOMED" in meta["licence"]
    names = [entry["file"].split("/")[-1] for entry in meta["inputs"]]
    assert len(names) == 12 and not any("Stated" in name for name in names)
    terminology = Terminology.open(tmp_path / "t")
    assert terminology.resolve("40") == "20" and terminology.parents("80") == ["10"]


def test_an_option_of_another_reader(international, tmp_path):
    with pytest.raises(
        TermlinkError, match="TL143.*'rf2' has no option --sab.*--language, --semantic-type"
    ):
        convert_source(
            international, tmp_path / "t", format="rf2", options={"sab": ["MSH"], "tty": []}
        )
