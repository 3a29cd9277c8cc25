"""The sdist holds what it should, and the wheel made from it works in another environment."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOT_OURS = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "build", "dist", "fetched", "terminologies", "kb", "output"
)
USE = """
import spacy, sys
nlp = spacy.blank("en")
nlp.add_pipe("term_matcher", config={"kb": sys.argv[1]})
nlp.add_pipe("term_linker", config={"kb": sys.argv[1]})
print([ent.kb_id_ for ent in nlp("She had a heart attack.").ents])
import spacy_termlink
print(spacy_termlink.__file__)
"""


def build(function, source, out):
    """One function of setuptools' build backend, in a process that stands in the source."""
    code = f"from setuptools import build_meta; print(build_meta.{function}({str(out)!r}))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return out / result.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.ci
def test_the_wheel_of_the_sdist_works_in_another_environment(tmp_path, tiny_kb):
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(ROOT, source, ignore=lambda folder, names: [
        name for name in NOT_OURS(folder, names) if not (name == "kb" and "spacy_termlink" in folder)
    ])  # fmt: skip
    out.mkdir()
    sdist = build("build_sdist", source, out)
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    for name in ("constraints.txt", "project.yml", "Makefile", "tests/conftest.py", "docs/kb.md",
                 "assets/notes/hpo.jsonl", "scripts/build_notes.py"):  # fmt: skip
        assert (unpacked / name).is_file(), f"the sdist lacks {name}"
    wheel = build("build_wheel", unpacked, out)

    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True
    )
    # the libraries come from this environment, by path alone: its editable installs do not
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (site / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    installed = {path.relative_to(site).as_posix() for path in site.glob("spacy_termlink/**/*")}
    ours = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("spacy_termlink/**/*.py")}
    assert ours | {"spacy_termlink/py.typed"} <= installed

    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(
        [python, "-c", USE, tiny_kb], cwd=tmp_path, env=clean, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    ids, place = result.stdout.splitlines()
    assert ids == "['T:0007']"
    assert place == str(site / "spacy_termlink" / "__init__.py")
    termlink = [tmp_path / "env" / "bin" / "termlink", "--version"]
    assert subprocess.run(termlink, capture_output=True, text=True, check=True).stdout.startswith(
        "termlink 0."
    )
