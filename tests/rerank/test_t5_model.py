import shutil

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from spacy_termlink.errors import TermlinkError
from spacy_termlink.rerank.small_t5 import SmallT5Settings, build_small_t5
from spacy_termlink.rerank.t5_model import YesNoModel, answer_ids

NAMES = ["seizure", "epileptic fit", "heart attack", "myocardial infarction", "short stature"]
GROUPS = [NAMES[:2], NAMES[2:4], NAMES[4:]]
QUESTION = "is {mention} the same as {name}? yes or no:"
SMALL = {"vocabulary": 120, "width": 16, "heads": 2, "wide": 24, "layers": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("t5") / "small"
    build_small_t5(path, GROUPS, [QUESTION, "yes", "no"], SmallT5Settings(**SMALL))
    return path


@pytest.fixture(scope="module")
def model(folder):
    return YesNoModel(folder, yes="yes", no="no", dtype="float32")


def prompts_of(model, n):
    texts = [f"is {NAMES[i % 5]} the same as {' '.join(NAMES[: i % 4 + 1])}?" for i in range(n)]
    return [model.tokenizer.encode(text).ids for text in texts]


@torch.no_grad()
def plain(model, ids, answer):
    """Log-probability of an answer by one plain forward pass per prompt, position by position."""
    total, given = 0.0, [0]
    for token in answer:
        logits = model.module(
            input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([given])
        ).logits[0, -1]
        total += float(torch.log_softmax(logits, dim=-1)[token])
        given.append(token)
    return total


@torch.no_grad()
def test_a_batch_has_the_numbers_of_plain_passes_one_by_one(model):
    assert [len(answer) for answer in model.answers] == [1, 1]
    prompts = prompts_of(model, 7)
    found = model.log_probabilities(prompts)
    wanted = [[plain(model, ids, answer) for answer in model.answers] for ids in prompts]
    assert torch.allclose(found, torch.tensor(wanted), atol=1e-5)
    assert len({tuple(row) for row in found.tolist()}) > 3  # and they tell prompts apart
    assert torch.allclose(model.log_odds(prompts), found[:, 0] - found[:, 1], atol=1e-5)


@torch.no_grad()
def test_longer_answers_are_scored_whole(folder):
    model = YesNoModel(folder, yes="seizure fit", no="no", dtype="float32")
    assert len(model.answers[0]) > 1
    assert len(model.answers[1]) == 1
    prompts = prompts_of(model, 5)
    wanted = [[plain(model, ids, answer) for answer in model.answers] for ids in prompts]
    found = model.log_probabilities(prompts)
    assert torch.allclose(found, torch.tensor(wanted), atol=1e-5)
    assert torch.allclose(model.log_odds(prompts), found[:, 0] - found[:, 1], atol=1e-5)


@torch.no_grad()
def test_a_tied_table_is_scaled_as_t5_does(folder, tmp_path):
    path = tmp_path / "tied"
    shutil.copytree(folder, path)
    config = (path / "config.json").read_text()
    config = config.replace('"tie_word_embeddings": false', '"tie_word_embeddings": true')
    (path / "config.json").write_text(config)
    model = YesNoModel(path, yes="yes", no="no", dtype="float32")
    assert model.module.lm_head.weight is model.table
    prompts = prompts_of(model, 3)
    wanted = [[plain(model, ids, answer) for answer in model.answers] for ids in prompts]
    assert torch.allclose(model.log_probabilities(prompts), torch.tensor(wanted), atol=1e-5)


@torch.no_grad()
def test_in_bfloat16_questions_that_are_much_alike_keep_scores_of_their_own(folder):
    model = YesNoModel(folder, yes="yes", no="no", dtype="bfloat16")
    exact = YesNoModel(folder, yes="yes", no="no", dtype="float32")
    prompts = prompts_of(model, 20)
    found = model.log_odds(prompts)
    assert found.dtype == torch.float32
    assert len(set(found.tolist())) == len({tuple(prompt) for prompt in prompts})
    assert torch.allclose(found, exact.log_odds(prompts), atol=0.1)


@torch.no_grad()
def test_the_probability_by_hand(model):
    """One prompt of one token through the weights, written out."""
    module = model.module.double()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    # nothing but the residual stream: each sublayer's last matrix is zero
    saved = {name: value.clone() for name, value in module.state_dict().items()}
    for name, value in module.named_parameters():
        if name.endswith((".o.weight", ".wo.weight")):
            value.zero_()
    found = model.log_probabilities([[5]])[0]
    start = module.shared.weight[0]  # the decoder sees its start token alone
    normed = start / (start.pow(2).mean() + 1e-6).sqrt()
    logits = module.lm_head.weight @ normed
    wanted = torch.log_softmax(logits.float(), dim=0)[[model.answers[0][0], model.answers[1][0]]]
    module.load_state_dict(saved)
    module.float()
    assert torch.allclose(found, wanted, atol=1e-5)


def mark_tokenizer():
    words = ["<unk>", "▁", "是", "否", "的", "▁yes", "▁no", "n", "o"]
    return Tokenizer(models.BPE({w: i for i, w in enumerate(words)}, [], unk_token="<unk>"))


def test_a_mark_of_the_words_beginning_is_left_out():
    tokenizer = mark_tokenizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    assert tokenizer.encode("是").tokens == ["▁", "是"]
    assert answer_ids(tokenizer, "是", "否") == ([2], [3])


@pytest.mark.parametrize(("yes", "no"), [("是", "是"), ("是", "是的"), ("", "否"), ("是", "x")])
def test_answers_that_cannot_be_told_apart_are_refused(yes, no):
    tokenizer = mark_tokenizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    with pytest.raises(TermlinkError, match="TL638"):
        answer_ids(tokenizer, yes, no)


@torch.no_grad()
def test_a_folder_with_a_bert_vocabulary_loads(folder, tmp_path):
    """T5-PEGASUS: vocab.txt, and decoding that starts with [CLS]."""
    path = tmp_path / "pegasus"
    shutil.copytree(folder, path)
    (path / "tokenizer.json").unlink()
    (path / "tokenizer_config.json").unlink()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "是", "否", "切", "除", "术", "？"]
    (path / "vocab.txt").write_text("\n".join(words), encoding="utf8")
    config = (path / "config.json").read_text()
    config = config.replace('"decoder_start_token_id": 0', '"decoder_start_token_id": 2')
    (path / "config.json").write_text(config)
    model = YesNoModel(path, yes="是", no="否", dtype="float32")
    assert model.answers == ([4], [5])
    ids = model.tokenizer.encode("切除术？").ids
    assert ids == [2, 6, 7, 8, 9, 3]
    logits = model.module(
        input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([[2]])
    ).logits[0, 0]
    wanted = torch.log_softmax(logits, dim=-1)[[4, 5]]
    assert torch.allclose(model.log_probabilities([ids])[0], wanted, atol=1e-5)


