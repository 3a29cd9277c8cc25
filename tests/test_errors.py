"""Messages: each formats, each is used, each that is used exists."""

import ast
import pickle
import re
from collections import defaultdict
from pathlib import Path
from string import Formatter

import pytest

from spacy_termlink.errors import MESSAGES, TermlinkError

PACKAGE = Path(__file__).parent.parent / "spacy_termlink"
CODE = re.compile(r"TL\d{3}")


def fields_of(message):
    return {re.split(r"[.\[]", field)[0] for _, field, _, _ in Formatter().parse(message) if field}


def uses():
    """Code -> the calls that name it, as (place, keyword names or None where they are not literal)."""
    found = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        if path.name == "errors.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.Call):
                codes = [a.value for a in node.args if isinstance(a, ast.Constant)]
                for code in codes:
                    if isinstance(code, str) and CODE.fullmatch(code):
                        names = [keyword.arg for keyword in node.keywords]
                        known = None if None in names else set(names)
                        callee = ast.unparse(node.func).rsplit(".", 1)[-1]
                        direct = callee.endswith("Error")
                        found[code].append((f"{path}:{node.lineno}", known if direct else None))
            elif isinstance(node, ast.Constant) and CODE.fullmatch(str(node.value)):
                found[node.value].append((f"{path}:{node.lineno}", None))
    return found


USES = uses()


@pytest.mark.parametrize("code", MESSAGES)
def test_message_formats_with_nothing_left(code):
    message = str(TermlinkError(code, **dict.fromkeys(fields_of(MESSAGES[code]), "VALUE")))
    assert message.startswith(f"[{code}] ")
    assert "{" not in message and "}" not in message
    assert message.count("VALUE") >= len(fields_of(MESSAGES[code]))
    assert "  " not in message


@pytest.mark.parametrize("code", MESSAGES)
def test_message_is_used(code):
    assert USES[code], f"{code} is raised nowhere"


@pytest.mark.parametrize("code", sorted(code for code in USES if USES[code]))
def test_used_code_exists_and_gets_its_values(code):
    assert code in MESSAGES, f"{code} has no message: {USES[code]}"
    for place, given in USES[code]:
        if given is not None:
            missing = fields_of(MESSAGES[code]) - given
            assert not missing, f"{place} leaves out {missing}"


def test_codes_are_unique():
    """A dict keeps the last of two equal keys without a word: read the source."""
    tree = ast.parse((PACKAGE / "errors.py").read_text(encoding="utf8"))
    [messages] = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MESSAGES"
    ]
    codes = [key.value for key in messages.keys]
    assert len(codes) == len(set(codes))
    assert all(CODE.fullmatch(code) for code in codes)


def test_an_error_survives_a_process_border():
    error = pickle.loads(pickle.dumps(TermlinkError("TL107", concept_id="X:1", terminology="t")))
    assert (error.code, error.values["concept_id"]) == ("TL107", "X:1")
    assert str(error) == "[TL107] Unknown concept id 'X:1' in t."


def test_docstrings_name_existing_codes():
    for path in PACKAGE.rglob("*.py"):
        for code in CODE.findall(path.read_text(encoding="utf8")):
            assert code in MESSAGES, f"{path} mentions {code}"
