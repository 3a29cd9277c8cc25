"""The config, the files and the command."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spacy_termlink.cli import app
from spacy_termlink.errors import TermlinkError
from spacy_termlink.mining import Equivalents, read_names, read_records
from spacy_termlink.mining.config import load_config, resolve_config
from spacy_termlink.mining.heldout import HeldoutSettings
from spacy_termlink.mining.run import mine_records
from spacy_termlink.registry import tasks as registry
from spacy_termlink.text import normalize

CONFIGS = Path(__file__).parents[2] / "configs"
SYNONYMS = {"@tasks": "spacy-termlink.SynonymPairs.v1"}


def config(**section):
    return resolve_config({"tasks": {"synonyms": dict(SYNONYMS)}, **section})


def run(terminologies, out, **section):
    return mine_records([t.path for t in terminologies], config(**section), out)


def test_the_shipped_config_uses_every_kind_of_names_and_mines(hpo, tmp_path):
    shipped = replace(load_config(CONFIGS / "mine.cfg"), heldout=HeldoutSettings(names=0.0))
    meta = mine_records([hpo.path], shipped, tmp_path / "r.jsonl")
    assert all(task["records"] for task in meta["tasks"].values())
    counted = {}
    for record in read_records(tmp_path / "r.jsonl"):
        counted[record.task] = counted.get(record.task, 0) + 1
    assert counted == {name: task["records"] for name, task in meta["tasks"].items()}


def test_the_files_agree_with_each_other(two_sources, tmp_path):
    meta = run(two_sources, tmp_path / "r.jsonl", heldout={"names": 0.5})
    names = list(read_names(tmp_path / "names.jsonl"))
    heldout = [json.loads(line) for line in (tmp_path / "heldout.jsonl").open()]
    equivalents = Equivalents.open(tmp_path / "equivalents.jsonl")
    assert meta["counts"]["names"] == len(names)
    assert meta["counts"]["heldout"] == len(heldout) > 0
    assert meta["counts"]["concepts_with_equivalents"] == len(equivalents.barred)
    assert json.loads((tmp_path / "r.meta.json").read_text()) == meta
    # nothing held out is learned, whatever its spelling
    held = {normalize(row["text"]) for row in heldout}
    assert held.isdisjoint(normalize(name.text) for name in names)
    records = list(read_records(tmp_path / "r.jsonl"))
    assert {record.anchor_concept for record in records} <= {name.concept_id for name in names}
    for record in records:
        assert held.isdisjoint(map(normalize, (record.anchor, record.positive)))


def test_one_to_one_references_only(two_sources, tmp_path):
    run(two_sources, tmp_path / "r.jsonl")
    equivalents = Equivalents.open(tmp_path / "equivalents.jsonl")
    assert equivalents.same == {}  # HP:0000002 is not HP:2, HP:8 is broader, HP:6 is shared
    assert equivalents.barred["HP:6"] == {"D:3", "D:4"}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(hpo, tmp_path):
    tasks = {
        "triplets": {
            "@tasks": "spacy-termlink.HierarchyTriplets.v1",
            "mix": {"same-near": 0.5, "near-far": 0.5},
            "augment": True,
        }
    }
    found = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run([hpo], tmp_path / name / "r.jsonl", tasks=tasks, seed=seed)
        found.append((tmp_path / name / "r.jsonl").read_bytes())
    assert found[0] == found[1] != found[2]


def test_a_second_task_or_terminology_changes_no_record_of_the_first(two_sources, tmp_path):
    hpo, _ = two_sources
    triplets = {
        "@tasks": "spacy-termlink.HierarchyTriplets.v1",
        "mix": {"same-near": 0.5, "near-far": 0.5},
    }
    run([hpo], tmp_path / "a" / "r.jsonl", tasks={"triplets": triplets})
    run(two_sources, tmp_path / "b" / "r.jsonl", tasks={"synonyms": SYNONYMS, "triplets": triplets})
    alone = list(read_records(tmp_path / "a" / "r.jsonl"))
    together = list(read_records(tmp_path / "b" / "r.jsonl"))
    assert [r for r in together if r.task == "triplets" and r.anchor_concept[0] == "H"] == alone


def test_a_task_named_twice_in_meta_says_its_weight_and_copies(hpo, tmp_path):
    tasks = {"synonyms": {**SYNONYMS, "weight": 0.5, "augment": True}}
    meta = run([hpo], tmp_path / "r.jsonl", tasks=tasks, augmentation={"rate": 1.0})
    task = meta["tasks"]["synonyms"]
    assert task["weight"] == 0.5
    assert 0 < task["augmented"] <= task["records"] / 2


def test_branches(two_sources, tmp_path):
    tasks = {"parents": {"@tasks": "spacy-termlink.ChildParent.v1"}}
    settings = {"heldout": {"names": 1.0}, "tasks": tasks}
    run(two_sources, tmp_path / "r.jsonl", branches={"hpo": ["HP:2"]}, **settings)
    names = {name.concept_id for name in read_names(tmp_path / "names.jsonl")}
    assert names == {"HP:2", "HP:3", "HP:4", "D:1", "D:2", "D:3", "D:4"}
    heldout = [json.loads(line)["concept_id"] for line in (tmp_path / "heldout.jsonl").open()]
    assert set(heldout) == {"HP:2", "HP:3", "HP:4"}
    for branches, code in (({"mesh": ["C"]}, "TL222"), ({"hpo": ["HP:99"]}, "TL107")):
        with pytest.raises(TermlinkError, match=code):
            run(two_sources, tmp_path / "r.jsonl", branches=branches)


def test_a_failed_run_leaves_the_old_files(hpo, tmp_path):
    out = tmp_path / "r.jsonl"
    run([hpo], out)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.json*")}
    assert len(before) == 5
    with pytest.raises(TermlinkError, match="TL228.*hpo"):
        run([hpo], out, tasks={"synonyms": {**SYNONYMS, "kinds": ["annotated"]}})
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.json*")} == before
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"seeds": 1}, "TL223.*mining.seeds"),
        ({"seed": "one"}, "TL223.*mining.seed"),
        ({"heldout": {"names": 2.0}}, "TL223.*mining.heldout.names is 2.0.*0 to 1"),
        ({"heldout": {"name": 0.1}}, "TL223.*mining.heldout.name"),
        ({"heldout": {"terminologies": "hpo"}}, "TL223.*mining.heldout.terminologies"),
        ({"augmentation": {"case": 1}}, "TL223.*mining.augmentation.case.*true or false"),
        ({"augmentation": {"rate": True}}, "TL223.*mining.augmentation.rate"),
        ({"branches": {"hpo": "HP:1"}}, "TL223.*mining.branches.hpo.*a list"),
        ({"tasks": {}}, "TL223.*mining.tasks"),
        ({"tasks": {"a": 1}}, "TL223.*mining.tasks.a"),
        ({"tasks": {"a": {"@tasks": "none.v1"}}}, "TL226.*mining.tasks.a.*none.v1.*SynonymPairs"),
        ({"tasks": {"a": {**SYNONYMS, "cap": 1}}}, "TL227.*mining.tasks.a.*cap"),
        ({"tasks": {"a": {**SYNONYMS, "max_per_concept": "x"}}}, "TL227.*max_per_concept"),
        ({"tasks": {"a": {**SYNONYMS, "weight": -1.0}}}, "TL223.*mining.tasks.a.weight"),
    ],
)
def test_a_value_that_does_not_fit_is_named(section, message):
    with pytest.raises(TermlinkError, match=message):
        config(**section)


@pytest.mark.parametrize(
    "text", ["not a config", "[mining]\nseed = 0\n", "[training]\nseed = 0\n", "[mining]\nseed = {"]
)
def test_a_file_that_is_no_mining_config_is_refused(tmp_path, text):
    path = tmp_path / "mine.cfg"
    path.write_text(text)
    with pytest.raises(TermlinkError, match="TL225.*mine.cfg"):
        load_config(path)


def test_every_task_is_registered_and_documented():
    names = sorted(name for name in registry.get_all() if name.startswith("spacy-termlink."))
    assert len(names) == 9
    docs = (CONFIGS.parent / "docs" / "mining.md").read_text(encoding="utf8")
    for name in names:
        assert registry.get(name).__doc__
        assert name in docs


def test_the_command(hpo, tmp_path):
    out = tmp_path / "out" / "records.jsonl"
    args = ["mine", str(hpo.path), "--config", str(CONFIGS / "mine.cfg"), "-o", str(out)]
    result = CliRunner().invoke(app, [*args, "--json", str(tmp_path / "counts.json")])
    assert result.exit_code == 0, result.output
    counts = json.loads((tmp_path / "counts.json").read_text())
    for name, task in counts["tasks"].items():
        assert f"{name} " in result.stdout
        assert str(task["records"]) in result.stdout
    assert (out.parent / "heldout.jsonl").is_file()


@pytest.mark.parametrize(
    ("terminology", "config_name", "code"),
    [("none", "mine.cfg", "TL001"), ("hpo", "none.cfg", "TL001")],
)
def test_bad_input_is_one_line(hpo, tmp_path, terminology, config_name, code):
    args = ["mine", str(tmp_path / terminology), "-c", str(CONFIGS / config_name)]
    result = CliRunner().invoke(app, [*args, "-o", str(tmp_path / "r.jsonl")])
    assert result.exit_code == 2
    assert code in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
