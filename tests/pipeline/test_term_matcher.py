import json
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_termlink.errors import TermlinkError
from spacy_termlink.pipeline.term_matcher import TermMatcher
from spacy_termlink.terminology import Concept, Name, Relation
from spacy_termlink.terminology.builder import build_terminology

TEXTS = [
    "She had two seizures and a fever.",
    "No entity here.",
    "",
    "An atrial septal defect (ASD) was seen; the ASD closed. Onset in infancy.",
    "Palmar and plantar pits; hearing loss (HL). HL is severe.",
]
FOUND = [
    ["seizures", "fever"],
    [],
    [],
    ["atrial septal defect", "ASD", "ASD"],
    ["Palmar", "plantar pits", "hearing loss", "HL", "HL"],
]


def concept(concept_id, name, *others, parent=None, types=()):
    return Concept(
        concept_id,
        name,
        names=[Name(other) for other in others],
        relations=[Relation("is_a", parent)] if parent else [],
        semantic_types=list(types),
    )


#: As in HPO, concepts beside the branch of findings qualify them.
CONCEPTS = [
    concept("HP:0000118", "Phenotypic abnormality"),
    concept("HP:0000707", "Abnormality of the nervous system", parent="HP:0000118"),
    concept("HP:0001250", "Seizure", "Epileptic fit", parent="HP:0000707", types=["finding"]),
    concept("HP:0001945", "Fever", parent="HP:0000118"),
    concept("HP:0001631", "Atrial septal defect", parent="HP:0000118"),
    concept("HP:0000729", "Autistic behavior", "ASD", parent="HP:0000118"),
    concept("HP:0010610", "Palmar pits", parent="HP:0000118"),
    concept("HP:0010612", "Plantar pits", parent="HP:0000118"),
    concept("HP:0000365", "Hearing loss", parent="HP:0000118"),
    concept("HP:0003674", "Onset"),
]


def make_terminology(path, concepts=CONCEPTS, *, shareable=True, licence="test"):
    meta = {"source": path.name, "release": "1", "licence": licence, "shareable": shareable}
    build_terminology(concepts, path, meta=meta)
    return path


@pytest.fixture(scope="module")
def terminology(tmp_path_factory):
    return make_terminology(tmp_path_factory.mktemp("terminologies") / "tiny")


@pytest.fixture(scope="module")
def other_terminology(tmp_path_factory):
    concepts = [concept("D1", "Fever of unknown origin"), concept("D2", "Influenza")]
    return make_terminology(tmp_path_factory.mktemp("terminologies") / "other", concepts)


@pytest.fixture
def make_nlp(terminology):
    def make(lang="en", **config):
        nlp = spacy.blank(lang)
        nlp.add_pipe("term_matcher", config={"kb": str(terminology), **config})
        return nlp

    return make


def ents(doc):
    return [ent.text for ent in doc.ents]


def labelled(spans):
    return [(span.text, span.label_) for span in spans]


def test_names_become_entities(make_nlp):
    nlp = make_nlp()
    assert [ents(nlp(text)) for text in TEXTS] == FOUND
    assert {ent.label_ for text in TEXTS for ent in nlp(text).ents} == {"TERM"}


@pytest.mark.parametrize("batch_size", [1, 2, 128])
def test_pipe_is_the_documents_one_by_one(make_nlp, batch_size):
    assert [ents(doc) for doc in make_nlp().pipe(TEXTS, batch_size=batch_size)] == FOUND


GLUED = [
    ("fever;seizure", ["fever", "seizure"]),
    ("(fever)(seizures)", ["fever", "seizures"]),
    ("Hearing loss(fever) x", ["Hearing loss", "fever"]),
    ("fever+seizure|fever&seizures", ["fever", "seizure", "fever", "seizures"]),
    ("fever;病人有 1)seizure", ["fever", "seizure"]),
]


@pytest.mark.parametrize("text, found", GLUED)
@pytest.mark.parametrize("spans_key", [None, "x"])
def test_mentions_glued_together(make_nlp, text, found, spans_key):
    nlp = make_nlp(spans_key=spans_key)
    doc = nlp(text)
    spans = doc.ents if spans_key is None else doc.spans[spans_key]
    assert [span.text for span in spans] == found
    assert doc.text == text


