"""spaCy's own ways to make, train, tune and show pipelines."""

import re
from pathlib import Path

import pytest
import spacy
import srsly
from spacy import displacy
from spacy.cli._util import app
from spacy.cli.evaluate import evaluate
from spacy.cli.find_threshold import find_threshold
from spacy.cli.init_config import fill_config
from spacy.tokens import DocBin, Span
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from typer.testing import CliRunner

from spacy_termlink.kb import TermKB

GOLD = [
    ("A seizure and a fever.", [(2, 9, "FINDING", "X:0003"), (16, 21, "FINDING", "X:7")]),
    ("The headache of qqq.", [(4, 12, "FINDING", "X:4"), (16, 19, "OTHER", "NIL")]),
    ("Nobody looked for ids: fever.", [(23, 28, "FINDING", "")]),
]

CONFIG = """
[nlp]
lang = "en"
pipeline = ["entity_ruler", "term_linker"]

[components]

[components.entity_ruler]
factory = "entity_ruler"

[components.term_linker]
factory = "term_linker"
save_kb = "hardlink"
threshold = 0.999

[initialize]

[initialize.components]

[initialize.components.entity_ruler]

[initialize.components.entity_ruler.patterns]
@readers = "srsly.read_json.v1"
path = "{patterns}"

[initialize.components.term_linker]
kb = "{kb}"
"""

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
train_corpus = "corpora.train"
dev_corpus = "corpora.dev"
frozen_components = {frozen}
annotating_components = ["entity_ruler"]

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 2

