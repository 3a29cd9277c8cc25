"""`spacy package`: the KB travels in the wheel, and a restricted one does not."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import srsly
from spacy.cli.package import package

from spacy_termlink.errors import TermlinkError

LINK_OFFLINE = """
import socket, sys

def refuse(*args, **kwargs):
    raise OSError("no network here")

socket.socket.connect = socket.getaddrinfo = refuse
import en_tiny

nlp = en_tiny.load()
print([ent.kb_id_ for ent in nlp("A hole in the heart, seizures.").ents])
print(en_tiny.__file__)
"""


def make_package(nlp, tmp_path, *, build):
    nlp.to_disk(tmp_path / "saved")
    (tmp_path / "packages").mkdir()
    package(
        tmp_path / "saved", tmp_path / "packages", name="tiny", version="1.2.3",
        create_sdist=False, create_wheel=build, silent=True,
    )  # fmt: skip
    return tmp_path / "packages" / "en_tiny-1.2.3"


def run_python(python, code, **kwargs):
    run = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=False, timeout=300, **kwargs
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_the_package_requires_us_and_holds_the_kb(make_nlp, tmp_path):
    folder = make_package(make_nlp(), tmp_path, build=False)
    requirements = srsly.read_json(folder / "meta.json")["requirements"]
    assert [r for r in requirements if r.startswith("spacy-termlink")]
    shutil.copy(folder / "meta.json", folder / "en_tiny")  # as its setup.py does
    lines = run_python(sys.executable, LINK_OFFLINE, cwd=folder)
    assert lines[0] == "['X:6', 'X:3']"
    assert lines[1].startswith(str(folder))


def test_a_restricted_kb_gets_into_no_package(make_nlp, restricted_kb_path, tmp_path):
    nlp = make_nlp(kb=str(restricted_kb_path))
    with pytest.raises(TermlinkError, match="TL702"):
        make_package(nlp, tmp_path, build=False)
    (tmp_path / "path").mkdir()
    nlp = make_nlp(kb=str(restricted_kb_path), save_kb="path")
    folder = make_package(nlp, tmp_path / "path", build=False)
    assert not list(folder.rglob("names.arrow"))


@pytest.mark.slow
@pytest.mark.ci
def test_the_wheel_links_in_another_environment_without_network(make_nlp, tmp_path):
    folder = make_package(make_nlp(), tmp_path, build=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    venv.create(tmp_path / "env", with_pip=False)
    python = next((tmp_path / "env").glob("bin/python"))
    # everything but the wheel comes from this environment, its editable installs too
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    (site_packages,) = run_python(python, code)
    mine = sysconfig.get_path("purelib")
    Path(site_packages, "shared.pth").write_text(f"import site; site.addsitedir({mine!r})\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel],
        check=True, capture_output=True,
    )  # fmt: skip
    lines = run_python(python, LINK_OFFLINE, cwd=tmp_path)
    assert lines[0] == "['X:6', 'X:3']"
    assert lines[1].startswith(site_packages)
