"""The documentation runs: Python blocks and `termlink` commands, on small data of our own.

A comment before a block says what a test must know: `<!-- needs: demo -->` (it prints what the fetched
terminologies give: compared by the slow tests, where `make demo` has run), `<!-- file: NAME -->` (the
reader is to have this file), `<!-- parse only: WHY -->` (the options of its commands are checked) and
`<!-- no run: WHY -->`.
"""

import contextlib
import io
import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from spacy.tokens import Span
from spacy.tokens.underscore import Underscore

from spacy_termlink.cli import COMMANDS, app
from spacy_termlink.pipeline.extensions import SPAN_EXTENSIONS

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(
    r"(?:<!-- (?P<note>[^>]*?) -->\n+)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.M | re.S
)
OUT = re.compile(r"^# Out: ?(.*)$", re.M)
#: Would fetch, or run for long: their options are checked, they are not run.
PARSED_ONLY = {"fetch", "mine", "train"}


class Block(NamedTuple):
    """A fenced block: where it is, its language, its code, the comment that stands before it."""

    page: Path
    line: int
    language: str
    code: str
    note: str

    @property
    def place(self):
        return f"{self.page.name}:{self.line}"


def blocks(page):
    text = page.read_text(encoding="utf8")
    return [
        Block(page, text.count("\n", 0, m.start("code")), m["language"], m["code"], m["note"] or "")
        for m in FENCE.finditer(text)
    ]


def run_python(block, names, *, compare):
    """Run a block in a namespace; with `compare`, what it prints must be its `# Out:` lines."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.code, block.place, "exec"), names)
    expected = OUT.findall(block.code)
    if compare and expected:
        assert printed.getvalue().splitlines() == expected, block.place


def shell_commands(block):
    """Words of each `termlink` command of a shell block; continued lines are joined."""
    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:4] == ["python", "-m", "spacy", "termlink"]:
            yield words[4:]
        elif words[:1] == ["termlink"]:
            yield words[1:]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory, tiny_kb, tiny_terminology, tiny_encoder):
    """A folder that looks like this repository after `make demo`, with small data in it."""
    folder = tmp_path_factory.mktemp("docs")
    for name in ("hpo", "icd10cm"):
        shutil.copytree(tiny_kb, folder / "kb" / name)
        meta = folder / "kb" / name / "meta.json"  # a KB keeps the name it was built under
        meta.write_text(meta.read_text().replace('"name": "tiny"', f'"name": "{name}"'))
        shutil.copytree(tiny_terminology, folder / "terminologies" / name)
    shutil.copytree(tiny_encoder, folder / "assets" / "fetched" / "minilm")
    shutil.copytree(ROOT / "assets" / "notes", folder / "assets" / "notes")
    with (folder / "assets" / "notes" / "hpo_mentions.jsonl").open("a") as file:
        # one of the small terminology: index --add-names refuses a file that adds no name
        file.write('{"text": "funny turn", "concepts": ["T:0003"], "split": "test"}\n')
    shutil.copytree(ROOT / "configs", folder / "configs", dirs_exist_ok=True)
    return folder


@pytest.fixture
def own_extensions():
    """Attributes that a page's components set on spans (negspaCy's `negex`) go with the page."""
    before = set(Underscore.span_extensions)
    yield
    for name in set(Underscore.span_extensions) - before - set(SPAN_EXTENSIONS):
        Span.remove_extension(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_runs(page, workplace, monkeypatch, own_extensions):
    """Blocks in the page's order: a later one may use what an earlier one made."""
    monkeypatch.chdir(workplace)
    names = {"__name__": "docs"}
    for block in blocks(page):
        if block.note.startswith("no run:"):
            continue
        if block.note.startswith("file:"):
            (workplace / block.note.removeprefix("file:").strip()).write_text(block.code)
        elif block.language == "python":
            run_python(block, names, compare="needs: demo" not in block.note)
        elif block.language == "bash":
            for words in shell_commands(block):
                run_command(block, words, parse_only=block.note.startswith("parse only:"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_prints_what_it_says(page, monkeypatch):
    """On the real KBs; needs what `make demo` makes."""
    if not (ROOT / "kb" / "hpo").is_dir() or not (ROOT / "kb" / "icd10cm").is_dir():
        pytest.skip("run `make demo` first")
    monkeypatch.chdir(ROOT)
    names = {"__name__": "docs"}
    for block in blocks(page):
        if block.language == "python" and "needs: demo" in block.note:
            run_python(block, names, compare=True)


def run_command(block, words, *, parse_only):
    assert words[0].replace("-", "_") in COMMANDS or words[0].startswith("--"), block.place
    if parse_only or words[0] in PARSED_ONLY:
        group = typer.main.get_command(app)
        group.commands[words[0]].make_context(words[0], list(words[1:]))  # refuses a wrong option
        return
    code = app(list(words), standalone_mode=False)
    # not 3, some notes refused: the sample notes are whole
    assert code in (None, 0), f"{block.place}: termlink {' '.join(words)} gave {code}"


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_documented(command):
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf8")
    assert f"termlink {command.replace('_', '-')}" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_page_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_and_files_of_shell_blocks_exist(page):
    makefile = (ROOT / "Makefile").read_text(encoding="utf8")
    for block in blocks(page):
        if block.language != "bash":
            continue
        for target in re.findall(r"^make ([a-z-]+)", block.code, re.M):
            assert re.search(rf"^{target}:", makefile, re.M), f"{block.place}: make {target}"
        for name in re.findall(r"-c (\S+\.txt)", block.code):
            assert (ROOT / name).is_file(), f"{block.place}: {name}"
        for name in re.findall(r"^python ((?:scripts|benchmarks)/\S+)", block.code, re.M):
            assert (ROOT / name).is_file(), f"{block.place}: {name}"


def test_every_block_of_python_is_found():
    """A fence that the pattern misses would never run."""
    for page in PAGES:
        fences = page.read_text(encoding="utf8").count("\n```python\n")
        assert fences == sum(block.language == "python" for block in blocks(page)), page
