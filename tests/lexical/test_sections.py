import pytest

from spacy_termlink.lexical.sections import Section, find_sections, section_of, under_heading

NOTE = (
    "Seen on Monday.\n"
    "CHIEF COMPLAINT\n\nFits.\n"
    "Family History: Mother had seizures.\nBlood pressure: 120/80\n"
    "  ALLERGIES: None.\n"
    "Plan\nRest. MRI NEEDED NOW, and a note to the patient's own doctor.\n"
)


def test_headings_and_what_stands_under_them():
    found = find_sections(NOTE)
    assert [s.title for s in found] == ["CHIEF COMPLAINT", "Family History", "ALLERGIES", "Plan"]
    assert [NOTE[s.start : s.end].strip() for s in found] == [
        "Fits.",
        "Mother had seizures.\nBlood pressure: 120/80",
        "None.",
        "Rest. MRI NEEDED NOW, and a note to the patient's own doctor.",
    ]
    for section in found:
        assert NOTE[section.heading :].startswith(section.title)


@pytest.mark.parametrize(
    "word, title",
    [
        ("Seen", ""),
        ("Fits", "CHIEF COMPLAINT"),
        ("seizures", "Family History"),
        ("120", "Family History"),
        ("None", "ALLERGIES"),
        ("MRI", "Plan"),
        ("CHIEF", ""),  # a heading is under no heading, or under the one before
    ],
)
def test_section_of_a_word(word, title):
    assert section_of(find_sections(NOTE), NOTE.index(word)) == title


@pytest.mark.parametrize(
    "text",
    [
        "",
        "He has MS",
        "MS",
        "A plan: rest",
        "Plan to rest\n",
        "Cough: for days",
        "1. PLAN",
        "plans:",
    ],
)
def test_no_heading(text):
    assert find_sections(text) == []


def test_the_last_line_may_be_a_heading():
    assert find_sections("FAMILY HISTORY:") == [Section("FAMILY HISTORY", 0, 15, 15)]
    assert find_sections("fever\nPLAN") == [Section("PLAN", 6, 10, 10)]


def test_a_sentence_under_its_heading():
    assert under_heading("PLAN", "Rest.") == "PLAN: Rest."
    assert under_heading("PLAN", "PLAN: Rest.") == "PLAN: Rest."
    assert under_heading("", "Rest.") == "Rest."
