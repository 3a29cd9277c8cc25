"""A small terminology, a small random encoder and the KB made of them, for all tests.

Nothing here needs the network or a file outside the repository.
"""

import json

import pytest

from spacy_termlink.terminology import Concept, Name, Relation
from spacy_termlink.terminology.builder import build_terminology


def _concept(concept_id, name, *others, parent="", types=(), **fields):
    names = [Name(text, kind) for text, kind in others]
    relations = [Relation("is_a", parent)] if parent else []
    return Concept(
        concept_id, name, names, relations=relations, semantic_types=list(types), **fields
    )


TINY_CONCEPTS = (
    _concept("T:0001", "Abnormality", types=["root"]),
    _concept("T:0002", "Abnormality of the nervous system", parent="T:0001", types=["neuro"]),
    _concept("T:0003", "Seizure", ("Epileptic fit", "exact"), ("Fits", "layperson"), parent="T:0002",
             types=["neuro"], alt_ids=["T:9003"], definition="A sudden discharge."),
    _concept("T:0004", "Focal-onset seizure", ("Partial seizure", "exact"), parent="T:0003",
             types=["neuro"]),
    _concept("T:0005", "Generalized tonic-clonic seizure", ("Grand mal seizure", "exact"),
             ("GTC", "abbreviation"), parent="T:0003", types=["neuro"]),
    _concept("T:0006", "Abnormality of the heart", parent="T:0001", types=["heart"]),
    _concept("T:0007", "Myocardial infarction", ("Heart attack", "layperson"), ("MI", "abbreviation"),
             parent="T:0006", types=["heart"]),
    _concept("T:0008", "Mitral insufficiency", ("Mitral regurgitation", "exact"),
             ("MI", "abbreviation"), parent="T:0006", types=["heart"]),
    _concept("T:0009", "Acute lymphoblastic leukemia", ("ALL", "abbreviation"), parent="T:0001",
             types=["blood"]),
    _concept("T:0010", "Diabetes mellitus type 2", ("Type II diabetes", "exact"),
             ("NIDDM", "abbreviation"), parent="T:0001", types=["metabolic"]),
    _concept("T:0011", "Short stature", ("Small stature", "exact"), ("Decreased height", "related"),
             parent="T:0001", types=["growth"]),
    _concept("T:0012", "Cleft palate", ("Palatoschisis", "exact"), parent="T:0001", types=["face"]),
    _concept("T:0099", "Fit of old", obsolete=True, replaced_by="T:0003"),
)  # fmt: skip


@pytest.fixture(scope="session")
def tiny_terminology(tmp_path_factory):
    """Folder of a terminology: 12 living concepts in a small hierarchy, one retired."""
    path = tmp_path_factory.mktemp("terminology") / "tiny"
    meta = {"source": "tiny", "release": "2026-01-01", "licence": "CC0-1.0", "shareable": True}
    build_terminology(TINY_CONCEPTS, path, meta=meta)
    return path


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory):
    """Folder of a BERT with random weights that reads single characters."""
    return make_tiny_bert(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(scope="session")
def make_bert():
    """Function that writes such a folder with other settings: `make_bert(folder, pooling="cls")`."""
    return make_tiny_bert


@pytest.fixture(scope="session")
def tiny_kb(tmp_path_factory, tiny_terminology, tiny_encoder):
    """Folder of the KB made of both. Shared by all tests: copy it before you change it."""
    from spacy_termlink.encoders import load_encoder
    from spacy_termlink.kb import build_kb

    path = tmp_path_factory.mktemp("kb") / "tiny"
    encoder = load_encoder(tiny_encoder, dtype="float32")
    build_kb(tiny_terminology, encoder, path, progress=False)
    return path


def make_tiny_bert(folder, *, pooling="mean", width=32, layers=2, max_length=64, **config):
    """Write an encoder folder, without the library that usually writes it."""
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder.mkdir(parents=True)
    characters = "abcdefghijklmnopqrstuvwxyz0123456789-,.'()"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += [*characters, *(f"##{c}" for c in characters)]
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(
        models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=200)
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]",
               "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(special))
    bert = {
        "architectures": ["BertModel"], "model_type": "bert", "vocab_size": len(words),
        "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": 4,
        "intermediate_size": 2 * width, "hidden_act": "gelu", "max_position_embeddings": 128,
        "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0, **config,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(bert))
    save_file(_random_weights(bert, torch), folder / "model.safetensors", {"format": "pt"})
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {
            "idx": 1,
            "name": "1",
            "path": "1_Pooling",
            "type": "sentence_transformers.models.Pooling",
        },
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": max_length}))
    (folder / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{m}_tokens" if m == "mean" else "pooling_mode_cls_token": m == pooling
             for m in ("mean", "cls")}  # fmt: skip
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": width, **modes})
    )
    return folder


def _random_weights(bert, torch):
    generator = torch.Generator().manual_seed(0)
    width, wide = bert["hidden_size"], bert["intermediate_size"]
    weights = {}

    def add(name, *shape, scale=0.2):
        weights[name] = torch.randn(*shape, generator=generator) * scale

    def norm(name):
        weights[f"{name}.weight"] = torch.ones(width)
        weights[f"{name}.bias"] = torch.zeros(width)

    def linear(name, out, into):
        add(f"{name}.weight", out, into)
        add(f"{name}.bias", out, scale=0.02)

    add("embeddings.word_embeddings.weight", bert["vocab_size"], width, scale=1.0)
    add("embeddings.position_embeddings.weight", bert["max_position_embeddings"], width)
    add("embeddings.token_type_embeddings.weight", 2, width)
    norm("embeddings.LayerNorm")
    for i in range(bert["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{layer}.attention.{part}", width, width)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", wide, width)
        linear(f"{layer}.output.dense", width, wide)
        norm(f"{layer}.output.LayerNorm")
    linear("pooler.dense", width, width)
    return weights
