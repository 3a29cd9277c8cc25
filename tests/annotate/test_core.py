import time

import pyarrow as pa
import pytest
from spacy.language import Language
from spacy.tokens import Span

from spacy_termlink.annotate.core import ANNOTATIONS, REJECTS, annotate_batch, find_linkers
from spacy_termlink.errors import TermlinkError


def batch(*texts, ids=None, **columns):
    ids = ids or [f"n{i}" for i in range(len(texts))]
    return pa.RecordBatch.from_pydict({"note_id": ids, "text": list(texts), **columns})


def rows_of(found):
    return found.annotations.to_pylist()


def places(found):
    return [(r["note_id"], r["start"], r["end"], r["concept_id"]) for r in rows_of(found)]


def test_every_column_of_a_row(make_nlp):
    found = annotate_batch(make_nlp(), batch("She had a Seizure."))
    assert found.annotations.schema == ANNOTATIONS
    assert rows_of(found) == [
        {
            "note_id": "n0", "start": 10, "end": 17, "text": "Seizure", "label": "FINDING",
            "kb": "tiny", "release": "2026-01", "concept_id": "X:3", "concept_name": "seizure",
            "matched": "seizure", "score": 1.0, "probability": None, "tier": "exact",
            "assertion": None, "section": None,
        }
    ]  # fmt: skip
    assert found.n_annotated == 1


def test_a_nil_mention_is_kept_without_a_concept(make_nlp):
    row = rows_of(annotate_batch(make_nlp(), batch("qqqqq")))[0]
    assert row["concept_id"] == "NIL"
    unknown = ("concept_name", "matched", "score", "probability", "tier")
    assert [row[name] for name in unknown] == [None] * 5


def test_one_row_per_mention_and_kb(make_nlp, kb_path, other_kb_path):
    nlp = make_nlp(kbs=[kb_path, other_kb_path])
    found = annotate_batch(nlp, batch("fever and seizure"))
    assert [(r["start"], r["kb"], r["concept_id"]) for r in rows_of(found)] == [
        (0, "tiny", "X:7"),
        (0, "other", "B50"),
        (10, "tiny", "X:3"),
        (10, "other", "NIL"),
    ]


@pytest.mark.parametrize(
    "text",
    ["😀fever", "a\r\nb\r\nfever", "\ufeff fever", "e\u0301 fever", "חום fever", "𝔘𝔫𝔦 fever"],
)
def test_offsets_are_characters_of_the_note(make_nlp, text):
    found = annotate_batch(make_nlp(), batch(text))
    for row in rows_of(found):
        assert text[row["start"] : row["end"]] == row["text"]
    assert rows_of(found), text


@pytest.mark.parametrize("text", ["", " \n\t ", "😀😀", "שלום עולם", "x" * 100_000])
def test_texts_without_a_mention(make_nlp, text):
    found = annotate_batch(make_nlp(), batch(text, "fever"))
    assert places(found) == [("n1", 0, 5, "X:7")]
    assert found.n_annotated == 2


def test_no_note_at_all(make_nlp):
    found = annotate_batch(make_nlp(), batch())
    assert (found.annotations.num_rows, found.rejects.num_rows, found.n_annotated) == (0, 0, 0)
    assert found.rejects.schema == REJECTS


def test_a_note_the_pipeline_fails_on_is_rejected_alone(make_nlp):
    nlp = make_nlp(before=["fails_on_boom"])
    found = annotate_batch(nlp, batch("fever", "boom secret", "seizure"))
    assert places(found) == [("n0", 0, 5, "X:7"), ("n2", 0, 7, "X:3")]
    assert found.rejects.to_pylist() == [
        {
            "line": 2, "note_id": "n1", "code": "component_failed", "component": "fails_on_boom",
            "error": "ValueError",
        }
    ]  # fmt: skip
    assert found.n_annotated == 2


def test_an_error_handler_that_drops_notes_loses_none(make_nlp):
    nlp = make_nlp(before=["fails_on_boom"])
    nlp.set_error_handler(lambda name, component, docs, error: None)
    found = annotate_batch(nlp, batch("fever", "boom secret", "seizure"))
    assert [r["note_id"] for r in rows_of(found)] == ["n0", "n2"]
    assert [r["note_id"] for r in found.rejects.to_pylist()] == ["n1"]


