"""What an encoder is worth on held-out concepts, and the tables of `ablation.py`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from spacy_termlink.candidates.faiss_index import build_index
from spacy_termlink.candidates.names import unique_names
from spacy_termlink.evaluation.bootstrap import mean_intervals
from spacy_termlink.evaluation.clustering import Clustering, Owners, find_neighbours
from spacy_termlink.evaluation.gains import Gains
from spacy_termlink.evaluation.mention_set import prepare_mentions
from spacy_termlink.evaluation.mentions import read_mentions
from spacy_termlink.evaluation.overlap import BANDS, bands, overlap_degrees
from spacy_termlink.evaluation.ranking import METRICS, mention_figures
from spacy_termlink.files import write_json
from spacy_termlink.terminology.store import Terminology
from spacy_termlink.text import normalize

#: Nearest names of a name that are looked at when names are clustered.
M_NEAREST = 30
#: Names searched for a mention, so that at least ten concepts are among them.
NAMES_SEARCHED = 64
SHOWN = ("hits@1", "hits@10", "ndcg@10")
CLUSTERING = ("precision", "recall", "f1")
BANDS_TITLE = """## Hits@1 by overlap degree

With the names of the concept that are searched, and the difference to the untrained encoder.

"""


class HeldOut:
    """The held-out concepts of a terminology: their synonyms are the mentions, and all their names are
    clustered.

    terminology (Terminology): The one that was mined.
    heldout (Path): heldout.jsonl.
    """

    def __init__(self, terminology: Terminology, heldout: Path) -> None:
        self._terminology, self._gains = terminology, Gains(terminology)
        mentions = read_mentions(heldout, label="concept-disjoint")
        self._mentions = prepare_mentions(terminology, mentions)
        self._names, self._texts = unique_names(terminology)
        #: Concept of each mention: the unit of the bootstrap.
        self.concepts_of_mentions = [mention.concepts[0] for mention in self._mentions.mentions]
        self._forms = [normalize(mention.text) for mention in self._mentions.mentions]
        #: Band of each mention's overlap with the names that its concept is found by.
        queries = [[form] for form in self._forms]
        self.bands = bands(
            overlap_degrees(
                terminology, queries, self._mentions.any_gold, without=frozenset(self._forms)
            )
        )

    def measure(self, encoder: object) -> dict:
        """Figures of an encoder: clustering at the best F1, and every mention's figures by dense
        search in the names that were not held out."""
        vectors = encoder.encode(self._texts)
        best = self._cluster(vectors)
        figures = self._link(vectors, encoder.encode(self._forms))
        return {
            "n_mentions": len(figures),
            "clustering": best,
            "means": dict(zip(METRICS, figures.mean(axis=0).tolist(), strict=True)),
            "mentions": {
                metric: figures[:, METRICS.index(metric)].round(6).tolist() for metric in SHOWN
            },
        }

    def _cluster(self, vectors: np.ndarray) -> dict:
        """Are two names of held-out concepts synonyms?"""
        terminology, names = self._terminology, self._names
        concepts = set(self.concepts_of_mentions)
        held = np.array(
            [terminology.concept_id(row) in concepts for row in range(terminology.n_concepts)]
        )
        rows = np.flatnonzero(names.mask(terminology, held))
        entries = [
            (place, concept)
            for place, row in enumerate(rows.tolist())
            for concept in terminology.concept_rows[names.rows(row)].tolist()
        ]
        owners = Owners(*np.array(entries).T, len(rows))
        found = Clustering(find_neighbours(build_index(vectors[rows], "Flat"), M_NEAREST), owners)
        return {"n_names": len(rows), "n_pairs": found.positives, **found.row(found.best())}

    def _link(self, vectors: np.ndarray, queries: np.ndarray) -> np.ndarray:
        forms = set(self._forms)
        kept = np.array([row for row, text in enumerate(self._texts) if text not in forms])
        index = build_index(vectors[kept], "Flat")
        found, _ = index.search(queries, n=NAMES_SEARCHED)
        return np.array(
            [
                mention_figures(self._concepts(kept[rows]), gold, self._gains)
                for rows, gold in zip(found, self._mentions.any_gold, strict=True)
            ]
        )

    def _concepts(self, rows: np.ndarray) -> list[str]:
        """The first ten concepts of names, in their order."""
        concept_rows = self._terminology.concept_rows
        ids = dict.fromkeys(int(c) for row in rows for c in concept_rows[self._names.rows(row)])
        return self._terminology.concept_ids(list(ids)[:10])


def write_tables(
    out: Path,
    runs: Path,
    names: dict[str, list[str]],
    keys: dict[str, list[str]],
    held: HeldOut,
) -> None:
    """Write OUT/ablation.md and OUT/ablation.json from the finished runs, and print the former.

    names, keys (dict[str, list[str]]): Rows of each table, and the names of their runs.
    held (HeldOut): What the runs were measured on; its concepts are resampled.
    """
    units = held.concepts_of_mentions
    untrained = read_runs(runs, ["untrained"])["untrained"]
    report: dict = {"about": untrained[0]["about"], "tables": {}}
    n, cluster = untrained[0]["n_mentions"], untrained[0]["clustering"]
    parts = [
        f"{n:,} synonyms of {len(set(units)):,} held-out concepts, looked for by dense search; "
        f"{cluster['n_names']:,} names of these concepts, {cluster['n_pairs']:,} pairs of synonyms. "
        f"{untrained[0]['about']['steps']} steps. Means and standard deviations over seeds; "
        "differences to the first row of a table, the mean over seeds, with 95 % bootstrap intervals "
        "over concepts.\n"
    ]
    for table, row_names in names.items():
        found = read_runs(runs, keys[table])
        rows = {"untrained": untrained} | {
            name: found[key] for name, key in zip(row_names, keys[table], strict=True) if found[key]
        }
        if not any(found.values()):
            continue
        first = next(name for name in rows if name != "untrained")
        report["tables"][table] = {
            name: row_figures(each, rows[first], units) for name, each in rows.items()
        }
        parts.append(f"## {table}\n\n{markdown(report['tables'][table], first)}")
        if table == "sampling":
            report["bands"] = {
                name: band_figures(each, untrained, held) for name, each in rows.items()
            }
            parts.append(BANDS_TITLE + band_table(report["bands"]))
    text = "\n".join(parts)
    write_json(out / "ablation.json", report)
    (out / "ablation.md").write_text(text, encoding="utf8")
    sys.stdout.write(text)


def read_runs(folder: Path, keys: Sequence[str]) -> dict[str, list[dict]]:
    """The finished runs of each setting, by seed."""
    return {
        key: [
            json.loads(path.read_text(encoding="utf8"))
            for path in sorted([*folder.glob(f"{key}-[0-9]*.json"), *folder.glob(f"{key}.json")])
        ]
        for key in keys
    }


def row_figures(runs: list[dict], first: list[dict], units: Sequence[str]) -> dict:
    """Mean and spread over seeds, and the paired difference to the first row."""
    columns = {
        **{key: [run["clustering"][key] for run in runs] for key in CLUSTERING},
        **{key: [run["means"][key] for run in runs] for key in SHOWN},
    }
    figures: dict = {
        key: {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None}
        for key, values in columns.items()
    }  # fmt: skip
    difference = mention_means(runs) - mention_means(first)
    intervals = mean_intervals(difference, units)
    for i, key in enumerate(SHOWN):
        figures[key]["difference"] = float(difference[:, i].mean())
        figures[key]["ci"] = list(intervals[i])
    seconds = [run.get("training", {}).get("train_seconds", 0.0) for run in runs]
    return {"seeds": len(runs), "train_seconds": float(np.mean(seconds)), **figures}


def band_figures(runs: list[dict], untrained: list[dict], held: HeldOut) -> dict:
    """Hits@1 by overlap degree, and the paired difference to the untrained encoder."""
    hits, before = mention_means(runs)[:, 0], mention_means(untrained)[:, 0]
    found = {}
    for band in BANDS:
        places = [i for i, each in enumerate(held.bands) if each == band]
        if places:
            difference = (hits - before)[places]
            units = [held.concepts_of_mentions[i] for i in places]
            found[band] = {
                "n": len(places), "hits@1": float(hits[places].mean()),
                "difference": float(difference.mean()),
                "ci": list(mean_intervals(difference[:, None], units)[0]),
            }  # fmt: skip
    return found


def mention_means(runs: list[dict]) -> np.ndarray:
    """Every mention's figures, the mean over seeds, (N, columns of SHOWN)."""
    return np.mean([[run["mentions"][key] for key in SHOWN] for run in runs], axis=0).T


