"""A linker on the transformer of its pipeline: one forward pass, trained together, names follow."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.cli.init_config import fill_config
from spacy.tokens import DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_loop
from spacy.util import fix_random_seed
from thinc.api import Adam, reduce_mean

from spacy_termlink.errors import TermlinkError
from spacy_termlink.pipeline.transformer_listener import read_digest

#: Paraphrases that share no word with the names.
GOLD = [
    ("A convulsive attack today.", [(2, 19, "FINDING", "X:0003")]),
    ("Cranial pain and burning skin.", [(0, 12, "FINDING", "X:4"), (17, 29, "FINDING", "X:6")]),
    ("Burning skin again.", [(0, 12, "FINDING", "X:6")]),
    ("Something else: Q99, nothing.", [(0, 9, "FINDING", "NIL"), (16, 19, "FINDING", "Q:99")]),
    ("No entity.", []),
]
PARAPHRASES = ["convulsive attack", "Cranial pain", "burning skin"]


@pytest.fixture(autouse=True)
def one_thread():
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory, make_bert):
    """The weights that the KBs' encoder has, without dropout."""
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return make_bert(tmp_path_factory.mktemp("transformer") / "bert", **none)


def make_nlp(encoder, kb, *, ner=False, **config):
    """A transformer of random weights, a recogniser, and a linker that listens."""
    fix_random_seed(0)
    nlp = spacy.blank("en")
    model = {
        "@architectures": "spacy-transformers.TransformerModel.v3",
        "name": str(encoder),
        "tokenizer_config": {"use_fast": True, "model_max_length": 64},
        "get_spans": {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 12, "stride": 10},
    }  # fmt: skip
    nlp.add_pipe("transformer", config={"model": model})
    pooling = {"@layers": "reduce_mean.v1"}
    if ner:
        listener = {"@architectures": "spacy-transformers.TransformerListener.v1",
                    "grad_factor": 1.0, "pooling": pooling}  # fmt: skip
        nlp.add_pipe("ner", config={"model": {"tok2vec": listener}}).add_label("FINDING")
    else:
        names = [*PARAPHRASES, "seizure", "fever", "burnt skin", "qqq"]
        ruler = nlp.add_pipe("entity_ruler", config={"phrase_matcher_attr": "LOWER"}, first=True)
        ruler.add_patterns([{"label": "FINDING", "pattern": name} for name in names])
    listener = {"@architectures": "spacy-termlink.TransformerListener.v1", "pooling": pooling}
    nlp.add_pipe(
        "term_linker", config={"kb": str(kb), "threshold": 0.0, "model": listener, **config}
    )
    return nlp


def make_examples(nlp):
    examples = []
    for text, spans in GOLD:
        doc = nlp.make_doc(text)
        doc.ents = [doc.char_span(s, e, label=label, kb_id=kb_id) for s, e, label, kb_id in spans]
        examples.append(Example(nlp.make_doc(text), doc))
    return examples


def initialize(nlp, examples=None):
    ruler = nlp.get_pipe("entity_ruler").patterns if nlp.has_pipe("entity_ruler") else None
    nlp.initialize(lambda: examples or make_examples(nlp))
    if ruler is not None:
        nlp.get_pipe("entity_ruler").add_patterns(ruler)  # initialize forgets them


def train(nlp, examples, n_steps):
    optimizer, losses = Adam(0.003), []
    for _ in range(n_steps):
        found = {}
        nlp.update(examples, sgd=False, losses=found)
        for _, component in nlp.pipeline:
            if hasattr(component, "finish_update"):
                component.finish_update(optimizer)
        losses.append(found)
    return losses


def links(docs):
    return [[(ent.text, ent.kb_id_, ent._.kb_ents) for ent in doc.ents] for doc in docs]


@pytest.fixture
def texts():
    return [text for text, _ in GOLD] + [
        "A seizure, a fever, qqq.",
        "",
        "Burnt skin is burning skin.",
    ]


def test_names_are_encoded_by_the_transformer(encoder, kb_path, texts):
    nlp = make_nlp(encoder, kb_path)
    initialize(nlp)
    linker = nlp.get_pipe("term_linker")
    ((seizure, fever, _),) = [nlp(texts[5]).ents]
    assert (seizure.kb_id_, fever.kb_id_) == ("X:3", "X:7")  # names, whatever the weights
    assert seizure._.term_candidates[0]["tier"] == "exact"
    names = ["fever", "atrial septal defect"]
    vectors, _ = linker.model.shims[0].embed(names)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    kb = linker.kb
    rows = [kb.names.row_of(kb.terminology, name) for name in names]
    assert np.allclose(kb.index.vectors(np.array(rows)), vectors, atol=0.02)  # may be bfloat16