def test_bad_notes_are_rejected_with_their_line(make_nlp):
    nlp = make_nlp()
    nlp.max_length = 20
    notes = batch("x" * 21, None, "fe\0ver", "fever", ids=["a", "b", "c", None], line=[7, 8, 9, 12])
    found = annotate_batch(nlp, notes)
    assert [(r["line"], r["note_id"], r["code"]) for r in found.rejects.to_pylist()] == [
        (7, "a", "too_long"),
        (8, "b", "missing_text"),
        (9, "c", "nul_byte"),
        (12, None, "missing_id"),
    ]
    assert found.annotations.num_rows == 0


@pytest.mark.parametrize("sign", ["(", "_", "\u2026", "()"])
def test_a_run_of_signs_that_would_stop_the_tokenizer_is_rejected(make_nlp, sign):
    found = annotate_batch(
        make_nlp(), batch((sign * 900_000)[:900_000], f"fever {sign * 600} fever")
    )
    assert [r["code"] for r in found.rejects.to_pylist()] == ["run_of_signs"]
    assert [place[0] for place in places(found)] == ["n1", "n1"]


@pytest.mark.parametrize(
    "word",
    [
        ("(" * 1999 + "x") * 30, "'s" * 5000, "C$" * 5000, "a:@" * 13_000, "a:" * 40_000,
        "(" * 500 + "x" + ("." * 1999 + "x") * 30,
        " ".join("(" * (1999 - i) + "x" for i in range(30)),
    ],
)  # fmt: skip
def test_words_that_would_stop_the_tokenizer_are_rejected(make_nlp, word):
    begin = time.perf_counter()
    found = annotate_batch(make_nlp(), batch(word, "fever"))
    assert time.perf_counter() - begin < 5
    assert [r["code"] for r in found.rejects.to_pylist()] == ["long_word"]
    assert [place[0] for place in places(found)] == ["n1"]


LONG_WORDS = {
    "base64": "aGVsbG8+d29y/GQx" * 4000 + "==",
    "an address": "https://example.org/" + "find/it?what=fever&of=" * 1000,
    "no blank": "\u60a3\u8005\u6709\u201c\u7cd6\u5c3f\u75c5\u201d\uff0c\uff08\u8f7b\uff09\u3002"
    * 5000,
    "a table": "|" + "----|" * 300,
    "JSON": '{"a":1,"b":[2,3]},' * 2000,
    "a sequence": "ACGT" * 20_000,
    "rules": "\n".join("=" * n for n in range(60, 200)),
}


@pytest.mark.parametrize("word", LONG_WORDS.values(), ids=LONG_WORDS)
def test_long_words_are_read(make_nlp, word):
    begin = time.perf_counter()
    found = annotate_batch(make_nlp(), batch(f"fever {word} fever"))
    assert time.perf_counter() - begin < 5
    assert len(places(found)) == 2


def test_a_pipeline_that_changes_the_text_is_not_trusted(make_nlp):
    nlp = make_nlp()
    make_doc = nlp.tokenizer
    nlp.tokenizer = lambda text: make_doc(text.replace("  ", " "))
    found = annotate_batch(nlp, batch("a  fever", "fever"))
    assert [r["code"] for r in found.rejects.to_pylist()] == ["offsets_shifted"]
    assert places(found) == [("n1", 0, 5, "X:7")]


def test_other_fields_and_whole_number_ids(make_nlp):
    notes = pa.RecordBatch.from_pydict({"nr": [5, 6], "body": ["fever", "x"]})
    found = annotate_batch(make_nlp(), notes, text_field="body", id_field="nr")
    assert places(found) == [("5", 0, 5, "X:7")]


def test_batches_of_any_size_give_the_same(make_nlp):
    texts = ["fever seizures", "", "qqqqq headache", "Seizure"] * 5
    nlp = make_nlp()
    whole = rows_of(annotate_batch(nlp, batch(*texts)))
    single = [
        row
        for i, text in enumerate(texts)
        for row in rows_of(annotate_batch(nlp, batch(text, ids=[f"n{i}"])))
    ]
    assert whole == single


def test_span_groups(make_nlp):
    nlp = make_nlp()
    nlp.add_pipe("span_ruler", config={"spans_key": "found"}).add_patterns(
        [{"label": "A", "pattern": "fever"}, {"label": "B", "pattern": "fever remedy"}]
    )
    config = {"kb": nlp.get_pipe_config("linker0")["kb"], "spans_key": "found", "overwrite": False}
    nlp.add_pipe("term_linker", name="second", config=config)
    nlp.remove_pipe("linker0")
    found = annotate_batch(nlp, batch("fever remedy"))
    assert [(r["start"], r["end"], r["label"], r["concept_id"]) for r in rows_of(found)] == [
        (0, 5, "A", "X:7"),
        (0, 12, "B", "X:8"),
    ]


