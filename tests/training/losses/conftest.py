"""Small embeddings whose similarities can be read off."""

import pytest
import torch

from spacy_termlink.training.losses.contrastive import contrastive
from spacy_termlink.training.losses.cross_entropy import pair_cross_entropy
from spacy_termlink.training.losses.in_batch_nll import in_batch_nll
from spacy_termlink.training.losses.multi_similarity import multi_similarity
from spacy_termlink.training.losses.triplet import triplet

LOSSES = {
    "contrastive": contrastive,
    "in_batch_nll": in_batch_nll,
    "multi_similarity": multi_similarity,
    "pair_cross_entropy": pair_cross_entropy,
    "triplet": triplet,
}


@pytest.fixture(params=list(LOSSES.values()), ids=list(LOSSES))
def loss(request):
    return request.param


@pytest.fixture
def batch():
    """Eight random names of three concepts, each compared with all: the masks of labels."""
    generator = torch.Generator().manual_seed(0)
    embeddings = torch.randn(8, 5, generator=generator, dtype=torch.float64).float()
    labels = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2])
    same = labels[:, None] == labels
    return embeddings, labels, same & ~torch.eye(8, dtype=torch.bool), ~same
