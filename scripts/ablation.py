"""Trains one encoder for each setting and seed, and writes what each is worth as tables.

    python scripts/ablation.py terminologies/hpo --encoder assets/fetched/minilm -o output/ablation

Three tables: sampling (the last table of CODER++), tasks, losses; k = m = 8. All on one branch of HPO,
measured on its held-out concepts, none of whose names was trained on. Every run encodes about as many
texts: `--steps` batches of 200. A run that is finished is kept in OUTPUT/runs, so that the work can be
stopped and gone on with; --only names the settings of this call.
"""

import argparse
import functools
import itertools
import json
import shutil
import sys
import time
from pathlib import Path

from ablation_figures import HeldOut, write_tables
from confection import Config
from evaluate_sets import run

from spacy_termlink.encoders import load_encoder
from spacy_termlink.files import atomic_folder, write_json
from spacy_termlink.terminology.builder import SCHEMAS, write_folder
from spacy_termlink.terminology.store import Terminology

CONFIG = Path(__file__).parent.parent / "configs" / "mine_ablation.cfg"
#: Abnormality of the musculoskeletal system: 4,612 concepts with 11,999 names in release 2025-01-16.
BRANCH = "HP:0033127"
#: Names kept of an anchor's own concept (k) and of others (m).
K = M = 8
NLL = {"@losses": "spacy-termlink.InBatchNLL.v1", "similarity": "cosine", "temperature": 0.05}
MULTI = {"@losses": "spacy-termlink.MultiSimilarity.v1"}
CONTRASTIVE = {"@losses": "spacy-termlink.Contrastive.v1"}
TRIPLET = {"@losses": "spacy-termlink.Triplet.v1", "margin": 0.1}
INNER = {"@losses": "spacy-termlink.InBatchNLL.v1", "similarity": "inner", "temperature": 1.0}
CROSS_ENTROPY = {"@losses": "spacy-termlink.PairCrossEntropy.v1"}
#: Each row has its own weight of the texts, beside synonyms with 1.
GRAPH = {
    "child_parent": {"loss": NLL, "batch_size": 96, "weight": 0.2},
    "name_definition": {"loss": NLL, "batch_size": 64, "weight": 0.2},
    "name_path": {"loss": NLL, "batch_size": 64, "weight": 0.1},
}
TRIPLETS = {
    "hierarchy_triplets": {
        "loss": TRIPLET, "batch_size": 64, "weight": 0.5, "negatives": "record", "normalize": True,
    }
}  # fmt: skip
LEXICAL = {"lexical_negatives": {"loss": CONTRASTIVE, "batch_size": 64, "weight": 0.5}}


def synonyms(loss: dict, *, positives: int = 0, negatives: int = 0, **settings: object) -> dict:
    """The task of synonym pairs, with as many anchors as make 200 texts."""
    anchors = 200 // (2 + positives + negatives)
    hard = {"hard_positives": positives, "hard_negatives": negatives}
    return {"synonyms": {"loss": loss, "batch_size": anchors, "weight": 1.0, **hard, **settings}}


#: Table -> row -> (tasks, whether the refresh is dynamic; None for no refresh).
TABLES: dict[str, dict[str, tuple[dict, bool | None]]] = {
    "sampling": {
        "no hard negatives": (synonyms(MULTI), None),
        "hard negatives only": (synonyms(MULTI, negatives=M), False),
        "static hard positives and negatives": (synonyms(MULTI, positives=K, negatives=M), False),
        "dynamic hard positives and negatives": (synonyms(MULTI, positives=K, negatives=M), True),
    },
    "tasks": {
        "synonyms": (synonyms(NLL), None),
        "synonyms, graph": ({**synonyms(NLL), **GRAPH}, None),
        "synonyms, triplets": ({**synonyms(NLL), **TRIPLETS}, None),
        "synonyms, lexical negatives": ({**synonyms(NLL), **LEXICAL}, None),
    },
    "losses": {
        "multi-similarity": (synonyms(MULTI, positives=K, negatives=M), True),
        "in-batch NLL, cosine": (synonyms(NLL, positives=K, negatives=M), True),
        "in-batch NLL, inner product": (synonyms(INNER, positives=K, negatives=M), True),
        "contrastive": (synonyms(CONTRASTIVE, positives=K, negatives=M), True),
        "triplet": (synonyms(TRIPLET, positives=K, negatives=M, normalize=True), True),
        "pair cross-entropy": (synonyms(CROSS_ENTROPY, positives=K, negatives=M), True),
    },
}


