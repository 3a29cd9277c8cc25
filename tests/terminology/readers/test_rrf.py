"""A small release in UMLS's own layout; every row is made up."""

import gzip
import zipfile

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Name, Relation, Terminology, Xref
from spacy_termlink.terminology.convert import convert_source
from spacy_termlink.terminology.readers.rrf import describe_rrf, read_rrf


def conso(
    cui, text, *, lat="ENG", ts="P", stt="PF", pref="Y", sab="AAA", tty="PT", code="1", suppress="N"
):
    return f"{cui}|{lat}|{ts}|L1|{stt}|S1|{pref}|A1||||{sab}|{tty}|{code}|{text}|0|{suppress}||\n"


def rel(first, kind, second, *, sab="AAA", suppress="N"):
    return f"{first}|A1|AUI|{kind}|{second}|A2|AUI||R1||{sab}|{sab}|||{suppress}||\n"


#: Not sorted by CUI: that is not relied on.
CONSO = (
    conso("C0000002", "Herzanfall", lat="GER", sab="MDRGER", code="100")
    + conso("C0000001", "Disorder", sab="MSH", code="D1")
    + conso("C0000002", "attack of the heart", ts="S", pref="N", tty="SY", sab="CHV", code="7")
    + conso("C0000002", "Heart attack", sab="SNOMEDCT_US", code="22")
    + conso("C0000002", "Heart attack", ts="P", stt="PF", pref="N", sab="MSH", tty="ET", code="D2")
    + conso("C0000002", "MI", ts="S", sab="MSH", tty="AB", code="D2")
    + conso("C0000002", "Old word", suppress="O", code="9")
    + conso("C0000003", 'Nail 5" bed', sab="HPO", code="HP:0000003")
    + conso("C0000004", "Naïve \U0001f9e0", ts="S", sab="MTH", code="NOCODE")
)
STY = (
    "C0000002|T047|B2.2.1.2.1|Disease or Syndrome|AT1|256|\nC0000002|T033|A2.2|Finding|AT2||\n"
    "C0000001|T047|B2.2.1.2.1|Disease or Syndrome|AT3||\nC0000003|T023|A1.2.3.1|Body Part|AT4||\n"
    "C9999999|T047|B2.2.1.2.1|Disease or Syndrome|AT5||\n"
)
DEF = (
    "C0000002|A1|AT1||MSH|Of the heart.|N||\nC0000002|A1|AT1||NCI|Better.|N||\n"
    "C0000002|A1|AT1||HPO|Out.|O||\nC0000001|A1|AT1||ZZZ|Last.|N||\nC0000001|A1|AT1||BBB|First.|N||\n"
)
REL = (
    rel("C0000002", "PAR", "C0000001") + rel("C0000001", "CHD", "C0000002")  # one edge, both ways
    + rel("C0000001", "CHD", "C0000003", sab="MSH")
    + rel("C0000003", "PAR", "C0000004") + rel("C0000004", "PAR", "C0000003", sab="MSH")  # a circle
    + rel("C0000002", "RB", "C0000003") + rel("C0000002", "RN", "C0000004")
    + rel("C0000002", "RO", "C0000004") + rel("C0000002", "PAR", "C0000002")
    + rel("C0000002", "PAR", "C9999999") + rel("C0000004", "PAR", "C0000001", suppress="O")
)  # fmt: skip
CUI = (
    "C0000010|2010AA|SY|||C0000011|Y|\nC0000011|2012AA|SY|||C0000002|Y|\nC0000012|2012AA|DEL||||N|\n"
    "C0000013|2012AA|RB|||C0000001|Y|\nC0000001|1999AA|SY|||C0000002|Y|\n"
)
FILES = {"MRCONSO": CONSO, "MRSTY": STY, "MRDEF": DEF, "MRREL": REL, "MRCUI": CUI}


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "2026AA" / "META"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / f"{name}.RRF").write_text(text, encoding="utf8")
    return folder.parent


def read(path, **options):
    return {concept.concept_id: concept for concept in read_rrf(path, **options)}


