import json
import sys

import pytest

from spacy_termlink.annotate.core import Linker
from spacy_termlink.annotate.fhir import SYSTEMS, bundle, bundle_class
from spacy_termlink.annotate.outputs import Extras
from spacy_termlink.errors import MissingExtraError, TermlinkError

pytest.importorskip("fhir.resources")

LINKERS = [
    Linker("a", "hpo", "2025-01-16", "", source="hpo"),
    Linker("b", "codes", "2026", "", source="icd10cm"),
    Linker("c", "list", "", ""),
]
NASTY = 'a "quoted" & \r\n, ; 😀 שלום 发烧'


def row(**values):
    full = {
        "note_id": "1", "start": 3, "end": 8, "text": "fever", "label": "FINDING", "kb": "hpo",
        "release": "2025-01-16", "concept_id": "HP:0001945", "concept_name": "Fever",
        "matched": "pyrexia", "score": 0.75, "probability": 0.5, "tier": "hybrid",
        "assertion": "negated", "section": "plan",
    }  # fmt: skip
    return {**full, **values}


def observations(rows, note_id="1"):
    return [entry["resource"] for entry in json.loads(bundle(note_id, rows, LINKERS))["entry"]]


def components(observation):
    found = {}
    for component in observation["component"]:
        (value,) = (v for name, v in component.items() if name != "code")
        found[component["code"]["text"]] = value["value"] if isinstance(value, dict) else value
    return found


def test_every_column_of_a_mention_is_in_its_observation():
    (found,) = observations([row()])
    assert found["resourceType"] == "Observation"
    assert found["status"] == "preliminary"
    assert found["code"] == {
        "text": "fever",
        "coding": [
            {
                "system": "http://human-phenotype-ontology.org", "version": "2025-01-16",
                "code": "HP:0001945", "display": "Fever",
            }
        ],
    }  # fmt: skip
    assert found["method"] == {"text": "hybrid"}
    assert found["derivedFrom"] == [{"type": "DocumentReference", "identifier": {"value": "1"}}]
    assert components(found) == {
        "start": 3, "end": 8, "label": "FINDING", "assertion": "negated", "section": "plan",
        "matched": "pyrexia", "score": 0.75, "probability": 0.5,
    }  # fmt: skip


def test_it_is_valid_and_one_line():
    line = bundle(NASTY, [row(), row(text=NASTY, concept_name=NASTY, label=NASTY)], LINKERS)
    assert "\n" not in line
    read = bundle_class().model_validate_json(line)
    assert read.identifier.value == NASTY
    assert read.entry[1].resource.code.text == NASTY


@pytest.mark.parametrize(
    ("assertion", "value"),
    [("affirmed", True), ("historical", True), ("negated", False), ("absent", False), ("family", None),
     ("possible", None), ("hypothetical", None), ("whatever", None), (None, None)],
)  # fmt: skip
def test_the_value_is_what_the_note_asserts(assertion, value):
    (found,) = observations([row(assertion=assertion)])
    assert found.get("valueBoolean") is value
    assert components(found).get("assertion") == assertion


def test_nil_has_no_coding():
    (found,) = observations(
        [row(concept_id="NIL", concept_name=None, matched=None, score=None, probability=None, tier=None)]
    )  # fmt: skip
    assert found["code"] == {"text": "fever"}
    assert "method" not in found
    assert not {"score", "probability", "matched"} & set(components(found))


def test_zero_is_a_score_and_an_offset():
    (found,) = observations([row(start=0, score=0.0)])
    assert components(found)["start"] == 0
    assert components(found)["score"] == 0.0


def test_codes_are_as_their_system_writes_them():
    rows = [row(kb="codes", concept_id="R50.9"), row(kb="list", concept_id="X:1", release=None)]
    first, second = (o["code"]["coding"][0] for o in observations(rows))
    assert (first["system"], first["code"]) == ("http://hl7.org/fhir/sid/icd-10-cm", "R50.9")
    assert second == {"code": "X:1", "display": "Fever"}
    mesh = [Linker("m", "m", "", "", source="mesh")]
    coded = json.loads(bundle("1", [row(kb="m", concept_id="MESH:D005334")], mesh))
    coding = coded["entry"][0]["resource"]["code"]["coding"][0]
    assert (coding["system"], coding["code"]) == (SYSTEMS["mesh"][0], "D005334")


def test_a_note_without_mentions_is_a_bundle_without_entries():
    found = json.loads(bundle("7", [], LINKERS))
    assert found == {
        "resourceType": "Bundle", "type": "collection", "identifier": {"value": "7"},
    }  # fmt: skip


def test_addresses_of_entries_differ_and_stay():
    twice = [json.loads(bundle("1", [row(), row()], LINKERS))["entry"] for _ in range(2)]
    assert twice[0] == twice[1]
    assert len({entry["fullUrl"] for entry in twice[0]}) == 2


def test_what_is_no_fhir_is_refused_without_its_words():
    with pytest.raises(TermlinkError, match=r"TL867.*valueQuantity\.value") as error:
        bundle("1", [row(text="secret word", score=float("nan"))], LINKERS)
    assert "secret" not in str(error.value)
    assert error.value.__cause__ is None


@pytest.mark.parametrize("concept_id", ["A  1", "A 1 ", " A", "A\xa0 1", "A\n"])
def test_an_id_that_fhir_refuses_is_a_component_and_no_code(concept_id):
    (found,) = observations([row(concept_id=concept_id)])
    assert found["code"] == {"text": "fever"}
    assert components(found)["concept_id"] == concept_id
    assert components(found)["concept_name"] == "Fever"
    (found,) = observations([row(kb="codes", concept_id=f"ICD10CM:{concept_id}")])
    assert "coding" not in found["code"]


def test_texts_of_odd_blanks_are_blanks():
    odd = dict.fromkeys(("text", "label", "section", "matched", "tier", "release"), "\xa0\u2028")
    (found,) = observations([row(**odd, concept_name="\xa0")], note_id="\xa0")
    assert found["code"]["text"] == " " and found["code"]["coding"][0]["code"] == "HP:0001945"


def test_without_the_library_the_extra_is_named(monkeypatch):
    bundle_class.cache_clear()
    monkeypatch.setitem(sys.modules, "fhir.resources.R4B.bundle", None)
    with pytest.raises(MissingExtraError, match=r"TL004.*spacy-termlink\[fhir\]"):
        bundle_class()


def test_parts_hold_a_bundle_a_line():
    extras = Extras("fhir", LINKERS)
    extras.add("1", None, [row()])
    extras.add("2", None, [])
    lines = extras.files()["bundles.ndjson"].decode().splitlines()
    assert lines == [bundle("1", [row()], LINKERS), bundle("2", [], LINKERS)]
