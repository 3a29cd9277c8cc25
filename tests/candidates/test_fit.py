"""The fitted threshold of the hybrid."""

import numpy as np

from spacy_termlink.candidates.faiss_index import build_index
from spacy_termlink.candidates.fit import fit_hybrid
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


def test_the_more_mentions_have_no_concept_the_higher_the_threshold(tmp_path):
    parts = make_parts(tmp_path / "terminology")
    fitted = [fit_hybrid(*parts, absent_per_present=share) for share in (0.0, 1 / 3, 3.0)]
    assert fit_hybrid(*parts) == fitted[1], "a third is what is assumed"
    assert fitted[0].threshold < fitted[2].threshold
    assert fitted[0].threshold <= fitted[1].threshold <= fitted[2].threshold
    assert len({f.dense_weight for f in fitted}) == len({f.hits for f in fitted}) == 1