def main() -> None:
    """Run what is not finished yet, then write the tables of what is."""
    args = parse_args()
    terminology = args.output / "terminology"
    if not terminology.is_dir():
        cut_branch(args.terminology, args.branch, terminology)
    records = args.output / "mined" / "records.jsonl"
    if not records.is_file():
        run("mine", terminology, "--config", args.config, "-o", records)
    held = HeldOut(Terminology.open(terminology), records.parent / "heldout.jsonl")
    runs = args.output / "runs"
    about = {
        "steps": args.steps,
        "encoder": str(args.encoder),
        "branch": args.branch,
        "k": K,
        "m": M,
    }
    finished(runs / "untrained.json", about, lambda: held.measure(load_encoder(args.encoder)))
    start = time.perf_counter()
    # a seed of every setting before the next: tables that are cut short have fewer seeds, all rows
    for seed, key in itertools.product(range(args.seeds), wanted := settings_by_key(args.only)):
        seconds = time.perf_counter() - start
        if args.minutes and seconds > 60 * args.minutes:
            break
        sys.stderr.write(f"{key}, seed {seed}, after {seconds:.0f} s\n")
        section = training_section(args, records, *wanted[key], seed)
        make = functools.partial(train_and_measure, section, args.output / "scratch", held)
        finished(runs / f"{key}-{seed}.json", about, make)
    rows = {name: [key_of(*setting) for setting in rows.values()] for name, rows in TABLES.items()}
    names = {name: list(rows) for name, rows in TABLES.items()}
    write_tables(args.output, runs, names, rows, held)


def parse_args() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("terminology", type=Path, help="terminology folder of HPO")
    parser.add_argument("--encoder", type=Path, required=True, help="where every run starts")
    parser.add_argument("--config", type=Path, default=CONFIG, help="mining config")
    parser.add_argument("--steps", type=int, default=200, help="batches of a run (default 200)")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of a setting (default 3)")
    parser.add_argument("--only", nargs="*", choices=list(TABLES), help="tables to run")
    parser.add_argument(
        "--minutes", type=float, default=0, help="start no run after that; 0 (default) runs all"
    )
    parser.add_argument("--branch", default=BRANCH, help=f"concept (default {BRANCH})")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of all results")
    return parser.parse_args()


def settings_by_key(only: list[str] | None) -> dict:
    """The settings of the tables, each once, under a name for files."""
    return {
        key_of(*setting): setting
        for name, rows in TABLES.items()
        if not only or name in only
        for setting in rows.values()
    }


def key_of(tasks: dict, dynamic: bool | None) -> str:
    """Name of a setting, equal for equal ones."""
    words = []
    for name, task in tasks.items():
        loss = task["loss"]
        kind = loss["@losses"].split(".")[-2] + str(loss.get("similarity", ""))
        words.append(f"{name}-{kind}" if name == "synonyms" else name)
    main_task = tasks["synonyms"]
    hard = f"{main_task['hard_positives']}+{main_task['hard_negatives']}"
    how = {None: "none", False: f"static{hard}", True: f"dynamic{hard}"}[dynamic]
    return "_".join([*words, how]).lower()


def training_section(
    args: argparse.Namespace, records: Path, tasks: dict, dynamic: bool | None, seed: int
) -> dict:
    """The section [training] of a run."""
    section = {
        "records": str(records), "seed": seed, "max_steps": args.steps, "checkpoint_every": 0,
        "log_every": 20, "model": {"encoder": str(args.encoder), "max_length": 32},
        "optimizer": {"learning_rate": 5e-5, "warmup_steps": max(1, args.steps // 10)},
        "tasks": tasks,
    }  # fmt: skip
    if dynamic is not None:
        section["refresh"] = {
            "every": max(1, args.steps // 4), "positives": K, "negatives": M, "choose": "random",
            "dynamic": dynamic, "index": "Flat",
        }  # fmt: skip
    return section


def train_and_measure(section: dict, scratch: Path, held: HeldOut) -> dict:
    """Figures of one run; its encoder is deleted."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    Config({"training": section}).to_disk(scratch / "train.cfg")
    encoder = scratch / "encoder"
    run("train", scratch / "train.cfg", "-o", encoder, "--json", scratch / "figures.json")
    trained = json.loads((scratch / "figures.json").read_text(encoding="utf8"))
    figures = held.measure(load_encoder(encoder))
    kept = ("step", "texts", "train_seconds", "refresh_seconds", "refreshes")
    shutil.rmtree(scratch)
    return {**figures, "training": {key: trained[key] for key in kept}, "config": section}


def finished(path: Path, about: dict, make: object) -> None:
    """Make a run's figures unless they are there.

    about (dict): What all runs of a folder share; another value is refused.
    """
    if path.is_file():
        found = json.loads(path.read_text(encoding="utf8"))["about"]
        if found != about:
            raise SystemExit(f"{path} was made with {found}, now {about}: choose another folder")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"about": about, **make()})


def cut_branch(source: Path, branch: str, out: Path) -> None:
    """Write a terminology of one branch: its living concepts, their names, what relates them."""
    import pyarrow as pa

    terminology = Terminology.open(source)
    rows = (terminology.mask([branch]) & ~terminology.obsolete).nonzero()[0]
    ids = set(terminology.concept_ids(rows.tolist()))
    tables = {}
    for name in SCHEMAS:
        table = getattr(terminology, name)
        columns = [c for c in ("concept_id", "subject", "object") if c in table.column_names]
        values = zip(*(table[column].to_pylist() for column in columns), strict=True)
        kept = pa.array([ids.issuperset(row) for row in values], type=pa.bool_())
        tables[name] = table.filter(kept)
    counts = {**terminology.meta["counts"], "concepts": len(ids), "obsolete": 0}
    counts |= {name: len(tables[name]) for name in ("names", "relations", "redirects", "xrefs")}
    with atomic_folder(out) as part:
        write_folder(part, tables, {**terminology.meta, "counts": counts})


if __name__ == "__main__":
    main()
