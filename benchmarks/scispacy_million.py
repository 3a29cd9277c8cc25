"""The other side of million.py, in scispaCy's environment: builds its index, or opens and asks it."""

import json
import os
import sys
import time
from pathlib import Path

# the library reports on stdout; the answer needs it for itself
ANSWER = os.fdopen(os.dup(1), "w", encoding="utf8")
os.dup2(2, 1)

import numpy as np  # noqa: E402
import scipy.sparse  # noqa: E402
import scispacy.candidate_generation as generation  # noqa: E402
from scispacy.linking_utils import KnowledgeBase  # noqa: E402

#: What scispaCy's EntityLinker takes if not told otherwise.
K = 30


def build(folder: Path, ef_construction: str) -> dict:
    """`create_tfidf_ann_index`, with vectors saved as float32."""
    start = time.perf_counter()
    init, save = generation.nmslib.init, scipy.sparse.save_npz
    generation.scipy_supports_sparse_float16 = lambda: True
    generation.nmslib.init = lambda **kwargs: _Index(init(**kwargs), int(ef_construction))
    generation.scipy.sparse.save_npz = lambda path, vectors: _save_vectors(path, vectors, save)
    # astype(float16) is what newer scipy refuses
    astype = scipy.sparse.csr_matrix.astype
    scipy.sparse.csr_matrix.astype = lambda self, dtype, *args, **kwargs: astype(
        self, np.float32 if dtype is np.float16 else dtype, *args, **kwargs
    )
    generation.create_tfidf_ann_index(str(folder), KnowledgeBase(str(folder / "kb.jsonl")))
    half = folder / "half.npz"
    sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
    sizes["tfidf_vectors_sparse.npz"] = sizes.pop(half.name)
    half.unlink()
    seconds = time.perf_counter() - start
    facts = {"build_s": seconds, "ef_construction": int(ef_construction), "sizes": sizes}
    facts["disk_mb"] = sum(sizes.values()) / 1e6
    (folder / "built.json").write_text(json.dumps(facts) + "\n", encoding="utf8")
    return facts


class _Index:
    """nmslib's index, with another efConstruction."""

    def __init__(self, index: object, ef_construction: int) -> None:
        self.index = index
        self.ef_construction = ef_construction

    def createIndex(self, params: dict, **kwargs: object) -> None:  # noqa: N802
        self.index.createIndex({**params, "efConstruction": self.ef_construction}, **kwargs)

    def __getattr__(self, name: str) -> object:
        return getattr(self.index, name)


def _save_vectors(path: str, vectors: object, save: object) -> None:
    save(path, vectors)
    half = vectors.data.astype(np.float16)
    np.savez_compressed(
        Path(path).with_name("half.npz"), data=half, indices=vectors.indices,
        indptr=vectors.indptr, shape=vectors.shape, format=b"csr",
    )  # fmt: skip


def open_and_ask(folder: Path, queries: str) -> dict:
    """What `EntityLinker` does when it is made, then one batch."""
    asked = json.loads(Path(queries).read_text(encoding="utf8"))
    start = time.perf_counter()
    kb = KnowledgeBase(str(folder / "kb.jsonl"))
    aliases, vectorizer, index = generation.LinkerPaths.from_directory(str(folder)).load()
    generator = generation.CandidateGenerator(index, vectorizer, aliases, kb)
    opened = time.perf_counter() - start
    generator(asked[:1], K)
    first = time.perf_counter() - start
    start = time.perf_counter()
    generator(asked, K)
    batch = time.perf_counter() - start
    status = Path("/proc/self/status").read_text(encoding="utf8")
    kb = dict(line.split()[:2] for line in status.splitlines() if line.endswith(" kB"))
    return {
        "open_s": opened, "first_answer_s": first, "batch_s": batch,
        "peak_mb": int(kb["VmHWM:"]) / 1024, "own_mb": int(kb["RssAnon:"]) / 1024,
    }  # fmt: skip


if __name__ == "__main__":
    task, folder, argument = sys.argv[1:]
    answer = {"build": build, "open": open_and_ask}[task](Path(folder), argument)
    ANSWER.write(json.dumps(answer) + "\n")
