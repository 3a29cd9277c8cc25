"""The component itself: what it sets, in every way a pipeline can be run."""

import json
import threading
import warnings

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from spacy_termlink.errors import TermlinkError
from spacy_termlink.pipeline.extensions import find_link

LINKED = {
    "seizures": "X:3", "seizure": "X:3", "headache": "X:4", "fever": "X:7", "pyrexias": "X:7",
    "hole in the heart": "X:6", "ASD": "X:6",
}  # fmt: skip


def annotations(docs):
    """Everything the linkers wrote, lists for tuples."""
    return [
        [
            (ent.text, ent.kb_id_, _plain(ent._.kb_ents), _plain(ent._.term_candidates),
             _plain(ent._.term_links))
            for ent in doc.ents
        ]
        + [_plain(doc.user_data.get("term_linker"))]
        for doc in docs
    ]  # fmt: skip


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def test_links_and_their_form(make_nlp, texts):
    nlp = make_nlp()
    for text in texts:
        doc = nlp(text)
        assert doc.user_data["term_linker"] == {
            "term_linker": {"kb": "tiny", "release": "2026-01", "licence": "test"}
        }
        for ent in doc.ents:
            if ent.text.lower() in LINKED or ent.text in LINKED:
                assert ent.kb_id_ == LINKED.get(ent.text, LINKED.get(ent.text.lower()))
                assert ent._.kb_ents[0] == [ent.kb_id_, 1.0]
            else:
                assert ent.kb_id_ == "NIL"
                assert ent._.kb_ents == []
            assert set(ent._.term_candidates[0]) == {
                "id", "name", "matched", "kind", "score", "probability", "tier"
            }  # fmt: skip
            assert find_link(ent, "term_linker") == ent._.term_links["term_linker"]
            assert ent._.term_links["term_linker"]["kb_id"] == ent.kb_id_
            assert ent._.term_links["term_linker"]["kb_ents"] == ent._.kb_ents
            assert ent._.term_links["term_linker"]["candidates"] == ent._.term_candidates
            assert find_link(ent, "another") is None


def test_one_by_one_and_in_batches_give_the_same(make_nlp, texts):
    nlp = make_nlp()
    alone = annotations(nlp(text) for text in texts)
    assert any(len(doc) > 1 for doc in alone)
    for batch_size in (1, 2, 4, 100):
        assert annotations(nlp.pipe(texts, batch_size=batch_size)) == alone
    assert annotations(nlp.pipe(reversed(texts), batch_size=3)) == alone[::-1]


def test_a_second_run_over_a_linked_doc_changes_nothing(make_nlp, texts):
    nlp = make_nlp()
    doc = nlp(texts[-1])
    before = annotations([doc])
    assert annotations([nlp.get_pipe("term_linker")(doc)]) == before


def test_values_are_the_spans_own(make_nlp):
    doc = make_nlp()("A fever, then fever.")
    first, second = doc.ents
    first._.kb_ents.append("changed")
    first._.term_candidates[0]["id"] = "changed"
    assert second._.kb_ents[0] == ["X:7", 1.0]
    assert second._.term_candidates[0]["id"] == "X:7"
    assert first._.term_links["term_linker"]["candidates"][0]["id"] == "X:7"


def test_without_a_kb_the_error_says_where_to_name_one(make_nlp):
    nlp = make_nlp("hpo", kb=None)
    with pytest.raises(TermlinkError, match=r"TL701.*initialize.components.hpo"):
        nlp("fever")
    with pytest.raises(TermlinkError, match="TL701"):
        nlp.initialize()


def test_the_kb_of_the_config_is_opened_at_first_use(make_nlp, tmp_path):
    nlp = make_nlp(kb=str(tmp_path / "missing"))
    with pytest.raises(TermlinkError, match="missing"):
        nlp("fever")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("k", 0), ("k", "3"), ("threshold", 1.5), ("threshold", -0.1), ("threshold", "0.5"),
     ("save_kb", "zip")],
)  # fmt: skip
def test_settings_out_of_range_are_named(make_nlp, setting, value):
    with pytest.raises(TermlinkError, match=f"TL704.*{setting}"):
        make_nlp(**{setting: value})


