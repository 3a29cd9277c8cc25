"""The fitted threshold of the hybrid."""

import numpy as np

from spacy_termlink.candidates.faiss_index import build_index
from spacy_termlink.candidates.fit import fit_hybrid, fit_threshold
from spacy_termlink.candidates.names import unique_names
from spacy_termlink.lexical.ngram import NgramIndex
from spacy_termlink.terminology import Concept, Name
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.terminology.store import Terminology


def make_parts(folder):
    """60 concepts of three names; the vectors of a concept's names lie near each other, more or less."""
    concepts = [
        Concept(f"C:{i}", f"disease {i}", names=[Name(f"{i} illness"), Name(f"ailment no {i}")])
        for i in range(60)
    ]
    meta = {"source": "fit", "release": "1", "licence": "CC0-1.0", "shareable": True}
    build_terminology(concepts, folder, meta=meta)
    terminology = Terminology.open(folder)
    names, texts = unique_names(terminology)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(60, 16))
    owners = terminology.concept_rows[names.name_rows[names.offsets[:-1]]]
    vectors = centres[owners] + rng.uniform(0.2, 1.2, (len(owners), 1)) * rng.normal(
        size=(len(owners), 16)
    )
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return terminology, names, texts, vectors, build_index(vectors, "Flat"), NgramIndex.build(texts)


def test_a_threshold_is_fitted_on_synonyms(tmp_path):
    parts = make_parts(tmp_path / "terminology")
    fitted = fit_hybrid(*parts)
    assert 0.3 < fitted.threshold < 0.95


def test_threshold_by_hand():
    """Links at .8 and .6 are right, at .7 and .4 wrong. Without mentions that have no concept F1 is
    2 * 2 / (3 + 4) from .41 to .6; with four at .65 it is 4 / (7 + 4) there, 2 / (1 + 4) from .71 on."""
    present, right = np.array([0.8, 0.7, 0.6, 0.4]), np.array([True, False, True, False])
    assert fit_threshold(present, right, np.array([])) == 0.41
    assert fit_threshold(present, right, np.array([0.65] * 4)) == 0.71
    assert fit_threshold(present, right, np.array([0.65] * 4), weight=0.1) == 0.41
