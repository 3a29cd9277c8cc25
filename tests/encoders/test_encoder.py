import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch

from spacy_termlink.encoders import load_encoder
from spacy_termlink.encoders.bert import BertForward, group_lengths
from spacy_termlink.encoders.encoder import (
    MIN_TOKENS,
    TOKENS_PER_BATCH,
    TransformerEncoder,
    even_tokens,
    token_batches,
)
from spacy_termlink.encoders.generic import AutoForward
from spacy_termlink.errors import TermlinkError

TEXTS = ["seizure", "a", "", "abnormality of the heart", "heart attack", "short stature, severe",
         "myocardial infarction (acute)", "seizure"]  # fmt: skip


def test_own_forward_computes_what_transformers_computes(tiny_encoder):
    """Against AutoModel, padded and masked, token by token."""
    ids = [[2, 9, 3], [2, 10, 11, 3], [2, 12, 13, 3], [2, 14, 15, 16, 17, 18, 3]]
    config = json.loads((tiny_encoder / "config.json").read_text())
    with torch.inference_mode():
        own = BertForward(tiny_encoder, config, torch.float32)(ids)
        reference = AutoForward(tiny_encoder, torch.float32)(ids)
    assert [tuple(states.shape) for states in own] == [(1, 3, 32), (2, 4, 32), (1, 7, 32)]
    for states, expected in zip(own, reference):
        assert torch.allclose(states, expected, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_equals_sentence_transformers(make_bert, tmp_path, pooling):
    """The folder we write loads there, and gives the same embeddings."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    folder = make_bert(tmp_path / "source", pooling=pooling, max_length=12)
    encoder = load_encoder(folder, dtype="float32")
    encoder.save(tmp_path / "saved")
    model = sentence_transformers.SentenceTransformer(
        str(tmp_path / "saved"), local_files_only=True
    )
    expected = model.encode(TEXTS, normalize_embeddings=True)
    assert np.allclose(encoder.encode(TEXTS), expected, atol=1e-5)


def test_poolings_differ(make_bert, tmp_path):
    mean = load_encoder(make_bert(tmp_path / "mean"), dtype="float32")
    cls = load_encoder(make_bert(tmp_path / "cls", pooling="cls"), dtype="float32")
    assert mean.fingerprint != cls.fingerprint
    assert not np.allclose(mean.encode(["seizure"]), cls.encode(["seizure"]), atol=1e-3)


def test_rows_are_unit_norm_in_the_order_given(tiny_encoder):
    encoder = load_encoder(tiny_encoder, dtype="float32")
    embeddings = encoder.encode(TEXTS)
    assert embeddings.shape == (len(TEXTS), encoder.width)
    assert embeddings.dtype == np.float32
    assert np.allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-5)
    for text, row in zip(TEXTS, embeddings):
        assert np.allclose(encoder.encode([text])[0], row, atol=1e-5)


def test_bfloat16_stays_close_to_float32(tiny_encoder):
    full = load_encoder(tiny_encoder, dtype="float32").encode(TEXTS)
    half = load_encoder(tiny_encoder, dtype="bfloat16").encode(TEXTS)
    assert (full * half).sum(axis=1).min() > 0.999


def test_nothing_to_encode(tiny_encoder):
    encoder = load_encoder(tiny_encoder)
    assert encoder.encode([]).shape == (0, encoder.width)


@pytest.mark.parametrize(
    "text", ["", "\x00", "\ud800", "\u202e\u05d0", "\U0001f600", "x" * 5_000_000]
)
def test_any_string_has_an_embedding(tiny_encoder, text):
    embedding = load_encoder(tiny_encoder).encode([text])
    assert np.isfinite(embedding).all()
    assert abs(np.linalg.norm(embedding) - 1) < 1e-3


def test_saved_encoder_has_the_same_fingerprint(tiny_encoder, tmp_path):
    encoder = load_encoder(tiny_encoder, dtype="float32")
    encoder.save(tmp_path / "saved")
    saved = load_encoder(tmp_path / "saved", dtype="float32")
    assert saved.fingerprint == encoder.fingerprint
    assert np.array_equal(saved.encode(TEXTS), encoder.encode(TEXTS))


def test_weights_change_the_fingerprint(tiny_encoder, tmp_path):
    folder = tmp_path / "other"
    shutil.copytree(tiny_encoder, folder)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    assert load_encoder(folder).fingerprint != load_encoder(tiny_encoder).fingerprint


def test_other_architectures_go_through_auto_model(make_bert, tmp_path):
    """Relative positions are not what bert.py computes."""
    folder = make_bert(tmp_path / "relative", position_embedding_type="relative_key")
    encoder = load_encoder(folder, dtype="float32")
    assert isinstance(encoder._forward, AutoForward)
    assert encoder.encode(TEXTS).shape == (len(TEXTS), 32)


def test_bert_needs_no_import_of_transformers(tiny_encoder):
    code = (
        "import sys; from spacy_termlink.encoders import load_encoder;"
        f"load_encoder({str(tiny_encoder)!r}).encode(['fever']);"
        "sys.exit('transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unknown_name_is_not_downloaded():
    with pytest.raises(TermlinkError, match="TL300"):
        load_encoder("no-such-owner/no-such-model")


def test_pickled_weights_are_refused(tiny_encoder, tmp_path):
    folder = tmp_path / "pickled"
    shutil.copytree(tiny_encoder, folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(TermlinkError, match="TL301"):
        load_encoder(folder)


def test_torn_weights_are_named(tiny_encoder, tmp_path):
    folder = tmp_path / "torn"
    shutil.copytree(tiny_encoder, folder)
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(TermlinkError, match="TL303.*model.safetensors"):
        load_encoder(folder)


def test_other_pooling_is_refused(make_bert, tmp_path):
    folder = make_bert(tmp_path / "max")
    path = folder / "1_Pooling" / "config.json"
    config = json.loads(path.read_text())
    config["pooling_mode_mean_tokens"] = False
    path.write_text(json.dumps({**config, "pooling_mode_max_tokens": True}))
    with pytest.raises(TermlinkError, match="TL302.*pooling_mode_max_tokens"):
        load_encoder(folder)


def test_batches_hold_every_row_once_and_no_more_tokens_than_allowed():
    lengths = [5, 1, 9, 3, 30, 2, 2]
    batches = token_batches(lengths, 10)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    sizes = [[lengths[row] for row in batch] for batch in batches]
    assert sizes == [[1, 2, 2, 3], [5], [9], [30]]
    assert group_lengths([[1], [1, 2], [3, 4]]) == [(0, 1, 1), (1, 2, 2)]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("lengths", [[3] * 40, [1, 2, 50], [], [9], list(range(1, 300))])
def test_batches_are_shared_evenly_by_the_threads(n_threads, lengths):
    limit = even_tokens(lengths, n_threads)
    batches = token_batches(lengths, limit)
    n_tokens = [sum(lengths[row] for row in batch) for batch in batches]
    rounds = -(-sum(lengths) // (n_threads * TOKENS_PER_BATCH))
    assert len(batches) <= n_threads * max(1, rounds) + 1
    # no thread has more to do than its share and one text, or than is worth a thread
    share = sum(lengths) / (n_threads * max(1, rounds))
    assert max(n_tokens, default=0) <= max(2 * MIN_TOKENS, share + max(lengths, default=0))


def test_pairs_are_read_together_and_pooled_apart(tiny_encoder):
    encoder = TransformerEncoder(tiny_encoder, dtype="float32")
    pairs = [("fit", "seizure"), ("fit", "fit"), ("a longer mention of it", "x")]
    found = encoder.encode_pairs(pairs)
    assert found.shape == (3, 2, encoder.width)
    assert np.linalg.norm(found, axis=-1) == pytest.approx(1, abs=1e-5)
    for pair, halves in zip(pairs, found, strict=True):
        ids = encoder._tokenizer.encode(*pair).ids
        states = encoder._forward([ids])[0][0].numpy()
        n_first = len(encoder._tokenizer.encode(pair[0]).ids)
        for half, part in zip(halves, (states[:n_first], states[n_first:]), strict=True):
            mean = part.mean(axis=0)
            assert half == pytest.approx(mean / np.linalg.norm(mean), abs=1e-4)
    # the same mention beside another name is read otherwise
    assert not np.allclose(found[0, 0], found[1, 0], atol=1e-3)
    assert encoder.encode_pairs([]).shape == (0, 2, encoder.width)
