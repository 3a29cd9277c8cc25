"""The layout of DESIGN.md, section 2, read from the syntax trees: nothing is imported here."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "spacy_termlink"
FILES = sorted(PACKAGE.rglob("*.py"))
RANKS = {
    "errors": 0, "registry": 0, "types": 0, "text": 0, "spelling": 0, "files": 0, "counts": 0,
    "annotated": 0,
    "terminology": 1, "lexical": 1,
    "mining": 2, "encoders": 3, "training": 4, "candidates": 5, "rerank": 6, "kb": 7,
    "pipeline": 8, "annotate": 9, "evaluation": 10, "serve": 11, "cli": 11,
}  # fmt: skip
#: Slow to import: inside functions only, so that `termlink --help` answers at once.
HEAVY = {"torch", "transformers", "faiss", "sklearn", "scipy", "bm25s", "spacy_transformers"}
#: Modules that exist for one of these libraries, and are themselves imported late.
HEAVY_HOMES = {
    "torch": {"encoders", "training", "rerank"},
    "transformers": {"encoders", "training", "rerank"},
    "sklearn": {"lexical"},
    "scipy": {"lexical", "evaluation"},
    "bm25s": set(),
    "faiss": {"candidates"},
    "spacy_transformers": {"encoders"},
}
MAX_LINES = 350


def name_of(path):
    return str(path.relative_to(PACKAGE))


def home_of(path):
    """Top-level package or module of a file: what has a rank."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path, *, top_level=False):
    """(module, line) of each import of a file that runs (top_level: when the file is imported).

    Relative ones become absolute; those under `if TYPE_CHECKING` never run.
    """
    package = ("spacy_termlink", *path.relative_to(PACKAGE).parent.parts)
    for node in _nodes(ast.parse(path.read_text(encoding="utf8")), top_level):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, node.module] if node.module else base)
            # `from .. import text` imports a module, `from ..text import normalize` a name of one
            if module == "spacy_termlink":
                for alias in node.names:
                    yield f"{module}.{alias.name}", node.lineno
            else:
                yield module, node.lineno


def _nodes(tree, top_level):
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        if not (top_level and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))):
            todo += ast.iter_child_nodes(node)


def own_home(module):
    """What a module of ours belongs to, None for a foreign one or the package itself."""
    parts = module.split(".")
    if parts[0] != "spacy_termlink" or len(parts) == 1:
        return None
    return None if parts[1].startswith("__") else parts[1]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_go_down(path):
    home = home_of(path)
    if home in ("__init__", "__main__"):
        return
    assert home in RANKS, f"{home} has no rank: give it one here and in the design"
    for module, line in imports(path):
        other = own_home(module)
        # the modules of rank 0 stand side by side, as one package
        if other is None or other == home or RANKS[other] == RANKS[home] == 0:
            continue
        if (home, other) == ("cli", "serve"):  # they share a row: a command starts the server
            continue
        assert RANKS[other] < RANKS[home], f"{path}:{line} imports {module}, of rank {RANKS[other]}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_heavy_libraries_are_imported_late(path):
    for module, line in imports(path, top_level=True):
        library = module.split(".")[0]
        if library in HEAVY:
            assert home_of(path) in HEAVY_HOMES[library], (
                f"{path}:{line} imports {library} when it is itself imported"
            )


@pytest.mark.parametrize("path", [p for p in FILES if RANKS.get(home_of(p), 9) <= 1], ids=name_of)
def test_low_ranks_know_no_torch_and_no_spacy(path):
    for module, line in imports(path):
        assert module.split(".")[0] not in {"torch", "transformers", "spacy", "thinc"}, (
            f"{path}:{line} imports {module}"
        )


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_print_no_pickle_no_eval(path):
    in_cli = home_of(path) == "cli"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            banned = {"eval", "exec"} if in_cli else {"eval", "exec", "print"}
            assert node.func.id not in banned, f"{path}:{node.lineno} calls {node.func.id}"
    for module, line in imports(path):
        assert module.split(".")[0] not in {"pickle", "joblib", "dill", "shelve", "marshal"}, (
            f"{path}:{line} imports {module}"
        )


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf8").splitlines()) <= MAX_LINES


def test_every_folder_is_a_package():
    for folder in {path.parent for path in FILES}:
        assert (folder / "__init__.py").is_file(), f"{folder} would be left out of the wheel"


def test_the_checks_see_what_they_should(tmp_path, monkeypatch):
    """The walk finds a forbidden import whichever way it is written."""
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    path = tmp_path / "lexical" / "bad.py"
    path.parent.mkdir()
    path.write_text(
        "from .. import kb\nfrom ..kb import TermKB\nimport spacy_termlink.cli\n"
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n"
        "    from ..serve import app\n"
        "def late():\n    import faiss\n    from ..pipeline import extensions\n"
    )
    found = [own_home(module) for module, _ in imports(path)]
    assert sorted(home for home in found if home) == ["cli", "kb", "kb", "pipeline"]
    assert not HEAVY & {module.split(".")[0] for module, _ in imports(path, top_level=True)}
