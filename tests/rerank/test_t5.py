"""The reranker over the tiny KB, with a T5 that nobody trained."""

import json
import shutil

import numpy as np
import pytest
import torch

from spacy_termlink.candidates.spelled import CONFIRMED, doubtful_score
from spacy_termlink.errors import TermlinkError
from spacy_termlink.rerank.rerankers import make_reranker, open_reranker, write_about
from spacy_termlink.rerank.small_t5 import SmallT5Settings, build_small_t5
from spacy_termlink.rerank.t5 import NAME, make_t5_reranker
from spacy_termlink.types import Candidate

QUESTIONS = {"templates": ["[{context} : ]is {mention} {name}[ ({synonyms})][ {definition}]?"],
             "yes": "yes", "no": "no", "max_length": 64, "names": "matched",
             "blend": [1.0, 0.0, 0.0], "threshold": 0.4}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("t5") / "t5"
    settings = SmallT5Settings(vocabulary=120, width=16, heads=2, wide=24, layers=1)
    groups = [["seizure", "epileptic fit", "fits"], ["heart attack", "myocardial infarction"]]
    build_small_t5(path, groups, [*QUESTIONS["templates"], "yes", "no"], settings)
    write_about(path, NAME, QUESTIONS)
    return path


@pytest.fixture
def reranker(folder, kb):
    return make_t5_reranker(path=str(folder), dtype="float32")(kb)


def candidate(concept_id, name, score=0.7, tier="hybrid"):
    return Candidate(concept_id, name, name, "preferred", score, tier)


LIST = [candidate("T:0003", "Seizure"), candidate("T:0007", "Myocardial infarction", 0.6),
        candidate("T:0011", "Short stature", 0.5)]  # fmt: skip


def test_scores_are_those_of_plain_questions(reranker):
    (found,) = reranker.rerank(["absence"], [LIST])
    wanted = {}
    for each, more in zip(
        LIST,
        [" (Epileptic fit, Fits) A sudden discharge.", " (MI, Heart attack)",
         " (Small stature, Decreased height)"],
        strict=True,
    ):  # fmt: skip
        ids = reranker.model.tokenizer.encode(f"is absence {each.name}{more}?").ids
        with torch.no_grad():
            yes, no = reranker.model.log_probabilities([ids])[0].tolist()
        wanted[each.concept_id] = np.exp(yes) / (np.exp(yes) + np.exp(no))
    assert {c.concept_id: c.score for c in found} == pytest.approx(wanted, abs=1e-5)
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)


def test_a_batch_gives_what_each_mention_gives_alone(reranker):
    mentions, contexts = ["absence", "fit", "attack of the heart"], ["", "She had a fit.", ""]
    lists = [LIST, LIST[1:], LIST[:1]]
    found = reranker.rerank(mentions, lists, contexts=contexts)
    for mention, candidates, context, together in zip(
        mentions, lists, contexts, found, strict=True
    ):
        (alone,) = reranker.rerank([mention], [candidates], contexts=[context])
        assert [c.concept_id for c in alone] == [c.concept_id for c in together]
        assert [c.score for c in alone] == pytest.approx([c.score for c in together], abs=1e-5)


def test_the_context_is_asked_only_where_the_question_has_it(reranker, folder, kb):
    assert reranker.reads_context
    plain = make_t5_reranker(path=str(folder), dtype="float32", template="is {mention} {name}?")(kb)
    assert not plain.reads_context
    with_context, without = (
        plain.rerank(["fit"], [LIST], contexts=c) for c in (["She had a fit."], None)
    )
    assert with_context == without
    assert reranker.rerank(["fit"], [LIST], contexts=["She had."]) != reranker.rerank(
        ["fit"], [LIST]
    )
    assert plain.fingerprint != reranker.fingerprint


def test_a_synonym_that_the_mention_says_is_left_out(reranker):
    values = reranker._fields.values("fits", "", LIST[0])
    assert values["synonyms"] == "Epileptic fit"


def test_names_that_the_mention_says_keep_their_place(reranker):
    named = candidate("T:0011", "Short stature", 0.95, tier="exact")
    (found,) = reranker.rerank(["short stature"], [[named, *LIST[:2]]])
    assert found[0] == named
    assert max(c.score for c in found[1:]) <= 0.95


