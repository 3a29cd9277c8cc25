"""A KB with a calibration: written whole, kept, refused where it is another KB's; what a threshold
means then."""

import json
import os
import shutil
from dataclasses import replace

import pytest

from spacy_termlink.encoders import load_encoder
from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.mention_set import prepare_mentions
from spacy_termlink.evaluation.mentions import Mention
from spacy_termlink.evaluation.summary import summarize
from spacy_termlink.evaluation.system import evaluate_system
from spacy_termlink.kb import TermKB, build_kb, calibrate_kb, open_kb, rebuild_kb
from spacy_termlink.rerank.calibration import Calibration, Linear, scoring_fingerprint
from spacy_termlink.rerank.features import FIRST, NEXT
from spacy_termlink.rerank.mention_candidates import MentionCandidates


def calibration_of(kb, **more):
    """The first candidate's probability is its score less 0.3."""
    weights = tuple(float(name == "score") for name in FIRST)
    settings = {
        "first": Linear(weights, -0.3, ((0.0, 1.0), (0.0, 1.0))),
        "following": Linear((0.0,) * len(NEXT), 0.0),
        "generator": "HybridCandidates", "encoder": kb.fingerprint,
        "index": scoring_fingerprint(kb.meta), "threshold": 0.5, "fitted": {"method": "by hand"},
    }  # fmt: skip
    return Calibration(**{**settings, **more})


@pytest.fixture
def plain(tiny_kb, tmp_path):
    return TermKB.open(shutil.copytree(tiny_kb, tmp_path / "kb"))


@pytest.fixture
def calibrated(plain):
    return calibrate_kb(plain, calibration_of(plain))


def test_the_folder_is_whole_and_says_what_the_threshold_is(plain, calibrated):
    calibrated.verify()
    assert sorted(calibrated.meta["files"]) == sorted([*plain.meta["files"], "calibration.json"])
    assert calibrated.calibration == calibration_of(plain)
    assert (calibrated.threshold, calibrated.score_threshold) == (0.5, plain.threshold)
    info = calibrated.info()
    assert info["threshold_applies_to"] == "probability"
    assert info["calibration"] == {"method": "by hand"}
    assert plain.info()["threshold_applies_to"] == "score" and "calibration" not in plain.info()
    assert plain.calibration is None
    assert open_kb(calibrated.path) is calibrated


def test_calibrated_again_the_old_one_is_replaced(calibrated):
    again = calibrate_kb(calibrated, calibration_of(calibrated, threshold=0.4))
    again.verify()
    assert (again.threshold, again.calibration.threshold) == (0.4, 0.4)
    assert again.score_threshold == calibrated.score_threshold
    assert scoring_fingerprint(again.meta) == scoring_fingerprint(calibrated.meta)


def test_same_bytes_twice(calibrated):
    before = {p: p.read_bytes() for p in calibrated.path.rglob("*") if p.is_file()}
    calibrate_kb(calibrated, calibrated.calibration)
    after = {p: p.read_bytes() for p in calibrated.path.rglob("*") if p.is_file()}
    assert before == after


def test_a_hard_linked_copy_and_the_open_kb_stay_as_they_are(plain, tmp_path):
    copy = shutil.copytree(plain.path, tmp_path / "copy", copy_function=os.link)
    calibrate_kb(plain, calibration_of(plain))
    kept = TermKB.open(copy, verify=True)
    assert kept.calibration is None and kept.threshold == plain.threshold
    assert plain.generator().generate(["seizures"], k=1)[0][0].concept_id == "T:0003"


def test_a_damaged_kb_is_not_made_good(plain):
    path = plain.path / "encoder/model.safetensors"
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(TermlinkError, match="TL007.*model.safetensors"):
        calibrate_kb(plain, calibration_of(plain)).verify()


