"""Mines the records of a config from terminologies, and writes the files that training reads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Optional, TextIO

import srsly

from ..errors import TermlinkError
from ..files import atomic_file, sha256_file, write_json
from ..terminology import Terminology
from .augment import Augmenter
from .config import MiningConfig
from .corpus import Corpus, Item
from .records import Record
from .task import Task

#: Files beside the records.
HELDOUT, NAMES, EQUIVALENTS = "heldout.jsonl", "names.jsonl", "equivalents.jsonl"


def mine_records(
    terminologies: Sequence[Path],
    config: MiningConfig,
    out: Path,
    *,
    progress: Optional[Callable[[str], None]] = None,
) -> dict[str, Any]:
    """Stream the records of every task to a file, with what training needs beside it.

    terminologies (Sequence[Path]): Terminology folders.
    config (MiningConfig): What to mine.
    out (Path): Records file to write. In its folder: heldout.jsonl, the held-out names;
        names.jsonl, the names training may use; equivalents.jsonl, the pairs of concepts that are
        the same or must not be opposed; and NAME.meta.json. All are replaced together.
    progress (Optional[Callable[[str], None]]): Called with a task's name for each of its records.
    RETURNS (dict[str, Any]): The meta file's content: counts per task, releases, licences.
    RAISES (TermlinkError): TL228 if no task gives a record.
    """
    out = Path(out)
    if out.is_dir():
        raise TermlinkError("TL008", path=out)
    opened = [Terminology.open(path) for path in terminologies]
    corpus = Corpus(opened, seed=config.seed, heldout=config.heldout, branches=config.branches)
    augmenter = Augmenter(corpus, config.augmentation)
    counts: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        files = {
            path: stack.enter_context(atomic_file(out.parent / path))
            for path in (out.name, HELDOUT, NAMES, EQUIVALENTS)
        }
        with files[out.name].open("w", encoding="utf8") as file:
            for name in config.tasks:
                records = iter_task(corpus, name, config.tasks[name], augmenter)
                counted = _write_records(name, records, file, progress)
                counts[name] = {**counted, "weight": config.tasks[name].weight}
        if not any(task["records"] for task in counts.values()):
            names = ", ".join(source.name for source in corpus.sources)
            raise TermlinkError("TL228", terminologies=names)
        n_names = _write(files[NAMES], _name_rows(corpus))
        n_heldout = _write(files[HELDOUT], corpus.heldout.rows)
        n_equivalents = _write(files[EQUIVALENTS], corpus.equivalents.rows())
    meta = {
        "records": out.name,
        "sha256": sha256_file(out),
        "terminologies": [_describe(terminology) for terminology in opened],
        "tasks": counts,
        "counts": {
            "records": sum(task["records"] for task in counts.values()),
            "names": n_names,
            "heldout": n_heldout,
            "concepts_with_equivalents": n_equivalents,
        },
        "config": config.raw,
    }
    write_json(meta_path(out), meta)
    return meta


def meta_path(out: Path) -> Path:
    """Where the meta file of a records file lies."""
    return out.with_name(f"{out.stem}.meta.json")


def iter_task(
    corpus: Corpus, name: str, task: Task, augmenter: Augmenter
) -> Iterator[tuple[Record, bool]]:
    """The records of one task, each with whether it is an altered copy of the one before.

    A record whose anchor and positive read the same is left out: it teaches nothing.
    """
    for record in task.mine(corpus, name):
        if record.anchor == record.positive:
            continue
        yield record, False
        if task.augment:
            rng = corpus.draws(name, "augment", record)
            for copy in augmenter.copies(record, rng):
                yield copy, True


def _write_records(
    name: str,
    records: Iterable[tuple[Record, bool]],
    file: TextIO,
    progress: Optional[Callable[[str], None]],
) -> dict[str, int]:
    n_records = n_augmented = 0
    for record, augmented in records:
        file.write(srsly.json_dumps(record.to_json()) + "\n")
        n_records += 1
        n_augmented += augmented
        if progress:
            progress(name)
    return {"records": n_records, "augmented": n_augmented}


def _name_rows(corpus: Corpus) -> Iterator[dict[str, str]]:
    for item in corpus.walk():
        yield from _names_of(item)


def _names_of(item: Item) -> Iterator[dict[str, str]]:
    for name in item.names:
        yield {"concept_id": item.concept, "text": name.text, "kind": name.kind}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    n = 0
    with path.open("w", encoding="utf8") as file:
        for n, row in enumerate(rows, start=1):  # noqa: B007
            file.write(srsly.json_dumps(row) + "\n")
    return n


def _describe(terminology: Terminology) -> dict[str, Any]:
    fields = ("source", "release", "licence", "shareable", "url", "counts")
    return {field: terminology.meta.get(field) for field in fields}
