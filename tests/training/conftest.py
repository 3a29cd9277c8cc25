"""Mined files of a tiny terminology, and configs to train a tiny encoder on them."""

import json
from pathlib import Path

import numpy as np
import pytest

from spacy_termlink.files import sha256_file
from spacy_termlink.training.config import resolve_config

NLL = {"@losses": "spacy-termlink.InBatchNLL.v1", "similarity": "cosine", "temperature": 0.1}
MULTI = {"@losses": "spacy-termlink.MultiSimilarity.v1"}
TRIPLET = {"@losses": "spacy-termlink.Triplet.v1"}
#: Names of 12 concepts; "fits" is a name of two.
NAMES = {
    f"T:{i:02d}": names.split("|")
    for i, names in enumerate(
        [
            "seizure|epileptic fit|fits|convulsion", "focal seizure|partial seizure",
            "tantrum|fits", "heart attack|myocardial infarction|mi", "leaky valve|mitral regurgitation",
            "short stature|small height", "cleft palate|palatoschisis", "fever|pyrexia|high temperature",
            "headache|cephalgia|head pain", "cough|tussis", "rash|exanthema|skin eruption", "pain|ache",
        ]
    )
}  # fmt: skip
N_NAMES = sum(map(len, NAMES.values()))
#: T:01 is a child of T:00 and of T:02.
PARENTS = [("T:01", "T:00"), ("T:01", "T:02"), ("T:08", "T:11"), ("T:03", "T:11")]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")


def synonym_rows():
    for concept, (preferred, *others) in NAMES.items():
        for other in others:
            yield {"task": "synonym", "anchor": other, "positive": preferred,
                   "anchor_concept": concept, "positive_concept": concept}  # fmt: skip


def parent_rows():
    for child, parent in PARENTS:
        yield {"task": "parent", "anchor": NAMES[child][0], "positive": NAMES[parent][0],
               "negative": "cough", "anchor_concept": child, "positive_concept": parent,
               "negative_concept": "T:09"}  # fmt: skip


@pytest.fixture
def mined(tmp_path):
    """Path of a records file with the files beside it; T:07 and T:08 must not be opposed."""
    folder = tmp_path / "mined"
    folder.mkdir()
    records = folder / "records.jsonl"
    write_lines(records, [*synonym_rows(), *parent_rows()])
    rows = [
        {"concept_id": concept, "text": text, "kind": "exact"}
        for concept, names in NAMES.items()
        for text in names
    ]
    write_lines(folder / "names.jsonl", rows)
    barred = [("T:07", "T:08"), ("T:08", "T:07")]
    write_lines(
        folder / "equivalents.jsonl",
        [{"concept_id": a, "same": [], "barred": [b]} for a, b in barred],
    )
    source = {"source": "tiny", "release": "2026-01-01", "licence": "CC0-1.0", "shareable": True,
              "url": "", "counts": {"concepts": 12, "names": N_NAMES}}  # fmt: skip
    meta = {
        "sha256": sha256_file(records),
        "terminologies": [source],
        "tasks": {"synonym": {"weight": 1.0}, "parent": {"weight": 0.5}},
        "counts": {"records": 20, "names": N_NAMES},
    }
    (folder / "records.meta.json").write_text(json.dumps(meta))
    return records


@pytest.fixture
def section(mined, tiny_encoder):
    """A section [training] with three tasks, a refresh and two losses."""
    return {
        "records": str(mined), "max_steps": 6, "checkpoint_every": 3, "log_every": 1,
        "precision": "float32", "device": "cpu",
        "model": {"encoder": str(tiny_encoder)},
        "optimizer": {"learning_rate": 1e-3, "warmup_steps": 2},
        "refresh": {"every": 2, "positives": 2, "negatives": 3, "choose": "random"},
        "tasks": {
            "synonym": {"batch_size": 6, "hard_negatives": 2, "loss": NLL},
            "parent": {"batch_size": 3, "negatives": "record", "loss": TRIPLET},
            "names": {"batch_size": 4, "hard_positives": 2, "hard_negatives": 3, "loss": MULTI},
        },
    }  # fmt: skip


@pytest.fixture
def config(section):
    return resolve_config(section)


def exact_search(vectors, queries, n):
    return np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :n]


def make_trainer(config, *, world=None, **more):
    """A trainer of a resolved config, with the parts the command line gives it."""
    import torch

    from spacy_termlink.training.data import TrainingData
    from spacy_termlink.training.model import TrainableEncoder
    from spacy_termlink.training.trainer import Trainer
    from spacy_termlink.training.world import World

    torch.set_num_threads(1)
    world = world or World("cpu")
    model = TrainableEncoder(
        Path(config.model.encoder), config.model, device=world.device, precision="float32"
    )
    data = TrainingData(Path(config.run.records), list(config.tasks))
    return Trainer(config, data, model, world=world, search=exact_search, **more)
