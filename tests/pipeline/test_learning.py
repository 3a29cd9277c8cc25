"""`term_linker` learns: gradients, hard names, and links with the weights of the moment."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.training import Example
from thinc.api import Adam

from spacy_termlink.candidates.fit import fit_threshold
from spacy_termlink.candidates.forms import generate_forms
from spacy_termlink.errors import TermlinkError
from spacy_termlink.kb import TermKB

#: Paraphrases that share no word with the names; the NIL span and the foreign id teach nothing.
GOLD = [
    ("A convulsive attack today.", [(2, 19, "FINDING", "X:0003")]),
    (
        "Cranial pain and burning skin (BS).",
        [(0, 12, "FINDING", "X:4"), (17, 29, "FINDING", "X:7")],
    ),
    ("BS means burning skin (BS).", [(9, 21, "FINDING", "X:7"), (23, 25, "FINDING", "X:7")]),
    ("Something else: Q99, nothing.", [(0, 9, "FINDING", "NIL"), (16, 19, "FINDING", "Q:99")]),
    ("No entity.", []),
]
NAMES = {
    "seizure", "epileptic fit", "fits", "headache", "fever", "pyrexia", "high temperature",
    "fever remedy", "abnormality", "abnormality of the nervous system", "abnormality of the heart",
    "atrial septal defect", "hole in the heart", "autism spectrum disorder",
}  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread():
    import torch

    torch.set_num_threads(1)


def make_examples(nlp, gold=GOLD, spans_key=None):
    examples = []
    for text, spans in gold:
        doc = nlp.make_doc(text)
        found = [doc.char_span(s, e, label=label, kb_id=kb_id) for s, e, label, kb_id in spans]
        if spans_key is None:
            doc.ents = found
        else:
            doc.spans[spans_key] = found
        examples.append(Example(nlp.make_doc(text), doc))
    return examples


@pytest.fixture
def make_learner(kb_path):
    """A pipeline of one linker, its examples, and the linker; without a threshold."""

    def make(kb=kb_path, name="term_linker", gold=GOLD, *, learning=None, **config):
        nlp = spacy.blank("en")
        config = {"kb": str(kb), "threshold": 0.0, "learning": learning or {}, **config}
        linker = nlp.add_pipe("term_linker", name=name, config=config)
        return nlp, make_examples(nlp, gold, config.get("spans_key")), linker

    return make


def teach(nlp, examples, steps, *, rate=3e-3, **settings):
    sgd = Adam(rate, **{"use_averages": False, "grad_clip": 1.0, **settings})
    losses = []
    for _ in range(steps):
        losses.append(nlp.update(examples, sgd=sgd))
    return losses, sgd


def links(linker, examples):
    """What it says of the gold spans."""
    docs = []
    for eg in examples:
        doc = eg.predicted.copy()
        doc.set_ents([doc.char_span(s.start_char, s.end_char, s.label_) for s in eg.reference.ents])
        docs.append(linker(doc))
    return [ent._.term_links[linker.name] for doc in docs for ent in doc.ents]


def fingerprint(linker):
    return linker.kb.fingerprint


def test_learning_changes_the_links_and_the_saved_pipeline_gives_the_same(
    make_learner, kb_path, tmp_path
):
    nlp, examples, linker = make_learner()
    with pytest.warns(UserWarning, match=r"1 of 7 gold links.*'Q:99'"):
        nlp.initialize(lambda: examples)
    before, start = links(linker, examples), fingerprint(linker)
    losses, _ = teach(nlp, examples, 40)
    assert losses[-1]["term_linker"] < losses[0]["term_linker"] / 3
    after = links(linker, examples)
    assert [link["kb_id"] for link in after[:5]] == ["X:3", "X:4", "X:7", "X:7", "X:7"]
    assert after != before
    # the vectors of the KB are those of the trained encoder, which its index fits
    assert fingerprint(linker) == linker.kb.encoder.fingerprint != start
    assert TermKB.open(kb_path).fingerprint == start, "the KB it started from is left alone"
    row = linker.kb.names.row_of(linker.kb.terminology, "seizure")
    vector = linker.model.predict(["seizure"])
    assert np.allclose(linker.kb.index.vectors(np.array([row])), vector, atol=1e-5)
    assert nlp.evaluate(examples)["nel_micro_r"] == pytest.approx(5 / 6)  # Q:99 cannot be found

    nlp.to_disk(tmp_path / "out")
    loaded = spacy.load(tmp_path / "out").get_pipe("term_linker")
    loaded.kb.verify()
    assert loaded.kb.path == tmp_path / "out" / "term_linker" / "kb"
    assert links(loaded, examples) == after
    other = spacy.blank("en").add_pipe("term_linker", config={"threshold": 0.0})
    assert links(other.from_bytes(linker.to_bytes()), examples) == after
    copy = pickle.loads(pickle.dumps(linker))
    assert links(copy, examples) == after

    # a KB whose encoder is not the one of its vectors is refused by name
    broken = tmp_path / "out" / "term_linker" / "kb"
    weights = (kb_path / "encoder" / "model.safetensors").read_bytes()
    (broken / "encoder" / "model.safetensors").write_bytes(weights)
    with pytest.raises(TermlinkError, match="TL506"):
        TermKB.open(broken).encoder  # noqa: B018


def test_a_saved_pipeline_goes_on_learning(make_learner, tmp_path):
    nlp, examples, _ = make_learner()
    losses, _ = teach(nlp, examples, 15)
    nlp.to_disk(tmp_path / "out")
    source = spacy.load(tmp_path / "out")
    resumed = spacy.blank("en")
    linker = resumed.add_pipe("term_linker", source=source)
    sgd = resumed.resume_training()
    sgd.learn_rate = 1e-4
    more = resumed.update(examples, sgd=sgd)
    assert more["term_linker"] < losses[0]["term_linker"] / 2
    assert linker.gold_counts.used == 5
    assert linker.gold_counts.nil == linker.gold_counts.unknown == 1
    # saved over itself: the KB it maps is replaced
    source.get_pipe("term_linker").update(examples, sgd=sgd)
    source.to_disk(tmp_path / "out")
    changed = fingerprint(source.get_pipe("term_linker"))
    assert fingerprint(spacy.load(tmp_path / "out").get_pipe("term_linker")) == changed


def test_the_gradient_is_that_of_termlink_train(make_learner, tiny_encoder):
    """The same texts and masks through training's own loop."""
    import torch

    from spacy_termlink.training.gradients import add_gradients
    from spacy_termlink.training.model import TrainableEncoder
    from spacy_termlink.training.settings import ModelSettings
    from spacy_termlink.training.world import World

    _, examples, linker = make_learner(learning={"synonyms": 0})
    linker.initialize(lambda: examples[:3])
    linker.training_texts(examples)
    learner, shim = linker._learner, linker.model.shims[0]
    batch = linker._make_batch(examples, linker.gold_counts)
    [(weight, masks, rows)] = batch.parts
    assert weight == 1.0
    assert rows.tolist() == list(range(len(batch.texts)))

    model = TrainableEncoder(
        tiny_encoder, ModelSettings(str(tiny_encoder)), device=torch.device("cpu"), precision="auto"
    )
    ids = [model.token_ids(text) for text in batch.texts]
    loss = add_gradients(
        model, masks, ids, learner.batches.loss, normalize=True, world=World("cpu")
    )
    assert linker.update(examples)["term_linker"] == pytest.approx(loss, rel=1e-5)
    ours = {name: p.grad for name, p in shim._model.named_parameters() if p.grad is not None}
    assert ours
    for name, gradient in ours.items():
        expected = model.parameters[name.replace("/", ".")].grad
        assert torch.allclose(gradient, expected, rtol=1e-3, atol=1e-5), name


