"""Encodes the names of a KB in shards that outlive a kill, and takes from an older KB what it holds."""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..candidates.shards import VectorShards
from ..errors import TermlinkError
from ..files import atomic_file, begin_folder, link_or_copy, read_json, sha256_file, write_json
from .termkb import VECTORS, TermKB

MANIFEST = "manifest.json"
#: Names of what the folder of an unfinished build holds, temporary ones included.
OURS = r"\.?(shard-\d{6}\.(npy|json)|manifest\.json)(\.[0-9a-f]{8}\.part)?"
#: Names of a shard: bounds what is in memory and what a kill loses. With no more names than this
#: nothing is written aside.
SHARD_NAMES = 16_384

#: Encodes the names between two rows.
EncodeRows = Callable[[int, int], np.ndarray]


class ShardFolder:
    """The folder of an unfinished build: `manifest.json`, and for each finished shard its vectors and
    their sha256.

    path (Path): Beside the output.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self, *, resume: bool) -> None:
        """Refuse to start anew where an unfinished build lies.

        RAISES (TermlinkError): TL540.
        """
        if not resume and (self.path / MANIFEST).exists():
            raise TermlinkError("TL540", folder=self.path)

    def begin(self, manifest: dict[str, Any]) -> None:
        """Start a build, or go on with the one that lies here.

        manifest (dict): What the vectors depend on.
        RAISES (TermlinkError): TL002 if something else lies there, TL541 if it was begun with something else.
        """
        if not (self.path / MANIFEST).exists():
            # it may have been left over while being deleted
            begin_folder(self.path, ours=OURS, kind="unfinished build")
            write_json(self.path / MANIFEST, manifest)
            return
        begun = read_json(self.path / MANIFEST)
        for key, value in manifest.items():
            if begun.get(key) != value:
                raise TermlinkError(
                    "TL541", folder=self.path, field=key, found=begun.get(key), value=value
                )

    def encode(self, n: int, encode: EncodeRows, progress: Callable[[int], object]) -> VectorShards:
        """Encode what is not there yet; a shard that is torn is encoded again.

        n (int): Names.
        progress (Callable[[int], object]): Called with the number of names of a shard that was there.
        """
        paths = []
        for number, (start, stop) in enumerate(cut_shards(n)):
            path = self.path / f"shard-{number:06d}.npy"
            if self._is_whole(path):
                progress(stop - start)
            else:
                self._write(path, encode(start, stop))
            paths.append(path)
        return VectorShards(paths)

    def remove(self) -> None:
        """Delete the folder, if there is one; manifest last, so that a kill leaves a build that can
        go on."""
        for path in self.path.glob("shard-*"):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def _is_whole(self, path: Path) -> bool:
        facts_path = path.with_suffix(".json")
        if not path.is_file() or not facts_path.is_file():
            return False
        facts = read_json(facts_path)
        return path.stat().st_size == facts["bytes"] and sha256_file(path) == facts["sha256"]

    def _write(self, path: Path, vectors: np.ndarray) -> None:
        with atomic_file(path) as part, part.open("wb") as file:
            np.save(file, vectors, allow_pickle=False)
        facts = {"bytes": path.stat().st_size, "sha256": sha256_file(path)}
        write_json(path.with_suffix(".json"), facts)


def cut_shards(n: int) -> Iterator[tuple[int, int]]:
    """First and last row (exclusive) of each shard."""
    return ((start, min(start + SHARD_NAMES, n)) for start in range(0, n, SHARD_NAMES))


def keep_vectors(vectors: Union[np.ndarray, VectorShards], folder: Path) -> None:
    """Write the vectors of a KB beside its index, for the builds that update it."""
    folder.mkdir()
    if isinstance(vectors, VectorShards):
        for path in vectors.paths:
            link_or_copy(str(path), str(folder / path.name))
    else:
        np.save(folder / "shard-000000.npy", vectors, allow_pickle=False)


def encode_names(
    texts: Sequence[str],
    encoder: Any,
    folder: ShardFolder,
    *,
    old: Optional["OldVectors"] = None,
    progress: bool = True,
) -> Union[np.ndarray, VectorShards]:
    """Vectors of names, (N, D) float32; in shards on disk where there are many.

    texts (Sequence[str]): Normal forms.
    folder (ShardFolder): Where shards are written, and found again.
    old (OldVectors): Gives the vectors of the names that it holds.
    progress (bool): Show a progress bar where stderr is a terminal.
    """
    from tqdm import tqdm

    known = None if old is None else old.rows_of(texts)
    with tqdm(
        total=len(texts), desc="Encoding", unit=" names", disable=None if progress else True
    ) as bar:

        def encode(start: int, stop: int) -> np.ndarray:
            some = texts[start:stop]
            if old is None or known is None:
                return (
                    encoder.encode(some, progress=bar.update) if progress else encoder.encode(some)
                )
            vectors = old.complete(some, known[start:stop], encoder)
            bar.update(len(some))
            return vectors

        if len(texts) <= SHARD_NAMES:
            return encode(0, len(texts))
        folder.begin(_manifest(texts, encoder))
        return folder.encode(len(texts), encode, bar.update)


def _manifest(texts: Sequence[str], encoder: Any) -> dict[str, Any]:
    digest = hashlib.sha256()
    for start, stop in cut_shards(len(texts)):
        digest.update("\n".join(texts[start:stop]).encode() + b"\n")
    return {
        "encoder": encoder.fingerprint,
        "dtype": getattr(encoder, "dtype", "float32"),
        "names": digest.hexdigest(),
        "names_per_shard": SHARD_NAMES,
    }


class OldVectors:
    """The vectors of an older KB, by name.

    kb (TermKB): Built with the same encoder, in the same data type.
    encoder (Encoder): Of the new KB.
    RAISES (TermlinkError): TL542 for another encoder, TL543 if the KB holds its vectors only
        approximately.
    """

    def __init__(self, kb: TermKB, encoder: Any) -> None:
        said = {"fingerprint": encoder.fingerprint, "dtype": getattr(encoder, "dtype", "float32")}
        for field, value in said.items():
            if (found := kb.meta["encoder"][field]) != value:
                raise TermlinkError("TL542", path=kb.path, field=field, found=found, expected=value)
        kept = sorted((kb.path / VECTORS).glob("shard-*.npy"))
        if not kept and not kb.index.keeps_vectors:
            raise TermlinkError("TL543", path=kb.path, factory=kb.meta["index"]["factory"])
        self._kb = kb
        self._shards = VectorShards(kept) if kept else None
        #: Names taken over, and encoded.
        self.n_taken, self.n_encoded = 0, 0

    def rows_of(self, texts: Sequence[str]) -> np.ndarray:
        """Row of each text, -1 for one that the KB does not hold, (N,) int64."""
        names = self._kb.names
        first = pa.array(np.asarray(names.name_rows[names.offsets[:-1]]))
        held = self._kb.terminology.names["normalized"].take(first).combine_chunks()
        rows = pc.index_in(pa.array(texts, pa.string()), value_set=held)
        return pc.fill_null(rows, -1).to_numpy(zero_copy_only=False).astype(np.int64)

    def complete(self, texts: Sequence[str], rows: np.ndarray, encoder: Any) -> np.ndarray:
        """Vectors of texts: those of rows of the KB, the others encoded."""
        vectors = np.empty((len(texts), encoder.width), dtype=np.float32)
        held, new = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
        if len(held):
            taken = rows[held]
            shards = self._shards
            vectors[held] = self._kb.index.vectors(taken) if shards is None else shards[taken]
        if len(new):
            vectors[new] = encoder.encode([texts[i] for i in new.tolist()])
        self.n_taken += len(held)
        self.n_encoded += len(new)
        return vectors
