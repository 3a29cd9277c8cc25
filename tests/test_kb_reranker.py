"""A KB with a reranker: written whole, used, refused where it is damaged."""

import shutil

import numpy as np
import pytest

from spacy_termlink.encoders import load_encoder
from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.calibrate import calibrate
from spacy_termlink.evaluation.mention_set import prepare_mentions
from spacy_termlink.evaluation.mentions import Mention
from spacy_termlink.evaluation.system import evaluate_system
from spacy_termlink.kb import TermKB, add_reranker, calibrate_kb, open_kb, rebuild_kb
from spacy_termlink.rerank.cross_encoder import NAME, CrossEncoder
from spacy_termlink.rerank.mention_candidates import MentionCandidates
from spacy_termlink.rerank.rerankers import make_reranker, write_about


@pytest.fixture
def plain(tiny_kb, tmp_path):
    return TermKB.open(shutil.copytree(tiny_kb, tmp_path / "kb"))


@pytest.fixture
def folder(tiny_encoder, tmp_path):
    path = shutil.copytree(tiny_encoder, tmp_path / "cross")
    head = np.random.default_rng(0).normal(size=32).round(3).tolist()
    values = {"weight": 5.0, "nil": 0.5, "share": 1.0, "head": head, "bias": 0.0, "names": "both",
              "context": False, "margin": 1.0}  # fmt: skip
    write_about(path, NAME, values)
    return path


def test_the_kb_is_whole_and_reranks(plain, folder):
    kb = add_reranker(plain, folder)
    kb.verify()
    new = set(kb.meta["files"]) - set(plain.meta["files"])
    assert "reranker/reranker.json" in new and all(n.startswith("reranker/") for n in new)
    assert isinstance(kb.reranker, CrossEncoder) and plain.reranker is None
    assert open_kb(kb.path) is kb and kb.reranker is kb.reranker
    assert make_reranker("kb", kb) is kb.reranker
    assert kb.reranker.fingerprint == CrossEncoder(kb, folder).fingerprint
    assert kb.info()["bytes"]["reranker"] > 0
    assert kb.info()["reranker"] == "CrossEncoder" and "reranker" not in plain.info()


def test_another_reranker_takes_its_place(plain, folder):
    first = add_reranker(plain, folder)
    (folder / "more.txt").write_text("x")
    again = add_reranker(first, folder)
    assert "reranker/more.txt" in again.meta["files"]
    (folder / "more.txt").unlink()
    once_more = add_reranker(again, folder)
    once_more.verify()
    assert "reranker/more.txt" not in once_more.meta["files"]
    assert not (once_more.path / "reranker" / "more.txt").exists()


def test_what_is_no_reranker_changes_nothing(plain, tiny_encoder):
    with pytest.raises(TermlinkError, match="TL001.*reranker.json"):
        add_reranker(plain, tiny_encoder)
    assert TermKB.open(plain.path, verify=True).reranker is None


@pytest.fixture
def mentions(plain):
    texts = [("seizures", "T:0003"), ("fits of old", "T:0004"), ("short and small", "T:0011"),
             ("heart infarct", "T:0007"), ("qqq", "T:0001")]  # fmt: skip
    rows = [
        Mention(f"{d}-{i}", text, (concept,), doc_id=f"d{d}")
        for d in range(30)
        for i, (text, concept) in enumerate(texts)
    ]
    return prepare_mentions(plain.terminology, rows)


def test_a_calibration_counts_for_the_reranker_that_it_was_fitted_with(plain, folder, mentions):
    kb = add_reranker(plain, folder)
    calibrated = calibrate_kb(kb, calibrate(kb, mentions).calibration)
    own = MentionCandidates(calibrated, calibrated.generator(), calibrated.reranker)
    bare = MentionCandidates(calibrated, calibrated.generator())
    assert (own.applies_to, bare.applies_to) == ("probability", "score")
    assert bare.threshold == plain.threshold
    found = evaluate_system(calibrated, mentions, reranker=calibrated.reranker)
    assert found.applies_to == "probability" and found.n_reranked is not None
    assert 0 < found.n_reranked <= 150
    assert evaluate_system(calibrated, mentions).n_reranked is None


def test_a_calibrated_kb_is_on_scores_again(plain, folder, mentions):
    calibrated = calibrate_kb(plain, calibrate(plain, mentions).calibration)
    assert calibrated.info()["threshold_applies_to"] == "probability"
    kb = add_reranker(calibrated, folder)
    kb.verify()
    assert kb.calibration is None and not (kb.path / "calibration.json").exists()
    linked = MentionCandidates(kb, kb.generator(), kb.reranker)
    info = kb.info()
    assert (info["threshold"], info["threshold_applies_to"]) == (linked.threshold, "score")
    assert kb.threshold == kb.score_threshold == plain.threshold
    assert "score_threshold" not in kb.meta and "calibration" not in info
    again = calibrate_kb(kb, calibrate(kb, mentions).calibration)
    assert again.info()["threshold_applies_to"] == "probability"


def test_a_rebuilt_kb_keeps_it(plain, folder, tiny_encoder, tmp_path):
    kb = add_reranker(plain, folder)
    encoder = load_encoder(tiny_encoder, dtype="float32")
    rebuilt = rebuild_kb(kb, encoder.save, tmp_path / "rebuilt")
    rebuilt.verify()
    assert rebuilt.reranker.fingerprint == kb.reranker.fingerprint
