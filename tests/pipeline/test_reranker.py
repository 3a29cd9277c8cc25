"""A linker over a KB with a reranker: used by default, left out where the config says so, saved with
the pipeline."""

import shutil

import numpy as np
import pytest
import spacy

from spacy_termlink.kb import add_reranker, open_kb
from spacy_termlink.rerank.cross_encoder import NAME
from spacy_termlink.rerank.rerankers import write_about

from .conftest import PATTERNS, TEXTS


@pytest.fixture(scope="module")
def folder(tiny_encoder, tmp_path_factory):
    path = tmp_path_factory.mktemp("rerankers") / "cross"
    shutil.copytree(tiny_encoder, path)
    head = np.random.default_rng(1).normal(size=32).round(3).tolist()
    values = {"weight": 3.0, "nil": 0.5, "share": 1.0, "head": head, "bias": 0.0, "names": "both",
              "context": True, "margin": 1.0}  # fmt: skip
    write_about(path, NAME, values)
    return path


@pytest.fixture(scope="module")
def reranked_kb(kb_path, folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("kbs") / "kb"
    return add_reranker(open_kb(shutil.copytree(kb_path, path)), folder).path


def make(kb, **config):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(
        [{"label": label, "pattern": p} for label, own in PATTERNS.items() for p in own]
    )
    nlp.add_pipe("term_linker", config={"kb": str(kb), "threshold": 0.0, **config})
    return nlp


def candidates_of(nlp, texts=TEXTS):
    return [[ent._.term_candidates for ent in doc.ents] for doc in nlp.pipe(texts)]


def test_a_kb_with_a_reranker_reranks(reranked_kb, kb_path):
    plain, own = candidates_of(make(kb_path)), candidates_of(make(reranked_kb))
    assert own != plain
    ids = [[{c["id"] for c in found} for found in doc] for doc in plain]
    assert [[{c["id"] for c in found} for found in doc] for doc in own] == ids
    for found in (found for doc in own for found in doc):
        scores = [c["score"] for c in found]
        assert scores == sorted(scores, reverse=True)
    # an exact name stays first
    assert all(found[0]["tier"] == "exact" for doc, _ in zip(own, plain) for found in doc
               if any(c["tier"] == "exact" for c in found))  # fmt: skip


def test_no_reranker_where_the_config_says_so(reranked_kb, kb_path):
    assert candidates_of(make(reranked_kb, reranker=None)) == candidates_of(make(kb_path))


def test_a_reranker_by_its_folder(reranked_kb, kb_path, folder):
    named = make(kb_path, reranker={"@misc": NAME, "path": str(folder)})
    assert candidates_of(named) == candidates_of(make(reranked_kb))


def test_saved_and_loaded_it_says_the_same(reranked_kb, tmp_path):
    nlp = make(reranked_kb)
    before = candidates_of(nlp)
    assert candidates_of(nlp, TEXTS[:1]) == before[:1]
    nlp.to_disk(tmp_path / "saved")
    assert candidates_of(spacy.load(tmp_path / "saved")) == before
    other = make(reranked_kb)
    other.get_pipe("term_linker").from_bytes(nlp.get_pipe("term_linker").to_bytes())
    assert candidates_of(other) == before


def test_equal_mentions_of_two_sentences_are_read_in_each(reranked_kb):
    nlp = make(reranked_kb)
    [(first, second)] = candidates_of(nlp, ["The qqq of today. A qqq long ago, in winter."])
    assert {c["id"] for c in first} == {c["id"] for c in second}
    assert [c["score"] for c in first] != [c["score"] for c in second]
