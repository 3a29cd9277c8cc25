"""Files as others write them: what is read, in which unit, and what is refused."""

import json

import pytest

from spacy_termlink.errors import TermlinkError
from spacy_termlink.evaluation.corpora.bioc_files import read_bioc
from spacy_termlink.evaluation.corpora.brat import read_brat, write_brat
from spacy_termlink.evaluation.corpora.docbin import read_docbin
from spacy_termlink.evaluation.corpora.jsonl import read_jsonl
from spacy_termlink.evaluation.corpora.model import CorpusDoc, CorpusEntity, Report, split_ids
from spacy_termlink.evaluation.corpora.pubtator import read_pubtator, write_pubtator


@pytest.fixture
def save(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def read(reader, path, **options):
    report = Report()
    return list(reader(path, report, **options)), report


@pytest.mark.parametrize(
    "field, prefix, ids, cardinality",
    [
        ("D003920", "MESH", ("MESH:D003920",), None),
        ("MESH:D1", "MESH", ("MESH:D1",), None),
        ("D1|OMIM:100300", "MESH", ("MESH:D1", "OMIM:100300"), None),
        ("D1 ; D2,D1", "", ("D1", "D2"), None),
        ("D1+D2", "", ("D1", "D2"), "conjunct+"),
        ("-", "MESH", (), None),
        ("-1", "", (), None),
        ("", "", (), None),
        ("D1|-1", "", ("D1",), None),
        ("c|SUB|A|1298|C", "", ("c|SUB|A|1298|C",), None),
    ],
)
def test_ids_of_one_field(field, prefix, ids, cardinality):
    extra = {} if cardinality is None else {"cardinality": cardinality}
    assert split_ids(field, prefix=prefix) == (ids, extra)


PUBTATOR = (
    "\ufeff10|t|Fever \r\n10|a| and  cough.\r\n10\t0\t5\tFever\tDisease\tD005334\r\n"
    "10\t13\t18\tcough\tDisease\r\n10\tCID\tD1\tD2\r\n\r\n\n11|t|A|a|b\n11\t0\t5\tA|a|b\tX\t-1\n"
)


def test_pubtator(save):
    docs, report = read(read_pubtator, save("x.txt", PUBTATOR), prefix="MESH")
    # white space at the ends of lines counts
    assert docs == [
        CorpusDoc("10", "Fever \n and  cough.", (
            CorpusEntity(0, 5, ("MESH:D005334",), "Disease"), CorpusEntity(13, 18, (), "Disease"))),
        CorpusDoc("11", "A|a|b", (CorpusEntity(0, 5, (), "X"),)),
    ]  # fmt: skip
    assert report.lost == {"relations": 1} and not report.rejects


BYTES = "1|t|naïve \U0001f9e0 fever\n1|a|\n1\t{0}\t{1}\tfever\tX\tA\n1\t0\t{2}\tnaïve\tX\tA\n"


@pytest.mark.parametrize(
    "start, end, first, unit",
    [(8, 13, 5, "characters"), (12, 17, 6, "bytes"), (9, 14, 5, "utf16")],
)
def test_the_unit_of_offsets_is_found(save, start, end, first, unit):
    docs, report = read(read_pubtator, save("x.txt", BYTES.format(start, end, first)))
    assert [(e.start, e.end) for e in docs[0].entities] == [(8, 13), (0, 5)]
    assert report.units == {unit: 1} and not report.rejects


def test_an_offset_inside_of_a_character_is_refused(save):
    docs, report = read(read_pubtator, save("x.txt", BYTES.format(9, 14, 99)))
    (only,) = docs[0].entities
    assert (only.start, only.end) == (8, 13)
    (reject,) = report.rejects
    assert (reject.doc_id, reject.place, reject.code) == ("1", "line 4", "TL981")


def test_a_mention_elsewhere_is_left_out_by_name(save):
    text = "5|t|Fever and cough\n5\t0\t5\tcough\tX\tA\n5\t10\t15\tcough\tX\tA\n5\t10\t99\tcough\tX\tA\n"
    docs, report = read(read_pubtator, save("x.txt", text))
    assert [e.start for e in docs[0].entities] == [10]
    assert [r.place for r in report.rejects] == ["line 2", "line 4"]
    assert "document '5', line 2: the text at 0:5" in report.rejects[0].reason
    assert "ough" not in report.rejects[0].reason  # a note's words stay in the note


@pytest.mark.parametrize(
    "text, place, reason",
    [
        (
            "1|t|a\n2\t0\t1\ta\tX\tA\n",
            "line 1",
            "line 2: neither a passage nor a line of document '1'",
        ),
        ("1|t|a\n1\t0\t1\n", "line 1", "line 2: 3 columns, expected 6"),
        ("1|t|a\n2|a|b\n", "line 1", "line 2: document '2' inside of '1'"),
        ("no document\n", "line 1", "line 1: neither a passage"),
    ],
)
def test_a_broken_document_of_pubtator_is_rejected_alone(save, text, place, reason):
    docs, report = read(read_pubtator, save("x.txt", f"{text}\n9|t|good\n"))
    assert [doc.doc_id for doc in docs] == ["9"]
    (reject,) = report.rejects
    assert reject.place == place and reason in reject.reason


XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE collection SYSTEM "BioC.dtd">
<collection><source>s</source><date/><key>k</key>
<document><id>7</id><infon key="journal">J</infon>
 <passage><infon key="type">title</infon><offset>0</offset><text>Fever &amp; pain</text>
  <annotation id="0"><infon key="type">Disease</infon><infon key="MESH">D005334</infon>
   <infon key="CompositeRole">Individual</infon>
   <location offset="0" length="5"/><text>Fever</text></annotation></passage>
 <passage><offset>14</offset>
  <sentence><offset>14</offset><text>Renal or</text></sentence>
  <sentence><offset>23</offset><text>liver failure.</text>
   <annotation id="1"><infon key="identifier">D1|OMIM:2</infon>
   <location offset="29" length="7"/><location offset="14" length="5"/><text>Renal failure</text></annotation>
  </sentence>
  <relation id="R1"><node refid="0" role="x"/></relation></passage>
</document></collection>
"""


def test_bioc_xml(save):
    docs, report = read(read_bioc, save("x.xml", XML), prefix="MESH")
    text = "Fever & pain\n\nRenal or\nliver failure."
    assert docs == [CorpusDoc("7", text, (
        CorpusEntity(0, 5, ("MESH:D005334",), "Disease", extra={"CompositeRole": "Individual"}),
        CorpusEntity(14, 36, ("MESH:D1", "OMIM:2"), fragments=((14, 19), (29, 36))),
    ), extra={"journal": "J"})]  # fmt: skip
    assert report.lost == {"infons of passages": 1, "relations": 1} and not report.rejects


def bioc_json(offset, length, second, *, wrap=lambda docs: {"documents": docs}):
    passages = [
        {"offset": 0, "text": "na\u00efve \U0001f9e0"},
        {"offset": second, "text": "\u00fcber fever", "annotations": [
            {"id": "a", "locations": [{"offset": offset, "length": length}], "text": "fever",
             "infons": {"identifier": "MESH:D1", "type": "Disease"}}]},
    ]  # fmt: skip
    return json.dumps(wrap([{"id": "1", "passages": passages}]))


@pytest.mark.parametrize(
    "offset, second, unit",
    [(13, 8, "characters"), (18, 12, "bytes"), (14, 9, "utf16")],
)
def test_bioc_json_in_each_unit(save, offset, second, unit):
    docs, report = read(read_bioc, save("x.json", bioc_json(offset, 5, second)))
    assert docs[0].text == "naïve \U0001f9e0\nüber fever"
    assert docs[0].entities == (CorpusEntity(13, 18, ("MESH:D1",), "Disease"),)
    assert report.units == {unit: 1}


@pytest.mark.parametrize("wrap", [lambda docs: docs, lambda docs: {"PubTator3": docs}])
def test_bioc_json_of_pubtator(save, wrap):
    docs, _ = read(read_bioc, save("x.json", bioc_json(13, 5, 8, wrap=wrap)))
    assert docs[0].entities[0].start == 13


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("x.xml", "<collection><document>", "TL982.*line 1: not well-formed"),
        ("x.xml", "<!DOCTYPE c [<!ENTITY e SYSTEM 'x.txt'>]><collection><source>&e;</source></collection>", "TL982"),
        ("x.json", "{", "TL982.*not JSON"),
        ("x.json", '{"a": 1}', "TL982.*no list of documents"),
        ("x.json", "", "TL005"),
    ],
)  # fmt: skip
def test_what_is_no_bioc(save, name, text, message):
    with pytest.raises(TermlinkError, match=message):
        read(read_bioc, save(name, text))


def test_overlapping_passages_reject_the_document(save):
    text = XML.replace("<offset>14</offset>\n  <sentence>", "<offset>9</offset>\n  <sentence>")
    text = text.replace("<sentence><offset>14", "<sentence><offset>9")
    docs, report = read(read_bioc, save("x.xml", text))
    assert docs == [] and "passage at 9: it overlaps" in report.rejects[0].reason


def test_brat(save, tmp_path):
    save("c/a/1.txt", "Fever, renal\nor liver failure")
    save("c/a/1.ann", "T1\tDisease 0 5\tFever\nN1\tReference T1 MESH:D1\tfever\nN2\tReference T1 D2\n"
         "T2\tDisease 7 12;22 29\trenal failure\r\nN3\tReference T2 id:E11\tx\n"
         "A1\tNegated T1\nR1\tx Arg1:T1 Arg2:T2\n#1\tAnnotatorNotes T1\tsure?\n"
         "T3\tWords 7 12;13 15\trenal or\n")  # fmt: skip
    save("c/b.txt", "nothing here")
    docs, report = read(read_brat, tmp_path / "c", prefix="MESH")
    assert docs == [
        CorpusDoc("a/1", "Fever, renal\nor liver failure", (
            CorpusEntity(0, 5, ("MESH:D1", "MESH:D2"), "Disease"),
            CorpusEntity(7, 29, ("MESH:E11",), "Disease", fragments=((7, 12), (22, 29))),
            CorpusEntity(7, 15, (), "Words"),  # cut at a line end only
        )),
        CorpusDoc("b", "nothing here"),
    ]  # fmt: skip
    assert report.lost == {"attributes": 1, "relations": 1, "notes": 1}


@pytest.mark.parametrize(
    "ann, reason",
    [
        ("T1 Disease 0 5 Fever\n", "1.ann, line 1: expected ID, 'LABEL START END'"),
        ("T1\tDisease 0 5\tFever\nN1\tReference T1\tx\n", "line 2: expected 'Reference MENTION"),
        ("N1\tReference T9 MESH:D1\tx\n", "a concept for T9, which is no mention"),
        ("Z1\tx\n", "line 1: an unknown kind"),
        (b"T1\tX 0 5\t\xff\n", "not UTF-8"),
        ("T1\tX 0 5\tFever\n#1\ttermlink T1\t{\n", "line 2: its termlink field is no JSON"),
    ],
)
def test_a_broken_ann_file_is_rejected_alone(save, tmp_path, ann, reason):
    save("c/1.txt", "Fever")
    save("c/1.ann", ann)
    save("c/2.txt", "good")
    save("c/3.ann", "")
    docs, report = read(read_brat, tmp_path / "c")
    assert [doc.doc_id for doc in docs] == ["2"]
    assert reason in report.rejects[0].reason and report.rejects[0].doc_id == "1"
    assert "no .txt" in report.rejects[1].reason


@pytest.mark.parametrize(
    "doc_id", ["../x", "/x", "a//b", "", ".", "a/../b", "a\0", "x" * 300, "a\\b"]
)
def test_no_file_outside_of_the_folder(tmp_path, doc_id):
    report = Report()
    (tmp_path / "c").mkdir()
    write_brat([CorpusDoc(doc_id, "x")], tmp_path / "c", report)
    assert [r.code for r in report.rejects] == ["TL984"]
    assert [p.name for p in tmp_path.rglob("*")] == ["c"]


def test_what_pubtator_cannot_hold_is_rejected(tmp_path):
    report = Report()
    entity = CorpusEntity(0, 1, ("A|B",))
    docs = [CorpusDoc("a b", "x"), CorpusDoc("1", "x", (entity,)), CorpusDoc("2", "x")]
    write_pubtator(docs, tmp_path / "x", report)
    assert [(r.doc_id, r.code) for r in report.rejects] == [("a b", "TL984"), ("1", "TL984")]
    assert (tmp_path / "x").read_text() == "2|t|x\n2|a|\n\n"


def test_jsonl_rejects_a_line_or_a_mention(save):
    lines = [
        '{"doc_id": "1", "text": "Fever", "entities": [{"start": 0, "end": 5, "concepts": [], "text": "fever"}, '
        '{"start": 0, "end": 5, "concepts": ["A"], "cardinality": "single", "note": [1]}]}',
        '{"doc_id": "2"}',
        "nonsense",
        '{"doc_id": "3", "text": "x", "entities": [{"start": 0, "end": 7, "concepts": []}]}',
        '{"doc_id": "4", "text": "x", "entities": [{"start": 0, "end": 1, "concepts": [], "fragments": 3}]}',
        '{"doc_id": "5", "text": "x"}',
    ]
    docs, report = read(read_jsonl, save("x.jsonl", "\n".join(lines)))
    assert docs == [
        CorpusDoc("1", "Fever", (CorpusEntity(0, 5, ("A",), extra={"note": [1]}),)),
        CorpusDoc("5", "x"),
    ]
    assert [(r.place, r.code) for r in report.rejects] == [
        ("line 1, entity 1", "TL981"), ("line 2", "TL901"), ("line 3", "TL982"), ("line 4", "TL901"),
        ("line 5", "TL982"),
    ]  # fmt: skip


def test_a_docbin_of_others(tmp_path):
    import spacy
    from spacy.tokens import DocBin, Span

    nlp = spacy.blank("en")
    doc = nlp("Fever and cough")
    doc.ents = [Span(doc, 0, 1, "D", kb_id="D1"), Span(doc, 2, 3, "D")]
    DocBin(docs=[doc]).to_disk(tmp_path / "x.spacy")
    docs, _ = read(read_docbin, tmp_path / "x.spacy", prefix="MESH")
    assert docs == [CorpusDoc("doc-1", "Fever and cough", (
        CorpusEntity(0, 5, ("MESH:D1",), "D"), CorpusEntity(10, 15, (), "D")))]  # fmt: skip
    (tmp_path / "bad.spacy").write_bytes(b"no")
    with pytest.raises(TermlinkError, match="TL982.*no DocBin"):
        read(read_docbin, tmp_path / "bad.spacy")


def test_spans_changed_in_spacy_count(tmp_path):
    import spacy
    from spacy.tokens import DocBin

    from spacy_termlink.evaluation.corpora.docbin import write_docbin

    write_docbin([CorpusDoc("1", "Fever", (CorpusEntity(0, 5, ("A", "B"), "D"),))],
                 tmp_path / "x.spacy", Report())  # fmt: skip
    (doc,) = DocBin().from_disk(tmp_path / "x.spacy").get_docs(spacy.blank("en").vocab)
    doc.spans["entities"][0].kb_id_ = "C"
    span = doc.spans["entities"][0]
    span.kb_id_ = "C"
    doc.spans["entities"] = [span]
    DocBin(docs=[doc], store_user_data=True).to_disk(tmp_path / "y.spacy")
    docs, _ = read(read_docbin, tmp_path / "y.spacy")
    assert docs[0].entities == (CorpusEntity(0, 5, ("C",), "D"),)


BIOC_MENTION = {"id": "1", "infons": {}, "text": "fits", "locations": [{"offset": 0, "length": 4}]}


@pytest.mark.parametrize(
    "change",
    [{"locations": [{"offset": "a", "length": 4}]}, {"locations": [{"offset": 0}]}, {"locations": 3},
     {"locations": [{"offset": None, "length": 4}]}, {"infons": [1]}, {"text": 5}],
)  # fmt: skip
def test_bioc_json_of_other_types_is_a_reject_and_the_rest_goes_on(save, change):
    def document(doc_id, mention):
        return {"id": doc_id, "passages": [{"offset": 0, "text": "fits", "annotations": [mention]}]}

    data = [document("bad", {**BIOC_MENTION, **change}), 7, document("good", BIOC_MENTION)]
    docs, report = read(read_bioc, save("x.json", json.dumps({"documents": data})))
    assert [doc.doc_id for doc in docs] == ["good"]
    assert [(r.doc_id, r.place, r.code) for r in report.rejects] == [
        ("bad", "document 1", "TL982"), (None, "document 2", "TL982")
    ]  # fmt: skip
