import numpy as np
import pytest

from spacy_termlink.encoders import load_encoder

TEXTS = [
    "a",
    "fever",
    "fits",
    "hole in the heart",
    "abnormality of the nervous system",
    "fever of",
    "",
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_text_alone_has_the_embedding_it_has_in_a_batch(tiny_encoder, dtype):
    """nlp(text) and nlp.pipe(texts) must give the same bytes."""
    encoder = load_encoder(tiny_encoder, dtype=dtype)
    together = encoder.encode(TEXTS * 20)[: len(TEXTS)]
    assert np.array_equal(np.concatenate([encoder.encode([text]) for text in TEXTS]), together)
