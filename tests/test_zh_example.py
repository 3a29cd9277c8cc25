"""The small Chinese example and the config that goes with it."""

import json
from pathlib import Path

import pytest

from spacy_termlink.evaluation.mentions import read_mentions
from spacy_termlink.lexical.coordination import split_coordination
from spacy_termlink.mining.config import load_config as load_mining
from spacy_termlink.rerank.config import load_rerank_config
from spacy_termlink.rerank.t5_settings import read_t5_settings
from spacy_termlink.terminology import Terminology
from spacy_termlink.terminology.convert import convert_source
from spacy_termlink.training.config import load_config as load_training

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "assets" / "zh_procedures"
CONFIG = ROOT / "configs" / "zh_procedures.cfg"


@pytest.fixture(scope="module")
def terminology(tmp_path_factory):
    path = tmp_path_factory.mktemp("zh") / "zh"
    convert_source(EXAMPLE / "names.tsv", path, format="table")
    return Terminology.open(path)


def test_every_phrase_is_of_a_term_and_none_comes_twice(terminology):
    mentions = read_mentions(EXAMPLE / "mentions.jsonl")
    assert len(mentions) == len({mention.text for mention in mentions}) == 42
    assert {mention.split for mention in mentions} == {"train", "dev"}
    for mention in mentions:
        assert all(map(terminology.resolve, mention.concepts)), mention.text
        assert not terminology.lookup(mention.text), mention.text


def test_phrases_of_two_procedures_can_be_divided():
    several = [m for m in read_mentions(EXAMPLE / "mentions.jsonl") if len(m.concepts) > 1]
    assert len(several) == 3
    for mention in several:
        assert [len(reading) for reading in split_coordination(mention.text)] == [2]


def test_each_section_of_the_config_is_read():
    assert list(load_mining(CONFIG).tasks) == ["annotated"]
    training = load_training(CONFIG)
    assert (training.new.tokens, training.model.encoder) == ("characters", "")
    assert list(training.tasks) == ["annotated"]
    settings, small = read_t5_settings(load_rerank_config(CONFIG).model)
    assert (settings.questions.yes, settings.questions.no) == ("是", "否")
    assert small.tokens == "characters"


def test_the_small_t5_of_hpo_is_read():
    config = load_rerank_config(ROOT / "configs" / "reranker_t5.cfg")
    settings, small = read_t5_settings(config.model)
    assert len(settings.questions.made) == 3
    assert small.tokens == "words"
    assert json.dumps(config.raw)
