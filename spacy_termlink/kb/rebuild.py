"""A KB with another encoder: the same terminology, its names encoded again."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Optional

from ..candidates.faiss_index import FILES, build_index
from ..candidates.fit import fit_hybrid
from ..encoders import load_encoder
from ..files import atomic_folder, link_or_copy, write_json
from ..rerank.calibration import FILE as CALIBRATION
from .build import describe_encoder, describe_index, write_meta
from .mention_counts import FILE as MENTION_COUNTS
from .mention_counts import save_mention_counts
from .termkb import VECTORS, TermKB


def rebuild_kb(
    kb: TermKB,
    save_encoder: Callable[[Path], object],
    out: Path,
    *,
    index: Optional[str] = None,
    mentions: Optional[Mapping[tuple[str, str], int]] = None,
) -> TermKB:
    """Write a KB with new vectors, index, weight of the hybrid and threshold; the rest is linked. A
    calibration is left out: it was one of the old scores.

    kb (TermKB): Gives terminology, dictionary, n-grams, spelling and names.
    save_encoder (Callable[[Path], object]): Writes the new encoder to the folder it is given.
    out (Path): Folder to write; an old one is replaced at the end.
    index (Optional[str]): Index spec, as `build_kb`; None for that of the KB.
    mentions (Optional[Mapping[tuple[str, str], int]]): Annotated mentions, (concept id, normal form)
        -> number, that take the place of those of the KB; None keeps these.
    RETURNS (TermKB): The new KB, opened.
    RAISES (TermlinkError): TL502 for the index spec, TL006 if it cannot be written.
    """
    spec = kb.meta["index"]["spec"] if index is None else index
    terminology, names = kb.terminology, kb.names
    with atomic_folder(out) as folder:
        replaced = {CALIBRATION, *(f"index/{file}" for file in FILES)}
        for name in kb.meta["files"]:
            if not name.startswith(("encoder/", f"{VECTORS}/")) and name not in replaced:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(str(kb.path / name), str(folder / name))
        if mentions is not None:
            (folder / MENTION_COUNTS).unlink(missing_ok=True)  # it may be a link to the KB's own
            save_mention_counts(folder, terminology, mentions)
        save_encoder(folder / "encoder")
        encoder = load_encoder(folder / "encoder")
        texts = names.texts(terminology)
        vectors = encoder.encode(texts)
        dense = build_index(vectors, spec, memory=kb.meta["index"].get("memory_gb"))
        dense.save(folder / "index")
        fitted = fit_hybrid(terminology, names, texts, vectors, dense, kb.ngram)
        meta = {k: v for k, v in kb.meta.items() if k not in ("files", "score_threshold")}
        meta |= {**describe_encoder(encoder), **describe_index(spec, dense, fitted)}
        write_meta(folder, meta)
    return TermKB.open(out)


def set_threshold(kb: TermKB, threshold: float) -> None:
    """Give a KB another threshold on the score, in its folder, too; only what has built it may."""
    kb.meta["threshold"] = threshold
    write_json(kb.path / "meta.json", kb.meta)
