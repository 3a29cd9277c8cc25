"""TermKB: the folder a linker loads, a terminology with its encoder and indexes."""

import threading
from functools import cached_property
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..candidates import make_generator
from ..candidates.dictionary import NamedConcepts, open_dictionary
from ..candidates.faiss_index import DenseIndex
from ..candidates.names import UniqueNames
from ..encoders import load_encoder
from ..errors import TermlinkError
from ..files import map_array, read_json, restore_folder, sha256_file
from ..lexical.dictionary import Dictionary
from ..lexical.misspelling import SpellingIndex
from ..lexical.ngram import NgramIndex
from ..rerank.calibration import FILE as CALIBRATION
from ..rerank.calibration import Calibration, scoring_fingerprint
from ..rerank.rerankers import FILE as RERANKER_FILE
from ..rerank.rerankers import FOLDER as RERANKER
from ..rerank.rerankers import open_reranker
from ..terminology.store import Terminology
from ..types import CandidateGenerator, Encoder, Reranker
from .entities import Entities
from .mention_counts import FILE as MENTION_COUNTS

FORMAT_VERSION = 1
#: Folder of the vectors that the index was built of, in a KB that keeps them.
VECTORS = "vectors"


class TermKB:
    """An opened KB. Opening maps files and reads no vector; encoder and indexes come at first use.

    path (Path): The folder.
    meta (dict): Its meta.json.
    terminology (Terminology): Concepts and names, mapped.
    """

    def __init__(self, path: Path, meta: dict[str, Any]) -> None:
        self.path = path
        self.meta = meta
        self.terminology = Terminology.open(path / "terminology")
        self._lock = threading.RLock()
        self._loaded: dict[str, Any] = {}

    def __reduce__(self) -> tuple:
        # a worker process opens the folder itself
        return open_kb, (str(self.path),)

    @classmethod
    def open(cls, path: Union[str, Path], *, verify: bool = False) -> "TermKB":
        """Open a KB folder.

        verify (bool): Also compare every file with its sha256.
        RAISES (TermlinkError): TL001, TL503 to TL505: no KB, another format version, a file that is
            missing or has another size (named).
        """
        path = Path(path)
        restore_folder(path)
        if path.is_file():
            raise TermlinkError("TL503", path=path, reason="it is a file")
        if not path.is_dir():
            raise TermlinkError("TL001", path=path)
        if not (path / "meta.json").is_file():
            raise TermlinkError("TL503", path=path, reason="it has no meta.json")
        meta = read_json(path / "meta.json")
        if not isinstance(meta, dict) or meta.get("kind") != "kb":
            raise TermlinkError("TL503", path=path, reason="its meta.json is not a KB's")
        if meta.get("format_version") != FORMAT_VERSION:
            found = meta.get("format_version")
            raise TermlinkError("TL504", path=path, found=found, expected=FORMAT_VERSION)
        for name, file in meta["files"].items():
            if not (path / name).is_file():
                raise TermlinkError("TL505", path=path / name, reason="the file is missing")
            if (size := (path / name).stat().st_size) != file["bytes"]:
                reason = f"it has {size} bytes, expected {file['bytes']}"
                raise TermlinkError("TL505", path=path / name, reason=reason)
        kb = cls(path, meta)
        if verify:
            kb.verify()
        return kb

    @property
    def name(self) -> str:
        """Name of the KB: its folder's when it was built."""
        return self.meta["name"]

    @property
    def release(self) -> str:
        """Release of the terminology."""
        return self.meta["release"]

    @property
    def licence(self) -> str:
        """Licence of the terminology."""
        return self.meta["licence"]

    @property
    def shareable(self) -> bool:
        """Whether the licence lets the KB be handed on."""
        return self.meta["shareable"]

    @property
    def threshold(self) -> float:
        """Probability under which a mention is NIL where the KB is calibrated, else the score."""
        return self.meta["threshold"]

    @property
    def score_threshold(self) -> float:
        """Score under which a mention is NIL, for scores without a probability."""
        return self.meta.get("score_threshold", self.meta["threshold"])

    @property
    def calibration(self) -> Optional[Calibration]:
        """What gives candidates a probability, read at first use; None without one.

        RAISES (TermlinkError): TL610 if it cannot be read, TL611 if it was made for another encoder
            or index.
        """
        return self._load("calibration") if CALIBRATION in self.meta["files"] else None

    @property
    def reranker(self) -> Optional[Reranker]:
        """The reranker in the folder, loaded at first use; None where there is none.

        RAISES (TermlinkError): TL621 if it cannot be read.
        """
        has_one = f"{RERANKER}/{RERANKER_FILE}" in self.meta["files"]
        return self._load("reranker") if has_one else None

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the encoder."""
        return self.meta["encoder"]["fingerprint"]

    @property
    def encoder(self) -> Encoder:
        """The encoder, loaded at first use.

        RAISES (TermlinkError): TL506 if it is not the one that made the vectors.
        """
        return self._load("encoder")

    @property
    def index(self) -> DenseIndex:
        """The dense index, opened at first use."""
        return self._load("index")

    @property
    def ngram(self) -> NgramIndex:
        """The n-gram index, opened at first use."""
        return self._load("ngram")

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary of all names, opened at first use."""
        return self._load("dictionary").dictionary

    @property
    def spelling(self) -> SpellingIndex:
        """Words of the names by misspelled forms, opened at first use."""
        return self._load("spelling")

    @cached_property
    def names(self) -> UniqueNames:
        """Names of different normal form: the rows of both indexes."""
        return UniqueNames.open(self.path / "index")

    @cached_property
    def mention_counts(self) -> Optional[np.ndarray]:
        """How often each name was an annotated mention of its concept, (n_names,) int32, mapped; None
        for a KB without annotated mentions."""
        return (
            map_array(self.path / MENTION_COUNTS) if MENTION_COUNTS in self.meta["files"] else None
        )

    @cached_property
    def cui_to_entity(self) -> Entities:
        """Concepts by id, as scispaCy's users read them; each is read when asked for."""
        return Entities(self.terminology)

    def generator(self, name: str = "hybrid") -> CandidateGenerator:
        """A candidate generator over this KB; see `candidates.make_generator`."""
        return make_generator(name, self)

    def verify(self) -> None:
        """Compare every file with its sha256.

        RAISES (TermlinkError): TL007, naming the first file that differs.
        """
        for name, file in self.meta["files"].items():
            if (found := sha256_file(self.path / name)) != file["sha256"]:
                raise TermlinkError(
                    "TL007", path=self.path / name, found=found, expected=file["sha256"]
                )

    def info(self) -> dict[str, Any]:
        """What `termlink info` prints: counts, bytes, data type, threshold, licence, release."""
        meta = self.meta
        folders: dict[str, int] = {}
        for name, file in meta["files"].items():
            folder = name.split("/")[0]
            folders[folder] = folders.get(folder, 0) + file["bytes"]
        keys = ("name", "source", "release", "licence", "shareable", "url", "counts", "index",
                "encoder", "hybrid", "threshold", "threshold_applies_to")  # fmt: skip
        calibration = self.calibration
        return {
            "kind": "kb",
            "path": str(self.path),
            **{key: meta[key] for key in keys},
            **({"borrowed_from": meta["borrowed_from"]} if "borrowed_from" in meta else {}),
            **({} if self.reranker is None else {"reranker": type(self.reranker).__name__}),
            **({} if calibration is None else {"calibration": dict(calibration.fitted)}),
            "bytes": {**folders, "total": sum(folders.values())},
        }

    def _load(self, part: str) -> Any:
        if part not in self._loaded:
            # two threads at once must not load 90 MB twice
            with self._lock:
                if part not in self._loaded:
                    self._loaded[part] = getattr(self, f"_load_{part}")()
        return self._loaded[part]

    def _load_encoder(self) -> Encoder:
        encoder = load_encoder(self.path / "encoder")
        if encoder.fingerprint != self.fingerprint:
            raise TermlinkError(
                "TL506", path=self.path, found=encoder.fingerprint, expected=self.fingerprint
            )
        return encoder

    def _load_index(self) -> DenseIndex:
        return DenseIndex.open(self.path / "index", self.meta["index"]["factory"])

    def _load_calibration(self) -> Calibration:
        path = self.path / CALIBRATION
        calibration = Calibration.open(path)
        fits = {
            "encoder": (calibration.encoder, self.fingerprint),
            "index": (calibration.index, scoring_fingerprint(self.meta)),
        }
        for part, (found, expected) in fits.items():
            if found != expected:
                raise TermlinkError("TL611", path=path, part=part, found=found, expected=expected)
        return calibration

    def _load_reranker(self) -> Reranker:
        return open_reranker(self.path / RERANKER, self)

    def _load_dictionary(self) -> NamedConcepts:
        return open_dictionary(self.path)

    def _load_spelling(self) -> SpellingIndex:
        return SpellingIndex.open(self.path / "spelling")

    def _load_ngram(self) -> NgramIndex:
        return NgramIndex.open(self.path / "ngram")


_open_kbs: dict[tuple[Path, int], TermKB] = {}
_open_lock = threading.Lock()


def open_kb(path: Union[str, Path]) -> TermKB:
    """Open a KB once per process: components and threads share it until its meta.json changes."""
    folder = Path(path).resolve()
    restore_folder(folder)
    meta = folder / "meta.json"
    key = (folder, meta.stat().st_mtime_ns if meta.is_file() else 0)
    with _open_lock:
        if key not in _open_kbs:
            kb = TermKB.open(Path(path))
            for old in [other for other in _open_kbs if other[0] == folder]:
                del _open_kbs[old]
            _open_kbs[key] = kb
        return _open_kbs[key]
