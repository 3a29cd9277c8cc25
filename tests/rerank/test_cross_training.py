"""Training of the cross-encoder: its fitted scores, what it learns, what it saves, resuming."""

import json
import math

import numpy as np
import pytest
import torch

from spacy_termlink.errors import TermlinkError
from spacy_termlink.rerank.config import load_rerank_config, resolve_rerank_config
from spacy_termlink.rerank.cross_encoder import CrossEncoder
from spacy_termlink.rerank.cross_training import (
    fit_scores,
    list_loss,
    lists_to_read,
    make_cross_trainer,
)
from spacy_termlink.rerank.lists import ListData, make_list
from spacy_termlink.training.checkpoints import RunFolder
from spacy_termlink.training.world import World
from spacy_termlink.types import Candidate

WORDS = ["seizure", "fever", "cough", "rash", "headache", "pain"]
COLOURS = ["blue", "green", "red", "white", "black", "grey"]


def candidate(i, word, score=0.5):
    return Candidate(f"T:{i}", word, word, "preferred", score, "hybrid")


def made_lists():
    """Mentions that stand for words which they are not like; the scores tell nothing."""
    lists = []
    for i in range(len(WORDS)):
        own = [candidate(j, WORDS[j]) for j in (i, (i + 1) % 6, (i + 2) % 6)]
        for turn in range(3):
            lists.append(make_list(COLOURS[i], own[turn:] + own[:turn], {f"T:{i}"}))
    return lists


@pytest.fixture
def section(tiny_encoder):
    return {
        "kind": "cross-encoder", "batch_size": 6, "max_steps": 6, "checkpoint_every": 3,
        "log_every": 1, "precision": "float32", "device": "cpu",
        "model": {"encoder": str(tiny_encoder), "max_length": 48},
        "optimizer": {"learning_rate": 2e-3, "warmup_steps": 2},
        "data": {"own": {"kb": "kb"}},
    }  # fmt: skip


def make_trainer(section, lists, dev=(), report=None):
    torch.set_num_threads(1)
    config = resolve_rerank_config(section)
    data = ListData(lists, dev, seed=config.run.seed)
    return make_cross_trainer(config, data, world=World("cpu"), report=report)


def hits(values, lists):
    return sum(found.right[int(np.argmax(v))] for v, found in zip(values, lists)) / len(lists)


def test_listwise_loss_by_hand():
    # shares of e^1, e^0 and NIL's e^0
    total = math.e + 2
    assert list_loss(np.array([1.0, 0.0, 0.0]), np.array([True, False, False])) == pytest.approx(
        -math.log(math.e / total)
    )
    two = np.array([True, True, False])
    assert list_loss(np.array([1.0, 0.0, 0.0]), two) == pytest.approx(
        -math.log((math.e + 1) / total)
    )


def test_gradients_are_those_of_the_listwise_loss(section):
    trainer = make_trainer(section, made_lists())
    lists = trainer.data.lists[:4]
    lists[3] = lists[3]._replace(right=(False, False, False))  # NIL
    loss, n_texts = trainer.model.add_gradients(lists, number=0, scale=0.5)
    values = trainer.model.values(lists)
    by_hand = [
        list_loss(np.append(v, 0.0), np.array([*found.right, not any(found.right)]))
        for v, found in zip(values, lists, strict=True)
    ]
    assert loss == pytest.approx(sum(by_hand), rel=1e-5) and n_texts == 12
    # one step along the gradient of half the sum lowers it by about that length squared
    head = trainer.model.parameters["reranker.head"]
    step = 1e-3
    with torch.no_grad():
        head -= step * head.grad
    after, _ = trainer.model.add_gradients(lists, number=0, scale=0.5)
    slope = float((head.grad**2).sum())
    assert slope > 0 and after < loss


def test_fitted_scores_are_the_logistic_ones_of_single_candidates():
    rng = np.random.default_rng(0)
    lists = []
    for score in rng.uniform(0.2, 0.9, 4000).tolist():
        right = rng.uniform() < 1 / (1 + math.exp(-12 * (score - 0.55)))
        lists.append(make_list("a", [candidate(0, "b", score)], {"T:0"} if right else set()))
    weight, nil = fit_scores(lists)
    assert weight == pytest.approx(12, rel=0.1) and nil == pytest.approx(0.55, abs=0.02)


def test_it_learns_to_read_and_saves_what_it_learned(section, tmp_path, kb):
    lists = made_lists()
    trainer = make_trainer({**section, "max_steps": 80}, lists)
    before = hits(trainer.model.values(lists), lists)
    state = trainer.run(tmp_path / "out")
    values = trainer.model.values(lists)
    assert before < 0.7 and hits(values, lists) > 0.9 and state["texts"] == 80 * 6 * 3
    made = CrossEncoder(kb, tmp_path / "out", dtype="float32")
    read = made.read([found.mention for found in lists], [found.candidates for found in lists])
    fitted = made.settings
    for found, z, expected in zip(lists, read, values, strict=True):
        scores = np.array([c.score for c in found.candidates])
        sums = fitted.weight * (scores - fitted.nil) + z
        assert sums == pytest.approx(expected, abs=1e-3)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "cross-encoder" in card and "| steps | 80 |" in card
    about = json.loads((tmp_path / "out" / "training.json").read_text())
    assert about["config"]["max_steps"] == 80 and about["figures"]["step"] == 80


