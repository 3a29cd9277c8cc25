"""Throughput and Hits@1 of our candidates beside scispaCy 0.6.2's, on the same names in one run.

    python benchmarks/link.py kb/hpo --eval-dir EVAL_DIR [--notes DIR] [--json OUT]

scispaCy lives in a virtual environment of its own, which is made at the first run (--scispacy-env).
Every figure is the best of --repeat runs, the two sides taking turns; an idle machine is assumed.
"ours" is what `term_linker` does if not told otherwise: an exact name of a single concept is the whole
answer. "Always k" fills its candidates up to k (`complete = true`), as evaluation does.
"Raw notes alone" are those of --notes, whose mentions term_matcher found: most are names, and many come again.
Before each run our side forgets the answers and words that it keeps, so that no run gains from the one
before; within a run a mention that comes again is answered from memory, as in use.
"""

import argparse
import functools
import gc
import json
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import spacy
from scispacy_side import ScispacySide, add_options, make_environment
from spacy.tokens import Doc

from spacy_termlink.candidates import make_generator
from spacy_termlink.candidates.hybrid import make_hybrid_candidates
from spacy_termlink.encoders import load_encoder
from spacy_termlink.evaluation.mentions import read_docs, read_mentions
from spacy_termlink.kb import TermKB, build_kb, open_kb

#: HPO sets with mentions that people wrote; the typos are made by a program.
SETS = ("hpo_gscplus", "hpo_case_reports", "hpo_id68")
#: Modules with memories of words.
OURS = {f"spacy_termlink.{name}" for name in (
    "spelling", "lexical.stems", "lexical.words", "lexical.dictionary", "lexical.misspelling",
    "lexical.contradictions", "lexical.decisive", "lexical.restrictions",
)}  # fmt: skip
ASSETS = Path(__file__).parent.parent / "assets" / "notes"


