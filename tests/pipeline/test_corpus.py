import json

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.util import registry
from thinc.api import Config

from spacy_termlink.errors import TermlinkError
from spacy_termlink.pipeline.corpus import make_docs_reader

TEXT = "😀 pre-seizure state with ASD, fever and qqq."


def entity(mention, *concepts, label="FINDING"):
    start = TEXT.index(mention)
    return {"start": start, "end": start + len(mention), "label": label, "concepts": list(concepts)}


ROWS = [
    {
        "doc_id": "a",
        "text": TEXT,
        "split": "train",
        "entities": [
            entity("seizure", "X:3"),
            entity("seizure state", "X:3", "X:4"),
            entity(" ASD", "X:6"),
            entity("fever", "X:7", label=""),
            entity("qqq"),
            entity(" "),
        ],
    },
    {"doc_id": "b", "text": "", "split": "dev", "entities": []},
    {"doc_id": "c", "text": "No entity.", "split": "train", "entities": []},
]
#: Of the two that overlap the longer one stays, which names two concepts; white space is trimmed.
ENTS = [
    ("seizure state", "FINDING", ""),
    ("ASD", "FINDING", "X:6"),
    ("fever", "TERM", "X:7"),
    ("qqq", "FINDING", "NIL"),
]
GROUP = [("seizure", "FINDING", "X:3"), *ENTS]


