"""Starts scispaCy's process, and passes work to it."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REQUIREMENTS = ("scispacy==0.6.2", "spacy==3.8.18", "numpy==1.26.4")
VERSION = f"py{sys.version_info[0]}.{sys.version_info[1]}"
ENVIRONMENT = Path(tempfile.gettempdir()) / "spacy-termlink-bench" / f"scispacy-0.6.2-{VERSION}"
WORKER = Path(__file__).parent / "scispacy_worker.py"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of a benchmark that runs beside scispaCy."""
    parser.add_argument(
        "--scispacy-env", type=Path, default=ENVIRONMENT, help=f"its environment ({ENVIRONMENT})"
    )
    parser.add_argument(
        "--scispacy-python",
        default=None,
        help="interpreter for it, 3.10 to 3.12 (default: this one)",
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")


def make_environment(folder: Path, python: str | None) -> Path:
    """Interpreter of scispaCy's virtual environment; made where there is none.

    It asks for nmslib-metabrainz 2.1.3, a build of nmslib with wheels, and for numpy < 2.
    """
    interpreter = folder / "bin" / "python"
    stamp = folder / "installed"
    if not stamp.is_file():
        print(f"installing {', '.join(REQUIREMENTS)} in {folder} ...", flush=True)
        subprocess.run([python or sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # a wheel where there is one: nmslib is not built from source
        subprocess.run([*pip, "--prefer-binary", *REQUIREMENTS], check=True)
        stamp.write_text("\n".join(REQUIREMENTS) + "\n", encoding="utf8")
    return interpreter


class ScispacySide:
    """scispaCy's generator and component, with the same tasks as OurSide."""

    def __init__(self, python: Path, terminology: object) -> None:
        self.terminology = terminology
        # its order of equal aliases hangs on the hashes of strings
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        self.process = subprocess.Popen(
            [python, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=environment,
        )  # fmt: skip

    def build(self) -> dict:
        """Index the same names."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "names.jsonl"
            with path.open("w", encoding="utf8") as file:
                for entity in self._entities():
                    file.write(json.dumps(entity) + "\n")
            return self._ask(task="build", names=str(path))

    def seconds(self, task: str, work: list) -> float:
        """Wall time of a task, as the process measures it."""
        if task == "batch":
            return self._ask(task=task, mentions=work)["seconds"]
        if task == "notes":
            return self._ask(task=task, notes=work)["seconds"]
        docs = [
            {
                "words": [token.text for token in doc],
                "spaces": [bool(token.whitespace_) for token in doc],
                "ents": [(span.start, span.end) for span in doc.ents],
            }
            for doc in work
        ]
        return self._ask(task=task, docs=docs)["seconds"]

    def rank(self, mentions: list) -> list:
        return self._ask(task="rank", mentions=mentions)["ranked"]

    def _entities(self):
        terminology = self.terminology
        definitions = terminology.concepts["definition"].to_pylist()
        for row in range(terminology.n_concepts):
            if not terminology.obsolete[row]:
                yield {
                    "concept_id": terminology.concept_id(row),
                    "canonical_name": terminology.preferred_name(row),
                    "aliases": [terminology.name_text(i) for i in terminology.name_rows(row)],
                    "definition": definitions[row] or None,
                }

    def _ask(self, **request: object) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"scispaCy's process ended (exit status {self.process.wait()})")
        return json.loads(answer)