def test_a_mention_is_read_in_its_document(encoder, kb_path, texts):
    """Its score is the cosine of the mean of its tokens' vectors and the name's, with the n-grams."""
    nlp = make_nlp(encoder, kb_path, candidates={"@misc": "spacy-termlink.DenseCandidates.v1"})
    initialize(nlp)
    doc = nlp(GOLD[0][0])
    (ent,) = doc.ents
    linker = nlp.get_pipe("term_linker")
    (tokens,) = linker.model.predict([doc])
    vector = tokens[ent.start : ent.end].mean(axis=0)
    kb = linker.kb
    cosines = kb.index.vectors(np.arange(len(kb.names))) @ (vector / np.linalg.norm(vector))
    assert ent._.kb_ents[0][1] == pytest.approx(float(cosines.max()), abs=1e-5)


def test_one_forward_pass_and_no_encoder_of_its_own(encoder, kb_path, texts, monkeypatch):
    nlp = make_nlp(encoder, kb_path)
    initialize(nlp)
    nlp(texts[0])
    linker, transformer = nlp.get_pipe("term_linker"), nlp.get_pipe("transformer")
    calls = []
    predict = transformer.predict
    monkeypatch.setattr(
        type(transformer), "predict", lambda _, docs: calls.append(1) or predict(docs)
    )
    monkeypatch.setattr(
        type(linker.kb), "encoder", property(lambda _: pytest.fail("encoded again"))
    )
    monkeypatch.setattr(linker.model.shims[0], "embed", lambda _: pytest.fail("encoded again"))
    assert len(links(nlp.pipe(texts, batch_size=100))) == len(texts)
    assert len(calls) == 1


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_batches_do_not_matter(encoder, kb_path, texts, batch_size):
    """The same words in two documents have two vectors; neither sees the other."""
    nlp = make_nlp(encoder, kb_path)
    initialize(nlp)
    alone = links(nlp(text) for text in texts)
    for found, expected in zip(links(nlp.pipe(texts, batch_size=batch_size)), alone, strict=True):
        assert [row[:2] for row in found] == [row[:2] for row in expected]
        for (*_, a), (*_, b) in zip(found, expected, strict=True):
            assert np.allclose([pair[1] for pair in a], [pair[1] for pair in b], atol=1e-4)


def test_it_learns_is_saved_and_loaded(encoder, kb_path, texts, tmp_path):
    nlp = make_nlp(encoder, kb_path)
    examples = make_examples(nlp)
    initialize(nlp, examples)
    linker = nlp.get_pipe("term_linker")
    before = linker.kb.fingerprint
    losses = train(nlp, examples, 40)
    assert losses[-1]["term_linker"] < losses[0]["term_linker"] / 2
    assert linker.gold_counts.used == 4 * 40
    assert linker.kb.fingerprint != before
    learned = links(nlp.pipe(texts))
    assert [row[:2] for doc in learned[:3] for row in doc] == [
        ("convulsive attack", "X:3"), ("Cranial pain", "X:4"), ("burning skin", "X:6"),
        ("Burning skin", "X:6"),
    ]  # fmt: skip
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    assert links(again.pipe(texts)) == learned
    assert again.evaluate(make_examples(again))["nel_micro_r"] > 0.5


def test_gradients_reach_the_transformer_from_both_sides(encoder, kb_path):
    """With grad_factor 0 those of the mentions do not, and those of the names still do."""

    def gradient(grad_factor):
        listener = {"@architectures": "spacy-termlink.TransformerListener.v1",
                    "pooling": {"@layers": "reduce_mean.v1"}, "grad_factor": grad_factor}  # fmt: skip
        nlp = make_nlp(encoder, kb_path, model=listener)
        examples = make_examples(nlp)
        initialize(nlp, examples)
        nlp.update(examples, sgd=False)
        weights = nlp.get_pipe("transformer").model.transformer
        return weights.embeddings.word_embeddings.weight.grad.clone()

    names_only, both = gradient(0.0), gradient(1.0)
    assert names_only.abs().sum() > 0
    assert (both - names_only).abs().sum() > 0


