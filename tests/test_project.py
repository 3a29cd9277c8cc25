"""project.yml: every input is an asset or another command's output, and nothing restricted is fetched."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
#: Sets that scripts/evaluate_sets.py knows: name -> KB, options, ...
SETS = runpy.run_path(str(ROOT / "scripts" / "evaluate_sets.py"))["SETS"]
PROJECT = yaml.safe_load((ROOT / "project.yml").read_text(encoding="utf8"))
COMMANDS = {command["name"]: command for command in PROJECT["commands"]}


def filled(text):
    return re.sub(r"\$\{vars\.(\w+)\}", lambda match: PROJECT["vars"][match[1]], text)


OUTPUTS = [filled(path) for command in COMMANDS.values() for path in command.get("outputs", [])]
#: Beside the evaluation sets, which are the user's.
FROM_THE_USER = {"assets/eval/medic/names.tsv"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_dep_is_there_or_made(name):
    for dep in map(filled, COMMANDS[name].get("deps", [])):
        assert dep in OUTPUTS or (ROOT / dep).exists() or dep in FROM_THE_USER, dep


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_help_and_declares_what_it_does(name):
    command = COMMANDS[name]
    assert command["help"] and "deps" in command
    assert command.get("outputs") or command.get("no_skip")


@pytest.mark.parametrize("name", COMMANDS)
def test_outputs_are_written_and_deps_are_used_by_the_script(name):
    command = COMMANDS[name]
    script = " ".join(map(filled, command["script"]))
    for path in command.get("outputs", []):
        assert filled(path) in script or str(Path(filled(path)).parent) in script, path
    for path in command.get("deps", []):
        assert str(Path(filled(path)).parts[0]) in script, path


@pytest.mark.parametrize("name", PROJECT["workflows"])
def test_workflow_makes_each_dep_before_it_is_used(name):
    made = set()
    if name != "demo":  # the others go on from where the demo ends
        made |= {
            filled(p) for c in PROJECT["workflows"]["demo"] for p in COMMANDS[c].get("outputs", [])
        }
    for step in PROJECT["workflows"][name]:
        for dep in map(filled, COMMANDS[step].get("deps", [])):
            assert dep in made or dep not in OUTPUTS, f"{step} needs {dep} before it is made"
        made |= set(map(filled, COMMANDS[step].get("outputs", [])))


def folder_of_kbs(name, script, option):
    """The folder of KBs that a command gives a script, None where it does not run it."""
    for words in map(shlex.split, map(filled, COMMANDS[name]["script"])):
        if words[1:2] == [script]:
            return words[words.index(option) + 1] if option.startswith("-") else words[3]
    return None


@pytest.mark.parametrize("name", COMMANDS)
def test_sets_are_measured_again_when_a_kb_of_theirs_is_made(name):
    """The script leaves out a set whose KB is missing: that must not be the lock's last word."""
    command = COMMANDS[name]
    kbs = folder_of_kbs(name, "scripts/evaluate_sets.py", "KBS")
    if kbs is None or command.get("no_skip"):
        return
    deps = set(map(filled, command["deps"]))
    for kb in {f"{kbs}/{kb}" for kb, *_ in SETS.values()} & set(OUTPUTS):
        assert kb in deps, kb
    # MEDIC is made of eval_dir and of the encoder of the other KBs there, before it is measured
    makers = [n for n in COMMANDS if folder_of_kbs(n, "scripts/index_sets.py", "-o") == kbs]
    for steps in PROJECT["workflows"].values() if makers else ():
        if name in steps:
            assert "${vars.eval_dir}" in command["deps"]
            assert any(maker in steps[: steps.index(name)] for maker in makers)


def test_clean_removes_what_commands_make():
    for text in (COMMANDS["clean"]["script"][0], (ROOT / "Makefile").read_text(encoding="utf8")):
        (removed,) = re.findall(r"rm -rf (.*terminologies.*)", text)
        for folder in PROJECT["directories"]:
            assert folder == "assets" or folder in removed.split(), folder


def test_spacy_takes_the_project():
    """Among others, no workflow may have the name of a command."""
    from weasel.util import load_project_config

    assert load_project_config(ROOT)["title"]


def test_no_workflow_fetches_who_icd10():
    """It may not be passed on or changed: by name only."""
    for steps in PROJECT["workflows"].values():
        words = [
            word
            for step in steps
            for line in COMMANDS[step]["script"]
            for word in shlex.split(line)
        ]
        assert "icd10" not in words
    assert any("icd10cm" in line for line in COMMANDS["fetch-icd10cm"]["script"])


def test_commands_exist():
    from spacy_termlink.cli import COMMANDS as known

    for command in COMMANDS.values():
        for line in command["script"]:
            words = shlex.split(line)
            if words[:3] == ["python", "-m", "spacy_termlink"]:
                assert words[3].replace("-", "_") in known, line
            elif words[0] == "python":
                assert (ROOT / words[1]).is_file(), line
