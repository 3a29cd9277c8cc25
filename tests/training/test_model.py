import json

import numpy as np
import pytest
import torch

from spacy_termlink.encoders import load_encoder
from spacy_termlink.training.model import TrainableEncoder
from spacy_termlink.training.settings import ModelSettings

TEXTS = ["seizure", "a", "", "heart attack of the left side", "café", "x" * 300, "seizure"]
CPU = torch.device("cpu")


def train(folder, *, precision="float32", **settings):
    model = ModelSettings(encoder=str(folder), max_length=64, **settings)
    return TrainableEncoder(folder, model, device=CPU, precision=precision)


@pytest.fixture
def roberta(tiny_encoder, tmp_path):
    """The tiny encoder with another architecture around its layers: goes through AutoModel."""
    import shutil

    from transformers import AutoModel, RobertaConfig

    folder = tmp_path / "roberta"
    shutil.copytree(tiny_encoder, folder)
    bert = json.loads((folder / "config.json").read_text())
    kept = (
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
    )
    torch.manual_seed(0)
    config = RobertaConfig(
        **{k: bert[k] for k in kept}, max_position_embeddings=130, pad_token_id=0
    )
    AutoModel.from_config(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_embeddings_are_those_of_the_loaded_encoder(tmp_path, pooling, make_bert):
    folder = make_bert(tmp_path / "bert", pooling=pooling)
    expected = load_encoder(folder, dtype="float32").encode(TEXTS)
    assert np.allclose(train(folder).encode(TEXTS), expected, atol=1e-6)


def test_another_architecture_trains_and_gives_the_same_embeddings(roberta):
    model = train(roberta)
    expected = load_encoder(roberta, dtype="float32").encode(TEXTS)
    assert np.allclose(model.encode(TEXTS), expected, atol=1e-5)
    model.embed([model.token_ids("seizure")]).sum().backward()
    assert model.parameters["embeddings.word_embeddings.weight"].grad.abs().sum() > 0


def test_gradient_is_that_of_transformers(tiny_encoder):
    from transformers import AutoModel

    model = train(tiny_encoder)
    ids = [model.token_ids(text) for text in ("seizure", "heart attack", "fits")]
    (model.embed(ids) ** 3).sum().backward()
    reference = AutoModel.from_pretrained(tiny_encoder).eval()
    for text in ids:
        state = reference(input_ids=torch.tensor([text])).last_hidden_state.mean(dim=1)
        (state**3).sum().backward()
    for name, parameter in reference.named_parameters():
        if parameter.grad is not None:
            assert torch.allclose(
                model.parameters[name].grad, parameter.grad, rtol=1e-3, atol=1e-4
            ), name


def test_bfloat16_is_close_and_keeps_float32_weights(tiny_encoder):
    model = train(tiny_encoder, precision="bfloat16")
    exact = train(tiny_encoder).encode(TEXTS)
    assert (model.encode(TEXTS) * exact).sum(axis=1).min() > 0.99
    model.embed([model.token_ids("seizure")]).sum().backward()
    weights = list(model.parameters.values())
    assert all(weight.dtype == torch.float32 for weight in weights)
    assert all(weight.grad is None or weight.grad.dtype == torch.float32 for weight in weights)


def test_max_length_cuts_in_training_and_is_not_saved(tiny_encoder, tmp_path):
    settings = ModelSettings(encoder=str(tiny_encoder), max_length=5)
    model = TrainableEncoder(tiny_encoder, settings, device=CPU, precision="float32")
    assert len(model.token_ids("seizure of the heart")) == 5
    model.save(tmp_path / "out", add=lambda folder: None)
    whole, loaded = (
        load_encoder(tiny_encoder, dtype="float32"),
        load_encoder(tmp_path / "out", dtype="float32"),
    )
    assert loaded.settings == whole.settings
    assert np.allclose(loaded.encode(TEXTS), whole.encode(TEXTS), atol=1e-6)


@pytest.mark.parametrize("pooling", ["encoder", "cls"])
def test_saved_folder_loads_to_the_same_embeddings_everywhere(tiny_encoder, tmp_path, pooling):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    model = train(tiny_encoder, pooling=pooling)
    with torch.no_grad():
        for parameter in model.parameters.values():
            parameter.mul_(1.1)
    model.save(tmp_path / "out", add=lambda folder: (folder / "README.md").write_text("# card"))
    expected = model.encode(TEXTS)
    assert np.allclose(
        load_encoder(tmp_path / "out", dtype="float32").encode(TEXTS), expected, atol=1e-5
    )
    other = sentence_transformers.SentenceTransformer(str(tmp_path / "out"), device="cpu")
    assert np.allclose(other.encode(TEXTS), expected, atol=1e-5)
    assert (tmp_path / "out" / "README.md").is_file()


def test_snapshot_and_load_go_together(tiny_encoder):
    model = train(tiny_encoder)
    kept = model.snapshot()
    with torch.no_grad():
        for parameter in model.parameters.values():
            parameter.add_(1.0)
    model.load(kept)
    assert np.allclose(model.encode(TEXTS), train(tiny_encoder).encode(TEXTS))
