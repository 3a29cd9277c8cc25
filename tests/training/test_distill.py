"""Distillation: what is learnt from, token vectors that are fitted, layers that are kept."""

import json

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from spacy_termlink.encoders import load_encoder
from spacy_termlink.encoders.static import StaticEncoder
from spacy_termlink.encoders.weights import load_weights
from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Concept, Name
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.terminology.store import Terminology
from spacy_termlink.training import static_fit
from spacy_termlink.training.distill import distill_layers, distill_static, kept_layers
from spacy_termlink.training.distill_texts import read_texts
from spacy_termlink.training.static_fit import add_words, fit_vectors, start_vectors


@pytest.fixture
def terminology(tmp_path):
    concepts = [
        Concept("T:1", "Anaemia", [Name("Neoplasms, Lung", "exact")], definition="Too few cells."),
        Concept("T:2", "Fever", [Name("anaemia", "exact"), Name("lung", "exact")]),
        Concept("T:3", "Gone", obsolete=True, definition="Of old."),
    ]
    meta = {"source": "t", "release": "1", "licence": "CC0-1.0", "shareable": True}
    build_terminology(concepts, tmp_path / "t", meta=meta)
    return Terminology.open(tmp_path / "t")


def test_texts_are_normal_forms_altered_names_and_definitions(terminology):
    texts = read_texts([terminology])
    assert len(texts) == len(set(texts))
    assert {"anemia", "fever", "lung neoplasms", "too few cells"} <= set(texts)
    assert "" not in texts
    assert "of old" not in texts
    assert "too few cells" not in read_texts([terminology], definitions=False)


def test_held_out_texts_are_left_out(terminology, tmp_path):
    held = tmp_path / "heldout.jsonl"
    held.write_text('{"concept_id": "T:1", "text": "FEVER"}\n')
    assert set(read_texts([terminology])) - set(read_texts([terminology], without=held)) == {
        "fever"
    }


def test_texts_are_drawn_where_there_are_too_many(terminology):
    everything = read_texts([terminology])
    drawn = read_texts([terminology], max_texts=2)
    assert len(drawn) == 2 and drawn == [text for text in everything if text in drawn]
    assert drawn == read_texts([terminology], max_texts=2)


def test_nothing_to_learn_from(terminology, tmp_path):
    held = tmp_path / "heldout.jsonl"
    texts = read_texts([terminology])
    held.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with pytest.raises(TermlinkError, match="TL431"):
        read_texts([terminology], without=held)
    held.write_text('{"text": 1}\n')
    with pytest.raises(TermlinkError, match="TL220"):
        read_texts([terminology], without=held)


def make_tokenizer():
    words = ["[UNK]", "renal", "cyst", "re", "##nal", "##x"]
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def test_frequent_words_become_tokens():
    texts = ["Renalx cyst", "renalx", "renalnal", "renalx renalnal"]
    tokenizer = add_words(make_tokenizer(), texts, least=3)
    assert tokenizer.encode("renalx").tokens == ["renalx"]
    # twice only
    assert tokenizer.encode("renalnal").tokens == ["renal", "##nal"]
    assert tokenizer.get_vocab_size() == 7
    assert tokenizer.token_to_id("cyst") == 2


def test_other_tokenizers_stay_as_they_are():
    tokenizer = Tokenizer(models.BPE())
    assert add_words(tokenizer, ["renal"] * 9) is tokenizer


def test_vectors_start_from_the_tokens_alone_shortened_where_frequent():
    seen = []

    def encode(texts):
        seen.extend(texts)
        return np.ones((len(texts), 2), dtype=np.float32)

    counts = np.array([0, 999, 1, 0, 0, 0])
    vectors = start_vectors(make_tokenizer(), counts, encode)
    assert seen == ["[UNK]", "renal", "cyst", "re", "nal", "x"]
    np.testing.assert_allclose(vectors[[0, 1, 2], 0], [1, 1e-3 / 1.0, 0.5], rtol=1e-4)


def loss_of(vectors, ids, targets):
    """The loss by its definition, text by text, in double precision."""
    sums = np.array([vectors[text].sum(axis=0) for text in ids])
    unit = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    total = 0.0
    for row, target in zip(unit, targets, strict=True):
        total += 1 - row @ target
        wanted = np.exp(targets @ target / static_fit.TEMPERATURE)
        found = np.exp(targets @ row / static_fit.TEMPERATURE)
        wanted, found = wanted / wanted.sum(), found / found.sum()
        total += static_fit.RELATIONS * float((wanted * np.log(wanted / found)).sum())
    return total / len(ids)


def test_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(5, 3))
    ids = [[0, 1, 1], [3], [1, 4]]
    targets = rng.normal(size=(3, 3))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    rows, gradient, cosine = static_fit._gradient(vectors, ids, targets)
    assert rows.tolist() == [0, 1, 3, 4]
    for i, row in enumerate(rows):
        for column in range(3):
            step = np.zeros_like(vectors)
            step[row, column] = 1e-6
            up, down = (loss_of(vectors + s * step, ids, targets) for s in (1, -1))
            assert gradient[i, column] == pytest.approx((up - down) / 2e-6, rel=1e-3, abs=1e-5)
    sums = np.array([vectors[text].sum(axis=0) for text in ids])
    unit = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    assert cosine == pytest.approx(float((unit * targets).sum(axis=1).mean()), abs=1e-6)


