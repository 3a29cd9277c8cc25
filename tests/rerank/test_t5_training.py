import json

import pytest
import torch

from spacy_termlink.errors import TermlinkError
from spacy_termlink.registry import misc
from spacy_termlink.rerank.config import resolve_rerank_config
from spacy_termlink.rerank.lists import ListData, MentionList
from spacy_termlink.rerank.t5_model import YesNoModel
from spacy_termlink.rerank.t5_training import make_t5_trainer
from spacy_termlink.training.world import World
from spacy_termlink.types import Candidate

TEMPLATES = ["{mention} = {name}?", "{mention} or {name}?"]
NAMES = {"T:1": ["fit", "seizure"], "T:2": ["fever", "pyrexia"], "T:3": ["rash", "exanthema"],
         "T:4": ["pain", "ache"]}  # fmt: skip
SMALL = {"vocabulary": 80, "width": 16, "heads": 2, "wide": 24, "layers": 1}


@pytest.fixture
def data():
    """Each mention with all concepts, and a mention of nothing."""
    candidates = tuple(
        Candidate(concept, name, name, "preferred", 0.5, "hybrid")
        for concept, (_, name) in NAMES.items()
    )
    lists = [
        MentionList(mention, candidates, tuple(c.concept_id == concept for c in candidates))
        for concept, (mention, _) in NAMES.items()
    ]
    nil = MentionList("hunger", candidates, (False,) * 4)
    return ListData([*lists, nil], lists, seed=0)


def trainer_of(data, *, steps=4, checkpoint_every=0, accumulate=1, dev=0, **model):
    torch.set_num_threads(1)
    section = {
        "kind": "t5", "max_steps": steps, "batch_size": 5, "checkpoint_every": checkpoint_every,
        "accumulate": accumulate, "log_every": 1, "precision": "float32", "device": "cpu",
        "optimizer": {"learning_rate": 1e-2, "warmup_steps": 1}, "dev": {"every": dev},
        "data": {"tiny": {"kb": "none"}},
        "model": {"templates": TEMPLATES, "max_length": 32, "small": SMALL, **model},
    }  # fmt: skip
    return make_t5_trainer(resolve_rerank_config(section), data, world=World("cpu"))


def test_right_and_wrong_ones_of_a_list_count_the_same(data):
    model = trainer_of(data, negatives=2).model
    for number in range(5):
        asked = model._draw(data.lists[0], number)
        assert sum(each.weight for each in asked if each.right) == pytest.approx(0.5)
        assert sum(each.weight for each in asked if not each.right) == pytest.approx(0.5)
        assert len({tuple(each.prompt) for each in asked}) == len(asked) <= 4
    asked = model._draw(data.lists[-1], 0)
    assert [each.right for each in asked] == [False, False]
    prompts = {tuple(a.prompt) for number in range(40) for a in model._draw(data.lists[0], number)}
    assert len(prompts) == 4 * len(TEMPLATES)  # all names, by all templates


def test_training_learns_and_the_folder_reranks(data, tmp_path, kb):
    figures = trainer_of(data, steps=60, dev=30).run(tmp_path / "t5")
    assert figures["best"]["hits@1"] == 1.0 > figures["first"]["hits@1"]
    about = json.loads((tmp_path / "t5" / "reranker.json").read_text())
    assert about["templates"] == TEMPLATES
    assert "t5" in (tmp_path / "t5" / "README.md").read_text()
    reranker = misc.get("spacy-termlink.T5Reranker.v1")(path=str(tmp_path / "t5"), dtype="float32")(
        kb
    )
    mentions = [mention for mention, _ in NAMES.values()]
    lists = [data.lists[0].candidates] * 4
    found = reranker.rerank(mentions, lists)
    assert [candidates[0].concept_id for candidates in found] == list(NAMES)
    for candidates in found:
        assert candidates[0].score > 0.5 > candidates[1].score
        assert {c.concept_id for c in candidates} == set(NAMES)


@pytest.mark.parametrize("fgm", [0.0, 0.5])
def test_a_resumed_run_ends_with_the_same_weights(data, tmp_path, fgm):
    trainer_of(data, fgm=fgm, checkpoint_every=2).run(tmp_path / "whole")
    cut = trainer_of(data, fgm=fgm, checkpoint_every=2)
    step = cut._step

    def stop_after_two(losses):
        if cut.state["step"] == 2:
            raise KeyboardInterrupt
        step(losses)

    cut._step = stop_after_two
    with pytest.raises(KeyboardInterrupt):
        cut.run(tmp_path / "cut")
    trainer_of(data, fgm=fgm, checkpoint_every=2).run(tmp_path / "cut", resume=True)
    wanted, found = ((tmp_path / n / "model.safetensors").read_bytes() for n in ("whole", "cut"))
    assert found == wanted


def test_fgm_adds_the_gradient_at_the_moved_table(data):
    """The trainer's gradients against two plain passes written out."""
    trainer = trainer_of(data, fgm=0.7)
    trainer._gradients(0)
    found = {name: p.grad.clone() for name, p in trainer.model.parameters.items()}
    plain = trainer_of(data)
    plain._gradients(0)
    table = plain.model.model.table
    before, clean = table.detach().clone(), table.grad.clone()
    assert torch.equal(trainer.model.model.table, before)
    with torch.no_grad():
        table.add_(0.7 * clean / clean.norm())
    table.grad = None
    plain._gradients(0)  # the others' second gradient comes on top of the first one
    wanted = {name: p.grad for name, p in plain.model.parameters.items()}
    wanted["shared.weight"] = wanted["shared.weight"] + clean
    for name, gradient in wanted.items():
        assert torch.allclose(gradient, found[name], atol=1e-6), name
    assert not torch.allclose(found["shared.weight"], 2 * clean, rtol=1e-3)


def test_with_accumulated_batches_the_step_is_along_each_batchs_own_gradient(data):
    both = trainer_of(data, fgm=0.7, accumulate=2)
    both._gradients(0)
    both._gradients(1)
    parts = []
    for number in (0, 1):
        one = trainer_of(data, fgm=0.7, accumulate=2)
        one._gradients(number)
        parts.append(one.model.model.table.grad)
    assert torch.allclose(both.model.model.table.grad, parts[0] + parts[1], atol=1e-6)


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ({"templates": ["{mention}"]}, "TL635"),
        ({"max_length": 8}, "TL636"),
        ({"yes": "no"}, "TL638"),
        ({"t5": "no/such-model"}, "TL300"),
        ({"negatives": 0}, "TL411"),
        ({"templates": "one"}, "TL411"),
        ({"small": {"width": 30, "heads": 4}}, "TL411"),
        ({"language": "de"}, "TL411"),
    ],
)
def test_settings_that_do_not_fit_are_refused(data, model, code):
    with pytest.raises(TermlinkError, match=code):
        trainer_of(data, **model)


def test_the_saved_folder_is_one_of_transformers(data, tmp_path):
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    trainer_of(data, steps=1).run(tmp_path / "t5")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "t5")
    module = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "t5").eval()
    ids = tokenizer("fit = seizure?", return_tensors="pt").input_ids
    with torch.no_grad():
        logits = module(input_ids=ids, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        model = YesNoModel(tmp_path / "t5", yes="yes", no="no", dtype="float32")
        found = model.log_probabilities([ids[0].tolist()])[0]
    wanted = torch.log_softmax(logits, -1)[[a[0] for a in model.answers]]
    assert torch.allclose(found, wanted, atol=1e-5)
