"""Distillation: a small, fast encoder that gives the embeddings of a large one.

Two kinds. "static": token vectors, whose weighted mean is the embedding (static_fit.py). "layers": the
same transformer with some of its layers, trained to the embeddings by their cosine (Sanh et al. 2019
begin a student with every other layer of its teacher, too).
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import normalizers
from torch.nn import functional

from ..encoders.bert import is_plain_bert
from ..encoders.encoder import TransformerEncoder, load_tokenizer
from ..encoders.settings import read_settings
from ..encoders.static import write_static
from ..encoders.weights import load_weights
from ..errors import TermlinkError
from ..files import atomic_folder, read_json, require_file, write_json
from .loop import learning_rate, make_optimizer
from .model import TrainableEncoder
from .schedule import generator
from .settings import ModelSettings, OptimizerSettings
from .static_fit import add_words, fit_vectors, start_vectors

#: Written beside the encoder: README.md and distill.json.
AddCard = Callable[[Path, Mapping[str, Any]], object]
#: Called with texts done since the last call, and what is being done.
Report = Callable[[int, str], object]

#: Texts of an update of kind "layers".
BATCH_SIZE = 128
_OPTIMIZER = OptimizerSettings(learning_rate=2e-4, warmup_steps=50)
#: What stands before a layer's number in its name in the file.
_LAYER = "encoder.layer."


def distill_static(
    teacher: TransformerEncoder,
    texts: Sequence[str],
    out: Path,
    *,
    epochs: int,
    seed: int,
    add_card: AddCard,
    report: Report,
) -> dict[str, Any]:
    """Write a static encoder.

    teacher (TransformerEncoder): Gives the embeddings.
    texts (Sequence[str]): Normal forms.
    out (Path): Folder to write; an old one is replaced at the end.
    epochs (int): Passes through the texts.
    seed (int): Of the orders.
    RETURNS (dict[str, Any]): Figures of the run.
    """
    start = time.perf_counter()
    targets = _targets(teacher, texts, report)
    encoded = time.perf_counter()
    files, settings = read_settings(teacher.path)
    tokenizer = load_tokenizer(files, settings.max_length)
    if settings.lowercase:
        steps = [normalizers.Lowercase(), *filter(None, [tokenizer.normalizer])]
        tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer = add_words(tokenizer, texts)
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    kept = [row for row, text in enumerate(ids) if text]
    ids, targets = [ids[row] for row in kept], targets[kept]
    size = tokenizer.get_vocab_size()
    counts = np.bincount(np.concatenate(ids), minlength=size)
    vectors = start_vectors(tokenizer, counts, teacher.encode)
    cosines: list[float] = []

    def progress(n: int, cosine: float) -> None:
        cosines.append(cosine)
        report(n, "Fitting")

    vectors = fit_vectors(vectors, ids, targets, epochs=epochs, seed=seed, progress=progress)
    per_epoch = max(1, len(cosines) // epochs)
    figures = {
        "texts": len(ids),
        "epochs": epochs,
        "vocabulary": size,
        "width": int(vectors.shape[1]),
        "cosine_to_teacher": round(float(np.mean(cosines[-per_epoch:])), 4),
        "teacher_seconds": round(encoded - start, 1),
        "fit_seconds": round(time.perf_counter() - encoded, 1),
    }
    with atomic_folder(out) as part:
        write_static(part, vectors, tokenizer)
        add_card(part, figures)
    return figures


def distill_layers(
    teacher: TransformerEncoder,
    texts: Sequence[str],
    out: Path,
    *,
    n_layers: int,
    steps: int,
    seed: int,
    add_card: AddCard,
    report: Report,
) -> dict[str, Any]:
    """Write an encoder with some of the teacher's layers.

    n_layers (int): Layers kept, evenly spread, the first and the last among them.
    steps (int): Updates, of BATCH_SIZE texts each.
    RETURNS (dict[str, Any]): Figures of the run.
    RAISES (TermlinkError): TL432 for an encoder that is no BERT or has no more layers than wanted.
    """
    start = time.perf_counter()
    order = np.concatenate(
        [
            generator(seed, "distill", i).permutation(len(texts))
            for i in range(-(-steps * BATCH_SIZE // len(texts)))
        ]
    )[: steps * BATCH_SIZE]
    used, places = np.unique(order, return_inverse=True)
    with tempfile.TemporaryDirectory() as folder:
        student = _cut(teacher, n_layers, Path(folder))
        targets = _targets(teacher, [texts[row] for row in used.tolist()], report)
        encoded = time.perf_counter()
        # what the teacher read of a long definition, the student must read
        settings = ModelSettings(str(student), max_length=teacher.settings.max_length)
        device = torch.device("cpu")
        model = TrainableEncoder(student, settings, device=device, precision="auto")
        cosines = _train(model, [texts[row] for row in used.tolist()], targets, places, report)
        last = cosines[-max(1, len(cosines) // 10) :]
        figures = {
            "texts": len(used),
            "steps": steps,
            "layers": n_layers,
            "width": model.width,
            "cosine_to_teacher": round(float(np.mean(last)), 4),
            "teacher_seconds": round(encoded - start, 1),
            "fit_seconds": round(time.perf_counter() - encoded, 1),
        }
        model.save(out, add=lambda part: add_card(part, figures))
    return figures


def _train(
    model: TrainableEncoder,
    texts: Sequence[str],
    targets: np.ndarray,
    places: np.ndarray,
    report: Report,
) -> list[float]:
    """Mean cosine of each batch. places (np.ndarray): Texts in the order of training."""
    optimizer, _ = make_optimizer(_OPTIMIZER, model.parameters)
    steps, cosines = len(places) // BATCH_SIZE, []
    for step in range(steps):
        rows = places[step * BATCH_SIZE : (step + 1) * BATCH_SIZE]
        embeddings = model.embed([model.token_ids(texts[row]) for row in rows.tolist()])
        wanted = torch.from_numpy(targets[rows])
        cosine = functional.cosine_similarity(embeddings, wanted).mean()
        (1 - cosine).backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters.values()), _OPTIMIZER.clip)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(_OPTIMIZER, step, steps)
        optimizer.step()
        optimizer.zero_grad()
        cosines.append(float(cosine.detach()))
        report(len(rows), "Training")
    return cosines


def _targets(teacher: TransformerEncoder, texts: Sequence[str], report: Report) -> np.ndarray:
    return teacher.encode(texts, progress=lambda n: report(n, "Teacher"))


def kept_layers(n_all: int, n_kept: int) -> list[int]:
    """Which layers stay: evenly spread, the first and the last among them."""
    if n_kept == 1:
        return [0]
    return [round(i * (n_all - 1) / (n_kept - 1)) for i in range(n_kept)]


def _cut(teacher: TransformerEncoder, n_layers: int, folder: Path) -> Path:
    """A copy of the teacher's folder with these layers only."""
    from safetensors.torch import save_file

    files, _ = read_settings(teacher.path)
    config = read_json(require_file(files / "config.json"))
    n_all = int(config.get("num_hidden_layers", 0))
    if not is_plain_bert(config) or not 1 <= n_layers < n_all:
        raise TermlinkError("TL432", path=teacher.path, n_layers=n_layers, found=n_all)
    teacher.save(folder)
    for old in folder.glob("*.safetensors*"):
        old.unlink()
    new_of = {old: new for new, old in enumerate(kept_layers(n_all, n_layers))}
    weights = {}
    for name, value in load_weights(files).items():
        before, layer, after = name.partition(_LAYER)
        if layer:
            number, _, rest = after.partition(".")
            if int(number) not in new_of:
                continue
            name = f"{before}{layer}{new_of[int(number)]}.{rest}"
        weights[name] = value.contiguous()
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    write_json(folder / "config.json", {**config, "num_hidden_layers": n_layers})
    return folder
