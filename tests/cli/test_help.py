import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from spacy_termlink.cli import COMMANDS, app

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_does(command):
    parsed = typer.main.get_command(app).commands[command.replace("_", "-")]
    assert parsed.help
    for parameter in parsed.params:
        assert getattr(parameter, "help", "") or parameter.name == "help", parameter.name


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(command):
    result = CliRunner().invoke(app, [command.replace("_", "-"), "--help"])
    assert result.exit_code == 0 and "Usage:" in result.output


def test_convert_names_every_format():
    parsed = typer.main.get_command(app).commands["convert"]
    (option,) = (parameter for parameter in parsed.params if parameter.name == "format")
    readers = ROOT / "spacy_termlink" / "terminology" / "readers"
    names = {path.stem for path in readers.glob("[a-z]*.py")}
    assert names <= set(option.help.replace(",", "").split())


def test_commands_page_is_what_the_help_says():
    pinned = [line.split(";")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()]
    if f"typer=={typer.__version__}" not in pinned:
        pytest.skip("another typer words its help in another way")
    spec = importlib.util.spec_from_file_location("make", ROOT / "docs" / "make_commands.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf8")
    assert page == module.make_page(), "run: python docs/make_commands.py"


def test_help_comes_fast_and_loads_nothing_heavy():
    code = (
        "import sys, spacy_termlink.cli\n"
        "heavy = {'torch', 'spacy', 'transformers', 'faiss', 'pyarrow', 'scipy', 'sklearn'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
