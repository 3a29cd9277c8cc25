"""Links in spaCy's visualizers: displaCy and spacy-streamlit."""

import pytest
import spacy
from spacy import displacy
from streamlit.testing.v1 import AppTest

TEXT = "He had a heart attack."
OPTIONS = {"kb_url_template": "https://example.org/{}"}


@pytest.fixture
def nlp(tiny_kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("term_matcher", config={"kb": str(tiny_kb)})
    nlp.add_pipe("term_linker", config={"kb": str(tiny_kb)})
    return nlp


def test_displacy_parses_id_and_address(nlp):
    doc = nlp(TEXT)
    (ent,) = displacy.parse_ents(doc, OPTIONS)["ents"]
    assert (ent["kb_id"], ent["kb_url"]) == ("T:0007", "https://example.org/T:0007")
    html = displacy.render(doc, style="ent", options=OPTIONS, jupyter=False)
    assert 'href="https://example.org/T:0007"' in html and "T:0007</a>" in html


def test_displacy_shows_span_groups(tiny_kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("term_matcher", config={"kb": str(tiny_kb), "spans_key": "sc"})
    nlp.add_pipe("term_linker", config={"kb": str(tiny_kb), "spans_key": "sc"})
    (span,) = displacy.parse_spans(nlp(TEXT), OPTIONS)["spans"]
    assert (span["kb_id"], span["kb_url"]) == ("T:0007", "https://example.org/T:0007")


APP = """
import spacy_streamlit

spacy_streamlit.visualize(
    [{path!r}], {text!r}, visualizers=["ner"], ner_labels=["TERM"],
    ner_attrs=["text", "label_", "kb_id_"], color=None,
)
"""


def test_streamlit_shows_links(nlp, tmp_path):
    """The app as a browser would see it: page, table of entities, JSON of the document."""
    nlp.to_disk(tmp_path / "pipeline")
    app = AppTest.from_string(APP.format(path=str(tmp_path / "pipeline"), text=TEXT))
    app.run(timeout=120)
    assert not app.exception
    (table,) = app.dataframe
    assert table.value.to_dict("records") == [
        {"text": "heart attack", "label_": "TERM", "kb_id_": "T:0007"}
    ]
    assert any("heart attack" in element.value and "T:0007" in element.value
               for element in app.markdown)  # fmt: skip
    app.text_area[0].set_value("A seizure, then cleft palate.").run(timeout=120)
    assert not app.exception
    assert app.dataframe[0].value["kb_id_"].tolist() == ["T:0003", "T:0012"]
