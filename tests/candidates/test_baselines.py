"""The baselines of seed 002 as candidate generators, against values computed by hand."""

import os
import subprocess
import sys
from math import log

import numpy as np
import pytest

from spacy_termlink.candidates import make_generator
from spacy_termlink.candidates.bm25 import Bm25Candidates
from spacy_termlink.candidates.encoded import (
    NearestNames,
    make_cls_candidates,
    make_mean_candidates,
)
from spacy_termlink.candidates.wordvectors import (
    load_vectors,
    make_word_vector_candidates,
    train_vectors,
)
from spacy_termlink.encoders import load_encoder
from spacy_termlink.errors import TermlinkError
from spacy_termlink.kb import TermKB
from spacy_termlink.lexical.stopwords import content_words
from spacy_termlink.terminology.store import Terminology
from spacy_termlink.text import normalize
from spacy_termlink.types import NAME_KINDS

BASELINES = ("bm25", "wordvectors", "cls", "mean")
ODD = ["", "   ", "\x00", "\ud800", "\U0001f600", "\u05d0\u05d1", "x" * 10_000, "!!!"]
VECTORS = {"heart": (1, 0), "cardiac": (0.96, 0.28), "attack": (0, 1), "seizure": (-1, 0)}


@pytest.fixture(scope="module")
def kb(tiny_kb):
    return TermKB.open(tiny_kb)


@pytest.fixture(params=BASELINES, scope="module")
def generator(request, kb):
    return make_generator(request.param, kb)


@pytest.fixture
def word2vec(tmp_path):
    rows = [f"{word} {x} {y}" for word, (x, y) in VECTORS.items()]
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join([f"{len(rows)} 2", *rows]) + "\n")
    return path


def ids(candidates):
    return [candidate.concept_id for candidate in candidates]


def test_order_is_total_and_concepts_are_distinct(generator):
    for found in generator.generate(["seizure", "MI", "abnormality of the heart"], k=4):
        order = [(-c.score, NAME_KINDS.index(c.kind), c.concept_id) for c in found]
        assert order == sorted(order)
        assert 0 < len(set(ids(found))) == len(found) <= 4
        assert all(-1 <= c.score <= 1 for c in found)


def test_batch_and_single_agree_and_repeats_share_nothing(generator):
    mentions = ["partial seizure", "heart attack", "Partial seizure"]
    together = generator.generate(mentions, k=5)
    assert together[0] == together[2]
    assert together[0] is not together[2]
    for mention, found in zip(mentions, together, strict=True):
        alone = generator.generate([mention], k=5)[0]
        assert ids(alone) == ids(found)
        assert np.allclose([c.score for c in alone], [c.score for c in found], atol=1e-4)


def test_a_mask_is_respected_inside_the_search(kb, generator):
    allowed = kb.terminology.mask(["heart"])
    [free] = generator.generate(["seizure of the heart"], k=12)
    [found] = generator.generate(["seizure of the heart"], k=12, allowed=allowed)
    wanted = {"T:0006", "T:0007", "T:0008"}
    assert ids(found) == [i for i in ids(free) if i in wanted]
    [one] = generator.generate(["seizure of the heart"], k=1, allowed=allowed)
    assert one == found[:1]


def test_odd_mentions(generator):
    found = generator.generate(ODD, k=3)
    assert len(found) == len(ODD)
    assert found[0] == found[1] == []
    assert generator.generate([], k=3) == []


# --- BM25


def test_bm25_is_the_formula_over_all_names_of_a_concept(kb):
    """Every concept's score against the formula written out (Lucene, k1 = 1.5, b = 0.75)."""
    terminology = kb.terminology
    docs = {}
    for row in range(terminology.n_concepts):
        texts = [terminology.name_text(r) for r in terminology.name_rows(row)]
        docs[terminology.concept_id(row)] = [w for t in texts for w in content_words(t)]
    mean = sum(map(len, docs.values())) / len(docs)

    def idf(word):
        n = sum(word in doc for doc in docs.values())
        return log(1 + (len(docs) - n + 0.5) / (n + 0.5))

    query = ["abnormality", "heart", "xyz"]
    most = sum(map(idf, query))
    expected = {}
    for concept_id, doc in docs.items():
        parts = [
            idf(w) * doc.count(w) / (doc.count(w) + 1.5 * (0.25 + 0.75 * len(doc) / mean))
            for w in query
        ]
        if sum(parts):
            expected[concept_id] = sum(parts) / most
    [found] = Bm25Candidates(kb).generate(["Abnormality of the heart xyz"], k=12)
    assert {c.concept_id: c.score for c in found} == pytest.approx(expected, abs=2e-6)
    assert found[0].concept_id == "T:0006"


def test_bm25_shows_the_name_that_is_most_like_the_mention(kb):
    [found] = make_generator("bm25", kb).generate(["a heart attack"], k=1)
    assert (found[0].concept_id, found[0].matched, found[0].kind) == (
        "T:0007", "Heart attack", "layperson",
    )  # fmt: skip


def test_bm25_finds_no_synonym_without_a_common_word(kb):
    assert make_generator("bm25", kb).generate(["palatoschizia"], k=3) == [[]]


def test_bm25_breaks_ties_by_kind_then_id_whatever_k(kb):
    [found] = make_generator("bm25", kb).generate(["MI"], k=2)
    [one] = make_generator("bm25", kb).generate(["MI"], k=1)
    scores = [c.score for c in found]
    assert ids(found) == (["T:0007", "T:0008"] if scores[0] == scores[1] else ids(found))
    assert one == found[:1]


# --- encoders