def test_get_loss_agrees_with_finite_differences(make_learner):
    _, examples, linker = make_learner(learning={"temperature": 0.5})
    linker.initialize(lambda: examples[:3])
    texts = linker.training_texts(examples)
    assert len(set(texts)) == len(texts)
    assert set(texts) <= NAMES | {"convulsive attack", "cranial pain", "burning skin"}
    embeddings = linker.model.predict(texts)
    loss, gradient = linker.get_loss(examples, embeddings)
    assert gradient.shape == embeddings.shape
    rng = np.random.default_rng(0)
    for _ in range(5):
        direction = rng.normal(size=embeddings.shape).astype(np.float32)
        step = 1e-2
        up, _ = linker.get_loss(examples, embeddings + step * direction)
        down, _ = linker.get_loss(examples, embeddings - step * direction)
        assert (up - down) / (2 * step) == pytest.approx(float((gradient * direction).sum()), rel=0.03, abs=2e-3)  # fmt: skip
    assert loss > 0
    with pytest.raises(TermlinkError, match=f"TL721.*{len(texts) - 1} embeddings.*{len(texts)}"):
        linker.get_loss(examples, embeddings[1:])


def test_an_abbreviation_learns_as_its_long_form(make_learner):
    gold = [("BS means burning skin (BS).", [(23, 25, "FINDING", "X:7")])]
    _, examples, linker = make_learner(gold=gold)
    assert "burning skin" in linker.training_texts(examples)
    assert "bs" not in linker.training_texts(examples)
    _, examples, linker = make_learner(gold=gold, resolve_abbreviations=False)
    assert "bs" in linker.training_texts(examples)
    # a component of the pipeline has looked, and found another
    _, examples, linker = make_learner(gold=gold)
    examples[0].predicted._.term_abbreviations = [["BS", "blazing skin", 23, 25, 9, 21]]
    assert "blazing skin" in linker.training_texts(examples)


