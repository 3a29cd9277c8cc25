"""The model card of a distilled encoder: README.md and distill.json in its folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..files import read_json, write_json
from .card import make_table

_KINDS = {
    "static": "token vectors, whose weighted mean is the embedding: no transformer is run",
    "layers": "the same transformer with fewer layers",
}


def write_distill_card(
    folder: Path,
    kind: str,
    teacher: Path,
    fingerprint: str,
    terminologies: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Any],
) -> None:
    """Write README.md and distill.json into an encoder folder.

    kind (str): "static" or "layers".
    teacher (Path): Folder of the large encoder; where it has a training.json, its terminologies are
        named, too: their licences bind what was made of them.
    fingerprint (str): Of the large encoder.
    terminologies (Sequence[Mapping]): The meta.json of each.
    figures (Mapping): Of the run.
    """
    training = teacher / "training.json"
    of_teacher = read_json(training)["terminologies"] if training.is_file() else []
    summary = {
        "termlink_version": __version__,
        "kind": kind,
        "teacher": {"name": teacher.name, "fingerprint": fingerprint, "terminologies": of_teacher},
        "terminologies": [
            {key: t.get(key) for key in ("source", "release", "licence", "shareable", "counts")}
            for t in terminologies
        ],
        "figures": dict(figures),
    }
    write_json(folder / "distill.json", summary)
    (folder / "README.md").write_text(make_distill_card(summary), encoding="utf8")


def make_distill_card(summary: Mapping[str, Any]) -> str:
    """Text of the card.

    summary (Mapping): What distill.json holds.
    """
    teacher, kind = summary["teacher"], summary["kind"]
    used = [("distilled on", t) for t in summary["terminologies"]]
    used += [("its teacher was trained on", t) for t in teacher["terminologies"]]
    parts = [
        "---\npipeline_tag: sentence-similarity\ntags: [sentence-transformers, spacy-termlink]\n---",
        "# Small encoder of concept names",
        f"Made by `termlink distill --kind {kind}` (spacy-termlink {summary['termlink_version']}) "
        f"from the encoder `{teacher['name']}`: {_KINDS[kind]}. It was fitted to that encoder's "
        "embeddings of the names of the terminologies below.",
        "Use: `termlink index TERMINOLOGY --encoder FOLDER -o KB`, or `SentenceTransformer(FOLDER)`.",
        "## Data",
        make_table(
            ("", "terminology", "release", "licence"),
            ((what, t["source"], t["release"], t["licence"]) for what, t in used),
        ),
    ]
    closed = sorted({t["source"] for _, t in used if not t.get("shareable")})
    if closed:
        parts.append(
            f"The licence of {', '.join(closed)} forbids passing the data on; ask its holder before "
            "you pass on this encoder."
        )
    rows = [(name.replace("_", " "), value) for name, value in summary["figures"].items()]
    rows.append(("sha256 of the teacher", teacher["fingerprint"]))
    parts += ["## Run", make_table(("what", "value"), rows)]
    return "\n\n".join(parts) + "\n"
