"""Size on disk, time to open and peak memory at a million names, beside scispaCy 0.6.2, in one run.

    python benchmarks/million.py terminologies/mesh terminologies/go --names 1000000 --work DIR [--json OUT]

The terminologies' living concepts, in the order given, are joined until they hold --names names, and both
sides index the same names. What is built stays in the work folder and is not built again. Then each side
opens what it saved and answers 1,000 names, each with a letter left out, in one batch, each time in a process of its own, the
sides taking turns; seconds are after imports, the first with the files dropped from the page cache, then
the best of --repeat. Peak memory is that of the whole process, pages of mapped files included, which
processes share and the system may take back; its own memory is without them, after the batch.

scispaCy (see scispacy_side.py) builds its graph with efConstruction 2000 if not told otherwise, which
takes hours here. --ef-construction 200 saves that time and favours it: the file of the graph is smaller
(68 bytes a name against 123 at 35,000 names), all else stays. Newer scipy cannot save its float16
vectors: they are saved and loaded as float32, and counted on disk as the float16 file they would be.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from scispacy_side import add_options, make_environment

from spacy_termlink.encoders import load_encoder
from spacy_termlink.kb import TermKB, build_kb
from spacy_termlink.kb.encoding import OldVectors
from spacy_termlink.terminology.builder import build_terminology
from spacy_termlink.terminology.concept import Concept, Name
from spacy_termlink.terminology.store import Terminology

THEIRS = Path(__file__).parent / "scispacy_million.py"
N_QUERIES = 1000
OPEN_OURS = """
import json, sys, time
import torch, transformers
import spacy_termlink.pipeline.factories
from spacy_termlink.kb import open_kb
queries = json.load(open(sys.argv[2]))
start = time.perf_counter()
kb = open_kb(sys.argv[1])
generator = kb.generator()
opened = time.perf_counter() - start
generator.generate(queries[:1], k=10)
first = time.perf_counter() - start
start = time.perf_counter()
generator.generate(queries, k=10)
batch = time.perf_counter() - start
# not ru_maxrss, which a process inherits from the one that started it
kb = dict(line.split()[:2] for line in open("/proc/self/status") if line.endswith("kB\\n"))
print(json.dumps({"open_s": opened, "first_answer_s": first, "batch_s": batch,
                  "peak_mb": int(kb["VmHWM:"]) / 1024, "own_mb": int(kb["RssAnon:"]) / 1024}))
