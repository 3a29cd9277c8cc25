"""Notes per second of `termlink annotate` with one and with two processes of one thread each, what the
second adds in memory, and what Spark costs beside it.

    python benchmarks/annotate.py kb/hpo --notes DIR [--factor 20] [--spark] [--json OUT]

The notes are copied --factor times, each digit of a copy replaced by another, so that what is kept of
earlier answers is of no more use than in real notes. Every run is the command in a process of its own;
best of --repeat, the two numbers of processes taking turns. "Start" is the command on a single note.
Memory: the unique set size (USS) of each process, the largest seen (twice a second). --spark runs the
same notes through `spacy_termlink.annotate.spark` on a local cluster of two workers (needs the extra
`spark` and Java) and compares every row.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from link import ASSETS, read_notes

COMMAND = "import sys; from spacy_termlink.cli import app; app(sys.argv[1:])"
MASTER = "local-cluster[2,1,1024]"
SPARK = """
import json, sys, time
from pyspark.sql import SparkSession
from spacy_termlink.annotate.spark import annotate
master, kb, notes, out, partitions = sys.argv[1:]
start = time.perf_counter()
spark = SparkSession.builder.master(master).config("spark.ui.enabled", "false").getOrCreate()
spark.range(2).repartition(2).count()
session = time.perf_counter() - start
df = spark.read.schema("note_id string, text string").json(notes).repartition(int(partitions))
runs = []
for _ in range(2):
    start = time.perf_counter()
    annotate(df, kb, id="note_id").write.mode("overwrite").parquet(out)
    runs.append(time.perf_counter() - start)
print(json.dumps({"session": session, "first": runs[0], "second": runs[1]}))
spark.stop()
"""


def main() -> None:
    """Run the benchmark."""
    args = parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        notes, n_notes, n_chars = write_copies(args.notes, args.factor, folder / "notes.jsonl")
        one_note = folder / "one.jsonl"
        one_note.write_text('{"note_id": "1", "text": "Fever."}\n')
        print(f"{n_notes:,} notes, {n_chars:,} characters, {os.cpu_count()} processors")
        print(f"load of the machine at the start: {os.getloadavg()[0]:.1f}")
        figures: dict = {"notes": n_notes, "characters": n_chars, "load": os.getloadavg()[0]}
        figures["start"] = min(annotate(args.kb, one_note, folder / "start", 1)[0] for _ in "12")
        print(f"start (one note): {figures['start']:.1f} s")
        best: dict = {1: float("inf"), 2: float("inf")}
        memory: list = []
        for _ in range(args.repeat):
            for n_process in best:
                seconds, seen = annotate(args.kb, notes, folder / f"out{n_process}", n_process)
                best[n_process] = min(best[n_process], seconds)
                memory = seen if n_process == 2 else memory
        if (folder / "out1.jsonl").read_bytes() != (folder / "out2.jsonl").read_bytes():
            raise SystemExit("one and two processes wrote different output")
        figures.update(report(best, memory, n_notes, figures["start"]))
        if args.spark:
            figures["spark"] = run_spark(args.kb, notes, folder, n_notes, best[2])
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf8")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kb", type=Path, help="KB folder")
    parser.add_argument(
        "--notes", type=Path, default=ASSETS / "notes.jsonl", help="a .jsonl, or a folder of notes"
    )
    parser.add_argument("--factor", type=int, default=20, help="copies of each note (default 20)")
    parser.add_argument("--repeat", type=int, default=2, help="runs per figure (default 2)")
    parser.add_argument("--spark", action="store_true", help=f"run Spark, too ({MASTER})")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


def write_copies(notes: Path, factor: int, path: Path) -> tuple[Path, int, int]:
    """Write the copies; their path, number and characters."""
    texts, rng = read_notes(notes), random.Random(0)
    n_chars = 0
    with path.open("w", encoding="utf8") as file:
        for copy in range(factor):
            for number, text in enumerate(texts):
                text = re.sub(r"\d", lambda _: str(rng.randrange(10)), text)
                n_chars += len(text)
                file.write(json.dumps({"note_id": f"{copy}-{number}", "text": text}) + "\n")
    return path, factor * len(texts), n_chars


def annotate(kb: Path, notes: Path, out: Path, n_process: int) -> tuple[float, list[float]]:
    """Wall time of the command; of each process but the first, its largest USS in MB."""
    command = [sys.executable, "-c", COMMAND, "annotate", str(kb), str(notes)]
    command += ["-o", f"{out}.jsonl", "--n-process", str(n_process)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    errors = Path(f"{out}.stderr")  # a file: a pipe that nobody reads would fill up
    with errors.open("w") as file:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=file)
    seen: dict[int, float] = {}
    while process.poll() is None:
        if n_process > 1:
            sample(process.pid, seen)
        time.sleep(0.05 if n_process == 1 else 0.5)
    if process.returncode:
        raise SystemExit(errors.read_text(encoding="utf8"))
    return time.perf_counter() - start, sorted(seen.values())


def sample(pid: int, seen: dict[int, float]) -> None:
    try:
        for child in psutil.Process(pid).children():
            own = child.memory_full_info().uss / 2**20
            seen[child.pid] = max(seen.get(child.pid, 0.0), own)
    except psutil.Error:  # it has just ended
        pass


def report(best: dict, memory: list[float], n_notes: int, start: float) -> dict:
    """Print and return the figures of the command."""
    figures: dict = {"seconds": best, "uss": memory, "ratio": best[1] / best[2]}
    for n_process, seconds in best.items():
        net = n_notes / (seconds - start)
        print(
            f"{n_process} process{'es' if n_process > 1 else ''}: {seconds:.1f} s, "
            f"{n_notes / seconds:,.1f} notes/s, without the start {net:,.1f}"
        )
    figures["ratio without start"] = (best[1] - start) / (best[2] - start)
    print(f"ratio: {figures['ratio']:.2f}, without the start {figures['ratio without start']:.2f}")
    print(f"own memory (USS) of the two, MB: {', '.join(f'{mb:.0f}' for mb in memory)}")
    return figures


def run_spark(kb: Path, notes: Path, folder: Path, n_notes: int, seconds: float) -> dict:
    """Spark's times, and its rows compared with the command's."""
    out = folder / "spark.parquet"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYSPARK_PYTHON": sys.executable}
    partitions = max(2, n_notes // 1000)
    command = [sys.executable, "-c", SPARK, MASTER, kb.resolve(), notes, out, partitions]
    result = subprocess.run(
        [str(part) for part in command], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )  # fmt: skip
    figures = json.loads(result.stdout.splitlines()[-1])
    compare(out, folder / "out2.jsonl")
    for name in ("first", "second"):
        figures[f"overhead {name}"] = 1000 * (figures[name] - seconds) / n_notes
        print(
            f"Spark, {MASTER}, {partitions} partitions, {name} job: {figures[name]:.1f} s, against "
            f"annotate with 2 processes {figures[f'overhead {name}']:+.2f} ms a note"
        )
    print(f"Spark's own start: {figures['session']:.1f} s; rows equal, order aside")
    return figures


def compare(parquet: Path, jsonl: Path) -> None:
    import pyarrow.parquet as pq

    def in_order(rows: list) -> list:
        return sorted(rows, key=lambda row: (row["note_id"], row["start"], row["end"]))

    expected = [json.loads(line) for line in jsonl.read_text(encoding="utf8").splitlines()]
    if in_order(pq.read_table(parquet).to_pylist()) != in_order(expected):
        raise SystemExit("Spark gave other rows than the command")


if __name__ == "__main__":
    main()