def test_every_field(release):
    found = read(release)
    assert [*found] == ["C0000001", "C0000002", "C0000003", "C0000004",
                        "C0000010", "C0000011", "C0000012", "C0000013"]  # fmt: skip
    heart = found["C0000002"]
    assert (heart.name, heart.language, heart.definition) == ("Heart attack", "en", "Better.")
    assert heart.names == [
        Name("MI", "abbreviation", "en", "MSH"),
        Name("attack of the heart", "layperson", "en", "CHV"),
        Name("Herzanfall", "exact", "de", "MDRGER"),
    ]
    assert heart.semantic_types == ["T033", "T047"]
    assert heart.xrefs == [
        Xref("SNOMEDCT_US:22"),
        Xref("MSH:D2"),
        Xref("CHV:7"),
        Xref("MDRGER:100"),
    ]
    assert heart.relations == [
        Relation("is_a", "C0000001"), Relation("broader", "C0000003")
    ]  # fmt: skip
    assert found["C0000001"].definition == "First."
    nail, brain = found["C0000003"], found["C0000004"]
    assert (nail.name, nail.xrefs) == ('Nail 5" bed', [Xref("HP:0000003")])
    assert (brain.name, brain.xrefs) == ("Naïve \U0001f9e0", [])
    # the circle of 3 and 4 is no hierarchy; RN says that 4 is narrower than 2
    assert nail.relations == [Relation("is_a", "C0000001"), Relation("broader", "C0000004")]
    assert brain.relations == [Relation("broader", "C0000002"), Relation("broader", "C0000003")]


def test_retired_cuis(release):
    found = read(release)
    facts = {
        cui: (c.obsolete, c.replaced_by, c.relations) for cui, c in found.items() if c.obsolete
    }
    assert facts == {
        "C0000010": (True, "C0000011", []),
        "C0000011": (True, "C0000002", []),
        "C0000012": (True, "", []),
        "C0000013": (True, "", [Relation("consider", "C0000001")]),
    }


@pytest.mark.parametrize(
    "options, names",
    [
        ({"sab": ["MSH"]}, {"C0000001": ["Disorder"], "C0000002": ["Heart attack", "MI"]}),
        ({"language": ["de"]}, {"C0000002": ["Herzanfall"]}),
        ({"language": ["GER"], "sab": ["MDRGER"]}, {"C0000002": ["Herzanfall"]}),
        ({"tty": ["AB", "ET"]}, {"C0000002": ["Heart attack", "MI"]}),
        ({"semantic_type": ["T023"]}, {"C0000003": ['Nail 5" bed']}),
        ({"semantic_type": ["Body Part"]}, {"C0000003": ['Nail 5" bed']}),
        ({"semantic_type": ["B2.2"], "sab": ["MSH"], "language": ["en"]},
         {"C0000001": ["Disorder"], "C0000002": ["Heart attack", "MI"]}),
        ({"semantic_type": ["A1"], "suppressed": True}, {"C0000003": ['Nail 5" bed']}),
    ],
)  # fmt: skip
def test_filters(release, options, names):
    found = read(release, **options)
    living = {
        cui: [c.name, *(n.text for n in c.names)] for cui, c in found.items() if not c.obsolete
    }
    assert living == names
    # retired CUIs that lead to what is left
    assert {cui for cui, c in found.items() if c.obsolete} - {"C0000001"} == (
        {"C0000010", "C0000011"} if "C0000002" in names else set()
    )


def test_relations_and_definitions_are_of_the_vocabulary_asked_for(release):
    found = read(release, sab=["MSH"])
    assert found["C0000002"].relations == [] and found["C0000002"].definition == "Of the heart."


def test_suppressed_names_where_asked_for(release):
    assert "Old word" in [n.text for n in read(release, suppressed=True)["C0000002"].names]


