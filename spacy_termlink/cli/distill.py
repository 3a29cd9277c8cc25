"""`termlink distill`: a small, fast encoder from a large one."""

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, List, Optional

import typer

from ._common import keep_inputs, note, progress, save_json


class Kind(str, Enum):
    """What is made."""

    static = "static"
    layers = "layers"


def distill_command(
    encoder: Annotated[
        str, typer.Argument(help="Encoder folder, or a Hugging Face name in the local cache.")
    ],
    terminologies: Annotated[
        List[Path], typer.Argument(help="Terminology folders: their names are learnt from.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Encoder folder to write.")],
    kind: Annotated[
        Kind,
        typer.Option(help="static: token vectors, no transformer. layers: fewer layers."),
    ] = Kind.static,
    layers: Annotated[int, typer.Option(min=1, help="With --kind layers: how many stay.")] = 3,
    epochs: Annotated[
        int, typer.Option(min=1, help="With --kind static: passes through the texts.")
    ] = 3,
    steps: Annotated[
        int, typer.Option(min=1, help="With --kind layers: updates, of 128 texts each.")
    ] = 1000,
    without_names: Annotated[
        Optional[Path],
        typer.Option(help="JSONL with 'text', as heldout.jsonl of mining: names to leave out."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the order of the texts.")] = 0,
    json_path: Annotated[
        Optional[Path],
        typer.Option("--json", help="Write the figures as JSON to this file; - for stdout."),
    ] = None,
) -> None:
    """Make a small, fast encoder that gives the embeddings of a large one, from terminologies alone."""
    from ..encoders import load_encoder
    from ..encoders.encoder import TransformerEncoder
    from ..errors import TermlinkError
    from ..terminology.store import Terminology
    from ..training.distill import BATCH_SIZE, distill_layers, distill_static
    from ..training.distill_card import write_distill_card
    from ..training.distill_texts import read_texts

    keep_inputs([Path(encoder), *terminologies, without_names], [out, json_path], folder=out)
    if out.exists() and not (out / "modules.json").is_file():
        raise TermlinkError("TL002", path=out, kind="encoder folder")
    teacher = load_encoder(encoder)
    if not isinstance(teacher, TransformerEncoder):
        raise TermlinkError("TL433", path=encoder)
    opened = [Terminology.open(path) for path in terminologies]
    # a definition is no mean of its words
    definitions = kind is Kind.layers
    texts = read_texts(opened, without=without_names, definitions=definitions, seed=seed)

    def add_card(folder: Path, figures: Mapping[str, Any]) -> None:
        metas = [each.meta for each in opened]
        write_distill_card(folder, kind.value, teacher.path, teacher.fingerprint, metas, figures)

    # each text is read by the teacher, then learnt from
    learnt = len(texts) * epochs if kind is Kind.static else BATCH_SIZE * steps
    with progress(total=min(len(texts), learnt) + learnt, desc="Distilling", unit="texts") as bar:

        def report(n: int, what: str) -> None:
            bar.set_description(what, refresh=False)
            bar.update(n)

        if kind is Kind.static:
            figures = distill_static(
                teacher, texts, out, epochs=epochs, seed=seed, add_card=add_card, report=report
            )
        else:
            figures = distill_layers(
                teacher, texts, out, n_layers=layers, steps=steps, seed=seed,
                add_card=add_card, report=report,
            )  # fmt: skip
    note(
        f"{out}: {figures['texts']:,} texts, mean cosine to {encoder} "
        f"{figures['cosine_to_teacher']:.3f}; its embeddings took {figures['teacher_seconds']:.0f} s, "
        f"the fit {figures['fit_seconds']:.0f} s."
    )
    save_json(json_path, {"kind": kind.value, **figures})
