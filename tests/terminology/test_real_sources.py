"""The real HPO, ICD-10-CM and the others, fetched as `termlink fetch` does; counted independently."""

import re
from collections import Counter

import pytest

from spacy_termlink.terminology import Terminology
from spacy_termlink.terminology.convert import convert_source
from spacy_termlink.terminology.fetch import fetch

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def assets(tmp_path_factory):
    return tmp_path_factory.mktemp("assets")


def convert(name, assets):
    folder = fetch(name, assets)
    convert_source(folder, assets / "terminologies" / name)
    return folder, Terminology.open(assets / "terminologies" / name)


@pytest.fixture(scope="module")
def hpo(assets):
    return convert("hpo", assets)


@pytest.fixture(scope="module")
def icd10cm(assets):
    return convert("icd10cm", assets)


def term_frames(folder):
    """Lines of each [Term] frame, cut with no OBO library."""
    text = (folder / "hp.obo").read_text(encoding="utf8")
    frames = re.split(r"^\[(\w+)\]$", text, flags=re.MULTILINE)
    for kind, body in zip(frames[1::2], frames[2::2], strict=True):
        if kind == "Term":
            yield [line.split(": ", 1) for line in body.strip().splitlines()]


SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)" (EXACT|NARROW|BROAD|RELATED)')


def test_every_living_concept_and_every_synonym_of_hpo(hpo):
    folder, terminology = hpo
    wanted, living, retired = Counter(), set(), set()
    for frame in term_frames(folder):
        (cid,) = [value for tag, value in frame if tag == "id"]
        if ["is_obsolete", "true"] in frame:
            retired.add(cid)
            continue
        living.add(cid)
        for tag, value in frame:
            if tag == "name":
                wanted[cid, value] += 1
            elif tag == "synonym":
                text = SYNONYM.match(value).group(1)
                wanted[cid, re.sub(r"\\(.)", r"\1", text)] += 1
    rows = terminology.names.to_pylist()
    assert Counter((row["concept_id"], row["text"]) for row in rows) == wanted
    dead = terminology.obsolete
    ids = terminology.concepts["concept_id"].to_pylist()
    assert {cid for cid, old in zip(ids, dead, strict=True) if not old} == living
    assert {cid for cid, old in zip(ids, dead, strict=True) if old} == retired
    assert (len(living), len(retired), len(rows)) == (19_034, 450, 42_546)


def test_other_facts_of_hpo_by_count_of_lines(hpo):
    folder, terminology = hpo
    lines = (folder / "hp.obo").read_text(encoding="utf8").splitlines()
    count = Counter(line.split(":")[0] for line in lines)
    types = Counter(terminology.relations["type"].to_pylist())
    assert types["is_a"] == count["is_a"] and types["consider"] == count["consider"]
    definitions = terminology.concepts["definition"].to_pylist()
    assert sum(map(bool, definitions)) == count["def"]
    alternatives = {line[8:] for line in lines if line.startswith("alt_id: ")}
    resolved = {alt for alt in alternatives if terminology.resolve(alt)}
    assert len(alternatives - resolved) == 0
    assert terminology.meta["release"] == "2025-01-16"
    assert terminology.depth("HP:0000001") == 0


def squeezed(concept_id):
    """As the published list of codes writes it: no dot, a section of one category by that category."""
    first, _, last = concept_id.partition("-")
    return first if first == last else concept_id.replace(".", "")


def test_codes_of_icd10cm_are_those_of_the_list_in_the_same_wheel(icd10cm):
    folder, terminology = icd10cm
    listed = (folder / "code-list-April-2026.txt").read_text().split()
    ids = terminology.concepts["concept_id"].to_pylist()
    assert Counter(map(squeezed, ids)) == Counter(listed)


def test_billable_codes_are_those_that_no_longer_code_extends(icd10cm):
    folder, terminology = icd10cm
    listed = (folder / "code-list-April-2026.txt").read_text().split()
    codes = sorted({code for code in listed if "-" not in code and not code.isdigit()})
    # in sorted order the first code that extends another one follows it
    complete = {a for a, b in zip(codes, [*codes[1:], ""], strict=True) if not b.startswith(a)}
    billable = terminology.mask(["billable"])
    ids = terminology.concepts["concept_id"].to_pylist()
    found = {
        cid.replace(".", "") for cid, is_billable in zip(ids, billable, strict=True) if is_billable
    }
    assert found == complete
    # 74,706 of the form letter, digit; and 13 of the new category QA0
    assert len([code for code in found if code[1].isdigit()]) == 74_706
    assert len(found) == 74_719 and {c[:3] for c in found if not c[1].isdigit()} == {"QA0"}


def test_no_instruction_is_a_name_of_icd10cm(icd10cm):
    _, terminology = icd10cm
    texts = terminology.names["text"].to_pylist()
    starts = ("code first", "use additional", "code also", "code to identify", "excludes")
    assert not [text for text in texts if text.lower().startswith(starts)]


@pytest.mark.parametrize(
    "name, concept_id, preferred, alternative",
    [
        ("icd10", "A00.0", "Cholera due to Vibrio cholerae 01, biovar cholerae", None),
        ("mondo", "MONDO:0005015", "diabetes mellitus", None),
        ("doid", "DOID:9351", "diabetes mellitus", None),
        ("go", "GO:0000003", "reproduction", "GO:0019952"),
        ("efo", "EFO:0000001", "experimental factor", None),
        ("chebi", "CHEBI:15377", "water", None),
        ("mesh", "MESH:D000544", "Alzheimer Disease", None),
    ],
)
def test_the_others(assets, name, concept_id, preferred, alternative):
    _, terminology = convert(name, assets)
    assert terminology.preferred_name(terminology.row(concept_id)) == preferred
    if alternative:
        assert terminology.resolve(alternative) == concept_id
    assert terminology.meta["counts"]["parents_not_found"] == 0
    assert terminology.graph.max_depth > 2
    assert terminology.meta["shareable"] == (name != "icd10")


def test_the_encoder(assets):
    from spacy_termlink.encoders import load_encoder

    encoder = load_encoder(fetch("minilm", assets))
    assert encoder.encode(["seizure", "fit"]).shape == (2, 384)