@pytest.mark.parametrize("chosen, helps", [(np.argmax, True), (np.argmin, False)])
def test_what_was_read_counts_as_far_as_it_helps(section, tmp_path, chosen, helps):
    """On the dev lists the candidate is right that reads best, or the one that reads worst."""
    trainer = make_trainer(section, made_lists())
    trainer.model.load({"reranker.head": torch.linspace(-3, 3, 32)})
    values = trainer.model.values(trainer.data.lists)
    rows = [int(chosen(v)) for v in values]
    trainer.data.dev = [
        found._replace(right=tuple(i == row for i in range(3)))
        for found, row in zip(trainer.data.lists, rows, strict=True)
    ]
    trainer.model.save(tmp_path / "out", trainer.data, add=lambda folder: None)
    share = json.loads((tmp_path / "out" / "reranker.json").read_text())["share"]
    assert (share > 0) is helps


def test_lists_are_read_once_and_only_those_in_doubt(section):
    lists = made_lists()[:2]
    sure = [c._replace(tier="exact", score=1.0) if i == 0 else c for i, c in enumerate(lists[0][1])]
    named = make_list("seizure", sure, {"T:0"})
    again = [lists[0]._replace(mention="BLUE", context="so"), lists[0]._replace(context="so")]
    assert lists_to_read([*lists, *again, named, *lists], context=False) == lists
    assert lists_to_read([*lists, *again, named], context=True) == [*lists, again[0]]
    assert make_trainer(section, [*lists, *lists]).data.lists == lists
    with pytest.raises(TermlinkError, match="TL623.*own"):
        make_trainer(section, [named])


class Stop(Exception):
    pass


@pytest.mark.parametrize("stopped", [3, 5])
def test_resumed_run_ends_with_the_same_bits(section, tmp_path, stopped):
    section = {**section, "accumulate": 2, "dev": {"every": 2}}
    lists = made_lists()

    def report(event):
        if event["step"] == stopped:
            raise Stop

    whole = make_trainer(section, lists, lists[::3]).run(tmp_path / "whole")
    with pytest.raises(Stop):
        make_trainer(section, lists, lists[::3], report).run(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    if stopped > 3:
        with pytest.raises(TermlinkError, match="TL418"):
            make_trainer(section, lists, lists[::3]).run(tmp_path / "out")
        with pytest.raises(TermlinkError, match=r"TL419.*records"):
            make_trainer(section, lists[1:], lists[::3]).run(tmp_path / "out", resume=True)
        resumed = make_trainer(section, lists, lists[::3])
        found = resumed.run(tmp_path / "out", resume=True)
        for name in ("best", "best_step", "texts", "first"):
            assert found[name] == whole[name]
        for name in ("model.safetensors", "reranker.json"):
            assert (tmp_path / "out" / name).read_bytes() == (
                tmp_path / "whole" / name
            ).read_bytes()
        assert not RunFolder(tmp_path / "out").path.exists()


def test_frozen_layers_stay(section, tmp_path):
    section["model"]["frozen_layers"] = 1
    trainer = make_trainer(section, made_lists())
    before = {k: v.clone() for k, v in trainer.model._encoder.parameters.items()}
    trainer.run(tmp_path / "out")
    moved = {
        name for name, value in trainer.model._encoder.parameters.items()
        if not torch.equal(value, before[name])
    }  # fmt: skip
    assert moved and all(".layer.1." in name for name in moved)


@pytest.mark.parametrize(
    "change, field",
    [
        ({"kind": "none"}, "reranker.kind"),
        ({"batch_size": 0}, "reranker.batch_size"),
        ({"data": {}}, "reranker.data"),
        ({"data": {"a": {"kb": "x", "k": 0}}}, "reranker.data.a.k"),
        ({"model": {"encoder": "x", "names": "all"}}, "reranker.model.names"),
        ({"what": 1}, "reranker.what"),
    ],
)
def test_settings_that_do_not_fit_are_named(section, change, field):
    with pytest.raises(TermlinkError, match=f"TL411.*{field}"):
        make_trainer({**section, **change}, made_lists())


def test_config_file_and_overrides(section, tmp_path):
    path = tmp_path / "a.cfg"
    path.write_text(
        '[reranker]\nkind = "cross-encoder"\n[reranker.data]\n[reranker.data.a]\nkb = "x"\n'
    )
    assert load_rerank_config(path, {"reranker.max_steps": 7}).run.max_steps == 7
    with pytest.raises(TermlinkError, match=r"TL411.*training\.max_steps"):
        load_rerank_config(path, {"training.max_steps": 7})
    path.write_text("[training]\nmax_steps = 1\n")
    with pytest.raises(TermlinkError, match=r"TL410.*\[reranker\]"):
        load_rerank_config(path)