def test_vectors_are_recovered_from_the_embeddings_of_texts():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(30, 8)).astype(np.float32)
    ids = [rng.choice(30, size=3, replace=False).tolist() for _ in range(1500)]
    targets = np.array([truth[text].sum(axis=0) for text in ids])
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    start = rng.normal(size=(30, 8)).astype(np.float32)
    fitted = fit_vectors(start, ids, targets, epochs=300)
    sums = np.array([fitted[text].sum(axis=0) for text in ids])
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    assert (sums * targets).sum(axis=1).mean() > 0.98
    np.testing.assert_array_equal(fitted, fit_vectors(start, ids, targets, epochs=300))


def test_rows_that_no_text_uses_stay():
    start = np.eye(4, 3, dtype=np.float32) + 0.1
    targets = np.array([[0, 0, 1.0]], dtype=np.float32)
    fitted = fit_vectors(start, [[0, 2]], targets, epochs=2)
    np.testing.assert_array_equal(fitted[[1, 3]], start[[1, 3]])
    assert (fitted[[0, 2]] != start[[0, 2]]).any()


@pytest.mark.parametrize(
    ("n_all", "n_kept", "expected"), [(6, 3, [0, 2, 5]), (6, 2, [0, 5]), (12, 1, [0]), (2, 1, [0])]
)
def test_layers_are_kept_evenly(n_all, n_kept, expected):
    assert kept_layers(n_all, n_kept) == expected


def test_static_encoder_of_a_transformer(tiny_encoder, tmp_path):
    texts = ["heart attack", "seizure", "short stature", "cleft palate"] * 3
    cards, done = [], []
    run = {"seed": 0, "add_card": lambda folder, figures: cards.append(figures)}
    teacher = load_encoder(tiny_encoder, dtype="float32")
    figures = distill_static(
        teacher, texts, tmp_path / "small", epochs=150, report=lambda n, _: done.append(n), **run
    )
    small = load_encoder(tmp_path / "small")
    assert isinstance(small, StaticEncoder) and small.width == teacher.width
    cosines = (small.encode(texts) * teacher.encode(texts)).sum(axis=1)
    assert cosines.mean() > 0.95
    assert figures["cosine_to_teacher"] == pytest.approx(cosines.mean(), abs=0.02)
    assert cards == [figures] and sum(done) == 151 * len(texts)
    distill_static(teacher, texts, tmp_path / "same", epochs=150, report=lambda *_: None, **run)
    assert load_encoder(tmp_path / "same").fingerprint == small.fingerprint


def test_a_teacher_that_lowers_its_texts(make_bert, tmp_path):
    """Its tokenizer may be a cased one: what lower-cases stands in its settings."""
    folder = make_bert(tmp_path / "cased")
    layout = json.loads((folder / "tokenizer.json").read_text())
    layout["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(layout))
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    run = {"epochs": 1, "seed": 0, "add_card": lambda *_: None, "report": lambda *_: None}
    distill_static(load_encoder(folder), ["seizure"] * 3, tmp_path / "small", **run)
    small = load_encoder(tmp_path / "small")
    np.testing.assert_array_equal(*small.encode(["Seizure", "seizure"]))


def test_encoder_of_fewer_layers(make_bert, tmp_path):
    folder = make_bert(tmp_path / "large", layers=4)
    teacher = load_encoder(folder, dtype="float32")
    texts = ["heart attack", "seizure", "short stature", "cleft palate"] * 40
    run = {"n_layers": 2, "seed": 0, "add_card": lambda *_: None, "report": lambda *_: None}
    distill_layers(teacher, texts, tmp_path / "before", steps=1, **run)
    figures = distill_layers(teacher, texts, tmp_path / "small", steps=60, **run)
    small = load_encoder(tmp_path / "small", dtype="float32")
    assert json.loads((tmp_path / "small" / "config.json").read_text())["num_hidden_layers"] == 2

    def likeness(encoder):
        return float((encoder.encode(texts) * teacher.encode(texts)).sum(axis=1).mean())

    before = load_encoder(tmp_path / "before", dtype="float32")
    assert likeness(small) > likeness(before)
    assert figures["cosine_to_teacher"] == pytest.approx(likeness(small), abs=0.05)
    assert small.settings == teacher.settings
    # the layers kept are the first and the last: one step has hardly moved them
    old, new = load_weights(folder), load_weights(tmp_path / "before")
    for kept, of in ((0, 0), (1, 3)):
        name = "encoder.layer.{}.attention.self.query.weight"
        np.testing.assert_allclose(new[name.format(kept)], old[name.format(of)], atol=1e-3)
    assert not any("layer.2." in key for key in new)


def test_too_many_layers(tiny_encoder, tmp_path):
    run = {"steps": 1, "seed": 0, "add_card": lambda *_: None, "report": lambda *_: None}
    with pytest.raises(TermlinkError, match="TL432"):
        distill_layers(load_encoder(tiny_encoder), ["a"], tmp_path / "x", n_layers=2, **run)
    assert not (tmp_path / "x").exists()
