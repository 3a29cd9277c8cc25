"""Write, read, equal: every field of every format, and every pair of formats; what a format has no
place for is counted, field by field."""

from collections import Counter
from dataclasses import replace

import pytest

from spacy_termlink.evaluation.corpora.bioc_files import read_bioc, write_bioc
from spacy_termlink.evaluation.corpora.convert import FORMATS
from spacy_termlink.evaluation.corpora.docbin import read_docbin, write_docbin
from spacy_termlink.evaluation.corpora.model import CorpusDoc, CorpusEntity, Report

KINDS = {"pubtator": "x.pubtator", "xml": "x.xml", "json": "x.json", "brat": "folder", "jsonl": "x.jsonl",
         "spacy": "x.spacy"}  # fmt: skip

TEXT = (
    "Ocular and auditory\ntoxicity \U0001f9e0 in a naïve\tchild.\nNo fever; tab and 3\u20444 end. "
)


def entity(text, mention, *concepts, nth=0, **more):
    start = -1
    for _ in range(nth + 1):
        start = text.index(mention, start + 1)
    return CorpusEntity(start, start + len(mention), concepts, **more)


DOCS = [
    CorpusDoc(
        "1",
        TEXT,
        (
            # two concepts, in pieces, over a line end
            replace(entity(TEXT, "Ocular and auditory\ntoxicity", "MESH:D1", "MESH:D2", label="Disease"),
                    fragments=((0, 6), (11, 28)), accept=(("MESH:D1", "MESH:D9"), ("MESH:D2",))),
            entity(TEXT, "auditory\ntoxicity", "MESH:D2", label="Disease", extra={"assertion": "affirmed"}),
            entity(TEXT, "toxicity", "MESH:D3", "OMIM:100", label="Disease",
                   extra={"cardinality": "conjunct+", "parts": ["ear toxicity", "toxicity"]}),
            entity(TEXT, "\U0001f9e0", "C0006104", label="Organ"),
            entity(TEXT, "naïve\tchild", label="Person"),  # NIL
            entity(TEXT, "child.", "E11.9", label="Person"),  # ends inside a token of spaCy's
            entity(TEXT, "fever", "HP:0001945", label="Finding", extra={"assertion": "negated", "n": 3}),
        ),
        ("MESH:D1", "HP:0001945"),
        "dev",
        {"year": "1999", "authors": ["A", "B"]},
    ),
    CorpusDoc("2", "No mention here.", (), (), "train"),
    CorpusDoc("empty", ""),
    CorpusDoc("4", "One line", (CorpusEntity(0, 3, ("X:1",), ""), CorpusEntity(3, 8, ("X:2",), "A b"))),
]  # fmt: skip


def write(kind, docs, folder, report):
    path = folder / KINDS[kind]
    name = "bioc" if kind in ("xml", "json") else kind
    if name == "brat":
        path.mkdir(parents=True)
    else:
        folder.mkdir(exist_ok=True)
    FORMATS[name].write(docs, path, report)
    return path


def read(kind, path, report):
    name = "bioc" if kind in ("xml", "json") else kind
    return list(FORMATS[name].read(path, report))


def kept(kind, doc):
    """What a format keeps of a document, said independently of the code."""
    if kind in ("brat", "pubtator"):
        doc = replace(doc, doc_concepts=None, split="", extra={})
    if kind == "pubtator":
        first, end, rest = doc.text.partition("\n")
        doc = replace(
            doc,
            text=first + end + rest.replace("\n", " "),
            entities=tuple(
                replace(e, accept=(), fragments=(), extra={
                    k: v for k, v in e.extra.items() if k in ("cardinality", "parts")
                })
                for e in doc.entities
            ),
        )  # fmt: skip
    return doc