@pytest.mark.parametrize("how", ["gz", "parts", "zip", "zip of gz", "zip in a folder"])
def test_as_it_is_delivered(release, tmp_path, how):
    expected = read(release)
    folder = tmp_path / "delivered"
    folder.mkdir()
    files = {f"META/{name}.RRF": text.encode() for name, text in FILES.items()}
    if how in ("gz", "zip of gz"):
        files = {f"{name}.gz": gzip.compress(data) for name, data in files.items()}
    if how == "parts":  # cut within a line, and within a character
        cut = files["META/MRCONSO.RRF"].index("ï".encode()) + 1
        data = files.pop("META/MRCONSO.RRF")
        files["META/MRCONSO.RRF.aa.gz"] = gzip.compress(data[:cut])
        files["META/MRCONSO.RRF.ab.gz"] = gzip.compress(data[cut:])
    path = folder
    if how.startswith("zip"):
        path = folder / "umls.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(f"2026AA/{name}", data)
        path = folder if "folder" in how else path
    else:
        for name, data in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
    assert read(path) == expected
    # nothing is unpacked
    assert len([p for p in folder.rglob("*") if p.is_file()]) == (1 if "zip" in how else len(files))


def test_mrconso_is_enough(release):
    for name in FILES:
        if name != "MRCONSO":
            (release / "META" / f"{name}.RRF").unlink()
    found = read(release)
    assert found["C0000002"].semantic_types == [] and len(found) == 4
    with pytest.raises(TermlinkError, match="TL140.*MRSTY.RRF"):
        read(release, semantic_type=["T047"])


def test_a_link_out_of_the_folder_is_not_read(release, tmp_path):
    outside = tmp_path / "secret.RRF"
    (release / "META" / "MRCONSO.RRF").rename(outside)
    (release / "META" / "MRCONSO.RRF").symlink_to(outside)
    with pytest.raises(TermlinkError, match="TL140"):
        read(release)


@pytest.mark.parametrize(
    "change, options, message",
    [
        (lambda f: f.write_text("C1|ENG|P|\n"), {}, "TL141.*MRCONSO.RRF: .*columns"),
        (lambda f: f.write_bytes(CONSO.encode().replace("ï".encode(), b"\xff")), {}, "TL141.*MRCONSO.*UTF"),
        (lambda f: f.write_text(conso("C0000001", "x", suppress="O")), {}, "TL106"),
        (lambda f: f.unlink(), {}, "TL140.*no rrf release: it has no MRCONSO.RRF"),
        (lambda f: None, {"sab": ["MESH"]}, "TL142.*no sab 'MESH'. It has: AAA, CHV, HPO, MDRGER, MSH"),
        (lambda f: None, {"language": ["fr"]}, "TL142.*no language 'FRE'. It has: ENG, GER"),
        (lambda f: None, {"semantic_type": ["T999"]}, "TL142.*semantic-type 'T999'. It has: T023"),
    ],
)  # fmt: skip
def test_bad_input(release, change, options, message):
    change(release / "META" / "MRCONSO.RRF")
    with pytest.raises(TermlinkError, match=message):
        read(release, **options)


def test_a_torn_zip(tmp_path):
    (tmp_path / "x.zip").write_bytes(b"PK torn")
    with pytest.raises(TermlinkError, match="TL105.*x.zip is not a rrf file"):
        read(tmp_path / "x.zip")


@pytest.mark.parametrize("n_process", [1, 2])
def test_convert(release, tmp_path, n_process):
    meta = convert_source(release, tmp_path / "t", format="rrf", options={"sab": ["MSH", "AAA"]},
                          n_process=n_process)  # fmt: skip
    assert (meta["source"], meta["release"], meta["shareable"]) == ("umls", "2026AA", False)
    assert "UMLS" in meta["licence"] and meta["options"] == {"sab": ["MSH", "AAA"]}
    assert [i["file"] for i in meta["inputs"]] == [f"META/{n}.RRF" for n in sorted(FILES)]
    terminology = Terminology.open(tmp_path / "t")
    assert terminology.resolve("C0000010") == "C0000002"
    assert terminology.parents("C0000002") == ["C0000001"]
    rows = terminology.lookup("HEART-ATTACK")
    assert [terminology.concept_id(terminology.concept_rows[row]) for row in rows] == ["C0000002"]


def test_release_dat_says_the_release(release):
    (release / "META" / "release.dat").write_text("umls.release.name=2025AB\n")
    assert describe_rrf(release)["release"] == "2025AB"
