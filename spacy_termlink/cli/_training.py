"""What the commands that train share, and what `termlink train` passes to the trainer from higher ranks:
Faiss search and dev scores."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ._common import note, print_table, progress

#: Names searched for a mention, so that at least ten concepts are among them.
NAMES_SEARCHED = 64
HITS_AT = (1, 5, 10)


@contextmanager
def reported_steps(max_steps: int) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A progress bar, as the function that a training loop calls after each step."""
    with progress(total=max_steps, desc="Training", unit="steps") as bar:

        def report(event: Mapping[str, Any]) -> None:
            text = f"loss {event['loss']:.3f}, {event['texts_per_second']:.0f} texts/s"
            bar.set_postfix_str(text, refresh=False)
            bar.update(event["step"] - bar.n)

        yield report


def print_run(figures: Mapping[str, Any], out: Path, *more: str, table: bool) -> None:
    """Print what a training run did.

    figures (Mapping): The state at the end, from `Loop.run`.
    more (str): Further parts of the last line.
    table (bool): Print the dev scores on stdout, too, where there are any.
    """
    if figures["best"] is not None and table:
        names = list(figures["best"])
        rows = [
            ["start", *(f"{figures['first'][name]:.4f}" for name in names)],
            [f"step {figures['best_step']}", *(f"{figures['best'][name]:.4f}" for name in names)],
        ]
        print_table(["dev", *names], rows)
    seconds = max(figures["train_seconds"], 1e-9)
    speed = (
        f"{figures['texts']:,} texts in {seconds:.0f} s ({figures['texts'] / seconds:.0f} a second)"
    )
    parts = [
        f"{figures['step']:,} steps",
        speed,
        *more,
        f"scores in {figures['dev_seconds']:.0f} s",
    ]
    note(f"{out}: {', '.join(parts)}.")


def make_search(spec: str) -> Callable[[np.ndarray, np.ndarray, int], np.ndarray]:
    """Search for the refresh, by an index that is built for each call.

    spec (str): Index spec, as `termlink index --index`.
    """

    def search(vectors: np.ndarray, queries: np.ndarray, n: int) -> np.ndarray:
        index = _build(vectors, spec)
        return index.search(queries, n=n)[0]

    return search


def _build(vectors: np.ndarray, spec: str) -> Any:
    """An index of the vectors, on the GPUs where Faiss knows any."""
    import faiss

    from ..candidates.dense_index import has_gpus
    from ..candidates.faiss_index import build_index

    index = build_index(vectors, spec)
    if has_gpus():
        index.index = faiss.index_cpu_to_all_gpus(index.index)
    return index


class DevScore:
    """Hits@k and MRR of mentions against the names that training uses, by dense search.

    What `termlink evaluate --candidates dense` gives on a KB built `--without-names`, without
    building a KB at each score.

    names (Path): names.jsonl of `termlink mine`.
    mentions (Path): A mentions.jsonl.
    split (Optional[str]): Mentions of this split.
    RAISES (TermlinkError): TL001 to TL008 for a file, TL902 or TL904 without mentions.
    """

    def __init__(self, names: Path, mentions: Path, split: Optional[str]) -> None:
        from ..evaluation.mentions import read_mentions
        from ..mining import read_names
        from ..text import normalize
        from ..types import NAME_KINDS

        holders: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for row in read_names(names):
            if normal := normalize(row.text):
                holders[normal].append((NAME_KINDS.index(row.kind), row.concept_id))
        self._texts = list(holders)
        #: Concepts of each name, in the order of a tie.
        self._concepts = [[concept for _, concept in sorted(held)] for held in holders.values()]
        self._mentions = read_mentions(mentions, split=split)
        self._queries = [normalize(mention.text) for mention in self._mentions]

    def __call__(self, encode: Callable[[Sequence[str]], np.ndarray]) -> dict[str, float]:
        """Figures of an encoder, "hits@1" first."""
        from ..evaluation.ranking import rank_of_first

        index = _build(encode(self._texts), "Flat")
        rows, _ = index.search(encode(self._queries), n=NAMES_SEARCHED)
        ranks = []
        for mention, found in zip(self._mentions, rows.tolist(), strict=True):
            ids = dict.fromkeys(c for row in found if row >= 0 for c in self._concepts[row])
            gold = mention.gold.union(mention.record_ids)
            ranks.append(rank_of_first(list(ids)[: HITS_AT[-1]], gold))
        figures = {f"hits@{k}": float(np.mean([0 < r <= k for r in ranks])) for k in HITS_AT}
        figures["mrr"] = float(np.mean([1 / r if r else 0.0 for r in ranks]))
        return figures