def by_id(docs):
    return {doc.doc_id: doc for doc in docs}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_comes_back(kind, tmp_path):
    report = Report()
    path = write(kind, DOCS, tmp_path / "a", report)
    found = read(kind, path, report)
    assert by_id(found) == by_id(kept(kind, doc) for doc in DOCS)
    assert not report.rejects
    lost = {
        "pubtator": {"doc_concepts of documents": 2, "split of documents": 2, "year of documents": 1,
                     "authors of documents": 1, "accept": 1, "fragments": 1, "assertion": 2, "n": 1,
                     "line breaks": 1},
        "brat": {"doc_concepts of documents": 2, "split of documents": 2, "year of documents": 1,
                 "authors of documents": 1},
    }  # fmt: skip
    assert report.lost == Counter(lost.get(kind, {}))


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_every_pair(first, second, tmp_path):
    report = Report()
    between = read(first, write(first, DOCS, tmp_path / "a", report), report)
    found = read(second, write(second, between, tmp_path / "b", report), report)
    assert by_id(found) == by_id(kept(second, kept(first, doc)) for doc in DOCS)
    assert not report.rejects


@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_give_the_same_bytes(kind, tmp_path):
    paths = [write(kind, DOCS, tmp_path / name, Report()) for name in "ab"]
    files = [
        [p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()] if path.is_dir()
        else [path.read_bytes()]
        for path in paths
    ]  # fmt: skip
    assert files[0] == files[1] and files[0]


def test_spacy_sees_the_mentions(tmp_path):
    import spacy
    from spacy.tokens import DocBin

    path = write("spacy", DOCS, tmp_path / "a", Report())
    (doc, *_) = DocBin().from_disk(path).get_docs(spacy.blank("en").vocab)
    assert doc.text == TEXT and doc.user_data["note_id"] == "1"
    group = [(s.text, s.label_, s.kb_id_) for s in doc.spans["entities"]]
    assert group[0] == ("Ocular and auditory\ntoxicity", "Disease", "MESH:D1|MESH:D2")
    assert group[4] == ("naïve\tchild", "Person", "NIL")
    # of those that overlap, the longest
    assert [e.text for e in doc.ents] == [
        "Ocular and auditory\ntoxicity", "\U0001f9e0", "naïve\tchild", "fever"
    ]  # fmt: skip


def test_brat_files(tmp_path):
    path = write("brat", DOCS[:1], tmp_path / "a", Report())
    lines = (path / "1.ann").read_text(encoding="utf8").splitlines()
    assert lines[0] == "T1\tDisease 0 6;11 19;20 28\tOcular auditory toxicity"
    assert lines[1:3] == ["N1\tReference T1 MESH:D1\t", "N2\tReference T1 MESH:D2\t"]
    assert "N6\tReference T4 id:C0006104\t" in lines
    assert (path / "1.txt").read_bytes().decode() == TEXT


def test_pubtator_lines(tmp_path):
    path = write("pubtator", DOCS[:1], tmp_path / "a", Report())
    lines = path.read_text(encoding="utf8").split("\n")
    assert lines[0] == "1|t|Ocular and auditory"
    assert lines[1].startswith("1|a|toxicity \U0001f9e0 in a naïve\tchild. No fever")
    assert lines[2] == "1\t0\t28\tOcular and auditory toxicity\tDisease\tMESH:D1|MESH:D2"
    assert lines[4] == "1\t20\t28\ttoxicity\tDisease\tMESH:D3+OMIM:100\tear toxicity|toxicity"
    assert lines[6] == "1\t36\t47\tnaïve child\tPerson\t-"


def test_a_text_longer_than_parsers_take_fits_into_a_docbin(tmp_path):
    text = "x " * 600_000 + "fits"
    doc = CorpusDoc("long", text, (CorpusEntity(len(text) - 4, len(text), ("D1",)),))
    report = Report()
    write_docbin([doc], tmp_path / "x.spacy", report)
    assert list(read_docbin(tmp_path / "x.spacy", report)) == [doc]
    assert report.rejects == []


@pytest.mark.parametrize("name", ["x.xml", "x.json"])
def test_bioc_refuses_to_write_what_it_would_not_read(tmp_path, name):
    report = Report()
    write_bioc([CorpusDoc("", "a"), CorpusDoc("1", "b")], tmp_path / name, report)
    assert [r.code for r in report.rejects] == ["TL984"]
    assert [doc.doc_id for doc in read_bioc(tmp_path / name, report)] == ["1"]