[training.optimizer]
@optimizers = "Adam.v1"
"""


def make_gold(nlp):
    docs = []
    for text, ents in GOLD:
        doc = nlp.make_doc(text)
        doc.ents = [doc.char_span(s, e, label=label, kb_id=kb_id) for s, e, label, kb_id in ents]
        docs.append(doc)
    return docs


@pytest.fixture
def gold_path(tmp_path):
    path = tmp_path / "gold.spacy"
    DocBin(docs=make_gold(spacy.blank("en"))).to_disk(path)
    return path


@pytest.fixture
def config_path(tmp_path, kb_path):
    (tmp_path / "patterns.json").write_text(
        '[{"label": "FINDING", "pattern": "seizure"}, {"label": "FINDING", "pattern": "fever"}]'
    )
    path = tmp_path / "config.cfg"
    path.write_text(CONFIG.format(patterns=tmp_path / "patterns.json", kb=kb_path))
    return path


def test_initialize_receives_the_kb(make_nlp, kb_path, other_kb_path):
    nlp = make_nlp("icd", kb=None)
    nlp.config["initialize"]["components"]["icd"] = {"kb": str(other_kb_path)}
    with nlp.select_pipes(enable="icd"):  # an entity_ruler forgets its patterns
        nlp.initialize()
    assert nlp("fever").ents[0].kb_id_ == "B50"
    nlp = make_nlp(kb=str(kb_path))
    nlp.config["initialize"]["components"]["term_linker"] = {"kb": str(other_kb_path)}
    with nlp.select_pipes(enable="term_linker"):
        nlp.initialize()  # comes before the config's own
    assert nlp("fever").ents[0].kb_id_ == "B50"


def spacy_cli(*args):
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 0, result.output
    return result.output


def test_assemble(config_path, tmp_path):
    fill_config(config_path, config_path)
    spacy_cli("assemble", config_path, tmp_path / "out")
    nlp = spacy.load(tmp_path / "out")
    assert [ent.kb_id_ for ent in nlp("A seizure.").ents] == ["X:3"]
    assert (tmp_path / "out" / "term_linker" / "kb" / "meta.json").exists()


def test_debug_config(config_path, gold_path):
    config_path.write_text(config_path.read_text() + TRAINING.format(data=gold_path, frozen=[]))
    fill_config(config_path, config_path)
    assert "Config is valid" in spacy_cli("debug", "config", config_path)


@pytest.mark.parametrize("frozen", ["[]", '["term_linker"]'])
def test_training_changes_the_encoder_unless_it_is_frozen(
    make_nlp, kb_path, config_path, gold_path, tmp_path, frozen
):
    """A frozen component is not initialised: its KB comes from the config then."""
    text = config_path.read_text() + TRAINING.format(data=gold_path, frozen=frozen)
    text = text.replace('save_kb = "hardlink"', f'save_kb = "hardlink"\nkb = "{kb_path}"')
    config_path.write_text(text)
    _, config = fill_config(config_path, config_path)
    nlp = init_nlp(config)
    (tmp_path / "out").mkdir()
    train(nlp, tmp_path / "out")
    trained = spacy.load(tmp_path / "out" / "model-last")
    assert trained.meta["performance"]["nel_micro_f"] == 1.0  # exact names, learned or not
    assert ("term_linker_loss" in trained.meta["performance"]) == (frozen == "[]")
    kb = trained.get_pipe("term_linker").kb
    kb.verify()
    assert kb.encoder.fingerprint == kb.fingerprint
    before = TermKB.open(kb_path)
    assert (kb.fingerprint == before.fingerprint) == (frozen != "[]")
    if frozen != "[]":
        links = make_nlp()("A fever.").ents[0]._.term_links
        assert trained("A fever.").ents[0]._.term_links == links


def test_the_shipped_config_trains(kb_path, tmp_path):
    """configs/spacy_train.cfg through the command line: debug config, debug data, train."""
    gold_path = tmp_path / "gold.spacy"
    # debug data wants a hundred documents
    DocBin(docs=34 * make_gold(spacy.blank("en"))).to_disk(gold_path)
    config = Path(__file__).parents[2] / "configs" / "spacy_train.cfg"
    paths = [f"--paths.{part}={gold_path}" for part in ("train", "dev")]
    paths.append(f"--paths.kb={kb_path}")
    assert "Config is valid" in spacy_cli("debug", "config", config, *paths)
    spacy_cli("debug", "data", config, *paths, "--no-format")
    steps = ["--training.max_steps=2", "--training.eval_frequency=2"]
    output = spacy_cli("train", config, "--output", tmp_path / "out", *paths, *steps)
    assert "TERM_LINKER" in output.upper() or "TERM_" in output.upper()
    trained = spacy.load(tmp_path / "out" / "model-best")
    assert trained.get_pipe("term_linker").kb.meta["index"]["spec"] == "Flat"


def test_evaluate(make_nlp, gold_path, tmp_path):
    make_nlp().to_disk(tmp_path / "saved")
    scores = evaluate(str(tmp_path / "saved"), gold_path, silent=True)
    # X:0003 is an alternative id of X:3; the third document has no gold id
    assert scores["nel_micro_p"] == scores["nel_micro_r"] == 1.0
    assert scores["nel_f_per_type"] == {"FINDING": {"p": 1.0, "r": 1.0, "f": 1.0}}
    assert scores["nel_e2e_f"] == 1.0


def test_a_pipeline_without_a_recogniser_is_scored_on_gold_spans(kb_path):
    nlp = spacy.blank("en")
    linker = nlp.add_pipe("term_linker", config={"kb": str(kb_path), "threshold": 0.999})
    gold = make_gold(nlp)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in gold]
    scores = nlp.evaluate(examples)
    assert scores["nel_micro_f"] == 1.0
    assert scores["nel_e2e_f"] is None
    assert examples[0].predicted.ents == ()
    linker.cfg["spans_key"] = "sc"
    for doc in gold:
        doc.spans["sc"] = doc.ents
    with pytest.warns(UserWarning, match="sc"):
        assert nlp.evaluate(examples)["nel_micro_f"] == 1.0


def test_a_second_linker_does_not_replace_the_scores_of_the_first(make_nlp, other_kb_path):
    nlp = make_nlp()
    nlp.add_pipe("term_linker", name="icd", config={"kb": str(other_kb_path), "overwrite": False})
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in make_gold(nlp)]
    assert nlp.evaluate(examples)["nel_micro_f"] == 1.0


def test_find_threshold(make_nlp, gold_path, tmp_path):
    make_nlp().to_disk(tmp_path / "saved")
    best, score, scores = find_threshold(
        str(tmp_path / "saved"), gold_path, "term_linker", "threshold", "nel_micro_f", n_trials=3
    )
    assert scores[0.0] < 1.0  # the NIL mention is linked
    assert scores[best] == score == 1.0


def test_the_commands_on_a_saved_pipeline(make_nlp, gold_path, tmp_path):
    """`spacy evaluate`, `benchmark` and `find-threshold` as they are typed."""
    saved = tmp_path / "saved"
    make_nlp().to_disk(saved)
    spacy_cli("evaluate", saved, gold_path, "--output", tmp_path / "scores.json")
    scores = srsly.read_json(tmp_path / "scores.json")
    assert (scores["nel_micro_f"], scores["nel_e2e_f"]) == (1.0, 1.0)
    spacy_cli("benchmark", "accuracy", saved, gold_path, "--output", tmp_path / "again.json")
    again = srsly.read_json(tmp_path / "again.json")
    assert {**again, "speed": None} == {**scores, "speed": None}
    output = spacy_cli("benchmark", "speed", saved, gold_path, "--warmup", 1, "--batches", 30)
    assert float(re.search(r"Mean: ([\d.]+) words/s", output)[1]) > 0
    words = ["find-threshold", saved, gold_path, "term_linker", "threshold", "nel_micro_f"]
    assert "Best threshold" in spacy_cli(*words, "--n_trials", 2)


def test_displacy_links_ids(make_nlp):
    doc = make_nlp()("A fever.")
    options = {"kb_url_template": "https://example.org/{}"}
    html = displacy.render(doc, style="ent", options=options, jupyter=False)
    assert 'href="https://example.org/X:7"' in html
    doc.spans["sc"] = [Span(doc, 1, 2, "FINDING", kb_id=doc.ents[0].kb_id)]
    assert "X:7" in displacy.render(doc, style="span", options=options, jupyter=False)
