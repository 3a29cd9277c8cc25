"""Against pytorch-metric-learning, where it has the loss."""

import pytest
import torch

from spacy_termlink.training.losses.in_batch_nll import in_batch_nll
from spacy_termlink.training.losses.multi_similarity import mine_pairs, multi_similarity
from spacy_termlink.training.losses.triplet import triplet

pml = pytest.importorskip("pytorch_metric_learning")
from pytorch_metric_learning import distances, losses, miners, reducers  # noqa: E402


def both_gradients(ours, reference, embeddings):
    found = []
    for loss in (ours, reference):
        given = embeddings.clone().requires_grad_()
        value = loss(given)
        value.backward()
        found.append((value.detach(), given.grad))
    torch.testing.assert_close(found[0][0], found[1][0])
    torch.testing.assert_close(found[0][1], found[1][1], rtol=1e-4, atol=1e-6)
    assert found[0][0] > 0


@pytest.mark.parametrize(
    ("similarity", "distance"),
    [
        ("cosine", distances.CosineSimilarity()),
        ("inner", distances.DotProductSimilarity(normalize_embeddings=False)),
    ],
)
def test_in_batch_nll_is_nt_xent(batch, similarity, distance):
    embeddings, labels, positive, negative = batch
    reference = losses.NTXentLoss(temperature=0.2, distance=distance)
    both_gradients(
        lambda e: in_batch_nll(
            e, e, positive=positive, negative=negative, similarity=similarity, temperature=0.2
        ),
        lambda e: reference(e, labels),
        embeddings,
    )


def test_multi_similarity_with_its_miner(batch):
    embeddings, labels, positive, negative = batch
    miner = miners.MultiSimilarityMiner(epsilon=0.1)
    reference = losses.MultiSimilarityLoss(alpha=2, beta=50, base=0.5)
    both_gradients(
        lambda e: multi_similarity(e, e, positive=positive, negative=negative),
        lambda e: reference(e, labels, miner(e, labels)),
        embeddings,
    )


def test_the_miner_keeps_the_same_pairs(batch):
    embeddings, labels, positive, negative = batch
    unit = torch.nn.functional.normalize(embeddings)
    ours = mine_pairs(unit @ unit.T, positive, negative, margin=0.1)
    a1, p, a2, n = miners.MultiSimilarityMiner(epsilon=0.1)(embeddings, labels)
    for mask, rows, columns in ((ours[0], a1, p), (ours[1], a2, n)):
        expected = torch.zeros_like(mask)
        expected[rows, columns] = True
        assert torch.equal(mask, expected)
    assert ours[0].any()
    assert not ours[1].equal(negative)


def test_triplet_on_every_triplet(batch):
    embeddings, labels, positive, negative = batch
    reference = losses.TripletMarginLoss(
        margin=0.1,
        distance=distances.LpDistance(normalize_embeddings=False),
        reducer=reducers.MeanReducer(),
    )
    both_gradients(
        lambda e: triplet(e, e, positive=positive, negative=negative, margin=0.1),
        lambda e: reference(e, labels),
        embeddings,
    )