@pytest.mark.parametrize(
    ("setting", "value"),
    [("k", 0), ("k", 2.5), ("k", True), ("threshold", 66), ("threshold", "0.5"), ("threshold", True),
     ("threshold", float("nan"))],
)  # fmt: skip
def test_live_settings_are_checked_when_used_and_saved(make_nlp, tmp_path, setting, value):
    nlp = make_nlp()
    nlp.get_pipe("term_linker").cfg[setting] = value
    for use in (nlp, lambda text: list(nlp.pipe([text])), lambda text: nlp.to_disk(tmp_path / "p")):
        with pytest.raises(TermlinkError, match=f"TL704.*{setting}"):
            use("fever")
    nlp.get_pipe("term_linker").set_error_handler(lambda *args: None)  # of documents
    with pytest.raises(TermlinkError, match=f"TL704.*{setting}"):
        list(nlp.pipe(["fever"]))


def test_saved_settings_are_checked_when_loaded(make_nlp, tmp_path):
    nlp = make_nlp(threshold=0.5)
    nlp.get_pipe("term_linker").cfg["threshold"] = 0.6
    nlp.to_disk(tmp_path / "p")
    changes = tmp_path / "p" / "term_linker" / "cfg"
    changes.write_text(json.dumps({"threshold": [0.5, 66]}))
    with pytest.raises(TermlinkError, match=r"TL704.*threshold.*66"):
        spacy.load(tmp_path / "p")


def test_threshold_is_read_at_each_prediction(make_nlp):
    nlp = make_nlp(threshold=0.999)
    linker = nlp.get_pipe("term_linker")
    assert [ent.kb_id_ for ent in nlp("qqq and fever").ents] == ["NIL", "X:7"]
    linker.cfg["threshold"] = 0.0
    doc = nlp("qqq")
    assert doc.ents[0].kb_id_ == doc.ents[0]._.term_candidates[0]["id"]
    assert len(doc.ents[0]._.kb_ents) >= 1


def test_without_a_threshold_the_kbs_own_counts(make_nlp, kb, monkeypatch):
    nlp = make_nlp(threshold=None)
    linker = nlp.get_pipe("term_linker")
    candidates = nlp("qqq").ents[0]._.term_candidates
    for threshold in (0.0, candidates[0]["score"], candidates[0]["score"] + 1e-6, 1.0):
        monkeypatch.setitem(linker.kb.meta, "threshold", threshold)
        reached = candidates[0]["score"] >= threshold
        assert nlp("qqq").ents[0].kb_id_ == (candidates[0]["id"] if reached else "NIL")


def test_k_is_the_number_of_candidates(make_nlp):
    assert len(make_nlp(k=2)("A qqq.").ents[0]._.term_candidates) == 2
    assert len(make_nlp(k=5)("A qqq.").ents[0]._.term_candidates) == 5


def test_an_exact_name_of_one_concept_stands_alone_unless_others_are_wanted(make_nlp):
    complete = {"@misc": "spacy-termlink.HybridCandidates.v1", "complete": True}
    [alone], [first, *others] = (
        make_nlp(**more)("A headache.").ents[0]._.term_candidates
        for more in ({}, {"candidates": complete})
    )
    assert alone == first and alone["tier"] == "exact"
    assert len(others) == 8