def test_a_cut_token_begins_no_sentence_and_moves_no_span(make_nlp):
    nlp = make_nlp()
    nlp.add_pipe("sentencizer", first=True)
    doc = nlp.make_doc("A fever;seizure. Then no more.")
    doc = nlp.get_pipe("sentencizer")(doc)
    doc.ents = [Span(doc, 3, 4, "A", kb_id="T1")]
    doc.spans["old"] = [Span(doc, 2, 4, "A", kb_id="T1", span_id="i"), doc[0:1]]
    doc = nlp.get_pipe("term_matcher")(doc)
    assert labelled(doc.ents) == [("fever", "TERM"), ("seizure", "TERM"), ("Then", "A")]
    assert doc.ents[2].kb_id_ == "T1"
    assert [sent.text for sent in doc.sents] == ["A fever;seizure.", "Then no more."]
    assert [span.text for span in doc.spans["old"]] == [". Then", "A"]
    first = doc.spans["old"][0]
    assert (first.label_, first.kb_id_, first.id_) == ("A", "T1", "i")


def annotated_otherwise():
    yield "tagged", lambda doc: setattr(doc[0], "tag_", "NN")
    yield "a vector a token", lambda doc: setattr(doc, "tensor", np.zeros((len(doc), 2)))
    yield "an attribute", lambda doc: doc.user_data.update({("._.", "trf_data", None, None): 1})


@pytest.mark.parametrize("annotate", [pytest.param(f, id=i) for i, f in annotated_otherwise()])
def test_tokens_that_others_count_on_stay(make_nlp, annotate):
    from spacy_termlink.pipeline.mentions import get_forms

    nlp = make_nlp()
    doc = nlp.make_doc("1)fever fever;seizures x")
    n_tokens = len(doc)
    annotate(doc)
    with pytest.warns(UserWarning, match="1 of its mentions share"):
        doc = nlp.get_pipe("term_matcher")(doc)
    assert len(doc) == n_tokens
    forms = get_forms(doc, list(doc.ents), spans_key=None, resolve_abbreviations=False)
    assert forms == [("fever",), ("seizures",)]  # of two in a token the longer
    assert ents(doc) == ["1)fever", "fever;seizures"]


def test_without_label_types_only_findings(make_nlp):
    assert ents(make_nlp()("Onset of seizures")) == ["seizures"]


def test_label_types(make_nlp):
    nlp = make_nlp(label_types={"NEURO": ["HP:0000707"], "WHEN": ["HP:0003674"]})
    doc = nlp("Onset of seizures with fever")
    assert labelled(doc.ents) == [("Onset", "WHEN"), ("seizures", "NEURO")]
    assert nlp.get_pipe("term_matcher").labels == ("NEURO", "WHEN")
    assert labelled(make_nlp(label_types={"F": ["finding"]})("fever, seizure").ents) == [
        ("seizure", "F")
    ]


def test_several_terminologies(make_nlp, terminology, other_terminology):
    nlp = make_nlp(kb=[str(terminology), str(other_terminology)])
    assert ents(nlp("Seizures, fever of unknown origin, influenza")) == [
        "Seizures",
        "fever of unknown origin",
        "influenza",
    ]


