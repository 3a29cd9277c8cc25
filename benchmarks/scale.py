"""An index over N vectors: time and memory to build it, size, opening, first query from the disk, recall.

    python benchmarks/scale.py kb/mondo kb/mesh --names 100000 1000000 10000000 \
        --specs auto IVF_SQ8 IVF_PQ --work DIR --json scale.json --svg scale.svg

The vectors are those of the KBs' names, in a random order, then copies of them, each moved by the difference of two names
of one concept (over the root of 2): as far as names of one concept lie from its middle, and in such
directions. Queries are 1,000 more copies, of other differences; recall is against exact search. Each
index is built, and opened again, in a process of its own. Before it is opened its files are dropped
from the page cache of this machine (a virtual machine's host may still have them). Figures of earlier
runs in --json are kept, so that sizes can be run one by one. N vectors of 384 columns take N x 1.5 KB in
the work folder while they are there.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from spacy_termlink.candidates.index_recall import exact_neighbours
from spacy_termlink.candidates.shards import VectorShards
from spacy_termlink.kb import TermKB

SHARD_ROWS = 100_000
N_QUERIES, K = 1000, 10
#: Pairs of names of one concept that differences are taken of, at most.
PAIRS = 200_000

BUILD = """
import json, sys, time
from pathlib import Path
from spacy_termlink.candidates.faiss_index import build_index
from spacy_termlink.candidates.shards import VectorShards
shards, out, spec, memory = sys.argv[1:]
vectors = VectorShards(sorted(Path(shards).glob("shard-*.npy")))
start = time.perf_counter()
index = build_index(vectors, spec, memory=float(memory))
index.save(Path(out))
# not ru_maxrss, which a process inherits from the one that started it
peak = next(l for l in open("/proc/self/status") if l.startswith("VmHWM"))
print(json.dumps({
    "build_s": time.perf_counter() - start, "cpu_s": time.process_time(), "factory": index.factory,
    "peak_mb": int(peak.split()[1]) / 1024, **index.facts}))
"""
SEARCH = """
import json, os, sys, time
from pathlib import Path
import faiss, numpy as np
from spacy_termlink.candidates.dense_index import DenseIndex
folder, factory, queries, exact = sys.argv[1:]
queries, exact = np.load(queries), np.load(exact)
faiss.omp_set_num_threads(1)
for path in Path(folder).iterdir():
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
def read():
    return int(next(l for l in open("/proc/self/io") if l.startswith("read_bytes")).split()[1])
def own_mb():
    return int(next(l for l in open("/proc/self/status") if l.startswith("RssAnon")).split()[1]) / 1024
before, read_before, start = own_mb(), read(), time.perf_counter()
index = DenseIndex.open(Path(folder), factory)
opened = time.perf_counter()
index.search(queries[:1], n=10)
first, read_after = time.perf_counter(), read()
rows = index.search(queries, n=10)[0]
single = []
for query in queries:
    at = time.perf_counter()
    index.search(query[None], n=10)
    single.append(time.perf_counter() - at)
start_batch = time.perf_counter()
index.search(queries, n=10)
batch = time.perf_counter() - start_batch
hits = sum(len(set(a) & set(b)) for a, b in zip(rows.tolist(), exact.tolist()))
print(json.dumps({
    "open_s": opened - start, "first_query_ms": 1e3 * (first - opened),
    "first_read_mb": (read_after - read_before) / 1e6, "own_mb": own_mb() - before,
    "recall@10": hits / exact.size, "query_ms": 1e3 * float(np.median(single)),
    "query_mean_ms": 1e3 * float(np.mean(single)), "batch_query_ms": 1e3 * batch / len(queries)}))
"""
FILES = {"index_mb": ("dense.faiss",), "refine_mb": ("refine.faiss",), "places_mb": ("places.npy",)}
COLUMNS = ("names", "spec", "kind", "build_s", "peak_mb", "index_mb", "refine_mb", "open_s",
           "first_query_ms", "first_read_mb", "own_mb", "recall@10", "query_ms", "batch_query_ms")  # fmt: skip


class Source:
    """Vectors of real names, and differences of two names of one concept.

    kbs (list[Path]): KB folders, all of one encoder.
    """

    def __init__(self, kbs: list[Path]) -> None:
        vectors, pairs, n = [], [], 0
        for path in kbs:
            kb = TermKB.open(path)
            vectors.append(kb.index.vectors(np.arange(len(kb.names))))
            concepts = kb.terminology.concept_rows[kb.names.name_rows[kb.names.offsets[:-1]]]
            order = np.argsort(concepts, kind="stable")
            same = concepts[order[1:]] == concepts[order[:-1]]
            pairs.append(np.stack([order[1:][same], order[:-1][same]], axis=1) + n)
            n += len(kb.names)
        self.vectors = np.concatenate(vectors)
        # names of all KBs in each size: else the smallest would be another terminology, not a smaller one
        self.order = np.random.default_rng(0).permutation(len(self.vectors))
        self.pairs = np.concatenate(pairs)
        self.pairs = self.pairs[:: -(-len(self.pairs) // PAIRS)]

    def spread(self) -> float:
        """Mean cosine of two names of one concept."""
        a, b = (self.vectors[self.pairs[:, i]] for i in range(2))
        return float(np.einsum("bd,bd->b", a, b).mean())

    def jittered(self, rows: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Copies of rows, each moved by a difference."""
        pairs = self.pairs[random.integers(len(self.pairs), size=len(rows))]
        moved = self.vectors[pairs[:, 0]] - self.vectors[pairs[:, 1]]
        moved *= np.float32(0.5**0.5)
        moved += self.vectors[rows]
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        return moved

    def write(self, folder: Path, n: int) -> VectorShards:
        """Write N vectors in shards; those that an earlier run left there stay."""
        folder.mkdir(parents=True, exist_ok=True)
        starts = range(0, n, SHARD_ROWS)
        for path in sorted(folder.glob("shard-*.npy"))[len(starts) :]:
            path.unlink()
        paths = []
        for number, first in enumerate(starts):
            rows = np.arange(first, min(n, first + SHARD_ROWS))
            paths.append(folder / f"shard-{number:05d}.npy")
            if is_whole(paths[-1], len(rows)):
                continue
            copies = self.order[rows % len(self.vectors)]
            vectors = self.jittered(copies, np.random.default_rng([1, number]))
            real = rows < len(self.vectors)
            vectors[real] = self.vectors[copies[real]]
            np.save(paths[-1], vectors)
        return VectorShards(paths)