class TestLabelTypes:
    def test_restricts_inside_the_search(self, make_nlp):
        nlp = make_nlp(label_types={"FINDING": ["X:2", "drug"]}, threshold=0.0, k=4)
        doc = nlp("A hole in the heart and a fever remedy, seizures, fever.")
        heart, remedy, seizures, fever = doc.ents
        allowed = {"X:2", "X:3", "X:4", "X:8"}  # the branch of X:2, and the drug
        assert {c["id"] for c in heart._.term_candidates} == allowed
        assert seizures.kb_id_ == "X:3"
        assert fever.kb_id_ == "X:8"  # its name "fever" too, once the symptom is out
        assert remedy.kb_id_ == "X:8"  # DRUG is not restricted
        assert "X:7" in {
            c["id"] for c in make_nlp(threshold=0.0)("fever").ents[0]._.term_candidates
        }

    def test_alternative_ids_name_branches_too(self, make_nlp):
        nlp = make_nlp(label_types={"FINDING": ["X:0003"]}, threshold=0.0)
        assert nlp("fever").ents[0].kb_id_ == "X:3"

    def test_an_unknown_branch_is_an_error_when_the_kb_opens(self, make_nlp):
        nlp = make_nlp(label_types={"FINDING": ["X:2", "X:77"]})
        with pytest.raises(TermlinkError, match=r"TL703.*'X:77'.*FINDING"):
            nlp("no entity")
        with pytest.raises(TermlinkError, match="TL704.*label_types.FINDING"):
            make_nlp(label_types={"FINDING": []})

    def test_labels_of_one_batch_do_not_mix(self, make_nlp):
        nlp = make_nlp(label_types={"DRUG": ["drug"], "FINDING": ["finding"]})
        docs = list(nlp.pipe(["fever", "fever remedy", "a fever, a fever remedy"]))
        assert [[ent.kb_id_ for ent in doc.ents] for doc in docs] == [
            ["X:7"], ["X:8"], ["X:7", "X:8"]
        ]  # fmt: skip


class TestSpanGroups:
    def test_ids_stay_in_the_group_and_attrs_too(self, make_nlp):
        nlp = make_nlp(spans_key="sc")
        doc = nlp("A hole in the heart with fever.")
        group = doc.spans["sc"]
        group.attrs["scores"] = [0.5, 0.25]
        nlp.get_pipe("term_linker")(doc)
        assert [(span.text, span.kb_id_) for span in doc.spans["sc"]] == [
            ("hole in the heart", "X:6"), ("fever", "X:7")
        ]  # fmt: skip
        assert doc.spans["sc"].attrs["scores"] == [0.5, 0.25]
        assert doc.spans["sc"].name == "sc"
        assert doc.ents == ()
        assert doc.spans["sc"][0]._.kb_ents[0] == ["X:6", 1.0]

    def test_overlapping_spans(self, make_nlp):
        nlp = make_nlp(spans_key="sc")
        doc = nlp.make_doc("fever remedy")
        doc.spans["sc"] = [Span(doc, 0, 1, "FINDING"), Span(doc, 0, 2, "DRUG")]
        nlp.get_pipe("term_linker")(doc)
        assert [span.kb_id_ for span in doc.spans["sc"]] == ["X:7", "X:8"]

    def test_two_labels_at_one_place_keep_their_own_answers(self, make_nlp):
        """spaCy keys extension values by offsets: the second label's would replace the first's."""
        nlp = make_nlp(spans_key="sc", label_types={"DRUG": ["drug"]})
        doc = nlp.make_doc("fever")
        doc.spans["sc"] = [Span(doc, 0, 1, "FINDING"), Span(doc, 0, 1, "DRUG")]
        nlp.get_pipe("term_linker")(doc)
        doc = Doc(nlp.vocab).from_bytes(doc.to_bytes())
        finding, drug = doc.spans["sc"]
        assert (finding.kb_id_, drug.kb_id_) == ("X:7", "X:8")
        assert find_link(finding, "term_linker")["kb_id"] == "X:7"
        assert find_link(drug, "term_linker")["kb_id"] == "X:8"
        assert finding._.kb_ents[0] == drug._.kb_ents[0] == ["X:7", 1.0]  # those of the first

    def test_a_missing_group_is_warned_about(self, make_nlp):
        nlp = make_nlp(spans_key="sc")
        with pytest.warns(UserWarning, match=r"TL707|spans\['sc'\]"):
            nlp.get_pipe("term_linker")(nlp.make_doc("fever"))