def test_what_cannot_be_learned_is_counted(make_learner):
    gold = [
        ("Burning skin, burning skin.", [(0, 12, "FINDING", "X:7"), (14, 26, "DRUG", "X:7")]),
        ("Burning skin, nobody looked.", [(0, 12, "FINDING", "")]),
        GOLD[3],
    ]
    nlp, examples, linker = make_learner(gold=gold, label_types={"DRUG": ["drug"]})
    nlp.update(examples, sgd=Adam(1e-3))
    counts = linker.gold_counts
    assert (counts.used, counts.nil, counts.unknown, counts.barred) == (1, 1, 1, 1)
    assert counts.examples_of_unknown == ["Q:99"]
    assert linker.labels == ("DRUG",)


def test_where_nothing_is_to_be_learned_nothing_moves(make_learner):
    nlp, examples, linker = make_learner()
    with pytest.warns(UserWarning) as caught:
        linker.initialize(lambda: examples[3:])
    assert "no gold link to learn from" in str(caught[-1].message)
    _, sgd = teach(nlp, examples, 2)
    before = linker.model.shims[0].digest()
    losses = nlp.update(examples[3:], sgd=sgd, losses={"ner": 1.0})
    assert losses == {"ner": 1.0, "term_linker": 0.0}
    assert linker.model.shims[0].digest() == before
    assert nlp.update([], sgd=sgd) == {}
    with pytest.raises(TypeError, match="E978"):
        linker.update([nlp("fever")])
    with pytest.raises(TypeError, match="E930"):
        linker.initialize(examples)


def test_averaged_weights_link_inside_use_params_only(make_learner):
    nlp, examples, linker = make_learner()
    _, sgd = teach(nlp, examples, 6, use_averages=True)
    own = fingerprint(linker)
    with nlp.use_params(sgd.averages):
        averaged = fingerprint(linker)
        assert fingerprint(linker) == averaged
    assert averaged != own
    assert fingerprint(linker) == own


def test_the_kb_is_built_again_only_when_something_links(make_learner):
    nlp, examples, linker = make_learner(learning={"refresh_every": 0})
    nlp.initialize(lambda: examples[:3])
    start = linker._kb.path
    _, sgd = teach(nlp, examples, 3)
    assert linker._kb.path == start
    built = linker.kb.path
    assert built != start
    assert linker.kb.path == built
    nlp.update(examples, sgd=sgd)
    assert linker.kb.path != built
    assert not built.exists(), "a temporary KB goes when it is replaced"

    nlp, examples, linker = make_learner(learning={"refresh_every": 2})
    start = linker.kb.path
    teach(nlp, examples, 2)
    assert linker._kb.path == start
    teach(nlp, examples, 1)
    assert linker._kb.path != start, "two updates, and the third searches anew"


def test_a_seed_gives_the_same_weights(make_learner):
    digests = []
    for seed in (0, 0, 1):
        nlp, examples, linker = make_learner(learning={"seed": seed})
        teach(nlp, examples, 3)
        digests.append(linker.model.shims[0].digest())
    assert digests[0] == digests[1] != digests[2]


