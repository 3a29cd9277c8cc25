"""scispaCy: its abbreviations are read, its linker and ours live together, its users' code runs.

It needs numpy below 2, so it runs in an environment of its own (see environments.py).
"""

import pytest

from .environments import make_environment, run_side


@pytest.mark.slow
def test_scispacy(tiny_kb, tmp_path):
    python = make_environment("scispacy", ["spacy==3.8.18", "scispacy==0.6.2"], tmp_path)
    found, _ = run_side(python, "scispacy_side.py", tiny_kb, tmp_path, cwd=tmp_path)

    users = found["users"]
    seizure = ["T:0003", "Seizure", ["neuro"], "A sudden discharge.", ["Epileptic fit", "Fits"]]
    infarction = ["T:0007", "Myocardial infarction", ["heart"], None, ["MI", "Heart attack"]]
    rows = {row[0]: row[1:] for row in users["rows"]}
    assert rows["epileptic fit"] == [*seizure, True, True]
    assert rows["heart attack"] == [*infarction, True, True]
    assert users["abbreviations"] == [["GMS", "Grand mal spells"]] * 2
    assert users["shown"][0].startswith("CUI: ")

    assert found["long form"] == [False, "T:0005", "Grand mal seizure"]
    links, ours_last = found["both"]
    assert [row for row in links if row[0] == "epileptic fit"] == [
        ["epileptic fit", "C1", "T:0003"]
    ]
    assert ["epileptic fit", "T:0003"] in ours_last
    # an abbreviation detector has assessed no assertion
    assert ["heart attack", "T:0007", None] in found["saved"]