class TestTwoLinkers:
    def test_the_second_writes_its_own_part_only(self, make_nlp, other_kb_path):
        nlp = make_nlp("hpo")
        nlp.add_pipe(
            "term_linker", name="icd", config={"kb": str(other_kb_path), "overwrite": False}
        )
        doc = nlp("A fever.")
        ent = doc.ents[0]
        assert ent.kb_id_ == "X:7"
        assert ent._.kb_ents[0] == ["X:7", 1.0]
        assert ent._.term_candidates[0]["id"] == "X:7"
        assert {name: link["kb_id"] for name, link in ent._.term_links.items()} == {
            "hpo": "X:7", "icd": "B50"
        }  # fmt: skip
        assert {name: source["kb"] for name, source in doc.user_data["term_linker"].items()} == {
            "hpo": "tiny", "icd": "other"
        }  # fmt: skip

    def test_order_does_not_matter(self, make_nlp, other_kb_path):
        nlp = make_nlp("hpo")
        nlp.add_pipe(
            "term_linker", name="icd", config={"kb": str(other_kb_path), "overwrite": False},
            before="hpo",
        )  # fmt: skip
        ent = nlp("A fever.").ents[0]
        assert ent.kb_id_ == "X:7"
        assert set(ent._.term_links) == {"hpo", "icd"}

    def test_alone_it_sets_no_kb_id(self, make_nlp):
        ent = make_nlp(overwrite=False)("A fever.").ents[0]
        assert (ent.kb_id_, ent._.kb_ents) == ("", [])
        assert ent._.term_links["term_linker"]["kb_id"] == "X:7"


class TestNames:
    def test_rename_pipe(self, make_nlp):
        nlp = make_nlp()
        nlp("fever")
        nlp.rename_pipe("term_linker", "hpo")
        doc = nlp("fever")
        assert set(doc.ents[0]._.term_links) == {"hpo"} == set(doc.user_data["term_linker"])
        doc = next(nlp.pipe(["fever"]))
        assert set(doc.ents[0]._.term_links) == {"hpo"}

    def test_sourced_under_another_name(self, make_nlp):
        source = make_nlp()
        source("fever")
        nlp = make_nlp("first")
        nlp.add_pipe("term_linker", name="second", source=source)
        assert set(nlp("fever").ents[0]._.term_links) == {"first", "second"}

    def test_select_pipes(self, make_nlp):
        nlp = make_nlp()
        with nlp.select_pipes(disable="term_linker"):
            assert nlp("fever").ents[0].kb_id_ == ""
        assert nlp("fever").ents[0].kb_id_ == "X:7"


class TestErrors:
    @pytest.fixture
    def failing(self, make_nlp):
        nlp = make_nlp()
        linker = nlp.get_pipe("term_linker")
        predict = linker.predict

        def fail_on_boom(docs):
            if any("boom" in doc.text for doc in docs):
                raise ValueError("boom")
            return predict(docs)

        linker.predict = fail_on_boom
        return nlp

    def test_one_bad_doc_does_not_take_its_batch_along(self, failing):
        failed = []
        failing.set_error_handler(
            lambda name, proc, docs, error: failed.append(
                (name, [d.text for d in docs], str(error))
            )
        )
        docs = list(failing.pipe(["fever", "boom fever", "headache"], batch_size=3))
        assert [doc.ents[0].kb_id_ for doc in docs] == ["X:7", "X:4"]
        assert failed == [("term_linker", ["boom fever"], "boom")]

    def test_raised_by_default(self, failing):
        with pytest.raises(ValueError, match="boom"):
            list(failing.pipe(["fever", "boom"]))
        with pytest.raises(ValueError, match="boom"):
            failing("boom")

    def test_a_kb_that_cannot_be_opened_is_never_swallowed(self, make_nlp, tmp_path):
        nlp = make_nlp(kb=str(tmp_path / "missing"))
        nlp.set_error_handler(lambda *args: None)
        with pytest.raises(TermlinkError, match="missing"):
            list(nlp.pipe(["fever"]))


@pytest.mark.parametrize(
    "text",
    ["x" * 1_000_000, "\U0001f600\U0001f4a9", "\u05d7\u05d5\u05dd", "a\x00b", "...", " ", "\n\n"],
)
def test_odd_mentions_get_an_answer(make_nlp, text):
    nlp = make_nlp(threshold=1.0)
    doc = Doc(nlp.vocab, words=[text, "fever"])
    doc.ents = [Span(doc, 0, 1, "FINDING"), Span(doc, 1, 2, "FINDING")]
    doc = nlp.get_pipe("term_linker")(doc)
    assert [ent.kb_id_ for ent in doc.ents if ent.text == "fever"] == ["X:7"]
    assert {ent.kb_id_ for ent in doc.ents if ent.text != "fever"} <= {"NIL"}


