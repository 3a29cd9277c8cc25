"""medspaCy: ConText's flags and the sectionizer's sections reach the annotations.

It needs spaCy below 3.8, so it runs in an environment of its own (see environments.py).
"""

import pytest

from .environments import make_environment, run_side

EXPECTED = [
    ["heart attack", "T:0007", "historical", "past_medical_history"],
    ["seizure", "T:0003", "negated", "past_medical_history"],
    ["diabetes mellitus type 2", "T:0010", "family", "family_history"],
    ["cleft palate", "T:0012", "possible", "observation_and_plan"],
    ["seizure", "T:0003", "hypothetical", "observation_and_plan"],
    ["Short stature", "T:0011", "affirmed", "observation_and_plan"],
]


@pytest.mark.slow
def test_context_and_sections(tiny_kb, tmp_path):
    python = make_environment("medspacy", ["spacy==3.7.5", "medspacy==1.3.1"], tmp_path)
    found, stderr = run_side(python, "medspacy_side.py", tiny_kb, tmp_path, cwd=tmp_path)
    assert found["versions"] == ["3.7.5", "1.3.1"]
    assert found["both"] == found["group"] == found["command"] == EXPECTED
    # without ConText nobody has assessed anything, though its attributes exist
    sections = [[*row[:2], None, row[3]] for row in EXPECTED]
    assert found["sections alone"] == sections
    assert found["pyrush"][:3] == EXPECTED[:3]
    assert "attack" not in stderr and "Mother" not in stderr, "words of the note in the log"