def markdown(rows: dict, first: str) -> str:
    """A table of settings."""
    head = ["", "seeds", "s", *(f"cluster {key}" for key in CLUSTERING), *SHOWN]
    head += [f"{key}, difference" for key in ("hits@1", "ndcg@10")]
    lines = [head, ["---"] * len(head)]
    for name, row in rows.items():
        cells = [name, str(row["seeds"]), f"{row['train_seconds']:.0f}"]
        for key in (*CLUSTERING, *SHOWN):
            sd = row[key]["sd"]
            cells.append(f"{row[key]['mean']:.3f}" + (f" ± {sd:.3f}" if sd is not None else ""))
        for key in ("hits@1", "ndcg@10"):
            low, high = row[key]["ci"]
            shown = f"{row[key]['difference']:+.3f} [{low:+.3f}, {high:+.3f}]"
            cells.append("" if name == first else shown)
        lines.append(cells)
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def band_table(rows: dict) -> str:
    """Hits@1 by overlap degree of mention and names, with the difference to the untrained encoder."""
    counts = {band: row["n"] for band, row in next(iter(rows.values())).items()}
    lines = [["", *(f"{band} (n {n})" for band, n in counts.items())], ["---"] * (len(counts) + 1)]
    for name, row in rows.items():
        cells = [f"{row[band]['hits@1']:.3f}" for band in counts]
        if name != "untrained":
            for i, band in enumerate(counts):
                low, high = row[band]["ci"]
                cells[i] += f" ({row[band]['difference']:+.3f} [{low:+.3f}, {high:+.3f}])"
        lines.append([name, *cells])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
