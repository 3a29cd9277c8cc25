import copy
import json

import confection
import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.training.config import load_config, parse_overrides, resolve_config


@pytest.fixture
def write(tmp_path, section):
    def write(changed=None):
        path = tmp_path / "train.cfg"
        confection.Config({"training": changed or section}).to_disk(path)
        return path

    return write


def refused(section, code="TL411"):
    with pytest.raises(TermlinkError) as error:
        resolve_config(section)
    assert error.value.code == code
    return str(error.value)


def test_file_gives_the_settings_and_the_losses(write):
    config = load_config(write())
    assert config.run.max_steps == 6 and config.refresh.negatives == 3
    assert list(config.tasks) == ["names", "parent", "synonym"]
    assert config.tasks["synonym"].loss.keywords == {"similarity": "cosine", "temperature": 0.1}
    assert config.tasks["parent"].weight is None


def test_every_shipped_config_is_right():
    from pathlib import Path

    for path in sorted((Path(__file__).parents[2] / "configs").glob("train_*.cfg")):
        assert load_config(path).tasks


def test_overrides_win_over_the_file(write):
    overrides = parse_overrides(
        [
            "--training.max_steps",
            "9",
            "--training.model.pooling=cls",
            "--training.optimizer.clip",
            "0",
        ]
    )
    config = load_config(write(), overrides)
    assert (config.run.max_steps, config.model.pooling, config.optimizer.clip) == (9, "cls", 0)
    assert config.raw["max_steps"] == 9  # the card and the checkpoint say what was run


def test_an_override_of_a_loss_is_used(write):
    config = load_config(write(), {"training.tasks.synonym.loss.temperature": 0.5})
    assert config.tasks["synonym"].loss.keywords["temperature"] == 0.5


@pytest.mark.parametrize("words", [["max_steps", "3"], ["--training.max_steps"], ["--max_steps", "3"],
                                   ["--training.a", "--training.b", "1"]])  # fmt: skip
def test_an_argument_in_another_form_is_refused(words):
    with pytest.raises(TermlinkError, match="TL413"):
        parse_overrides(words)


@pytest.mark.parametrize("path, value, said", [
    (("max_steps",), 0, "training.max_steps is 0, expected a whole number, 1 or more"),
    (("max_steps",), 2.5, "training.max_steps is 2.5"),
    (("max_steps",), True, "training.max_steps is True"),
    (("precision",), "half", "expected one of auto, float32, bfloat16"),
    (("max_step",), 3, "training.max_step is 3, expected one of the settings"),
    (("model", "average_with_start"), 1.5, "a share from 0 to 1"),
    (("model", "encoder"), None, "training.model.encoder is None"),
    (("optimizer", "learning_rate"), "fast", "a number above 0"),
    (("tasks", "synonym", "hard_negatives"), 4, "at most 3, which [training.refresh] keeps"),
    (("tasks", "names", "hard_positives"), 0, "1 or more: the task has no other positives"),
    (("tasks", "synonym", "loss", "temperature"), -1.0, "training.tasks.synonym.loss.temperature is -1"),
    (("tasks", "synonym", "loss"), {}, "a block with '@losses'"),
    (("tasks",), {}, "a section [training.tasks.NAME]"),
])  # fmt: skip
def test_a_wrong_value_is_named(section, path, value, said):
    section = copy.deepcopy(section)
    block = section
    for part in path[:-1]:
        block = block[part]
    block[path[-1]] = value
    assert said in refused(section)


def test_a_missing_value_is_named(section):
    del section["records"]
    assert "training.records is None, expected a value" in refused(section)


def test_hard_names_need_a_refresh(section):
    del section["refresh"]
    assert "at most 0" in refused(section)


def test_an_unknown_loss_is_named_with_those_there_are(section):
    section["tasks"]["synonym"]["loss"] = {"@losses": "spacy-termlink.Hinge.v1"}
    assert "spacy-termlink.InBatchNLL.v1" in refused(section, "TL412")


def test_a_loss_setting_of_another_type_is_named(section):
    section["tasks"]["synonym"]["loss"] = {
        "@losses": "spacy-termlink.Triplet.v1", "margin": "wide"}  # fmt: skip
    assert "margin" in refused(section, "TL414")


@pytest.mark.parametrize("text", ["no config", "[other]\na = 1\n"])
def test_a_file_of_another_kind_is_refused(tmp_path, text):
    path = tmp_path / "bad.cfg"
    path.write_text(text)
    with pytest.raises(TermlinkError, match="TL410"):
        load_config(path)


def test_an_override_outside_training_is_refused(write):
    with pytest.raises(TermlinkError, match="TL411"):
        load_config(write(), {"nlp.lang": "en"})


def test_the_raw_section_is_plain_json(config):
    assert json.loads(json.dumps(config.raw)) == config.raw
