import pytest
import spacy

from spacy_termlink.annotate.core import find_linkers
from spacy_termlink.annotate.pipelines import blank_pipeline, fingerprint, is_kb, load_pipeline
from spacy_termlink.errors import TermlinkError
from spacy_termlink.terminology import Concept, Name


def found(nlp, text, key=None):
    doc = nlp(text)
    return [(span.text, span.kb_id_) for span in (doc.spans[key] if key else doc.ents)]


def test_one_kb_works_on_entities(kb_path):
    nlp = load_pipeline([str(kb_path)])
    assert nlp.pipe_names == ["term_abbreviations", "term_matcher", "term_linker"]
    assert found(nlp, "Fever and fits") == [("Fever", "X:7"), ("fits", "X:3")]


def test_one_path_is_a_list_of_one(kb_path):
    for path in (str(kb_path), kb_path, [kb_path]):
        assert load_pipeline(path).pipe_names[-1] == "term_linker"


@pytest.mark.parametrize("paths", [[], "", [""]])
def test_no_path(paths):
    with pytest.raises(TermlinkError, match="TL818"):
        load_pipeline(paths)


def test_several_kbs_do_not_disturb_each_other(kb_path, other_kb_path):
    nlp = load_pipeline([str(kb_path), str(other_kb_path)])
    text = "A headache of day 2, fever, fits."
    assert found(nlp, text, "tiny") == [("headache", "X:4"), ("fever", "X:7"), ("fits", "X:3")]
    # the second knows no fits: it is not asked for a code of them
    assert found(nlp, text, "other") == [("headache of day 2", "B51"), ("fever", "B50")]
    assert [linker.kb for linker in find_linkers(nlp)] == ["tiny", "other"]


@pytest.mark.parametrize(
    "text",
    [
        "fever;fits",
        "(fever)(fits)",
        "fever+fits",
        "fever|fits",
        "fever&fits",
        "1)fever;\u75c52)fits",
    ],
)
def test_mentions_glued_by_signs_are_found_by_each_kb(kb_path, other_kb_path, text):
    both = [("fever", "X:7"), ("fits", "X:3")]
    assert found(load_pipeline([str(kb_path)]), text) == both
    nlp = load_pipeline([str(kb_path), str(other_kb_path)])
    assert found(nlp, text, "tiny") == both
    assert found(nlp, text, "other") == [("fever", "B50")]


def test_words_that_one_kb_puts_together_are_not_so_for_another(tmp_path, make_kb):
    pits = [Concept("A:1", "Palmar pits"), Concept("A:2", "Plantar pits")]
    first = make_kb(tmp_path / "a", pits)
    second = make_kb(tmp_path / "b", [Concept("B:1", "Palmar"), Concept("B:2", "Palmar rash")])
    text = "palmar and plantar pits"
    [alone] = load_pipeline([str(second)])(text).ents
    for paths in ([first, second], [second, first]):
        doc = load_pipeline(list(map(str, paths)))(text)
        [beside] = doc.spans["b"]
        assert (beside.text, beside.kb_id_) == (alone.text, alone.kb_id_) == ("palmar", "B:1")
        assert beside._.term_links["term_linker_b"] == alone._.term_links["term_linker"]
        ids = [(span.text, span.kb_id_) for span in doc.spans["a"]]
        assert ids == [("palmar", "A:1"), ("plantar pits", "A:2")]


def test_two_kbs_of_one_name(kb_path, tmp_path, make_kb):
    twin = make_kb(tmp_path / "tiny", [Concept("Y:1", "fever")])
    with pytest.raises(TermlinkError, match="TL808.*'tiny'"):
        blank_pipeline([str(kb_path), str(twin)])


def test_names_that_no_component_may_have(kb_path, tmp_path, make_kb):
    odd = make_kb(tmp_path / "icd-10.cm é", [Concept("Y:1", "fever")])
    nlp = blank_pipeline([str(kb_path), str(odd)])
    assert found(nlp, "fever", "icd-10.cm é") == [("fever", "Y:1")]


def test_saved_pipelines_and_kbs_are_told_apart(kb_path, make_nlp, tmp_path):
    make_nlp().to_disk(tmp_path / "pipeline")
    assert is_kb(kb_path) and not is_kb(tmp_path / "pipeline")
    nlp = load_pipeline([str(tmp_path / "pipeline")])
    assert nlp.pipe_names == ["entity_ruler", "linker0"]


def test_language_follows_the_names(tmp_path, make_kb):
    for language, code in (("zh", "zh"), ("pt-BR", "pt"), ("tlh", "xx")):
        concepts = [Concept("Y:1", "name", language=language)]
        path = make_kb(tmp_path / language, concepts)
        assert blank_pipeline([str(path)]).lang == code
    added = [Name(f"name {i}", "annotated", language="") for i in range(3)]
    path = make_kb(tmp_path / "added", [Concept("Y:1", "name", added, language="de")])
    assert blank_pipeline([str(path)]).lang == "de"


def test_fingerprints(kb_path, other_kb_path, make_nlp, tmp_path):
    assert fingerprint(str(kb_path)) == fingerprint(str(kb_path))
    assert fingerprint(str(kb_path)) != fingerprint(str(other_kb_path))
    path = tmp_path / "pipeline"
    make_nlp().to_disk(path)
    before = fingerprint(str(path))
    assert fingerprint(str(path)) == before
    config = path / "config.cfg"
    config.write_text(config.read_text().replace("threshold = 0.99", "threshold = 0.98"))
    assert fingerprint(str(path)) != before


def test_a_pipeline_without_a_linker(tmp_path):
    spacy.blank("en").to_disk(tmp_path / "empty")
    with pytest.raises(TermlinkError, match="TL806"):
        load_pipeline([str(tmp_path / "empty")])