@pytest.mark.parametrize(
    ("make", "pooling"), [(make_cls_candidates, "cls"), (make_mean_candidates, "mean")]
)
def test_pooling_is_that_of_an_encoder_of_this_pooling(kb, tmp_path, make_bert, make, pooling):
    """Against brute force with an encoder folder that says so itself."""
    folder = make_bert(tmp_path / "encoder", pooling=pooling, max_length=32)
    encoder = load_encoder(folder)
    terminology = kb.terminology
    mentions = ["seizures", "heart", "grand mal"]
    vectors = encoder.encode([normalize(m) for m in mentions])
    names = encoder.encode([terminology.name_normalized(r) for r in range(terminology.n_names)])
    cosines = vectors @ names.T
    changed = "mean" if pooling == "cls" else "cls"
    other = load_encoder(make_bert(tmp_path / "other", pooling=changed, max_length=32))
    assert not np.allclose(other.encode(["heart"]), encoder.encode(["heart"]), atol=1e-3)
    for path in (folder, other.path):  # the block's pooling counts, not the folder's
        found = make(encoder=str(path))(kb).generate(mentions, k=12)
        for row, candidates in zip(cosines, found, strict=True):
            best = {}
            for name_row, score in enumerate(row.tolist()):
                concept_id = terminology.concept_id(terminology.concept_rows[name_row])
                best[concept_id] = max(best.get(concept_id, -1), score)
            assert {c.concept_id: c.score for c in candidates} == pytest.approx(best, abs=1e-5)


def test_mean_with_the_encoder_of_the_kb_is_dense_with_its_vectors(kb, monkeypatch):
    mentions = ["fits", "small heart"]
    dense = make_generator("dense", kb).generate(mentions, k=5)
    monkeypatch.setattr(NearestNames, "_build_index", None)  # nothing is encoded again
    found = make_generator("mean", kb).generate(mentions, k=5)
    assert [[c._replace(tier="dense") for c in candidates] for candidates in found] == dense
    assert {c.tier for candidates in found for c in candidates} == {"mean"}


def test_an_encoder_that_is_not_there(kb):
    with pytest.raises(TermlinkError) as error:
        make_cls_candidates(encoder="no/such/encoder")(kb).generate(["heart"], k=1)
    assert error.value.code == "TL300"


# --- word vectors


def test_mean_of_word_vectors_by_hand(kb, word2vec):
    generator = make_word_vector_candidates(vectors=str(word2vec))(kb)
    [found, nothing] = generator.generate(["the cardiac attack", "palate"], k=12)
    # (0.96, 1.28) / 1.6 = (0.6, 0.8); "heart attack" is (1, 1) / sqrt 2; "seizure" is (-1, 0)
    scores = {c.concept_id: c.score for c in found}
    assert scores["T:0007"] == pytest.approx((0.6 + 0.8) / 2**0.5, abs=1e-6)
    assert scores["T:0003"] == pytest.approx(-0.6, abs=1e-6)
    assert scores["T:0006"] == pytest.approx(0.6, abs=1e-6)  # abnormality of the heart
    assert nothing == []
    # a concept none of whose names has a known word is not found with score 0
    assert "T:0012" not in scores


def test_binary_and_text_files_and_spacy_vectors_are_equal(kb, word2vec, tmp_path):
    import gensim
    import spacy

    keyed = gensim.models.KeyedVectors.load_word2vec_format(str(word2vec))
    keyed.save_word2vec_format(str(tmp_path / "vectors.bin"), binary=True)
    nlp = spacy.blank("en")
    for word, vector in VECTORS.items():
        nlp.vocab.set_vector(word, np.array(vector, dtype=np.float32))
    nlp.to_disk(tmp_path / "pipeline")
    for path in (word2vec, tmp_path / "vectors.bin", tmp_path / "pipeline"):
        vectors = load_vectors(str(path))
        assert vectors.get("unheard") is None
        for word, vector in VECTORS.items():
            assert vectors.get(word) == pytest.approx(vector, abs=1e-6)


_TRAIN = """
import sys, numpy
from spacy_termlink.candidates.wordvectors import train_vectors
from spacy_termlink.terminology.store import Terminology
vectors = train_vectors(Terminology.open(sys.argv[1]))
sys.stdout.buffer.write(numpy.stack([vectors.get(w) for w in ("heart", "seizure")]).tobytes())
"""


def test_trained_vectors_do_not_depend_on_the_process(tiny_terminology):
    found = [
        subprocess.run(
            [sys.executable, "-c", _TRAIN, str(tiny_terminology)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert len(found[0]) == 2 * 100 * 4
    assert found[0] == found[1]
    vectors = train_vectors(Terminology.open(tiny_terminology))
    assert vectors.get("discharge") is not None  # a word of a definition
    assert vectors.get("unheard") is None


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("missing", None, "TL530"),
        ("vectors.txt", "no header\nat all\n", "TL531"),
        ("vectors.kv", "x", "TL531"),
        ("folder", {}, "TL531"),
    ],
)
def test_bad_vectors_are_named(tmp_path, name, content, code):
    path = tmp_path / name
    if isinstance(content, str):
        path.write_text(content)
    elif content is not None:
        path.mkdir()
    with pytest.raises(TermlinkError) as error:
        load_vectors(str(path))
    assert error.value.code == code
    assert name in str(error.value)


def test_a_pipeline_without_vectors_is_named(tmp_path):
    import spacy

    spacy.blank("en").to_disk(tmp_path / "pipeline")
    with pytest.raises(TermlinkError) as error:
        load_vectors(str(tmp_path / "pipeline"))
    assert error.value.code == "TL532"
