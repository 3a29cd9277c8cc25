"""The static encoder: a mean of token vectors, in the format of sentence-transformers."""

import json
import shutil

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from spacy_termlink.encoders import load_encoder
from spacy_termlink.encoders.encoder import TransformerEncoder
from spacy_termlink.encoders.static import BLOCK, StaticEncoder, write_static
from spacy_termlink.errors import TermlinkError

WORDS = ["[UNK]", "heart", "attack", "lung", "##s"]
VECTORS = np.array([[0, 0, 5], [3, 0, 0], [0, 4, 0], [1, 1, 0], [0, 0, 0.5]], dtype=np.float32)


def make_tokenizer(max_length=None):
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if max_length:
        tokenizer.enable_truncation(max_length)
    return tokenizer


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "static"
    path.mkdir()
    write_static(path, VECTORS, make_tokenizer(max_length=3))
    return path


def test_embedding_is_the_mean_of_token_vectors_at_length_1(folder):
    encoder = load_encoder(folder)
    assert isinstance(encoder, StaticEncoder)
    assert (encoder.width, encoder.dtype) == (3, "float32")
    found = encoder.encode(["Heart attack", "lungs", "heart heart attack"])
    root = np.sqrt(2.25)  # of lung + ##s
    expected = [[0.6, 0.8, 0], [1 / root, 1 / root, 0.5 / root], [6, 4, 0] / np.sqrt(52)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32


def test_cut_at_the_length_of_the_tokenizer(folder):
    encoder = load_encoder(folder)
    same = encoder.encode(["heart attack lung", "heart attack lung attack attack attack"])
    np.testing.assert_array_equal(same[0], same[1])


@pytest.mark.parametrize("text", ["", "   ", "\ud800", "≠"])
def test_text_without_a_known_token_is_the_unknown_one(folder, text):
    np.testing.assert_array_equal(load_encoder(folder).encode([text]), [[0, 0, 1]])


def test_no_texts(folder):
    assert load_encoder(folder).encode([]).shape == (0, 3)


def test_a_row_depends_on_its_own_text_alone(folder):
    encoder = load_encoder(folder)
    texts = [" ".join(WORDS[1 + i % 3 :][:2]) for i in range(2 * BLOCK + 7)]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_array_equal(together, alone)


def test_progress_counts_every_text(folder):
    done = []
    load_encoder(folder).encode(["heart"] * (BLOCK + 3), progress=done.append)
    assert done == [BLOCK, 3]


def test_saved_and_loaded_again_with_the_same_fingerprint(folder, tmp_path):
    encoder = load_encoder(folder)
    encoder.save(tmp_path / "again")
    again = load_encoder(tmp_path / "again")
    assert again.fingerprint == encoder.fingerprint
    np.testing.assert_array_equal(again.encode(["lungs attack"]), encoder.encode(["lungs attack"]))
    other = tmp_path / "other"
    other.mkdir()
    write_static(other, 2 * VECTORS, make_tokenizer(max_length=3))
    assert load_encoder(other).fingerprint != encoder.fingerprint


def test_sentence_transformers_gives_the_same(folder):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    texts = ["Heart attack", "lungs", "lung heart attack attack", "unknown"]
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    np.testing.assert_allclose(model.encode(texts), load_encoder(folder).encode(texts), atol=1e-6)


def test_a_model_that_sentence_transformers_saved(folder, tmp_path):
    """Its layout is another one: the module in a folder of its own."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    model.save(str(tmp_path / "theirs"))
    texts = ["Heart attack", "lungs"]
    found = load_encoder(tmp_path / "theirs").encode(texts)
    np.testing.assert_allclose(found, load_encoder(folder).encode(texts), atol=1e-6)


def test_a_transformer_is_none(tiny_encoder):
    assert isinstance(load_encoder(tiny_encoder), TransformerEncoder)


def test_pooling(folder):
    encoder = load_encoder(folder)
    assert encoder.with_pooling("mean") is encoder
    with pytest.raises(TermlinkError, match="TL430"):
        encoder.with_pooling("cls")


def test_damaged_folders_are_named(folder, tmp_path):
    def damaged(change):
        path = tmp_path / f"damaged{len(list(tmp_path.iterdir()))}"
        shutil.copytree(folder, path)
        change(path)
        return path

    for change, code in (
        (lambda p: (p / "model.safetensors").unlink(), "TL301"),
        (lambda p: (p / "model.safetensors").write_bytes(b"torn"), "TL303"),
        (lambda p: (p / "tokenizer.json").write_text("{}"), "TL303"),
        (lambda p: (p / "tokenizer.json").unlink(), "TL001"),
        (lambda p: write_static(p, VECTORS[:2], make_tokenizer()), "TL303"),
    ):
        with pytest.raises(TermlinkError) as caught:
            load_encoder(damaged(change))
        assert caught.value.code == code


def test_a_kb_with_a_static_encoder(folder, tiny_terminology, tmp_path):
    from spacy_termlink.candidates import make_generator
    from spacy_termlink.kb import build_kb

    kb = build_kb(tiny_terminology, load_encoder(folder), tmp_path / "kb", progress=False)
    assert isinstance(kb.encoder, StaticEncoder)
    best = make_generator("dense", kb).generate(["heart attacks"], k=1)[0][0]
    assert best.concept_id == "T:0007"
    assert json.loads((kb.path / "meta.json").read_text())["encoder"]["width"] == 3
