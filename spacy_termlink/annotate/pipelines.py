"""The pipeline of a batch run: saved, or made of KB folders."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Union

import pyarrow.compute as pc
import spacy
from spacy.language import Language

from .. import __version__
from ..errors import TermlinkError
from ..files import restore_folder, sha256_file
from ..kb import open_kb
from .core import find_linkers
from .neighbours import import_neighbours

SPLIT_AT = r"[;|&+(){}\[\]，。；：、（）]"


def load_pipeline(paths: Union[str, Path, Sequence[Union[str, Path]]]) -> Language:
    """A pipeline from one saved pipeline, or from one or more KB folders.

    paths (Union[str, Path, Sequence]): KB folders (then see `blank_pipeline`), or one folder or
        installed package of a spaCy pipeline.
    RETURNS (Language): A pipeline with at least one `term_linker`.
    RAISES (TermlinkError): TL805 to TL808, TL818, TL730; what opening a KB raises.
    """
    given = [paths] if isinstance(paths, (str, Path)) else paths
    names = [str(path) for path in given]
    if not any(names):  # "" is no current folder
        raise TermlinkError("TL818")
    for name in names:
        restore_folder(Path(name))
    kbs = [name for name in names if is_kb(Path(name))]
    if len(kbs) == len(names):
        return blank_pipeline(kbs)
    if len(names) > 1:
        raise TermlinkError("TL807", paths=", ".join(names))
    path = names[0]
    try:
        import_neighbours(path)
        nlp = spacy.load(path)
    except TermlinkError:
        raise
    except Exception as error:  # spaCy raises many kinds, by what is broken
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise TermlinkError("TL805", path=path, reason=reason) from error
    if not find_linkers(nlp):
        raise TermlinkError("TL806", path=path)
    return nlp


def is_kb(path: Path) -> bool:
    """Whether a folder holds a KB; a spaCy pipeline has a config.cfg."""
    return (path / "terminology").is_dir() and not (path / "config.cfg").exists()


def blank_pipeline(paths: Sequence[str]) -> Language:
    """`term_abbreviations`, then a `term_matcher` and a `term_linker` per KB.

    One KB works on `doc.ents`. Several work side by side, each on the span group of its KB's name: a
    linker gets only what its own terminology found, so that what one KB gives does not depend on the
    others. (Linking each mention to every KB made codes of what a terminology lacks: of "heart
    attack", which HPO names, MEDIC made "Panic Disorder".)

    paths (Sequence[str]): KB folders, each with a name of its own.
    RAISES (TermlinkError): TL808 for two KBs of one name; what opening a KB raises.
    """
    names = [open_kb(path).name for path in paths]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise TermlinkError("TL808", name=twice[0])
    nlp = spacy.blank(_language(paths[0]))
    _split_at_signs(nlp)
    nlp.add_pipe("term_abbreviations")
    for path, name in zip(paths, names, strict=True):
        config = {"kb": str(path), "spans_key": name if len(paths) > 1 else None}
        ending = f"_{re.sub(r'[^0-9A-Za-z]', '_', name)}" if len(paths) > 1 else ""
        nlp.add_pipe("term_matcher", name=f"term_matcher{ending}", config=config)
        nlp.add_pipe("term_linker", name=f"term_linker{ending}", config=config)
    return nlp


def _split_at_signs(nlp: Language) -> None:
    """Let a tokenizer by rules split words at signs that join no name: "tremor;nystagmus" is two
    mentions. (`term_matcher` cuts what is left, in a time that grows with the document.)"""
    if hasattr(nlp.tokenizer, "infix_finditer"):
        infixes = [*(nlp.Defaults.infixes or ()), SPLIT_AT]
        nlp.tokenizer.infix_finditer = spacy.util.compile_infix_regex(infixes).finditer


def fingerprint(path: str) -> str:
    """What tells one KB or pipeline from another, cheap enough for every start.

    A KB's meta.json holds the checksum of each of its files. Of a pipeline: small files by content,
    large ones by size and time of change.
    """
    digest = hashlib.sha256(f"{__version__} {spacy.__version__}".encode())
    folder = Path(path)
    if is_kb(folder):
        digest.update(sha256_file(folder / "meta.json").encode())
        return digest.hexdigest()
    if not folder.is_dir():
        folder = spacy.util.get_package_path(path)
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        stat = file.stat()
        small = stat.st_size < 1 << 20
        content = sha256_file(file) if small else f"{stat.st_size} {stat.st_mtime_ns}"
        digest.update(f"{file.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def _language(path: str) -> str:
    """Language of most names of a KB that have one (annotated mentions have none) where spaCy has it,
    else "xx"; it decides how text is split."""
    counts = pc.value_counts(open_kb(path).terminology.names["language"]).to_pylist()
    known = [row for row in counts if row["values"]]
    if not known:
        return "xx"
    code = max(known, key=lambda row: row["counts"])["values"].split("-")[0]
    try:
        spacy.util.get_lang_class(code)
    except ImportError:
        return "xx"
    return code