@pytest.mark.parametrize("part", ["encoder", "index"])
def test_a_calibration_of_another_kb_is_refused_by_name(plain, part):
    before = sorted(plain.path.rglob("*"))
    other = replace(calibration_of(plain), **{part: "f" * 64})
    with pytest.raises(TermlinkError, match=f"TL611.*calibration.json.*{part}.*ffff"):
        calibrate_kb(plain, other)
    assert sorted(plain.path.rglob("*")) == before  # the KB is as it was
    # the same where a file was put there by hand
    path = plain.path / "calibration.json"
    path.write_text(json.dumps(other.to_json()))
    meta = json.loads((plain.path / "meta.json").read_text())
    meta["files"]["calibration.json"] = {"bytes": path.stat().st_size, "sha256": ""}
    (plain.path / "meta.json").write_text(json.dumps(meta))
    kb = TermKB.open(plain.path)
    with pytest.raises(TermlinkError, match="TL611"):
        kb.calibration  # noqa: B018
    with pytest.raises(TermlinkError, match="TL611"):
        kb.info()


def test_a_missing_or_short_file_is_named_at_open(calibrated):
    path = calibrated.path / "calibration.json"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(TermlinkError, match="TL505.*calibration.json"):
        TermKB.open(calibrated.path)
    path.unlink()
    with pytest.raises(TermlinkError, match="TL505.*calibration.json.*missing"):
        TermKB.open(calibrated.path)


def test_a_kb_built_anew_has_none(calibrated, tiny_encoder, tmp_path):
    encoder = load_encoder(tiny_encoder, dtype="float32")
    rebuilt = rebuild_kb(calibrated, encoder.save, tmp_path / "rebuilt")
    rebuilt.verify()
    assert rebuilt.calibration is None
    assert rebuilt.meta["threshold_applies_to"] == "score"
    assert rebuilt.threshold == rebuilt.score_threshold == rebuilt.meta["threshold"]


def test_other_names_are_another_index(plain, tiny_terminology, tiny_encoder, tmp_path):
    encoder = load_encoder(tiny_encoder, dtype="float32")
    same = build_kb(tiny_terminology, encoder, tmp_path / "tiny", progress=False)
    assert scoring_fingerprint(same.meta) == scoring_fingerprint(plain.meta)
    heldout = tmp_path / "heldout.jsonl"
    heldout.write_text(json.dumps({"concept_id": "T:0003", "text": "Fits"}) + "\n")
    other = build_kb(
        tiny_terminology, encoder, tmp_path / "tiny", without_names=heldout, progress=False
    )
    assert scoring_fingerprint(other.meta) != scoring_fingerprint(plain.meta)


def test_candidates_have_probabilities_whatever_k(calibrated):
    candidates = MentionCandidates(calibrated, calibrated.generator())
    assert (candidates.threshold, candidates.applies_to) == (0.5, "probability")
    forms = [["seizures"], ["hart atack"], ["MI"]]
    found = candidates.generate(forms, k=10)
    assert found[0][0].probability == pytest.approx(0.7)
    for k in (1, 2, 3):
        assert candidates.generate(forms, k=k) == [row[:k] for row in found]


def test_only_the_generator_it_is_for(calibrated):
    dense = MentionCandidates(calibrated, calibrated.generator("dense"))
    assert (dense.threshold, dense.applies_to) == (calibrated.score_threshold, "score")
    [found] = dense.generate([["seizures"]], k=2)
    assert [c.probability for c in found] == [None, None]


def test_the_scores_are_those_of_the_kb_without_it(plain, calibrated):
    texts = ["seizures", "hart atack", "dysphasia", "mitral failure", "diabetes type 1"]
    assert calibrated.generator().generate(texts, k=5) == plain.generator().generate(texts, k=5)


def test_evaluation_decides_by_the_probability(calibrated):
    mentions = [
        Mention("1", "seizures", ("T:0003",), doc_id="a"),
        Mention("2", "MI", ("T:0008",), doc_id="b"),
        Mention("3", "qqq", (), doc_id="b", cardinality="noid"),
    ]
    result = evaluate_system(calibrated, prepare_mentions(calibrated.terminology, mentions))
    assert result.applies_to == "probability" and result.threshold == 0.5
    assert result.top_scores == pytest.approx([0.7, 0.7])
    nil = result.nil_candidates[0][0]
    assert result.nil_top_scores.tolist() == [nil.probability]
    summary = summarize(result)
    assert summary["nil"]["applies_to"] == "probability"
    assert summary["nil"]["tp"] == int(nil.probability < 0.5)
    assert summary["calibration"]["n"] == 3
    json.dumps(summary)
