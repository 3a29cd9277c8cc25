"""Everything setup.cfg announces can be had, and by its registered name."""

import configparser
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import spacy

ROOT = Path(__file__).parent.parent


def announced():
    """(group, name, module:attribute) of every entry point in setup.cfg."""
    # ":" is no delimiter here: it stands inside the values
    config = configparser.ConfigParser(delimiters=("=",))
    config.optionxform = str
    config.read(ROOT / "setup.cfg", encoding="utf8")
    for group, lines in config["options.entry_points"].items():
        for line in lines.strip().splitlines():
            name, target = (part.strip() for part in line.split("=", 1))
            yield group, name, target


ENTRY_POINTS = list(announced())
REGISTRIES = {
    "spacy_architectures": spacy.registry.architectures,
    "spacy_callbacks": spacy.registry.callbacks,
    "spacy_misc": spacy.registry.misc,
    "spacy_readers": spacy.registry.readers,
    "spacy_scorers": spacy.registry.scorers,
}


@pytest.mark.parametrize("group, name, target", ENTRY_POINTS, ids=lambda value: str(value))
def test_entry_point_loads(group, name, target):
    module, _, attribute = target.partition(":")
    assert callable(getattr(import_module(module), attribute))


@pytest.mark.parametrize(
    "group, name",
    [(group, name) for group, name, _ in ENTRY_POINTS if group in REGISTRIES],
    ids=lambda value: str(value),
)
def test_registered_name_resolves(group, name):
    assert callable(REGISTRIES[group].get(name))


@pytest.mark.parametrize(
    "name", [name for group, name, _ in ENTRY_POINTS if group == "spacy_termlink_readers"]
)
def test_reader_resolves(name):
    from spacy_termlink.registry import readers

    assert callable(readers.get(name))


def test_registered_names_are_versioned():
    for group, name, _ in ENTRY_POINTS:
        if group in REGISTRIES:
            assert name.startswith("spacy-termlink.") and name[-3:-1] == ".v", name


def test_installed_entry_points_are_those_of_setup_cfg():
    """A stale installation hides a new entry point; `make test` installs again on a change."""
    from importlib.metadata import distribution

    installed = {
        (point.group, point.name, point.value)
        for point in distribution("spacy-termlink").entry_points
    }
    assert installed == set(ENTRY_POINTS)


def run(*code_or_args):
    return subprocess.run(
        [sys.executable, *code_or_args], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("component", ["term_linker", "term_matcher", "term_abbreviations"])
def test_add_pipe_in_a_fresh_process_without_an_import_of_ours(component):
    code = (
        "import spacy, sys\n"
        "nlp = spacy.blank('en')\n"
        f"nlp.add_pipe('{component}')\n"
        # thinc imports torch where there is one; our encoder and transformers wait for a mention
        "print(nlp.pipe_names, {'spacy_termlink.encoders.encoder', 'faiss'} & set(sys.modules))"
    )
    result = run("-c", code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == f"['{component}'] set()"


@pytest.mark.parametrize("module", [["spacy", "termlink"], ["spacy_termlink"]])
def test_command_line_runs_as_a_module(module):
    result = run("-m", *module, "--help")
    assert result.returncode == 0, result.stderr
    assert "annotate" in result.stdout


def test_help_needs_no_heavy_library():
    code = (
        "import sys\n"
        "from spacy_termlink.cli import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "heavy = {'torch', 'transformers', 'spacy', 'faiss', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    result = run("-c", code)
    assert result.returncode == 0, result.stderr