def test_a_kb_folder_is_read_too(kb_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("term_matcher", config={"kb": str(kb_path)})
    assert ents(nlp("A hole in the heart and seizures")) == ["hole in the heart", "seizures"]


# --- where it writes


def with_ents(nlp, text, *spans):
    doc = nlp.make_doc(text)
    doc.ents = [doc.char_span(text.index(s), text.index(s) + len(s), label="OLD") for s in spans]
    return doc


def test_entities_that_are_there_stay(make_nlp):
    nlp = make_nlp()
    doc = nlp(with_ents(nlp, "Severe hearing loss with fever today", "Severe hearing", "today"))
    assert labelled(doc.ents) == [("Severe hearing", "OLD"), ("fever", "TERM"), ("today", "OLD")]


def test_overwrite_replaces_those_in_the_way(make_nlp):
    nlp = make_nlp(overwrite=True)
    doc = nlp(with_ents(nlp, "Severe hearing loss with fever today", "Severe hearing", "today"))
    assert labelled(doc.ents) == [("hearing loss", "TERM"), ("fever", "TERM"), ("today", "OLD")]


def test_span_group(make_nlp):
    nlp = make_nlp(spans_key="found", label="F")
    doc = nlp(with_ents(nlp, "Fever and seizure", "Fever"))
    assert labelled(doc.spans["found"]) == [("Fever", "F"), ("seizure", "F")]
    assert labelled(doc.ents) == [("Fever", "OLD")]
    assert len(nlp.get_pipe("term_matcher")(doc).spans["found"]) == 2  # nothing twice
    doc.spans["found"] = [doc[1:2]]
    again = make_nlp(spans_key="found", overwrite=True).get_pipe("term_matcher")(doc)
    assert [s.text for s in again.spans["found"]] == ["Fever", "seizure"]


def test_tokens_that_split_names_elsewhere(make_nlp):
    nlp = make_nlp()
    words = ["She", "has", "hearing", "loss,", "fever."]
    doc = nlp.get_pipe("term_matcher")(Doc(nlp.vocab, words=words))
    assert ents(doc) == ["hearing loss", "fever"]
    assert [token.text for token in doc][3:] == ["loss", ",", "fever", "."]


@pytest.mark.parametrize("lang", ["zh", "xx"])
def test_chinese(tmp_path, lang):
    path = make_terminology(
        tmp_path / "zh",
        [concept("1", "\u7cd6\u5c3f\u75c5"), concept("2", "2\u578b\u7cd6\u5c3f\u75c5")],
    )
    nlp = spacy.blank(lang)
    nlp.add_pipe("term_matcher", config={"kb": str(path)})
    doc = nlp("\u60a3\u8005\u67092\u578b\u7cd6\u5c3f\u75c5\u3002")
    assert ents(doc) == ["2\u578b\u7cd6\u5c3f\u75c5"]  # xx makes one token of all


# --- abbreviations and shared words


def test_abbreviations_of_the_document(make_nlp):
    text = "Renal failure (RF). RF, and no RFs. RFA was done. ASD (atypical sarcoid disease), ASD."
    assert ents(make_nlp()(text)) == []  # RF is none of ours, and ASD means something else here
    assert ents(make_nlp(resolve_abbreviations=False)("ASD (atypical sarcoid disease)")) == ["ASD"]


def test_abbreviations_that_a_component_has_set_are_used(make_nlp):
    nlp = make_nlp()
    nlp.add_pipe("term_abbreviations", first=True)
    assert ents(nlp(TEXTS[4])) == FOUND[4]
    doc = nlp.make_doc("HL again")
    doc._.term_abbreviations = [["HL", "hearing loss", 0, 2, 0, 0]]
    assert ents(nlp.get_pipe("term_matcher")(doc)) == ["HL"]


def test_shared_words_are_handed_to_the_linker(make_nlp):
    from spacy_termlink.pipeline.mentions import get_forms

    doc = make_nlp()("Palmar and plantar pits")
    again = Doc(doc.vocab).from_bytes(doc.to_bytes())
    for each in (doc, again):
        forms = get_forms(each, list(each.ents), spans_key=None, resolve_abbreviations=False)
        assert forms == [("Palmar pits",), ("plantar pits",)]


def test_what_is_not_written_is_handed_to_nobody(make_nlp):
    from spacy_termlink.pipeline.mentions import get_forms

    nlp = make_nlp()
    matcher = nlp.get_pipe("term_matcher")
    doc = nlp.make_doc("Palmar and plantar pits")
    doc.ents = [doc.char_span(0, 6, label="OTHER")]  # of another component, which means "Palmar"
    doc = matcher(doc)
    forms = get_forms(doc, list(doc.ents), spans_key=None, resolve_abbreviations=False)
    assert forms == [("Palmar",), ("plantar pits",)]
    in_group = get_forms(doc, list(doc.ents), spans_key="ents", resolve_abbreviations=False)
    assert in_group == forms


def test_what_is_written_over_takes_its_whole_along(make_nlp, tmp_path):
    from spacy_termlink.pipeline.mentions import get_forms

    nlp = make_nlp()
    other = make_terminology(tmp_path / "other", [concept("X:1", "Palmar")])
    nlp.add_pipe("term_matcher", name="over", config={"kb": str(other), "overwrite": True})
    doc = nlp("Palmar and plantar pits")
    forms = get_forms(doc, list(doc.ents), spans_key=None, resolve_abbreviations=False)
    assert forms == [("Palmar",), ("plantar pits",)]


# --- bad input


@pytest.mark.parametrize(
    "text", ["", " ", "\U0001f912\U0001f912", "\x00", "\u05e9\u05dc\u05d5\u05dd", "a" * 900_000]
)
def test_odd_texts(make_nlp, text):
    assert ents(make_nlp()(text)) == []


def test_lone_surrogates(make_nlp):
    nlp = make_nlp()
    places = (
        nlp.get_pipe("term_matcher").open_sources()[0].concepts.dictionary.match(["\ud800 fever"])
    )
    assert [(m.start, m.end) for m in places[0]] == [(2, 7)]


def test_no_kb(make_nlp):
    with pytest.raises(TermlinkError, match="TL701.*term_matcher"):
        make_nlp(kb=None)("Fever")


def test_a_path_that_is_none(make_nlp, tmp_path):
    with pytest.raises(TermlinkError, match="TL001"):
        make_nlp(kb=str(tmp_path / "gone"))("Fever")
    with pytest.raises(TermlinkError, match="TL103"):
        make_nlp(kb=str(tmp_path))("Fever")


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"label_types": {"X": ["HP:404"]}}, "TL703"),
        ({"label_types": {"X": []}}, "TL704"),
        ({"save_kb": "zip"}, "TL704"),
        ({"label": ""}, "TL704"),
    ],
)
def test_wrong_settings(make_nlp, config, code):
    with pytest.raises(TermlinkError, match=code):
        make_nlp(**config)("Fever")


