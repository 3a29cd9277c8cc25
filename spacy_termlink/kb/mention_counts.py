"""How often annotators meant a concept by one of its names: decides between concepts of one name."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..terminology.store import Terminology

#: In a KB's folder, where there are annotated mentions.
FILE = "mention_counts.npy"


def save_mention_counts(
    folder: Path, terminology: Terminology, counts: Mapping[tuple[str, str], int]
) -> None:
    """Write how often each name was the text of an annotated mention, (n_names,) int32; what is no
    name of the terminology is not kept.

    counts (Mapping[tuple[str, str], int]): (concept id, normal form) -> mentions.
    """
    array = np.zeros(terminology.n_names, dtype=np.int32)
    for (concept_id, text), n in counts.items():
        concept = terminology.row(concept_id)
        for row in terminology.lookup(text, normalized=True):
            if terminology.concept_rows[row] == concept:
                array[row] += n
    np.save(folder / FILE, array, allow_pickle=False)