def test_trained_together_with_a_recogniser(encoder, kb_path, tmp_path):
    nlp = make_nlp(encoder, kb_path, ner=True)
    examples = make_examples(nlp)
    initialize(nlp, examples)
    losses = train(nlp, examples, 60)
    assert losses[-1]["ner"] < losses[0]["ner"] / 2
    assert losses[-1]["term_linker"] < losses[0]["term_linker"] / 2
    found = [row[:2] for doc in links(nlp.pipe(text for text, _ in GOLD)) for row in doc]
    assert ("burning skin", "X:6") in found
    nlp.to_disk(tmp_path / "saved")
    assert spacy.load(tmp_path / "saved").pipe_names == ["transformer", "ner", "term_linker"]


def test_a_stale_kb_is_refused_by_name(encoder, kb_path, texts, tmp_path):
    nlp = make_nlp(encoder, kb_path)
    initialize(nlp)
    nlp(texts[0])
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    weights = again.get_pipe("transformer").model.transformer.embeddings.word_embeddings.weight
    weights.data += 0.1
    with pytest.raises(TermlinkError, match="TL731.*'term_linker'"):
        again(texts[0])
    again.get_pipe("term_linker").set_kb(kb_path)  # of an encoder of its own
    with pytest.raises(TermlinkError, match="TL731.*digest none"):
        again(texts[0])


def test_without_a_transformer(encoder, kb_path, texts):
    nlp = make_nlp(encoder, kb_path)
    initialize(nlp)
    nlp(texts[0])
    with nlp.select_pipes(disable="transformer"), pytest.raises(TermlinkError, match="TL732"):
        nlp(texts[0])
    nlp = make_nlp(encoder, kb_path)
    nlp.remove_pipe("transformer")
    with pytest.raises(TermlinkError, match="TL733.*'term_linker'"):
        initialize(nlp)


TRAINING = """
[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = "{data}"

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = "{data}"

[training]
max_steps = 2
eval_frequency = 1

[training.optimizer]
@optimizers = "Adam.v1"
use_averages = true
"""


def test_the_config_of_the_docs_trains(encoder, kb_path, tmp_path):
    """docs/shared-transformer.md, with small weights, through spaCy's own loop."""
    page = (Path(__file__).parents[2] / "docs" / "shared-transformer.md").read_text(encoding="utf8")
    (text,) = re.findall(r"^```ini\n(.*?)^```$", page, re.M | re.S)
    for name, path in (("assets/fetched/minilm", encoder), ("kb/medic", kb_path)):
        assert name in text
        text = text.replace(name, str(path))
    text = text.replace('"model_max_length": 512', '"model_max_length": 64')
    docs = [eg.reference for eg in make_examples(spacy.blank("en"))]
    DocBin(docs=docs).to_disk(tmp_path / "gold.spacy")
    (tmp_path / "config.cfg").write_text(text + TRAINING.format(data=tmp_path / "gold.spacy"))
    _, config = fill_config(tmp_path / "config.cfg", tmp_path / "config.cfg")
    nlp = init_nlp(config)
    (tmp_path / "out").mkdir()
    train_loop(nlp, tmp_path / "out")
    again = spacy.load(tmp_path / "out" / "model-last")
    assert again.meta["performance"]["term_linker_loss"] > 0
    kb = again.get_pipe("term_linker").kb
    kb.verify()
    assert again.get_pipe("term_linker").model.shims[0].digest() == read_digest(kb.path / "encoder")
    list(again.pipe(text for text, _ in GOLD))  # a stale KB would be refused


def test_bytes(encoder, kb_path, texts):
    nlp = make_nlp(encoder, kb_path)
    initialize(nlp)
    expected = links(nlp.pipe(texts))
    again = make_nlp(encoder, kb_path)
    # spaCy's ruler loses patterns with a phrase_matcher_attr on the way
    again.from_bytes(nlp.to_bytes(), exclude=["entity_ruler"])
    assert links(again.pipe(texts)) == expected


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy_transformers.architectures", None)
    build = spacy.registry.architectures.get("spacy-termlink.TransformerListener.v1")
    with pytest.raises(TermlinkError, match=r"TL734.*spacy-termlink\[shared-transformer\]"):
        build(pooling=reduce_mean())