def test_the_error_handler_gets_the_document_that_fails(make_nlp, monkeypatch):
    nlp = make_nlp()
    set_annotations = TermMatcher.set_annotations

    def fail(self, docs, places):
        if any(doc.text == "bad" for doc in docs):
            raise ValueError("bad")
        set_annotations(self, docs, places)

    monkeypatch.setattr(TermMatcher, "set_annotations", fail)
    failed = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.extend(d.text for d in docs))
    docs = list(nlp.pipe(["fever", "bad", "seizure"]))
    assert [ents(doc) for doc in docs] == [["fever"], ["seizure"]]
    assert failed == ["bad"]
    with pytest.raises(ValueError, match="bad"):
        list(make_nlp().pipe(["bad"]))


# --- saving, processes, threads


def check(nlp):
    assert [ents(doc) for doc in nlp.pipe(TEXTS)] == FOUND


@pytest.mark.parametrize("mode", ["copy", "hardlink", "path"])
def test_saved_and_loaded(make_nlp, terminology, tmp_path, mode):
    make_nlp(save_kb=mode).to_disk(tmp_path / "saved")
    moved = tmp_path / "moved"
    shutil.move(tmp_path / "saved", moved)
    loaded = spacy.load(moved, config={"components": {"term_matcher": {"kb": None}}})
    check(loaded)
    inside = str(loaded.get_pipe("term_matcher").open_sources()[0].concepts.path)
    assert inside.startswith(str(moved)) == (mode != "path")
    loaded.to_disk(moved)  # over itself, while it is mapped
    check(spacy.load(moved))


def test_settings_are_saved(make_nlp, tmp_path):
    nlp = make_nlp(label="F", spans_key="found")
    nlp.to_disk(tmp_path / "saved")
    doc = spacy.load(tmp_path / "saved")("Fever")
    assert labelled(doc.spans["found"]) == [("Fever", "F")]
    overridden = {"components": {"term_matcher": {"label": "G", "spans_key": None}}}
    assert labelled(spacy.load(tmp_path / "saved", config=overridden)("Fever").ents) == [
        ("Fever", "G")
    ]


