import json

import numpy as np
import pytest

from spacy_termlink.encoders import load_encoder
from spacy_termlink.errors import TermlinkError
from spacy_termlink.training.config import resolve_config
from spacy_termlink.training.new_encoder import NewEncoderSettings, build_new_encoder, start_folder

SMALL = {"vocabulary": 100, "width": 16, "heads": 2, "wide": 24, "layers": 1, "max_length": 16}
GROUPS = [["胃切除术", "胃摘除术"], ["肺切除术", "肺摘除术"], ["肺移植"], ["胃CT检查"]]


def test_characters_are_tokens_and_the_folder_loads(tmp_path):
    settings = NewEncoderSettings(tokens="characters", **SMALL)
    build_new_encoder(tmp_path / "zh", GROUPS, settings, seed=0)
    encoder = load_encoder(tmp_path / "zh", dtype="float32")
    assert encoder.width == 16
    encoding = encoder._tokenizer.encode("胃CT切？")
    assert encoding.tokens == ["[CLS]", *"胃ct切", "[UNK]", "[SEP]"]
    embeddings = encoder.encode(["胃切除术", "肺移植", ""])
    assert np.allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-5)
    assert not np.allclose(embeddings[0], embeddings[1], atol=1e-2)
    assert encoder.settings.max_length == 16


def test_it_is_one_of_sentence_transformers(tmp_path):
    from sentence_transformers import SentenceTransformer

    build_new_encoder(
        tmp_path / "zh", GROUPS, NewEncoderSettings(tokens="characters", **SMALL), seed=0
    )
    texts = ["胃切除术", "肺移植"]
    wanted = SentenceTransformer(str(tmp_path / "zh"), device="cpu").encode(texts)
    found = load_encoder(tmp_path / "zh", dtype="float32").encode(texts)
    assert np.allclose(found, wanted, atol=1e-5)


def test_two_builds_are_equal(tmp_path):
    for name in "ab":
        build_new_encoder(tmp_path / name, GROUPS, NewEncoderSettings(**SMALL), seed=3)
    for file in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_characters_of_the_same_concepts_begin_alike(tmp_path):
    settings = NewEncoderSettings(tokens="characters", **SMALL)
    build_new_encoder(tmp_path / "zh", GROUPS, settings, seed=0)
    from safetensors.numpy import load_file

    table = load_file(tmp_path / "zh" / "model.safetensors")["embeddings.word_embeddings.weight"]
    tokens = json.loads((tmp_path / "zh" / "tokenizer.json").read_text())["model"]["vocab"]
    cut, take, lung = (table[tokens[char]] for char in "切摘肺")
    assert cut @ take > 0.99 * np.linalg.norm(cut) * np.linalg.norm(take)
    assert cut @ lung < 0.9 * np.linalg.norm(cut) * np.linalg.norm(lung)


def test_the_names_and_mentions_of_the_records_make_the_tokenizer(mined):
    with start_folder("", NewEncoderSettings(**SMALL), mined, 0) as folder:
        tokens = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    assert "fits" in tokens
    assert not folder.exists()


def test_a_named_encoder_is_found(mined, tiny_encoder):
    with start_folder(str(tiny_encoder), None, mined, 0) as folder:
        assert folder == tiny_encoder


def test_a_config_has_one_of_both(section):
    section["model"] = {"new": SMALL}
    assert resolve_config(section).new == NewEncoderSettings(**SMALL)
    for model, field in [
        ({"new": SMALL, "encoder": "e"}, "encoder"),
        ({}, "encoder"),
        ({"new": {"width": 30, "heads": 4}}, "width"),
        ({"new": {"colour": 1}}, "colour"),
    ]:
        section["model"] = model
        with pytest.raises(TermlinkError, match=f"TL411.*{field}"):
            resolve_config(section)
