"""Write a synthetic UMLS release, and with --measure read and convert it.

    python benchmarks/make_rrf.py DIR --concepts 4000000 --names 10000000 [--measure] [--n-process 2]

Names are made of word parts, so that they differ as real ones do in length and in letters; no row is
of a licensed release. MRCONSO, MRSTY, MRDEF, MRREL and MRCUI are written in UMLS's own columns.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

PARTS = """
cardio myo neuro gastro hepato nephro osteo dermato hemato pneumo arthro cerebro angio lympho
itis osis opathy ectomy algia emia oma plasia trophy sclerosis acute chronic left right type
congenital familial benign malignant upper lower of the with without due to disease syndrome disorder
deficiency infection fracture II 2 III 12.5 mg tablet extract human protein gene receptor
""".split()  # noqa: SIM905
SABS = ("SNOMEDCT_US", "MSH", "MDR", "RXNORM", "LNC", "CHV", "MDRSPA")
LANGUAGES = dict.fromkeys(SABS, "ENG") | {"MDRSPA": "SPA"}
TTYS = ("PT", "SY", "ET", "AB", "FN")
TYPES = (("T047", "B2.2.1.2.1", "Disease or Syndrome"), ("T121", "A1.4.1.1.1", "Pharmacologic Substance"),
         ("T023", "A1.2.3.1", "Body Part, Organ, or Organ Component"))  # fmt: skip
BLOCK = 100_000

READ = """
import resource, sys, time
from pathlib import Path
from spacy_termlink.terminology.readers.rrf import read_rrf
start = time.perf_counter()
n = sum(1 + len(c.names) for c in read_rrf(Path(sys.argv[1])) if not c.obsolete)
print(n, time.perf_counter() - start, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
CONVERT = """
import resource, sys, time
from pathlib import Path
from spacy_termlink.terminology import Terminology
from spacy_termlink.terminology.convert import convert_source
if __name__ == "__main__":
    start = time.perf_counter()
    meta = convert_source(Path(sys.argv[1]), Path(sys.argv[2]), format="rrf", n_process=int(sys.argv[3]))
    seconds, cpu = time.perf_counter() - start, time.process_time()
    start = time.perf_counter()
    terminology = Terminology.open(sys.argv[2])
    opened = time.perf_counter() - start
    rows = range(0, terminology.n_names, max(1, terminology.n_names // 2000))
    forms = [terminology.name_normalized(row) for row in rows]
    start = time.perf_counter()
    for form in forms:
        assert terminology.lookup(form, normalized=True)
    looked = (time.perf_counter() - start) / len(forms)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(meta["counts"]["names"], seconds, cpu, peak, opened, looked)
"""


def write_release(folder: Path, n_concepts: int, n_names: int) -> None:
    """Write the five files; the same numbers give the same bytes."""
    rng = np.random.default_rng(7)
    folder.mkdir(parents=True, exist_ok=True)
    per_concept = 1 + rng.multinomial(n_names - n_concepts, np.full(n_concepts, 1 / n_concepts))
    with (folder / "MRCONSO.RRF").open("w", encoding="utf8") as file:
        for start in range(0, n_concepts, BLOCK):
            counts = per_concept[start : start + BLOCK]
            cuis = np.repeat(np.arange(start, start + len(counts)), counts)
            words = rng.integers(len(PARTS), size=(len(cuis), 4))
            lengths = rng.integers(1, 5, size=len(cuis)).tolist()
            sabs = rng.integers(len(SABS), size=len(cuis)).tolist()
            ttys = rng.integers(len(TTYS), size=len(cuis)).tolist()
            first = np.concatenate([[True], cuis[1:] != cuis[:-1]]).tolist()
            lines = []
            for i, (cui, row) in enumerate(zip(cuis.tolist(), words.tolist(), strict=True)):
                name = " ".join(PARTS[w] for w in row[: lengths[i]])
                sab, mark = SABS[sabs[i]], "P" if first[i] else "S"
                lines.append(
                    f"C{cui:07d}|{LANGUAGES[sab]}|{mark}|L{i:07d}|PF|S{i:07d}|Y|A{i:08d}||{cui}||{sab}|"
                    f"{TTYS[ttys[i]]}|{cui % 900_001}|{name} {cui % 7919}|0|N|256|\n"
                )
            file.writelines(lines)
    numbers = range(n_concepts)
    _write(folder / "MRSTY.RRF", (
        f"C{n:07d}|{'|'.join(TYPES[n % 3])}|AT{n:08d}|256|\n" for n in numbers))  # fmt: skip
    _write(folder / "MRDEF.RRF", (
        f"C{n:07d}|A{n}|AT{n}||NCI|A definition of number {n}, in a few words.|N||\n"
        for n in numbers if n % 12 == 0))  # fmt: skip
    _write(folder / "MRREL.RRF", (
        f"C{a:07d}|A1|AUI|{rel}|C{b:07d}|A2|AUI||R{n}||MSH|MSH|||N||\n"
        for n in numbers if n
        for rel, a, b in (("PAR", n, n // 3), ("CHD", n // 3, n))))  # fmt: skip
    _write(folder / "MRCUI.RRF", (
        f"C{9_000_000 + n:07d}|2020AA|SY|||C{n:07d}|Y|\n" for n in numbers if n % 20 == 0))  # fmt: skip


def _write(path: Path, lines) -> None:
    with path.open("w", encoding="utf8") as file:
        file.writelines(lines)


def run(code: str, *args: object) -> list[float]:
    """Figures that a process of its own prints: its peak memory is that of the work alone."""
    command = [sys.executable, "-c", code, *map(str, args)]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [float(word) for word in output.split()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--concepts", type=int, default=200_000)
    parser.add_argument("--names", type=int, default=500_000)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--n-process", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    write_release(args.folder, args.concepts, args.names)
    if not args.measure:
        return
    _, seconds, cpu, peak = run(READ, args.folder)
    print(
        f"read: {args.names:,} MRCONSO rows, {args.names / seconds:,.0f} a second "
        f"({args.names / cpu:,.0f} a second of CPU), peak {peak:,.0f} MB"
    )
    figures = {"rows": args.names, "read_seconds": seconds, "read_cpu": cpu, "read_peak_mb": peak}
    out = args.folder.parent / f"{args.folder.name}_terminology"
    n_names, seconds, cpu, peak, opened, looked = run(CONVERT, args.folder, out, args.n_process)
    print(
        f"convert, {args.n_process} processes: {n_names:,.0f} names, {n_names / seconds:,.0f} a second "
        f"({cpu:.1f} s CPU of the first process), peak {peak:,.0f} MB; opened in {opened:.3f} s, "
        f"{1e6 * looked:.0f} us a lookup"
    )
    figures |= {"names": n_names, "convert_seconds": seconds, "convert_cpu": cpu,
                "convert_peak_mb": peak, "open_seconds": opened, "lookup_us": 1e6 * looked,
                "n_process": args.n_process}  # fmt: skip
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