def is_whole(path: Path, n_rows: int) -> bool:
    """Whether a file holds an array of so many rows."""
    try:
        return len(np.load(path, mmap_mode="r")) == n_rows
    except (OSError, ValueError):
        return False


def run(code: str, *args: object) -> dict:
    """Figures that a process of its own prints: its memory is that of the work alone."""
    command = [sys.executable, "-c", code, *map(str, args)]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(output.splitlines()[-1])


def measure(work: Path, n: int, spec: str, memory: float) -> dict:
    """Build, open, search one index over the vectors that lie in the work folder."""
    folder = work / f"index-{spec}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    built = run(BUILD, work / "vectors", folder, spec, memory)
    sizes = {
        name: sum((folder / f).stat().st_size for f in files if (folder / f).exists()) / 1e6
        for name, files in FILES.items()
    }
    sample = {f"sample_{key}": built.pop(key) for key in ("recall@10",) if key in built}
    searched = run(SEARCH, folder, built["factory"], work / "queries.npy", work / "exact.npy")
    shutil.rmtree(folder)
    return {"names": n, "spec": spec, "kind": spec, **built, **sample, **sizes, **searched}


def print_table(results: list[dict]) -> None:
    """One row per index."""
    rows = [list(COLUMNS)]
    for result in results:
        cells = [result[column] for column in COLUMNS]
        rows.append([f"{c:,}" if isinstance(c, int) else c if isinstance(c, str) else f"{c:,.3g}" if c < 10
                     else f"{c:,.0f}" for c in cells])  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def draw(results: list[dict], path: Path) -> None:
    """Milliseconds per query over names, with the square root of the names to compare."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "scale"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for spec, marker in zip(sorted({r["spec"] for r in results}), "osD^vPX", strict=False):
        points = [(r["names"], r["query_ms"], r["kind"]) for r in results if r["spec"] == spec]
        axes.plot(*zip(*[p[:2] for p in points], strict=True), marker=marker, label=spec)
        for names, ms, kind in points if spec == "auto" else ():
            axes.annotate(kind, (names, ms), textcoords="offset points", xytext=(4, -12))
    first = min(results, key=lambda r: (r["names"], r["query_ms"]))
    names = np.array(sorted({r["names"] for r in results}), dtype=float)
    root = first["query_ms"] * np.sqrt(names / first["names"])
    axes.plot(names, root, "k:", label="square root of the names")
    axes.set(xscale="log", yscale="log", xlabel="names", ylabel="ms per query (1 thread, median)")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kbs", type=Path, nargs="+", help="KB folders of one encoder")
    parser.add_argument("--names", type=int, nargs="+", default=[100_000])
    parser.add_argument("--specs", nargs="+", default=["auto", "IVF_SQ8", "IVF_PQ"])
    parser.add_argument("--memory", type=float, default=8.0, help="GB for auto")
    parser.add_argument("--work", type=Path, required=True, help="folder for vectors and indexes")
    parser.add_argument(
        "--keep", action="store_true", help="leave the vectors in the work folder for another run"
    )
    parser.add_argument("--json", type=Path, help="results, added to those that are there")
    parser.add_argument("--svg", type=Path, help="chart of ms per query")
    args = parser.parse_args()
    results = json.loads(args.json.read_text()) if args.json and args.json.exists() else []
    source = Source(args.kbs)
    print(
        f"{len(source.vectors):,} real vectors; names of one concept: mean cosine {source.spread():.3f}"
    )
    for n in sorted(args.names):
        vectors = source.write(args.work / "vectors", n)
        random = np.random.default_rng(2)
        n_real = min(n, len(source.vectors))
        queries = source.jittered(source.order[random.integers(n_real, size=N_QUERIES)], random)
        np.save(args.work / "queries.npy", queries)
        np.save(args.work / "exact.npy", exact_neighbours(vectors, queries, K))
        for spec in args.specs:
            result = measure(args.work, n, spec, args.memory)
            print(json.dumps(result), flush=True)
            kept = [r for r in results if (r["names"], r["spec"]) != (n, spec)]
            results = sorted([*kept, result], key=lambda r: (r["spec"], r["names"]))
            if args.json:
                args.json.write_text(json.dumps(results, indent=2) + "\n")
    if not args.keep:
        shutil.rmtree(args.work / "vectors")
    for name in ("queries.npy", "exact.npy"):
        (args.work / name).unlink()
    print_table(results)
    if args.svg:
        draw(results, args.svg)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))
    main()
