import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from spacy_termlink.training.gradients import add_gradients
from spacy_termlink.training.world import World

from .conftest import make_trainer

HERE = Path(__file__).parent


def gradients(trainer, *, chunk_tokens=0, normalize=False, scale=1.0):
    """Loss and gradients of the trainer's next batches: one of each task."""
    losses = []
    for step in range(3):
        batch = trainer.supply.next(step)
        task = trainer.config.tasks[batch.task]
        ids = [trainer.model.token_ids(trainer.data.texts[text]) for text in batch.texts]
        value = add_gradients(
            trainer.model, batch, ids, task.loss,
            normalize=normalize, scale=scale, chunk_tokens=chunk_tokens, world=trainer.world,
        )  # fmt: skip
        losses.append((batch.task, value))
    trainer.world.sum_gradients(trainer.model.parameters.values())
    found = {k: p.grad.clone() for k, p in trainer.model.parameters.items() if p.grad is not None}
    return losses, found


def ready(config):
    trainer = make_trainer(config)
    trainer._before_step(None)
    return trainer


@pytest.mark.parametrize("chunk_tokens", [1, 40, 100])
@pytest.mark.parametrize("normalize", [False, True])
def test_gradient_caching_gives_the_gradient_of_the_plain_batch(config, chunk_tokens, normalize):
    losses, plain = gradients(ready(config), normalize=normalize)
    cached_losses, cached = gradients(ready(config), normalize=normalize, chunk_tokens=chunk_tokens)
    assert len({task for task, _ in losses}) == 3 and all(value > 0 for _, value in losses)
    assert [task for task, _ in losses] == [task for task, _ in cached_losses]
    assert np.allclose([v for _, v in losses], [v for _, v in cached_losses], rtol=1e-5)
    assert plain.keys() == cached.keys()
    for name, grad in plain.items():
        assert torch.allclose(grad, cached[name], rtol=1e-4, atol=1e-6), name


def test_plain_gradient_is_that_of_the_loss_itself(config):
    """Against autograd over one graph, with nothing cut between encoder and loss."""
    _, found = gradients(ready(config))
    trainer = ready(config)
    for step in range(3):
        batch = trainer.supply.next(step)
        embeddings = trainer.model.embed(
            [trainer.model.token_ids(trainer.data.texts[text]) for text in batch.texts]
        )
        trainer.config.tasks[batch.task].loss(
            embeddings[batch.rows], embeddings[batch.columns],
            positive=torch.from_numpy(batch.positive), negative=torch.from_numpy(batch.negative),
        ).backward()  # fmt: skip
    for name, grad in found.items():
        assert torch.allclose(grad, trainer.model.parameters[name].grad, rtol=1e-4, atol=1e-6), name


def test_scale_scales(config):
    _, whole = gradients(ready(config))
    _, half = gradients(ready(config), scale=0.5)
    for name, grad in whole.items():
        assert torch.allclose(grad / 2, half[name], rtol=1e-4, atol=1e-7), name


def test_one_process_shares_with_nobody():
    world = World("cpu")
    rows = torch.arange(6.0).reshape(3, 2)
    assert world.is_first and world.gather(rows, 3) is rows
    assert list(range(5))[world.share(5)] == [0, 1, 2, 3, 4]


WORKER = """
import json, sys
sys.path.insert(0, {root!r})
import torch
from tests.training.conftest import make_trainer
from tests.training.test_gradients import gradients
from spacy_termlink.training.config import resolve_config
trainer = make_trainer(resolve_config(json.load(open(sys.argv[1]))))
trainer._before_step(None)
losses, found = gradients(trainer)
if trainer.world.is_first:
    torch.save({{"losses": losses, "grads": found}}, sys.argv[2])
trainer.world.close()
"""


def test_two_processes_give_the_gradient_of_one(config, section, tmp_path):
    import json

    losses, expected = gradients(ready(config))
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(root=str(HERE.parents[1])))
    settings = tmp_path / "section.json"
    settings.write_text(json.dumps(section))
    out = tmp_path / "grads.pt"
    torchrun([str(script), str(settings), str(out)])
    found = torch.load(out)
    assert [task for task, _ in losses] == [task for task, _ in found["losses"]]
    assert np.allclose([v for _, v in losses], [v for _, v in found["losses"]], rtol=1e-5)
    assert expected.keys() == found["grads"].keys()
    for name, grad in expected.items():
        assert torch.allclose(grad, found["grads"][name], rtol=1e-4, atol=1e-6), name


def torchrun(arguments, n=2):
    """Start n processes as torchrun does, and wait."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank in range(n):
        env = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(n),
               "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}  # fmt: skip
        processes.append(
            subprocess.Popen(
                [sys.executable, *arguments], env=env, stderr=subprocess.PIPE, text=True
            )
        )
    for process in processes:
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