def test_what_is_no_t5_is_refused(folder, tiny_encoder, tmp_path):
    with pytest.raises(TermlinkError, match="TL637.*'bert'"):
        YesNoModel(tiny_encoder, yes="yes", no="no")
    path = tmp_path / "torn"
    shutil.copytree(folder, path)
    (path / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(TermlinkError, match="TL637"):
        YesNoModel(path, yes="yes", no="no")
    (path / "model.safetensors").rename(path / "pytorch_model.bin")
    with pytest.raises(TermlinkError, match="TL301"):
        YesNoModel(path, yes="yes", no="no")


def test_two_builds_are_equal(folder, tmp_path):
    build_small_t5(tmp_path / "b", GROUPS, [QUESTION, "yes", "no"], SmallT5Settings(**SMALL))
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (tmp_path / "b" / name).read_bytes() == (folder / name).read_bytes(), name


def test_characters_are_tokens(tmp_path):
    settings = SmallT5Settings(**{**SMALL, "tokens": "characters"})
    build_small_t5(
        tmp_path / "zh", [["胃切除术", "CT检查"]], ["{mention}和{name}？", "是", "否"], settings
    )
    model = YesNoModel(tmp_path / "zh", yes="是", no="否", dtype="float32")
    assert [len(answer) for answer in model.answers] == [1, 1]
    tokens = model.tokenizer.encode("胃切除术和CT检查").tokens
    assert tokens == [*"胃切除术和ct检查", "</s>"]


def test_tokens_of_the_same_concepts_begin_alike(tmp_path):
    groups = [["renal cyst", "kidney cyst"], ["renal stone", "kidney stone"], ["eye cyst", "eye stone"],
              ["ear pain", "ear ache"], ["eye pain", "eye ache"]]  # fmt: skip
    build_small_t5(tmp_path / "t5", groups, [QUESTION, "yes", "no"], SmallT5Settings(**SMALL))
    model = YesNoModel(tmp_path / "t5", yes="yes", no="no", dtype="float32")

    def cosine(a, b):
        rows = [model.table.detach()[model.tokenizer.token_to_id(word)] for word in (a, b)]
        return float(torch.cosine_similarity(*rows, dim=0))

    assert cosine("renal", "kidney") > 0.99
    assert cosine("pain", "ache") > 0.99
    assert cosine("renal", "ear") < 0.5
