"""Recognisers trained on eight sentences."""

import pytest
import spacy
from spacy.training import Example
from spacy.util import fix_random_seed

SENTENCES = [
    ("She had a seizure .", ["seizure"]),
    ("A heart attack killed him .", ["heart attack"]),
    ("No fever was seen .", []),
    ("He has short stature .", ["short stature"]),
    ("Cleft palate was repaired .", ["Cleft palate"]),
    ("The boy plays football .", []),
    ("He had a heart attack at home .", ["heart attack"]),
    ("Her seizure stopped .", ["seizure"]),
]


@pytest.fixture(scope="session")
def ner_path(tmp_path_factory):
    """Pipeline of spaCy's own `ner`, trained until it knows the sentences."""
    return _train("ner", tmp_path_factory.mktemp("trained") / "ner")


@pytest.fixture(scope="session")
def spancat_path(tmp_path_factory):
    """The same of a `spancat`, which fills the group "sc"."""
    return _train("spancat", tmp_path_factory.mktemp("trained") / "spancat", spans_key="sc")


def _train(factory, path, **settings):
    fix_random_seed(0)
    nlp = spacy.blank("en")
    tok2vec = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": 48,
               "depth": 2, "embed_size": 300, "window_size": 1, "maxout_pieces": 3,
               "subword_features": True}  # fmt: skip
    config = {"model": {"tok2vec": tok2vec}, **settings}
    nlp.add_pipe(factory, config=config).add_label("FINDING")
    examples = [
        Example(nlp.make_doc(text), _gold(nlp, text, names, settings.get("spans_key")))
        for text, names in SENTENCES
    ]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
    nlp.to_disk(path)
    return path


def _gold(nlp, text, names, spans_key):
    doc = nlp.make_doc(text)
    places = [(text.index(name), text.index(name) + len(name)) for name in names]
    spans = [doc.char_span(*place, label="FINDING") for place in places]
    if spans_key is None:
        doc.ents = spans
    else:
        doc.spans[spans_key] = spans
    return doc