@pytest.fixture
def docs(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf8")
    return path


def shown(spans):
    return [(span.text, span.label_, span.kb_id_) for span in spans]


def test_ents_of_docs_jsonl(docs):
    nlp = spacy.blank("en")
    first, second, third = make_docs_reader(docs)(nlp)
    assert shown(first.reference.ents) == ENTS
    assert first.reference.text == first.predicted.text == TEXT
    assert [t.text for t in first.predicted] == [t.text for t in nlp(TEXT)]
    assert not first.predicted.ents
    assert [eg.reference.user_data["note_id"] for eg in (first, second, third)] == ["a", "b", "c"]


def test_tokens_are_cut_at_mentions_alone(tmp_path):
    entities = [{"start": 1, "end": 8, "label": "F", "concepts": ["X:3"]}]
    path = tmp_path / "docs.jsonl"
    path.write_text(json.dumps({"doc_id": "a", "text": "xseizures, fine", "entities": entities}))
    [eg] = make_docs_reader(path)(spacy.blank("en"))
    assert [t.text for t in eg.reference] == ["x", "seizure", "s", ",", "fine"]
    assert shown(eg.reference.ents) == [("seizure", "F", "X:3")]


def test_group_of_docs_jsonl_keeps_what_overlaps(docs):
    first = next(make_docs_reader(docs, spans_key="sc")(spacy.blank("en")))
    assert sorted(shown(first.reference.spans["sc"])) == sorted(GROUP)
    assert not first.reference.ents


def test_split_and_limit(docs):
    def ids(**settings):
        found = make_docs_reader(docs, **settings)(spacy.blank("en"))
        return [eg.reference.user_data["note_id"] for eg in found]

    assert ids(split="train") == ["a", "c"] and ids(split="dev") == ["b"]
    assert ids(limit=2) == ["a", "b"] and ids(split="train", limit=1) == ["a"]
    with pytest.raises(TermlinkError, match=r"TL902.*'train' \(2\)"):
        ids(split="test")


def test_spacy_file(tmp_path):
    nlp = spacy.blank("en")
    doc = nlp("Fever and a seizure, pain and qqq.")
    doc.ents = [
        Span(doc, 0, 1, "A", kb_id="X:7"),
        Span(doc, 3, 4, "A", kb_id="X:3|X:4"),
        Span(doc, 5, 6, "A"),
        Span(doc, 7, 8, "A", kb_id="NIL"),
    ]
    DocBin(docs=[doc]).to_disk(tmp_path / "gold.spacy")
    [eg] = make_docs_reader(tmp_path / "gold.spacy")(spacy.blank("en"))
    # a span without an id is not annotated: it stays without one
    expected = [("Fever", "A", "X:7"), ("seizure", "A", ""), ("pain", "A", ""), ("qqq", "A", "NIL")]
    assert shown(eg.reference.ents) == expected
    [eg] = make_docs_reader(tmp_path / "gold.spacy", spans_key="sc")(spacy.blank("en"))
    assert shown(eg.reference.spans["sc"]) == expected


def test_a_folder_and_the_groups_of_a_spacy_file(tmp_path):
    nlp = spacy.blank("en")
    doc = nlp("Fever, seizure")
    doc.spans["entities"] = [Span(doc, 0, 1, "A", kb_id="X:7")]
    doc.spans["sc"] = [Span(doc, 2, 3, "A", kb_id="X:3")]
    DocBin(docs=[doc]).to_disk(tmp_path / "b.spacy")
    (tmp_path / "a.jsonl").write_text(json.dumps(ROWS[2]))
    (tmp_path / "notes.txt").write_text("not read")
    first, second = make_docs_reader(tmp_path)(nlp)
    assert first.reference.text == "No entity."
    assert shown(second.reference.ents) == [("Fever", "A", "X:7")]
    second = list(make_docs_reader(tmp_path, spans_key="sc")(nlp))[1]
    assert shown(second.reference.spans["sc"]) == [("seizure", "A", "X:3")]


def test_what_convert_corpus_writes_is_read_alike(docs, tmp_path):
    """docs.jsonl -> .spacy -> examples, and docs.jsonl -> examples."""
    from spacy_termlink.evaluation.corpora.convert import convert_corpus

    convert_corpus(docs, tmp_path / "docs.spacy")
    nlp = spacy.blank("en")
    direct = make_docs_reader(docs, spans_key="sc")(nlp)
    converted = make_docs_reader(tmp_path / "docs.spacy", spans_key="sc")(nlp)
    for eg, other in zip(direct, converted, strict=True):
        ours = {(s.start_char, s.end_char, s.kb_id_) for s in eg.reference.spans["sc"]}
        # a mention keeps its white space there
        theirs = {(s.start_char + s.text.startswith(" "), s.end_char, s.kb_id_)
                  for s in other.reference.spans["sc"] if s.text.strip()}  # fmt: skip
        assert ours == theirs


@pytest.mark.parametrize(
    "name, content, code",
    [
        ("none.jsonl", None, "TL001"),
        ("bad.jsonl", b"{", "TL901"),
        ("empty.jsonl", b"", "TL005"),
        ("bad.spacy", b"xyz", "TL982"),
        ("folder", None, "TL005"),
    ],
)
def test_bad_input(tmp_path, name, content, code):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    if name == "folder":
        path.mkdir()
    with pytest.raises(TermlinkError, match=code):
        list(make_docs_reader(path)(spacy.blank("en")))


def test_settings_that_cannot_be(tmp_path):
    with pytest.raises(TermlinkError, match="TL704.*path"):
        make_docs_reader(None)
    DocBin().to_disk(tmp_path / "a.spacy")
    with pytest.raises(TermlinkError, match="TL704.*split"):
        list(make_docs_reader(tmp_path / "a.spacy", split="dev")(spacy.blank("en")))


CONFIG = """
[corpora]

[corpora.dev]
@readers = "spacy-termlink.DocsReader.v1"
path = {path}
split = "train"
"""


def test_a_config_names_it_and_a_linker_is_scored_on_it(docs, kb_path):
    config = Config().from_str(CONFIG.format(path=json.dumps(str(docs))))
    corpus = registry.resolve(config)["corpora"]["dev"]
    nlp = spacy.blank("en")
    nlp.add_pipe("term_linker", config={"kb": str(kb_path)})
    examples = list(corpus(nlp))
    assert all(isinstance(eg.reference, Doc) for eg in examples)
    scores = nlp.evaluate(examples)
    # "fever" is right, "ASD" is defined nowhere in the text; "qqq" is NIL, two ids count nowhere
    assert scores["nel_micro_r"] == 0.5