def test_answers_and_scores_are_blended(reranker, folder, kb, tmp_path):
    """P = σ(share o + weight s + bias), by hand."""
    blended = tmp_path / "blended"
    shutil.copytree(folder, blended)
    write_about(blended, NAME, {**QUESTIONS, "blend": [0.5, 4.0, -1.0]})
    other = make_t5_reranker(path=str(blended), dtype="float32")(kb)
    assert other.fingerprint != reranker.fingerprint
    plain = {c.concept_id: c.score for c in reranker.rerank(["fit"], [LIST])[0]}
    for found in other.rerank(["fit"], [LIST])[0]:
        odds = np.log(plain[found.concept_id] / (1 - plain[found.concept_id]))
        score = next(c.score for c in LIST if c.concept_id == found.concept_id)
        expected = 1 / (1 + np.exp(-(0.5 * odds + 4 * score - 1)))
        assert found.score == pytest.approx(expected, abs=1e-4)


def test_what_is_in_doubt(reranker):
    named = candidate("T:0011", "Short stature", 1.0, tier="exact")
    assert reranker.in_doubt(LIST)
    assert reranker.in_doubt(LIST[:1])
    assert not reranker.in_doubt([named, *LIST])
    assert not reranker.in_doubt([named])
    assert not reranker.in_doubt([])


def test_a_correction_that_nothing_confirms_is_asked_about(reranker, kb):
    """Under the KB's threshold it is no name: its score would pass the T5's, which is on another scale."""
    guess = candidate("T:0012", "Cleft palate", doubtful_score(kb), tier="spelling")
    sure = candidate("T:0012", "Cleft palate", max(CONFIRMED, kb.threshold), tier="spelling")
    assert guess.score > reranker.threshold
    assert reranker.in_doubt([guess]) and reranker.in_doubt([guess, *LIST])
    assert not reranker.in_doubt([sure, *LIST])
    (alone,), found = reranker.rerank(["palatoschissis"] * 2, [[guess], [guess, *LIST]])
    [asked] = reranker.rerank(["palatoschissis"], [[guess._replace(tier="hybrid")]])[0]
    assert alone.score == pytest.approx(asked.score, abs=1e-5)
    assert alone.tier == "spelling" and alone.score != guess.score
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)


def test_a_name_less_sure_than_the_t5_wants_is_asked_about(folder, kb, tmp_path):
    strict = shutil.copytree(folder, tmp_path / "strict")
    write_about(strict, NAME, {**QUESTIONS, "threshold": 0.95})
    found = make_t5_reranker(path=str(strict), dtype="float32")(kb)
    assert found.in_doubt([candidate("T:0012", "Cleft palate", CONFIRMED, tier="spelling"), *LIST])
    assert not found.in_doubt([candidate("T:0012", "Cleft palate", 0.99, tier="exact"), *LIST])


def test_no_lead_of_the_first_is_an_answer(reranker):
    far_ahead = [candidate("T:0003", "Seizure", 0.97), *LIST[1:]]
    assert reranker.in_doubt(far_ahead)


def test_a_folder_of_before_with_a_margin_is_asked_all_the_same(folder, kb, tmp_path):
    old = shutil.copytree(folder, tmp_path / "old")
    write_about(old, NAME, {**QUESTIONS, "margin": 0.05})
    assert make_t5_reranker(path=str(old), dtype="float32")(kb).in_doubt(LIST)


def test_empty_calls(reranker):
    assert reranker.rerank([], []) == []
    assert reranker.rerank(["fit"], [[]]) == [[]]


def test_it_opens_by_folder_and_a_plain_t5_is_asked_the_shipped_questions(folder, kb, tmp_path):
    assert open_reranker(folder, kb).questions.templates == tuple(QUESTIONS["templates"])
    assert make_reranker(str(folder), kb).questions.yes == "yes"
    plain = tmp_path / "plain"
    build_small_t5(
        plain, [["fit"]], ["是", "否"], SmallT5Settings(tokens="characters", width=8, heads=2)
    )
    reranker = make_t5_reranker(path=str(plain), language="zh", dtype="float32")(kb)
    assert (reranker.questions.yes, reranker.questions.no) == ("是", "否")
    assert len(reranker.rerank(["fit"], [LIST])[0]) == 3


def test_folders_of_another_form_are_refused(folder, kb, tmp_path):
    with pytest.raises(TermlinkError, match="TL622"):
        make_t5_reranker()(kb)
    other = tmp_path / "other"
    other.mkdir()
    write_about(other, "spacy-termlink.CrossEncoder.v1", {})
    with pytest.raises(TermlinkError, match="TL621"):
        make_t5_reranker(path=str(other))(kb)
    about = json.loads((folder / "reranker.json").read_text())
    del about["yes"]
    (other / "reranker.json").write_text(json.dumps({**about, "reranker": NAME}))
    with pytest.raises(TermlinkError, match="TL621.*'yes'"):
        make_t5_reranker(path=str(other))(kb)