def test_memory_zone(make_nlp):
    nlp = make_nlp()
    if not hasattr(nlp, "memory_zone"):
        pytest.skip("spaCy 3.7 has no memory zones")
    for _ in range(2):
        with nlp.memory_zone():
            ids = [ent.kb_id for doc in nlp.pipe(["fever", "headache"]) for ent in doc.ents]
        assert [nlp.vocab.strings[i] for i in ids] == ["X:7", "X:4"]
    assert nlp("fever").ents[0].kb_id_ == "X:7"


def test_threads_share_one_pipeline(make_nlp, texts):
    expected = annotations(make_nlp()(text) for text in texts)
    nlp = make_nlp()  # the KB is opened by whichever thread comes first
    found, start = {}, threading.Barrier(4)

    def work(number):
        start.wait()
        found[number] = [annotations(nlp(text) for text in texts) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(run == expected for runs in found.values() for run in runs)
    assert len(found) == 4


def test_docs_keep_everything_through_bytes_and_docbin(make_nlp, texts):
    nlp = make_nlp()
    docs = [nlp(text) for text in texts]
    expected = annotations(docs)
    assert annotations(Doc(nlp.vocab).from_bytes(doc.to_bytes()) for doc in docs) == expected
    data = DocBin(docs=docs, store_user_data=True).to_bytes()
    assert annotations(DocBin().from_bytes(data).get_docs(spacy.blank("en").vocab)) == expected


def test_abbreviations(make_nlp):
    text = "Autism spectrum disorder (ASD) was diagnosed. ASD persists."
    nlp = make_nlp()
    assert {ent.kb_id_ for ent in nlp(text).ents} == {"X:9"}
    assert {ent.kb_id_ for ent in make_nlp(resolve_abbreviations=False)(text).ents} != {"X:9"}
    # a component has searched the document and found none: its word counts
    doc = nlp.make_doc(text)
    doc._.term_abbreviations = []
    assert {ent.kb_id_ for ent in nlp(doc).ents} != {"X:9"}
    doc = nlp.make_doc("ASD persists.")
    doc._.term_abbreviations = [["ASD", "autism spectrum disorder", 0, 3, 0, 0]]
    assert [ent.kb_id_ for ent in nlp(doc).ents] == ["X:9"]


@pytest.mark.parametrize("serialised", [True, False])
def test_scispacy_long_forms_are_read(make_nlp, serialised):
    if not Span.has_extension("long_form"):
        Span.set_extension("long_form", default=None)
    try:
        nlp = make_nlp()
        doc = nlp.get_pipe("entity_ruler")(nlp.make_doc("ASD persists: autism spectrum disorder"))
        long_form = doc[3:6]
        doc.ents[0]._.long_form = long_form.text if serialised else long_form
        assert nlp.get_pipe("term_linker")(doc).ents[0].kb_id_ == "X:9"
    finally:
        Span.remove_extension("long_form")


def test_the_model_is_the_encoder_of_the_kb(make_nlp):
    nlp = make_nlp()
    model = nlp.get_pipe("term_linker").model
    with pytest.raises(TermlinkError, match="TL701"):
        model.predict(["fever"])
    nlp("fever")
    embeddings = model.predict(["fever", "qqq"])
    assert (embeddings == nlp.get_pipe("term_linker").kb.encoder.encode(["fever", "qqq"])).all()
    assert len(model.to_bytes()) < 1000
    copy = model.copy()  # a copy belongs to no linker
    with pytest.raises(TermlinkError, match="TL701"):
        copy.predict(["fever"])


def test_analyze_pipes_finds_no_problem(make_nlp):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        analysis = make_nlp().analyze_pipes()
    assert analysis["problems"]["term_linker"] == []
    assert "token.ent_kb_id" in analysis["summary"]["term_linker"]["assigns"]
