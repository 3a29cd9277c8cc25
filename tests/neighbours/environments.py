"""Virtual environments for packages that cannot live in the one that the tests run in."""

import configparser
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints-numpy1.txt"
VERSION = f"py{sys.version_info[0]}.{sys.version_info[1]}"


def make_environment(name, requirements, tmp_path):
    """Interpreter of an environment with the requirements, and with the package as it is now.

    The libraries are gigabytes and take pip ten minutes, so they are kept in the system's temporary
    folder for the next run, under a name that changes with the versions. Our wheel is built and
    installed each time.
    """
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf8")
    ours = setup["options"]["install_requires"]
    wanted = "\n".join([*requirements, CONSTRAINTS.read_text(), ours])
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / "spacy-termlink-tests" / f"{name}-{VERSION}-{digest}"
    python = folder / "bin" / "python"
    wheel = _build_wheel(tmp_path)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not (folder / "installed").is_file():
        _run([sys.executable, "-m", "venv", "--clear", folder])
        # a wheel where there is one: nmslib is not built from source
        _run([*pip, "--prefer-binary", "-c", CONSTRAINTS, wheel, *requirements])
        (folder / "installed").write_text("\n".join(requirements) + "\n")
    _run([*pip, "--no-deps", "--no-index", "--force-reinstall", wheel])
    return python


def run_side(python, script, *args, cwd):
    """What a script of this folder prints as JSON in another environment, and what it wrote to stderr."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        [python, Path(__file__).with_name(script), *args], cwd=cwd, env=clean,
        capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout), run.stderr


def _build_wheel(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(ROOT / "spacy_termlink", source / "spacy_termlink")
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    code = "from setuptools import build_meta; print(build_meta.build_wheel('.'))"
    name = _run([sys.executable, "-c", code], cwd=source).splitlines()[-1]
    return source / name


def _run(command, cwd=None):
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout
