import json

import numpy as np
import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.lexical.dictionary import Dictionary

NAMES = [
    "Seizure",  # 0
    "Abnormality of the kidney",
    "Tapered finger",
    "Hearing loss",
    "Severe hearing loss",
    "Low-set ears",  # 5
    "Leukemia, acute",
    "ALL",
    "Tic",
    "mtDNA",
    "Palmar pits",  # 10
    "Plantar pits",
    "Hypopigmentation of hair",
    "Hypopigmentation of the skin",
    "Type 2 diabetes",
    "Vitamin A deficiency",  # 15
    "\u7cd6\u5c3f\u75c5",
    "Collectionism",
    "Ataxia",
    "Bilateral hearing loss with tinnitus",
    "Short finger",  # 20
    "Broad finger",
    "Obese",
    "In utero growth delay",
    "Abnormal kidney",
    "Fever with rash",  # 25
]


@pytest.fixture(scope="module")
def dictionary():
    return Dictionary.build(NAMES, NAMES.__getitem__)


def found(dictionary, text, **settings):
    [matches] = dictionary.match([text], **settings)
    return [(text[m.start : m.end], *(NAMES[row] for row in m.rows)) for m in matches]


@pytest.mark.parametrize(
    ("text", "mention", "name"),
    [
        ("Two SEIZURES today.", "SEIZURES", "Seizure"),
        ("with tapered fingers", "tapered fingers", "Tapered finger"),
        ("tapering of the fingers", "tapering of the fingers", "Tapered finger"),
        ("His fingers are tapered.", "fingers are tapered", "Tapered finger"),
        ("ears low-set", "ears low-set", "Low-set ears"),
        ("Low set\near", "Low set\near", "Low-set ears"),
        ("acute leukaemia", "acute leukaemia", "Leukemia, acute"),
        ("leukemia, acute", "leukemia, acute", "Leukemia, acute"),
        ("ALL in remission", "ALL", "ALL"),
        ("a tic", "tic", "Tic"),
        ("mtDNA", "mtDNA", "mtDNA"),
        ("diabetes type II", "diabetes type II", "Type 2 diabetes"),
        ("he is ataxic.", "ataxic", "Ataxia"),
        ("\u60a3\u8005\u6709\u7cd6\u5c3f\u75c5\u3002", "\u7cd6\u5c3f\u75c5", "\u7cd6\u5c3f\u75c5"),
        ("in utero growth delay", "in utero growth delay", "In utero growth delay"),
        ("seizure-prone", "seizure", "Seizure"),
    ],
)
def test_tolerant_matches(dictionary, text, mention, name):
    assert found(dictionary, text) == [(mention, name)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all systems",  # the abbreviation is written in capitals
        "MTDNA",
        "TIC",
        "finger. Tapered",  # across sentences
        "finger, tapered",  # across a comma, and the name has none
        "rash with fever",
        "non-obese",
        "seizure-free",
        "seizure-like",
        "collecting system",  # no other word of the same stem
        "collecting",
        "ataxic gait",  # an adjective of another noun
        "\u75c5\u7cd6\u5c3f",  # characters are not reordered like words ...
        "utero growth delay",
        "vitamin deficiency",
        "\U0001f912\x00\ud800",
    ],
)
def test_no_false_matches(dictionary, text):
    assert found(dictionary, text) == []


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("ALL\n\nSeizure", ["Seizure"]),  # a heading
        ("ALL:\nSeizure", ["Seizure"]),
        ("REVIEW OF ALL SYSTEMS", []),
        ("Diagnosis: ALL", ["ALL"]),
        ("ALL, ataxia", ["ALL", "ataxia"]),
        ("ALL", ["ALL"]),  # a mention alone is no heading
    ],
)
def test_abbreviations_in_headings(dictionary, text, mentions):
    assert [mention for mention, _ in found(dictionary, text)] == mentions


@pytest.mark.parametrize(
    ("name", "text", "mentions"),
    [
        ("1", "grade 1", []),
        ("ML 3", "3 ml", []),
        ("MIS-A", "miss a day", []),
        ("Arthritis, gouty", "gout, arthritis", []),
        ("Kidney disease (CKD)", "kidney disease (CKD) stage 3", ["kidney disease (CKD)"]),
        ("Arthritis, arthralgia", "arthritis, arthralgia", ["arthritis, arthralgia"]),
        ("Abnormality of the skin", "cutaneous manifestations", ["cutaneous manifestations"]),
        ("Kidney malformation", "renal disorder", []),
        ("Renal sign", "renal disorder", []),
        ("Renal disorder", "renal disorders", ["renal disorders"]),
        ("Eye disorder", "abnormality of the eye", []),
    ],
)
def test_names_that_lead_astray(name, text, mentions):
    names = [name]
    [matches] = Dictionary.build(names, names.__getitem__).match([text])
    assert [text[m.start : m.end] for m in matches] == mentions


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Stenosis of aorta", "severe aortic stenosis", []),
        ("Aortic stenosis", "stenosis of the aorta", []),
        ("Fusion of spine", "spinal fusion L4-L5", []),
        ("Hernia of femur", "femoral hernia", []),
        ("Agenesis of kidney", "renal agenesis", ["renal agenesis"]),
        ("Aneurysm of aorta", "aortic aneurysms", ["aortic aneurysms"]),
        ("Stenosis of spine", "spinal stenosis", ["spinal stenosis"]),
        ("Aortic stenosis", "aortic stenosis", ["aortic stenosis"]),
    ],
)
def test_adjectives_that_name_another_thing_than_their_noun(name, text, expected):
    [matches] = Dictionary.build([name], [name].__getitem__).match([text])
    assert [text[m.start : m.end] for m in matches] == expected


def test_a_comma_between_two_mentions():
    names = ["Arthritis, arthralgia", "Arthralgia", "Arthritis"]
    [matches] = Dictionary.build(names, names.__getitem__).match(["arthritis, arthralgia"])
    assert [names[m.rows[0]] for m in matches] == ["Arthritis", "Arthralgia"]


def test_the_longest_match_stays(dictionary):
    assert found(dictionary, "severe hearing loss, then hearing loss") == [
        ("severe hearing loss", "Severe hearing loss"),
        ("hearing loss", "Hearing loss"),
    ]


def test_the_closest_names_win(dictionary):
    assert found(dictionary, "abnormal kidney") == [("abnormal kidney", "Abnormal kidney")]
    assert found(dictionary, "renal anomalies")[0][0] == "renal anomalies"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("palmar and plantar pits", [("palmar", "palmar pits", "Palmar pits"),
                                     ("plantar pits", "", "Plantar pits")]),
        ("hypopigmentation of skin or hair",
         [("hypopigmentation of skin", "", "Hypopigmentation of the skin"),
          ("hair", "hypopigmentation of hair", "Hypopigmentation of hair")]),
        ("short, tapered and broad fingers",
         [("short", "short fingers", "Short finger"),
          ("tapered", "tapered fingers", "Tapered finger"),
          ("broad fingers", "", "Broad finger")]),
        ("palmar. And plantar pits", [("plantar pits", "", "Plantar pits")]),
        ("hypopigmentation of skin or hair follicles",
         [("hypopigmentation of skin", "", "Hypopigmentation of the skin")]),
        ("seizures and plantar pits", [("seizures", "", "Seizure"),
                                       ("plantar pits", "", "Plantar pits")]),
    ],
)  # fmt: skip
def test_mentions_that_share_words(dictionary, text, expected):
    [matches] = dictionary.match([text])
    assert [(text[m.start : m.end], m.whole, NAMES[m.rows[0]]) for m in matches] == expected


def test_a_comma_match_yields_to_one_across_its_end():
    names = ["Delay, severe", "Severe photosensitivity", "Delay"]
    dictionary = Dictionary.build(names, names.__getitem__)
    [matches] = dictionary.match(["delay, severe photosensitivity"])
    assert [names[m.rows[0]] for m in matches] == ["Delay", "Severe photosensitivity"]


def test_only_allowed_rows_are_found(dictionary):
    allowed = np.array([name != "Severe hearing loss" for name in NAMES])
    assert found(dictionary, "severe hearing loss", allowed=allowed) == [
        ("hearing loss", "Hearing loss")
    ]
    assert dictionary.find("severe hearing loss", allowed=allowed) == ()


def test_find_takes_the_whole_mention(dictionary):
    assert dictionary.find("renal abnormalities") == (1,)
    assert dictionary.find("fingers tapering") == (2,)
    assert dictionary.find("a seizure") == ()
    assert dictionary.find("") == ()
    assert dictionary.find("seizure " * 100) == ()


def test_a_batch_is_its_texts_one_by_one(dictionary):
    texts = ["", "Seizure", "", "no names", "hearing", "loss and seizures", "\x00"]
    assert dictionary.match(texts) == [dictionary.match([text])[0] for text in texts]
    assert dictionary.match([]) == []


def test_empty_dictionary():
    assert Dictionary.build([], [].__getitem__).match(["Seizure", ""]) == [[], []]
    assert Dictionary.build(["", "..."], [].__getitem__).find("...") == ()


def test_saved_and_opened_it_finds_the_same(dictionary, tmp_path):
    dictionary.save(tmp_path / "d")
    opened = Dictionary.open(tmp_path / "d", NAMES.__getitem__)
    text = "Severe hearing loss, seizures and palmar and plantar pits."
    assert len(opened) == len(dictionary)
    assert opened.match([text]) == dictionary.match([text]) != [[]]


@pytest.mark.parametrize("name", ["keys.npy", "rows.npy", "vocabulary.npy", "meta.json"])
def test_a_torn_folder_is_named(dictionary, tmp_path, name):
    folder = tmp_path / "d"
    dictionary.save(folder)
    (folder / name).write_bytes((folder / name).read_bytes()[:-3])
    with pytest.raises(TermlinkError, match=str(folder)):
        Dictionary.open(folder, NAMES.__getitem__)
    (folder / name).unlink()
    with pytest.raises(TermlinkError, match=str(folder)):
        Dictionary.open(folder, NAMES.__getitem__)


@pytest.mark.parametrize("key", ["format_version", "rules"])
def test_one_of_another_release_is_refused(dictionary, tmp_path, key):
    dictionary.save(tmp_path / "d")
    meta = json.loads((tmp_path / "d" / "meta.json").read_text())
    assert Dictionary.is_current(tmp_path / "d")
    (tmp_path / "d" / "meta.json").write_text(json.dumps({**meta, key: "other"}))
    assert not Dictionary.is_current(tmp_path / "d")
    with pytest.raises(TermlinkError, match="TL201"):
        Dictionary.open(tmp_path / "d", NAMES.__getitem__)


def test_equal_keys_of_other_words_are_told_apart(monkeypatch):
    from spacy_termlink.lexical import words

    words._hash.cache_clear()
    monkeypatch.setattr(words, "_hash", lambda word: 7 if word else 0)
    names = ["seizure", "ataxia"]
    dictionary = Dictionary.build(names, names.__getitem__)
    assert dictionary.find("ataxia") == (1,)
    assert dictionary.find("fever") == ()


def test_unknown_words(dictionary):
    assert dictionary.unknown_words("severe Seizures of the brain") == (["brain"], 3)
    assert dictionary.unknown_words("") == ([], 0)
    assert Dictionary.build([], [].__getitem__).unknown_words("brain") == (["brain"], 1)
