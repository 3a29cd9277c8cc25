import pytest

from spacy_termlink.lexical.coordination import MAX_WORDS, split_coordination


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("breast or ovarian cancer", ["breast cancer", "ovarian cancer"]),
        ("bilateral cleft lip and palate", ["bilateral cleft lip", "bilateral cleft palate"]),
        ("Duchenne/Becker muscular dystrophy",
         ["Duchenne muscular dystrophy", "Becker muscular dystrophy"]),
        ("cancer of the renal pelvis, ureter or bladder",
         ["cancer of the renal pelvis", "cancer of the ureter", "cancer of the bladder"]),
        ("asthma and diabetes", ["asthma", "diabetes"]),
        ("pain & fever", ["pain", "fever"]),
        ("asthma + eczema", ["asthma", "eczema"]),
        ("阑尾切除术+肠粘连松解术", ["阑尾切除术", "肠粘连松解术"]),
        ("膝关节镜检，腘窝囊肿切除。", ["膝关节镜检", "腘窝囊肿切除"]),
        ("右眼PHACO＋IOL植入术", ["右眼PHACO", "IOL植入术"]),
        ("肾切除术（左侧）+引流术((55.1+54.2))", ["肾切除术（左侧）", "引流术((55.1+54.2))"]),
    ],
)  # fmt: skip
def test_the_right_reading_is_among_those_given(text, reading):
    assert reading in split_coordination(text)


def test_readings_that_share_something_come_before_the_plain_one():
    readings = split_coordination("cleft lip and palate")
    assert readings == [["cleft lip", "cleft palate"], ["cleft lip", "palate"]]


@pytest.mark.parametrize(
    "text",
    ["cancer, ovarian", "CD4+ lymphocytes", "heart attack", "pain (arm and leg)", "", "and", "fever and",
     "24/7", "肠造口术（乙状结肠，降结肠）", "android obesity", "CD4+,CD8+"],
)  # fmt: skip
def test_nothing_to_divide(text):
    assert split_coordination(text) == []


def test_a_sentence_is_not_divided():
    words = "a and " + "b " * (MAX_WORDS - 2)
    assert split_coordination(words)
    assert split_coordination(words + "b") == []


def test_every_reading_is_given_once():
    readings = split_coordination("x x and x x")
    assert len(readings) == len({tuple(reading) for reading in readings})
