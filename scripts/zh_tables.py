"""The comparisons of seed 003 (T5 with prompts, 2023) on Chinese procedure phrases, as tables.

    python scripts/zh_tables.py names.tsv mentions.jsonl -o output/zh

Recall: the loss (contrastive, cross-entropy over pairs), its temperature and the batch size, each encoder
from nothing on as many phrases; scored by dense search with the phrases of split train as names.
Reranking, over the hybrid of the first row's encoder: T5 with one question, with several, with
adversarial training, and the cross-encoder. Phrases of split train teach, those of dev are measured. A
run that is finished is kept in OUTPUT/runs, so that the work can be stopped and gone on with.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from confection import Config
from evaluate_sets import run

from spacy_termlink.files import atomic_file

CONFIG = Path(__file__).parent.parent / "configs" / "zh_procedures.cfg"
CONTRASTIVE, PAIRS = "spacy-termlink.Contrastive.v1", "spacy-termlink.PairCrossEntropy.v1"
#: Row of the first table -> (loss, batch size). The first one's encoder is the recall of the second.
ENCODERS = {
    "contrastive, τ 1/20, batch 50": ({"@losses": CONTRASTIVE, "temperature": 0.05}, 50),
    "contrastive, τ 1/10, batch 50": ({"@losses": CONTRASTIVE, "temperature": 0.1}, 50),
    "contrastive, τ 1/50, batch 50": ({"@losses": CONTRASTIVE, "temperature": 0.02}, 50),
    "contrastive, τ 1/20, batch 25": ({"@losses": CONTRASTIVE, "temperature": 0.05}, 25),
    "contrastive, τ 1/20, batch 100": ({"@losses": CONTRASTIVE, "temperature": 0.05}, 100),
    "pair cross-entropy, batch 50": ({"@losses": PAIRS}, 50),
}
#: Row of the second table -> what is other in section [reranker.model] of the config.
ONE = ["{mention}和{name}表示同一个概念吗？是或否："]
RERANKERS: dict[str, dict] = {
    "T5, one question": {"templates": ONE, "yes": "是", "no": "否"},
    "T5, several questions": {},
    "T5, several questions, FGM": {"fgm": 0.3},
}
CROSS = {
    "kind": "cross-encoder", "seed": 0, "max_steps": 400, "batch_size": 16, "nil_share": 0.1,
    "checkpoint_every": 0, "log_every": 20,
    "optimizer": {"learning_rate": 3e-4, "warmup_steps": 30},
    "model": {"max_length": 64, "names": "matched", "margin": 0.2},
}  # fmt: skip


def main() -> None:
    """Run what is not finished yet, then write both tables."""
    args = parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    work = Work(args)
    recall = {name: work.encoder(i, *setting) for i, (name, setting) in enumerate(ENCODERS.items())}
    reranked = {"none": work.reranked(None)}
    for name, model in RERANKERS.items():
        reranked[name] = work.reranked(name, model=model)
    reranked["cross-encoder"] = work.reranked("cross-encoder")
    text = "".join((
        table("Recall, dense", recall, ("hits@1", "hits@10", "spearman", "f1")),
        table("Hybrid, reranked", reranked, ("hits@1", "precision", "recall", "f1")),
    ))  # fmt: skip
    with atomic_file(args.output / "tables.md") as part:
        part.write_text(text, encoding="utf8")
    sys.stdout.write(text)


def parse_args() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", type=Path, help="the codes and their terms, a table")
    parser.add_argument("mentions", type=Path, help="mentions.jsonl with splits train and dev")
    parser.add_argument("--config", type=Path, default=CONFIG, help="settings of all steps")
    parser.add_argument(
        "--phrases", type=int, default=57_600, help="read by each encoder (default 57,600)"
    )
    parser.add_argument(
        "--steps", type=int, default=1000, help="of a T5's training (default 1,000)"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of all results")
    return parser.parse_args()


class Work:
    """The folder of all runs, with the terminology and the records in it.

    args (argparse.Namespace): The command line.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self.out, self.args = args.output, args
        self.terminology, self.records = self.out / "terminology", self.out / "mined/records.jsonl"
        self.config = Config().from_disk(args.config, interpolate=False)
        self.config["mining"]["tasks"]["annotated"]["path"] = str(args.mentions)
        if not self.terminology.is_dir():
            run("convert", args.names, "--format", "table", "-o", self.terminology)
        if not self.records.is_file():
            self._write("mine", {"mining": self.config["mining"]})
            run("mine", self.terminology, "--config", self.out / "mine.cfg", "-o", self.records)

    def encoder(self, number: int, loss: dict, batch_size: int) -> dict:
        """Figures of an encoder trained from nothing; its KB stays."""
        kb, figures = self.out / f"kb/{number}", self.out / f"runs/encoder-{number}.json"
        if not figures.is_file():
            section = {**self.config["training"], "records": str(self.records)}
            section["max_steps"] = self.args.phrases // batch_size
            section["tasks"] = {
                "annotated": {"batch_size": batch_size, "normalize": True, "loss": loss}
            }
            self._write("train", {"training": section})
            encoder = self.out / f"encoders/{number}"
            run("train", self.out / "train.cfg", "-o", encoder)
            names = ("--add-names", self.args.mentions)
            run("index", self.terminology, "--encoder", encoder, "-o", kb, *names)
            self._evaluate(kb, figures, "--candidates", "dense")
        return figures_of(figures)

    def reranked(self, name: str | None, *, model: dict | None = None) -> dict:
        """Figures of the hybrid with one reranker, or with none."""
        kb = self.out / "kb/0"
        key = (name or "none").replace(",", "").replace(" ", "-")
        figures, folder = self.out / f"runs/reranker-{key}.json", self.out / f"rerankers/{key}"
        if not figures.is_file():
            if name is not None:
                self._write("rerank", {"reranker": self._reranker(kb, model)})
                run("train-reranker", self.out / "rerank.cfg", "-o", folder)
            self._evaluate(kb, figures, "--reranker", "none" if name is None else folder)
        return figures_of(figures)

    def _reranker(self, kb: Path, model: dict | None) -> dict:
        if model is None:
            own = {**CROSS["model"], "encoder": str(kb / "encoder")}
            data = {"procedures": {"kb": str(kb), "k": 10, "dev_share": 0.1}}
            return {**CROSS, "model": own, "data": data}
        section = json.loads(json.dumps(self.config["reranker"]))
        section["max_steps"] = self.args.steps
        section["data"]["procedures"]["kb"] = str(kb)
        section["model"].update(model)
        return section

    def _evaluate(self, kb: Path, figures: Path, *options: object) -> None:
        figures.parent.mkdir(exist_ok=True)
        run("evaluate", kb, self.args.mentions, "--split", "dev", *options, "--json", figures)

    def _write(self, name: str, section: dict) -> None:
        Config(section).to_disk(self.out / f"{name}.cfg", interpolate=False)


def figures_of(path: Path) -> dict:
    """Means with their intervals of one evaluation."""
    found = json.loads(path.read_text(encoding="utf8"))
    sets, rho = found["sets"], found["spearman"]
    figures = {name: (found[name], found["ci"][name]) for name in ("hits@1", "hits@10")}
    figures |= {name: (sets[name], sets["ci"][name]) for name in ("precision", "recall", "f1")}
    return {"n": found["n"], **figures, "spearman": (rho["rho"], rho["ci"])}


def table(title: str, rows: dict[str, dict], columns: Iterable[str]) -> str:
    """A Markdown table of figures with 95 % intervals."""
    n = next(iter(rows.values()))["n"]
    lines = [f"{title} (n = {n:,})", "", "| | " + " | ".join(columns) + " |"]
    lines.append("|---" * (1 + len(tuple(columns))) + "|")
    for name, figures in rows.items():
        cells = [f"{v:.3f} [{ci[0]:.3f}, {ci[1]:.3f}]" for v, ci in map(figures.get, columns)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    main()