def test_find_linkers(make_nlp, kb_path, other_kb_path):
    linkers = find_linkers(make_nlp(kbs=[kb_path, other_kb_path]))
    assert [(x.name, x.kb, x.release, x.spans_key) for x in linkers] == [
        ("linker0", "tiny", "2026-01", None),
        ("linker1", "other", "2026-01", None),
    ]


def test_docs_are_handed_out_with_their_rows(make_nlp):
    seen = []
    nlp = make_nlp()
    found = annotate_batch(nlp, batch("fever", "x"), on_doc=lambda *args: seen.append(args))
    assert [(note_id, doc.text) for note_id, doc, _ in seen] == [("n0", "fever"), ("n1", "x")]
    assert [row for _, _, rows in seen for row in rows] == rows_of(found)


class Negation:
    """Stands for negspaCy: a component that is neither spaCy's nor ours."""

    def __call__(self, doc):
        for ent in doc.ents:
            ent._.negex = doc.text[: ent.start_char].endswith("no ")
        return doc


@pytest.fixture
def negex():
    Span.set_extension("negex", default=False)
    yield
    Span.remove_extension("negex")


def test_assertion_is_read_where_a_component_assessed_it(make_nlp, negex):
    nlp = make_nlp()
    type(nlp).component("negation_of_test", func=Negation())
    nlp.add_pipe("negation_of_test")
    found = annotate_batch(nlp, batch("fever, no seizure"))
    assert [r["assertion"] for r in rows_of(found)] == ["affirmed", "negated"]


def test_an_attribute_of_another_pipeline_asserts_nothing(make_nlp, negex):
    found = annotate_batch(make_nlp(), batch("fever"))
    assert rows_of(found)[0]["assertion"] is None


@pytest.mark.parametrize(
    "module, assessed",
    [
        ("medspacy.context.context", True),
        ("medspacy.section_detection.sectionizer", False),
        ("PyRuSH.PyRuSHSentencizer", False),
        ("scispacy.abbreviation", False),
        ("somebody.components", True),
    ],
)
def test_known_components_that_assess_nothing(make_nlp, negex, module, assessed):
    """medspaCy makes all its attributes when it is imported, ConText in the pipeline or not."""
    nlp = make_nlp()
    component = type("Component", (), {"__module__": module, "__call__": lambda self, doc: doc})()
    type(nlp).component("component_of_test", func=component)
    nlp.add_pipe("component_of_test")
    found = annotate_batch(nlp, batch("fever"))
    assert rows_of(found)[0]["assertion"] == ("affirmed" if assessed else None)


@pytest.mark.parametrize(
    "flags, status",
    [
        ({"is_negated": True, "is_family": True}, "family"),
        ({"is_negated": True, "is_historical": True}, "negated"),
        ({"is_negated": False, "is_uncertain": True}, "possible"),
        ({"is_hypothetical": False}, "affirmed"),
    ],
)
def test_assertion_by_several_flags(make_nlp, flags, status):
    from spacy_termlink.annotate.assertion import get_assertion

    for name in flags:
        Span.set_extension(name, default=False)
    try:
        span = make_nlp()("fever").ents[0]
        for name, value in flags.items():
            span._.set(name, value)
        assert get_assertion(span) == status
    finally:
        for name in flags:
            Span.remove_extension(name)


def test_section(make_nlp):
    from spacy_termlink.annotate.assertion import get_section

    span = make_nlp()("fever").ents[0]
    assert get_section(span) is None
    Span.set_extension("section_category", default=None)
    try:
        assert get_section(span) is None
        span._.section_category = "family_history"
        assert get_section(span) == "family_history"
    finally:
        Span.remove_extension("section_category")


@Language.component("calls_a_server")
def calls_a_server(doc):
    if "boom" in doc.text:
        raise ConnectionError(f"cannot send {doc.text}")
    return doc


@Language.component("finds_no_kb")
def finds_no_kb(doc):
    raise TermlinkError("TL001", path="kb")


def test_an_error_of_the_network_is_one_of_its_note_and_a_missing_kb_is_not(make_nlp):
    notes = batch("fever", "boom")
    found = annotate_batch(make_nlp(before=["calls_a_server"]), notes)
    [reject] = found.rejects.to_pylist()
    assert (reject["component"], reject["error"]) == ("calls_a_server", "ConnectionError")
    assert found.n_annotated == 1
    with pytest.raises(TermlinkError, match="TL001"):
        annotate_batch(make_nlp(before=["finds_no_kb"]), notes)