"""


def main() -> None:
    """Run the benchmark."""
    args = parse_args()
    python = make_environment(args.scispacy_env, args.scispacy_python)
    args.work.mkdir(parents=True, exist_ok=True)
    terminology = join(args.terminologies, args.names, args.work / "terminology")
    queries = args.work / "queries.json"
    queries.write_text(json.dumps(sample(terminology)), encoding="utf8")
    kbs = build_ours(args)
    theirs = args.work / "scispacy"
    if not (theirs / "built.json").exists():
        write_entities(terminology, theirs)
        ask(python, THEIRS, "build", theirs, args.ef_construction)
    sides = {name: (kb, [sys.executable, "-c", OPEN_OURS, kb, queries]) for name, kb in kbs.items()}
    sides["scispaCy"] = theirs, [python, THEIRS, "open", theirs, queries]
    figures: dict = {}
    for name, (folder, command) in sides.items():
        drop_from_cache(folder)
        figures[name] = {"cold": ask(*command), "warm": []}
    for _ in range(args.repeat):
        for name, (_, command) in sides.items():
            figures[name]["warm"].append(ask(*command))
    for name, kb in kbs.items():
        figures[name]["disk_mb"] = sum(path.stat().st_size for path in files_of(kb)) / 1e6
    figures["scispaCy"].update(json.loads((theirs / "built.json").read_text(encoding="utf8")))
    print(f"{terminology.n_names:,} names of {terminology.n_concepts:,} concepts")
    print_figures(figures)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf8")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("terminologies", type=Path, nargs="+", help="terminology folders")
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--work", type=Path, required=True, help="folder for what both sides build")
    parser.add_argument("--encoder", type=Path, default=Path("assets/fetched/minilm"))
    parser.add_argument(
        "--specs", nargs="+", default=["HNSW", "IVF_SQ8", "IVF_PQ"],
        help="our indexes; the first keeps vectors as they are (default HNSW IVF_SQ8 IVF_PQ)",
    )  # fmt: skip
    parser.add_argument("--ef-construction", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    add_options(parser)
    return parser.parse_args()


def build_ours(args: argparse.Namespace) -> dict[str, Path]:
    """A KB for each index; the names are encoded once."""
    encoder = load_encoder(args.encoder)
    kbs: dict[str, Path] = {}
    for spec in args.specs:
        kb = args.work / f"kb-{spec}"
        if not kb.exists():
            old = OldVectors(TermKB.open(next(iter(kbs.values()))), encoder) if kbs else None
            build_kb(args.work / "terminology", encoder, kb, index=spec, update=old)
        kbs[f"ours, {spec}"] = kb
    return kbs


def join(sources: list[Path], n_names: int, path: Path) -> Terminology:
    """The first n_names names of several terminologies as one; the last concept is cut."""
    if not path.exists():
        build_terminology(concepts(sources, n_names), path)
    terminology = Terminology.open(path)
    if terminology.n_names != n_names:
        raise SystemExit(f"{path} holds {terminology.n_names:,} names, not {n_names:,}")
    return terminology


def concepts(sources: list[Path], n_names: int) -> Iterator[Concept]:
    """Living concepts of all sources, each id once, up to a number of names."""
    seen = set()
    for terminology in map(Terminology.open, sources):
        for row in range(terminology.n_concepts):
            concept_id = terminology.concept_id(row)
            if terminology.obsolete[row] or concept_id in seen:
                continue
            seen.add(concept_id)
            preferred, *others = [terminology.name_text(i) for i in terminology.name_rows(row)]
            yield Concept(concept_id, preferred, [Name(text) for text in others[: n_names - 1]])
            n_names -= 1 + len(others[: n_names - 1])
            if not n_names:
                return


def sample(terminology: Terminology) -> list[str]:
    """Names with a letter left out, so that hardly one is found as it stands."""
    drawn = random.Random(0)
    rows = sorted(drawn.sample(range(terminology.n_names), N_QUERIES))
    places = [(text, drawn.randrange(len(text))) for text in terminology.name_texts(rows)]
    return [text[:place] + text[place + 1 :] or text for text, place in places]


def write_entities(terminology: Terminology, folder: Path) -> None:
    """The KB file that scispaCy reads."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "kb.jsonl").open("w", encoding="utf8") as file:
        for row in range(terminology.n_concepts):
            entity = {
                "concept_id": terminology.concept_id(row),
                "canonical_name": terminology.preferred_name(row),
                "aliases": [terminology.name_text(i) for i in terminology.name_rows(row)],
                "types": [],
            }
            file.write(json.dumps(entity) + "\n")


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def ask(*command: object) -> dict:
    """The JSON that a process prints at its end."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    result = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, check=True, env=environment,
    )  # fmt: skip
    return json.loads(result.stdout.splitlines()[-1])


def drop_from_cache(folder: Path) -> None:
    """Files of a folder leave the page cache (of this machine; a virtual one's host may keep them)."""
    for path in files_of(folder):
        with path.open("rb+") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def print_figures(figures: dict) -> None:
    rows: dict = {
        "size on disk, MB": lambda side: side["disk_mb"],
        "opened, s": lambda side: min(run["open_s"] for run in side["warm"]),
        "first answer, s": lambda side: min(run["first_answer_s"] for run in side["warm"]),
        "first answer, files not in memory, s": lambda side: side["cold"]["first_answer_s"],
        f"{N_QUERIES:,} names in one batch, s": lambda side: min(
            r["batch_s"] for r in side["warm"]
        ),
        "peak memory, mapped files and all, MB": lambda side: min(
            r["peak_mb"] for r in side["warm"]
        ),
        "its own memory, not of files, MB": lambda side: min(r["own_mb"] for r in side["warm"]),
    }
    print(f"{'':40}" + "".join(f"{side:>16}" for side in figures))
    for label, value in rows.items():
        print(f"{label:40}" + "".join(f"{value(side):>16,.2f}" for side in figures.values()))


if __name__ == "__main__":
    main()