def test_a_setting_changed_later_is_saved(make_nlp, tmp_path):
    nlp = make_nlp()
    nlp.get_pipe("term_matcher").cfg["resolve_abbreviations"] = False
    nlp.to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved")
    assert loaded.get_pipe("term_matcher").cfg["resolve_abbreviations"] is False


@pytest.mark.parametrize("mode", ["copy", "path"])
def test_bytes(make_nlp, mode):
    data = make_nlp(save_kb=mode).to_bytes()
    nlp = spacy.blank("en")
    nlp.add_pipe("term_matcher")
    nlp.from_bytes(data)
    check(nlp)


def test_a_replaced_terminology_is_refused(make_nlp, tmp_path):
    path = make_terminology(tmp_path / "t")
    make_nlp(kb=str(path), save_kb="path").to_disk(tmp_path / "saved")
    make_terminology(path, CONCEPTS[:3])
    with pytest.raises(TermlinkError, match="TL705"):
        spacy.load(tmp_path / "saved")
    shutil.rmtree(path)
    with pytest.raises(TermlinkError, match="TL001"):
        spacy.load(tmp_path / "saved")


def test_a_terminology_without_a_licence_is_not_copied(make_nlp, tmp_path):
    path = str(make_terminology(tmp_path / "t", shareable=False, licence=""))
    with pytest.raises(TermlinkError, match=r"TL702.*'t' \(not stated\) forbids"):
        make_nlp(kb=path).to_disk(tmp_path / "saved")


def test_a_restricted_terminology_is_not_copied(make_nlp, tmp_path):
    path = str(make_terminology(tmp_path / "t", shareable=False))
    with pytest.raises(TermlinkError, match="TL702"):
        make_nlp(kb=path).to_disk(tmp_path / "saved")
    with pytest.raises(TermlinkError, match="TL702"):
        make_nlp(kb=path).to_bytes()
    make_nlp(kb=path, save_kb="path").to_disk(tmp_path / "saved")
    make_nlp(kb=path, allow_restricted=True).to_disk(tmp_path / "copied")
    check(spacy.load(tmp_path / "copied"))


def test_initialize_with_another_kb(make_nlp, other_terminology):
    nlp = make_nlp(kb=None)
    nlp.config["initialize"]["components"]["term_matcher"] = {"kb": str(other_terminology)}
    nlp.initialize()
    assert ents(nlp("Influenza and seizure")) == ["Influenza"]


@pytest.mark.parametrize("n_process", [2])
def test_worker_processes(make_nlp, n_process):
    docs = list(make_nlp().pipe(TEXTS, n_process=n_process, batch_size=2))
    assert [ents(doc) for doc in docs] == FOUND


def test_pickled_for_spawned_workers(make_nlp):
    nlp = make_nlp(label="F")
    matcher = pickle.loads(pickle.dumps(nlp.get_pipe("term_matcher")))
    assert labelled(matcher(nlp.make_doc("Fever")).ents) == [("Fever", "F")]


def test_threads(make_nlp):
    nlp = make_nlp()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: ents(nlp(text)), TEXTS * 10))
    assert found == FOUND * 10


def test_docbin_and_json(make_nlp):
    nlp = make_nlp()
    doc = nlp(TEXTS[0])
    [again] = DocBin(docs=[doc], store_user_data=True).get_docs(nlp.vocab)
    assert ents(again) == FOUND[0]
    assert json.dumps(doc.to_json())


@pytest.mark.parametrize("spans_key", [None, "found"])
def test_evaluate_scores_the_spans(make_nlp, spans_key):
    nlp = make_nlp(spans_key=spans_key)
    gold = [(2, 7, "TERM"), (12, 19, "TERM")]
    annotation = {"entities": gold} if spans_key is None else {"spans": {"found": gold}}
    example = Example.from_dict(nlp.make_doc("A fever and frights"), annotation)
    scores = nlp.evaluate([example])
    prefix = "ents" if spans_key is None else "spans_found"
    assert (scores[f"{prefix}_p"], scores[f"{prefix}_r"]) == (1.0, 0.5)