def main() -> None:
    """Run the benchmark."""
    args = parse_args()
    kb = open_kb(args.kb)
    mentions, docs = read_sets(args.eval_dir)
    queries = sorted({mention.text for rows in mentions.values() for mention in rows})
    per_note = group_by_note(mentions)
    nlp = spacy.blank("en")
    prepared = gold_docs(nlp, docs)
    raw = matched_docs(nlp, args.kb, args.notes) if args.notes else []
    prepared += raw
    print(f"{kb.name} {kb.release}: {kb.terminology.n_names:,} names")
    print(
        f"queries: {len(queries):,} unique mentions of {', '.join(mentions)}; {len(per_note)} notes "
        f"with {sum(map(len, per_note)):,} mentions; through the component {len(prepared):,} notes "
        f"with {sum(len(doc.ents) for doc in prepared):,} mentions"
    )
    ours = OurSide(kb, nlp, args.kb)
    ours.warm_up(queries[:64])
    figures: dict = {"ours": {"build": None if args.no_build else ours.build()}}
    sides: dict = {
        "ours": ours,
        "ours, always k": OurSide(kb, nlp, args.kb, complete=True),
        "ours, exact tier off": OurSide(kb, nlp, args.kb, exact=False),
    }
    figures.update({name: {} for name in sides if name not in figures})
    if not args.no_scispacy:
        print("scispaCy: its check for scipy < 1.11 is answered with yes (see scispacy_worker.py)")
        python = make_environment(args.scispacy_env, args.scispacy_python)
        sides["scispaCy"] = ScispacySide(python, kb.terminology)
        figures["scispaCy"] = {"build": sides["scispaCy"].build()}
    tasks = {"batch": queries, "notes": per_note, "pipe": prepared}
    if raw:
        tasks["raw pipe"] = raw
    for name, side in sides.items():
        figures[name].update(hits_at_1(side, mentions, kb))
    figures["repeated"] = {}
    for task, work in tasks.items():
        size = count(task, work)
        figures["repeated"][task] = share_repeated(task, work)
        best: dict = defaultdict(float)
        for _ in range(args.repeat):
            for name, side in sides.items():
                best[name] = max(best[name], size / side.seconds(task.split()[-1], work))
        for name, rate in best.items():
            figures[name][task] = rate
    figures["answered exactly"] = share_exact(kb, queries)
    print_figures(figures)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf8")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kb", type=Path, help="KB folder of HPO")
    parser.add_argument(
        "--eval-dir",
        type=Path,
        help=f"folder with {', '.join(SETS)}; without it the project's notes",
    )
    parser.add_argument(
        "--notes", type=Path, help="further notes: a .jsonl, or a folder of .jsonl or .txt"
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs per figure (default 3)")
    parser.add_argument("--no-build", action="store_true", help="do not time the build of our KB")
    parser.add_argument("--no-scispacy", action="store_true", help="our side alone")
    add_options(parser)
    return parser.parse_args()


class OurSide:
    """Our candidates, with the same tasks as ScispacySide."""

    def __init__(
        self,
        kb: TermKB,
        nlp: spacy.Language,
        path: Path,
        *,
        exact: bool = True,
        complete: bool = False,
    ) -> None:
        self.kb = kb
        self.generator = make_hybrid_candidates(exact=exact, complete=complete)(kb)
        self.nlp = spacy.Language(nlp.vocab)
        settings = {"exact": exact, "complete": complete}
        candidates = {"@misc": "spacy-termlink.HybridCandidates.v1", **settings}
        self.nlp.add_pipe("term_linker", config={"kb": str(path), "candidates": candidates})
        self.linker = self.nlp.get_pipe("term_linker")
        self.k = self.linker.cfg["k"]

    def warm_up(self, mentions: list) -> None:
        self.generator.generate(mentions, k=self.k)

    def build(self) -> dict:
        """Seconds for what `termlink index` does: encode every name, build both indexes, write."""
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            encoder = load_encoder(self.kb.path / "encoder")
            build_kb(self.kb.path / "terminology", encoder, Path(folder) / "kb", progress=False)
            return {"seconds": time.perf_counter() - start}

    def seconds(self, task: str, work: list) -> float:
        """Wall time of a task."""
        if task == "pipe":
            work = [clear(doc) for doc in work]
        self.forget()
        start = time.perf_counter()
        if task == "batch":
            self.generator.generate(work, k=self.k)
        elif task == "notes":
            for mentions in work:
                self.generator.generate(mentions, k=self.k)
        else:
            for _ in self.nlp.pipe(work):
                pass
        return time.perf_counter() - start

    def forget(self) -> None:
        """Empty every memory of answers and words."""
        self.linker.open_kb()
        for generator in (self.generator, self.linker._generator):
            generator.answers.clear()
        for found in gc.get_objects():
            if type(found) is functools._lru_cache_wrapper and found.__module__ in OURS:
                found.cache_clear()

    def rank(self, mentions: list) -> list:
        return [[c.concept_id for c in found] for found in self.generator.generate(mentions, k=10)]


def clear(doc: Doc) -> Doc:
    """A fresh copy, so that no run finds what an earlier one left."""
    return doc.copy()


def read_sets(eval_dir: Path | None) -> tuple[dict, list]:
    """Mentions by set, and the annotated documents."""
    if eval_dir is None:
        return {"notes": read_mentions(ASSETS / "hpo_mentions.jsonl")}, read_docs(
            ASSETS / "hpo.jsonl"
        )
    folders = [eval_dir / name for name in SETS if (eval_dir / name).is_dir()]
    if not folders:
        raise SystemExit(f"{eval_dir} holds none of {', '.join(SETS)}")
    mentions = {folder.name: read_mentions(folder / "mentions.jsonl") for folder in folders}
    return mentions, [doc for folder in folders for doc in read_docs(folder / "docs.jsonl")]


def group_by_note(mentions: dict) -> list:
    notes = defaultdict(list)
    for name, rows in mentions.items():
        for mention in rows:
            notes[name, mention.doc_id].append(mention.text)
    return list(notes.values())


def gold_docs(nlp: spacy.Language, docs: list) -> list:
    """Documents with their gold mentions as entities, overlapping ones left out."""
    made = []
    for annotated in docs:
        doc = nlp.make_doc(annotated.text)
        spans = [
            doc.char_span(e.start, e.end, "X", alignment_mode="expand") for e in annotated.entities
        ]
        doc.ents = spacy.util.filter_spans([span for span in spans if span is not None])
        made.append(doc)
    return made


def matched_docs(nlp: spacy.Language, kb: Path, notes: Path) -> list:
    """Notes without annotations: term_matcher finds the mentions, once, for both sides."""
    finder = spacy.Language(nlp.vocab)
    finder.add_pipe("term_matcher", config={"kb": str(kb)})
    return list(finder.pipe(nlp.make_doc(text) for text in read_notes(notes)))


def read_notes(path: Path) -> list:
    """Texts of a .jsonl, or of the .txt and .jsonl of a folder."""
    texts = [file.read_text(encoding="utf8") for file in sorted(path.glob("*.txt"))]
    for file in [path] if path.is_file() else sorted(path.glob("*.jsonl")):
        lines = file.read_text(encoding="utf8").splitlines()
        texts += [json.loads(line)["text"] for line in lines if line.strip()]
    if not texts:
        raise SystemExit(f"{path} holds no .txt and no .jsonl")
    return texts


def count(task: str, work: list) -> int:
    if task == "batch":
        return len(work)
    return sum(len(item.ents) if isinstance(item, Doc) else len(item) for item in work)


def hits_at_1(side: object, mentions: dict, kb: TermKB) -> dict:
    resolve = kb.terminology.resolve
    figures = {}
    for name, rows in mentions.items():
        ranked = side.rank([mention.text for mention in rows])
        right = [
            bool(ids) and ids[0] in {resolve(i) or i for i in mention.gold}
            for ids, mention in zip(ranked, rows, strict=True)
        ]
        figures[f"hits@1 {name}"] = sum(right) / len(right)
    return figures


def share_repeated(task: str, work: list) -> float:
    """Share of the mentions that came before in the same task."""
    texts = work if task == "batch" else [t for item in work for t in texts_of(item)]
    return 1 - len(set(texts)) / len(texts)


def texts_of(item: object) -> list:
    return [span.text for span in item.ents] if isinstance(item, Doc) else item


def share_exact(kb: TermKB, queries: list) -> float:
    found = make_generator("exact", kb).generate(queries, k=1)
    return sum(map(bool, found)) / len(queries)


def print_figures(figures: dict) -> None:
    exact = figures["answered exactly"]
    print(f"\nanswered from exact names: {100 * exact:.1f} % of the queries")
    shares = ", ".join(f"{task} {100 * share:.1f} %" for task, share in figures["repeated"].items())
    print(f"mentions that came before in the same run: {shares}\n")
    sides = [name for name in figures if name == "scispaCy" or name.startswith("ours")]
    rows = {"build, s": [(figures[s].get("build") or {}).get("seconds") for s in sides]}
    labels = {"batch": "one batch, mentions/s", "notes": "a call per note, mentions/s",
              "pipe": "through nlp.pipe, mentions/s",
              "raw pipe": "raw notes alone, mentions/s"}  # fmt: skip
    labels = {key: label for key, label in labels.items() if key in figures[sides[0]]}
    for key, label in labels.items():
        rows[label] = [figures[s][key] for s in sides]
    for key in [key for key in figures[sides[0]] if key.startswith("hits@1")]:
        rows[key] = [figures[s][key] for s in sides]
    print(f"{'':32}" + "".join(f"{side:>22}" for side in sides))
    for label, values in rows.items():
        cells = ["-" if v is None else f"{v:.3f}" if v <= 1 else f"{v:,.1f}" for v in values]
        print(f"{label:32}" + "".join(f"{cell:>22}" for cell in cells))
    if "scispaCy" in figures:
        print("\ntimes scispaCy's rate:")
        for key, label in labels.items():
            for side in sides:
                if side != "scispaCy":
                    ratio = figures[side][key] / figures["scispaCy"][key]
                    print(f"  {label.split(',')[0]:20} {side:22} {ratio:.2f}")


if __name__ == "__main__":
    main()
