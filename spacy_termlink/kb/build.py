"""Builds a KB folder from a terminology and an encoder."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional, Union

from .. import __version__
from ..candidates.dictionary import build_dictionary
from ..candidates.faiss_index import DenseIndex, build_index, check_spec
from ..candidates.fit import Fitted, fit_hybrid
from ..candidates.names import unique_names
from ..errors import TermlinkError
from ..files import atomic_folder, sha256_file, write_json
from ..lexical.misspelling import SpellingIndex
from ..lexical.ngram import NgramIndex
from ..terminology.store import Terminology
from ..text import normalize
from ..types import Encoder
from .borrowed import Borrowed, borrow_names, with_licences
from .encoding import OldVectors, ShardFolder, encode_names, keep_vectors
from .mention_counts import save_mention_counts
from .names import AddedName, copy_with_names, read_annotated, read_heldout
from .termkb import FORMAT_VERSION, VECTORS, TermKB


def build_kb(
    terminology_path: Union[str, Path],
    encoder: Any,
    out: Union[str, Path],
    *,
    index: str = "auto",
    memory: Optional[float] = None,
    update: Optional[OldVectors] = None,
    keeps_vectors: bool = False,
    resume: bool = False,
    add_names: Union[str, Path, None] = None,
    add_names_split: str = "train",
    without_names: Union[str, Path, None] = None,
    borrow_names_of: Sequence[Union[str, Path]] = (),
    progress: bool = True,
) -> TermKB:
    """Write a KB folder; it appears under its name only when it is whole. Of many names the vectors
    are written aside in shards, so that a build that was killed can go on.

    terminology_path (str, Path): Folder written by `termlink convert`.
    encoder (Encoder): With `.save(folder)`, as `encoders.load_encoder` gives it.
    out (str, Path): Folder to write; an old one is replaced at the end.
    index (str): auto, Flat, HNSW, IVF, SQ8, PQ, IVF_SQ8, IVF_PQ or a Faiss factory string.
    memory (float): Gigabytes that an index chosen by auto may take; None for 8.
    update (OldVectors): Vectors of an older KB: only names that it does not hold are encoded.
    keeps_vectors (bool): Keep the vectors in the KB, so that a quantised one can be updated.
    resume (bool): Go on with the unfinished build of this output.
    add_names (str, Path): Annotated mentions, added as names of their concepts, and counted: of the
        concepts of one name the one that most of its mentions mean comes first.
    add_names_split (str): Of the mentions that state a split only these: the others are there to
        measure with. "" for all.
    without_names (str, Path): Names to leave out, as {"concept_id", "text"} lines.
    borrow_names_of (Sequence[str, Path]): Terminology folders whose names for the same concepts are added.
    progress (bool): Show a progress bar where stderr is a terminal.
    RETURNS (TermKB): The KB, opened.
    RAISES (TermlinkError): TL002 something else is at `out`, TL1.. for the terminology, TL502 for the
        index spec, TL221 a lender of the terminology's name, TL507, TL548 and TL549 for the lists,
        TL508 without names, TL540 and TL541 for an unfinished build that lies there, TL546 for the
        memory.
    """
    terminology, out = Terminology.open(terminology_path), Path(out)
    _check_replaceable(out)
    shards = ShardFolder(out.with_name(f"{out.name}.shards"))
    shards.check(resume=resume)
    mentions: list[AddedName] = []
    if add_names is not None:
        mentions, unused = read_annotated(Path(add_names), terminology, add_names_split)
    heldout = None if without_names is None else Path(without_names)
    borrowed = _borrow(terminology, borrow_names_of, mentions, heldout)
    with atomic_folder(out) as folder:
        changes = copy_with_names(
            terminology,
            folder / "terminology",
            meta=with_licences(terminology.meta, borrowed.lenders),
            add=[*mentions, *borrowed.names],
            without=heldout,
        )
        terminology = Terminology.open(folder / "terminology")
        if add_names is not None:
            counts = Counter((name.concept_id, normalize(name.text)) for name in mentions)
            save_mention_counts(folder, terminology, counts)
            changes.update(unused, mentions=len(mentions))
        names, texts = unique_names(terminology)
        if not texts:
            raise TermlinkError("TL508", path=terminology_path)
        check_spec(index, len(texts), encoder.width, memory=memory)
        vectors = encode_names(texts, encoder, shards, old=update, progress=progress)
        dense, ngram = build_index(vectors, index, memory=memory), NgramIndex.build(texts)
        (folder / "index").mkdir()
        names.save(folder / "index")
        dense.save(folder / "index")
        ngram.save(folder / "ngram")
        SpellingIndex.build(texts).save(folder / "spelling")
        build_dictionary(terminology).save(folder / "dictionary")
        encoder.save(folder / "encoder")
        if keeps_vectors:
            keep_vectors(vectors, folder / VECTORS)
        fitted = fit_hybrid(terminology, names, texts, vectors, dense, ngram)
        write_meta(
            folder,
            {
                "kind": "kb",
                "format_version": FORMAT_VERSION,
                "name": out.name,
                **_describe(terminology, {"unique_names": len(names), **changes}),
                **({"borrowed_from": borrowed.lenders} if borrowed.lenders else {}),
                **describe_encoder(encoder),
                **describe_index(index, dense, fitted),
            },
        )
    shards.remove()
    return TermKB.open(out)


def _borrow(
    terminology: Terminology,
    paths: Sequence[Union[str, Path]],
    mentions: Sequence[AddedName],
    heldout: Optional[Path],
) -> Borrowed:
    """Names of other terminologies. What annotators meant by a name goes before, and what is left
    out to be measured with does not come back."""
    known = {normalize(name.text) for name in mentions}
    if paths and heldout is not None:
        known.update(form for _, form in read_heldout(heldout, terminology))
    return borrow_names(terminology, [Terminology.open(path) for path in paths], known=known)


def _check_replaceable(path: Path) -> None:
    """Refuse to put a KB in the place of what is none: -o may name the terminology, or notes."""
    if path.is_dir() and (_is_kb(path) or not any(path.iterdir())):
        return
    if path.exists():
        raise TermlinkError("TL002", path=path, kind="KB")


def _is_kb(path: Path) -> bool:
    # told by its folders, so that a damaged KB can be built again
    return all((path / part).is_dir() for part in ("terminology", "encoder", "index"))


def _describe(terminology: Terminology, counts: dict[str, int]) -> dict[str, Any]:
    source = terminology.meta
    return {
        "termlink_version": __version__,
        **{key: source[key] for key in ("source", "release", "licence", "shareable", "url")},
        "counts": {**source["counts"], **counts},
    }


def describe_encoder(encoder: Encoder) -> dict[str, Any]:
    """What a KB's meta.json says of its encoder."""
    return {
        "encoder": {
            "fingerprint": encoder.fingerprint,
            "width": encoder.width,
            "dtype": getattr(encoder, "dtype", "float32"),
        },
    }


def describe_index(spec: str, index: DenseIndex, fitted: Fitted) -> dict[str, Any]:
    """What a KB's meta.json says of its index, and of what was fitted with it."""
    return {
        "index": {"spec": spec, "factory": index.factory, **index.facts},
        "hybrid": {
            "dense_weight": fitted.dense_weight,
            "fitted_on_synonyms": fitted.n_synonyms,
            "synonyms_hits@1": fitted.hits,
        },
        "threshold": fitted.threshold,
        "threshold_applies_to": "score",
    }


def write_meta(folder: Path, meta: dict[str, Any]) -> None:
    """Write meta.json, with size and sha256 of every other file."""
    files = {
        path.relative_to(folder).as_posix(): describe_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path != folder / "meta.json"
    }
    write_json(folder / "meta.json", {**meta, "files": files})


def describe_file(path: Path) -> dict[str, Any]:
    """What meta.json says of a file."""
    return {"bytes": path.stat().st_size, "sha256": sha256_file(path)}
