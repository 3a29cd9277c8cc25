"""Load on `termlink serve`: latency of annotate and search, memory over many requests.

    python benchmarks/serve.py kb/hpo --notes DIR [--json OUT]

Starts the server as a process of its own. Notes are cut from the texts of DIR (.txt, or .jsonl with a
field "text"; the sample notes without it) to --chars characters, each with a number of its own, so
that no two are equal. An idle machine is assumed; the clients run on it, too.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import psutil

ASSETS = Path(__file__).parent.parent / "assets" / "notes"
QUERIES = (
    "seizures", "shaky hands", "small head", "high blood sugar", "trouble swallowing", "low set ears",
    "kidney failure", "yellow skin", "cannot sleep", "floppy baby", "heart attack", "chest pain",
)  # fmt: skip


def main() -> None:
    """Run the benchmark."""
    args = parse_args()
    notes = make_notes(read_texts(args.notes), args.chars)
    command = [sys.executable, "-m", "spacy_termlink", "serve", *args.paths, "--port", "0",
               "--no-access-log"]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = read_address(process)
            figures = {"chars": args.chars, "clients": args.clients}
            figures |= measure(address, psutil.Process(process.pid), notes, args)
        finally:
            process.terminate()
    print(json.dumps(figures, indent=2))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


def measure(address: str, server: psutil.Process, notes, args) -> dict:
    """Search alone, annotate from all clients, then memory over --requests."""
    with httpx.Client(base_url=address, timeout=60) as client:
        for text in QUERIES:
            client.post("search", json={"text": text})
        searches = [timed(client, "search", f"{text} {i}")[0]
                    for i, text in enumerate(QUERIES * 10)]  # fmt: skip
        for _ in range(8):
            timed(client, "annotate", next(notes))
    start = time.perf_counter()
    times, errors = load(address, notes, args.clients, args.timed)
    elapsed = time.perf_counter() - start
    load(address, notes, args.clients, args.requests // 10)  # allocators settle
    before = server.memory_info().rss
    _, more_errors = load(address, notes, args.clients, args.requests)
    after = server.memory_info().rss
    return {
        "search_ms": percentiles(searches),
        "annotate_ms": percentiles(times),
        "annotate_per_second": round(len(times) / elapsed, 1),
        "n_annotate": args.timed,
        "n_errors": errors + more_errors,
        "n_memory": args.requests,
        "rss_mb": [round(before / 2**20, 1), round(after / 2**20, 1)],
        "growth_mb": round((after - before) / 2**20, 1),
    }


def load(address: str, notes, n_clients: int, n: int) -> tuple[list[float], int]:
    """Times of n annotate requests from several clients at once, and how many failed."""

    def work(texts) -> list[tuple[float, int]]:
        with httpx.Client(base_url=address, timeout=60) as client:
            return [timed(client, "annotate", text) for text in texts]

    texts = [[next(notes) for _ in range(n // n_clients)] for _ in range(n_clients)]
    with ThreadPoolExecutor(n_clients) as pool:
        results = list(itertools.chain.from_iterable(pool.map(work, texts)))
    return [seconds for seconds, _ in results], sum(status != 200 for _, status in results)


def timed(client: httpx.Client, path: str, text: str) -> tuple[float, int]:
    """Seconds and status of a request."""
    start = time.perf_counter()
    response = client.post(path, json={"text": text})
    return time.perf_counter() - start, response.status_code


def percentiles(seconds: list[float]) -> dict[str, float]:
    """p50, p95 and maximum in milliseconds."""
    p50, p95, most = np.percentile(seconds, [50, 95, 100]) * 1000
    return {"p50": round(p50, 1), "p95": round(p95, 1), "max": round(most, 1)}


def read_texts(folder) -> list[str]:
    """Texts of a folder, the sample notes without one."""
    if folder is None:
        folder = ASSETS
    texts = [path.read_text(encoding="utf8") for path in sorted(folder.glob("*.txt"))]
    for path in sorted(folder.glob("*.jsonl")):
        rows = (json.loads(line) for line in path.open(encoding="utf8"))
        texts += [row["text"] for row in rows if row.get("text") and "concepts" not in row]
    if not texts:
        raise SystemExit(f"{folder} holds no .txt and no .jsonl with a field 'text'")
    return texts


def make_notes(texts: list[str], chars: int):
    """Endless notes of one length; each begins elsewhere and holds words that no other has."""
    whole = " ".join(texts)
    whole *= 1 + chars // len(whole)
    for number in itertools.count():
        start = number * 997 % max(1, len(whole) - chars)
        head = f"Visit {number}, record r{number}x{start}. "
        yield (head + whole[start : start + chars])[:chars]


def read_address(process: subprocess.Popen) -> str:
    """Where the server says it listens."""
    for line in process.stderr:
        if found := re.search(r"on (http://\S+)", line):
            return found[1]
    raise SystemExit("the server did not start")


def parse_args() -> argparse.Namespace:
    """Arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="+", metavar="KB_OR_PIPELINE")
    parser.add_argument("--notes", type=Path, help="folder of .txt or notes*.jsonl")
    parser.add_argument("--chars", type=int, default=2000, help="characters of a note")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--timed", type=int, default=200, help="annotate requests that are timed")
    parser.add_argument("--requests", type=int, default=2000, help="requests of the memory figure")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