def test_two_linkers_learn_from_the_ids_of_their_own_kb(make_learner, other_kb_path):
    gold = [
        *GOLD[:2],
        ("Burning skin again.", [(0, 12, "FINDING", "B50")]),
    ]
    nlp, examples, linker = make_learner(gold=gold)
    config = {"kb": str(other_kb_path), "threshold": 0.0, "overwrite": False}
    icd = nlp.add_pipe("term_linker", name="icd", config=config)
    losses, _ = teach(nlp, examples, 2)
    assert set(losses[0]) == {"term_linker", "icd"}
    assert (linker.gold_counts.used, linker.gold_counts.unknown) == (6, 2)
    assert (icd.gold_counts.used, icd.gold_counts.unknown) == (2, 6)
    assert fingerprint(linker) != fingerprint(icd)


def test_span_groups_teach_too(make_learner):
    _, examples, linker = make_learner(spans_key="sc")
    assert "cranial pain" in linker.training_texts(examples)
    for eg in examples:
        del eg.reference.spans["sc"]
    assert linker.training_texts(examples) == []


def test_a_kb_that_could_not_be_saved_is_refused_before_the_work(make_learner, restricted_kb_path):
    nlp, examples, _ = make_learner(save_kb="path")
    with pytest.raises(TermlinkError, match="TL722"):
        nlp.update(examples, sgd=Adam(1e-3))
    nlp, examples, _ = make_learner(kb=restricted_kb_path)
    with pytest.raises(TermlinkError, match="TL702"):
        nlp.update(examples, sgd=Adam(1e-3))


def test_a_new_kb_ends_what_was_learned(make_learner, other_kb_path, kb_path):
    nlp, examples, linker = make_learner()
    teach(nlp, examples, 2)
    linker.set_kb(kb_path)
    assert linker.kb.path == Path(kb_path)
    assert linker.gold_counts.used == 0
    assert not linker.model.shims[0].is_open


@pytest.mark.parametrize(
    ("setting", "value"),
    [("hard_negatives", -1), ("positives", 0), ("synonyms", "much"), ("temperature", 0),
     ("refresh_every", 1.5), ("index", 3), ("seed", True), ("rate", 1)],
)  # fmt: skip
def test_settings_are_checked(make_learner, setting, value):
    with pytest.raises(TermlinkError, match=f"TL704.*learning.{setting}"):
        make_learner(learning={setting: value})


@pytest.mark.parametrize("concept_id, counted", [("X:7", {"fever": 3}), ("X:4", {})])
def test_gold_mentions_of_a_name_are_counted(make_learner, concept_id, counted):
    """ "fever" is a name of X:7; meant as X:4 it is no name, and nothing counts."""
    nlp, examples, linker = make_learner(gold=[("A fever.", [(2, 7, "FINDING", concept_id)])])
    nlp.initialize(lambda: examples)
    assert linker.kb.mention_counts is None
    teach(nlp, examples, 3)
    kb = linker.open_kb()
    assert linker.gold_counts.mentions == {(concept_id, "fever"): 3}
    found = {kb.terminology.name_text(i): n for i, n in enumerate(kb.mention_counts) if n}
    assert found == counted


def test_the_threshold_is_the_best_one_for_the_gold_mentions(make_learner, monkeypatch):
    """Fitted on what was learned from, its NIL mentions included; of too few it stays that of names."""
    thresholds = []
    for least in (100, 3):
        monkeypatch.setattr("spacy_termlink.pipeline.learning.LEAST_MENTIONS", least)
        nlp, examples, linker = make_learner(threshold=None)
        with pytest.warns(UserWarning, match="1 of 7 gold links"):
            nlp.initialize(lambda examples=examples: examples)
        teach(nlp, examples, 3)
        kb = linker.open_kb()
        thresholds.append(kb.threshold)
        assert TermKB.open(kb.path).threshold == kb.threshold
    golds = linker.gold_counts.golds
    assert golds["FINDING", ("Something",)] == {"NIL": 3}
    forms = [form for _, form in golds]
    found = generate_forms(kb.generator(), forms, k=1)
    scores = np.array([candidates[0].score for candidates in found])
    gold = [next(iter(ids)) for ids in golds.values()]
    right = np.array([c[0].concept_id == id for c, id in zip(found, gold, strict=True)])
    nil = np.array([id == "NIL" for id in gold])
    counts = np.array([sum(ids.values()) for ids in golds.values()])
    present, absent = (np.repeat(scores[part], counts[part]) for part in (~nil, nil))
    best = fit_threshold(present, np.repeat(right[~nil], counts[~nil]), absent)
    assert thresholds[1] == best != thresholds[0]
