import spacy
from spacy.tokens import Doc, DocBin

TEXT = "An atrial septal defect (ASD) was seen. ASD closed."
ROWS = [["ASD", "atrial septal defect", 25, 28, 3, 23]]


def make_nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("term_abbreviations")
    return nlp


def test_definitions_of_the_document():
    nlp = make_nlp()
    assert nlp(TEXT)._.term_abbreviations == ROWS
    assert nlp("ASD closed.")._.term_abbreviations == []  # of this document, not of the last
    assert nlp("")._.term_abbreviations == []


def test_pipe_and_worker_processes():
    for n_process in (1, 2):
        docs = make_nlp().pipe([TEXT, "", TEXT], n_process=n_process)
        assert [doc._.term_abbreviations for doc in docs] == [ROWS, [], ROWS]


def test_survives_serialisation():
    nlp = make_nlp()
    doc = nlp(TEXT)
    assert Doc(nlp.vocab).from_bytes(doc.to_bytes())._.term_abbreviations == ROWS
    [again] = DocBin(docs=[doc], store_user_data=True).get_docs(nlp.vocab)
    assert [list(row) for row in again._.term_abbreviations] == ROWS


def test_pipeline_with_it_is_saved(tmp_path):
    make_nlp().to_disk(tmp_path / "saved")
    assert spacy.load(tmp_path / "saved")(TEXT)._.term_abbreviations == ROWS
