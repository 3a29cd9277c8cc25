"""BioC, as XML and JSON, through the bioc library (extra `corpora`).

Concepts stand in the infon `identifier`, or under the name of their vocabulary (`MESH`), as the
published corpora have it; the label is the infon `type`. Other infons of a mention are kept. What
BioC has no place for is written as an infon `termlink` with JSON.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Optional

from ...errors import MissingExtraError, TermlinkError
from ...files import require_file
from .model import (
    NO_CONCEPT,
    CorpusDoc,
    CorpusEntity,
    Report,
    join_ids,
    joins_back,
    mention_text,
    pack,
    split_ids,
    tuples,
    unpack,
    with_prefix,
)
from .offsets import RawMention, length_in, place_mentions

ID_INFONS = ("identifier", "concept_id", "Identifier")
#: Infons named after a vocabulary, with the prefix of its ids ("" where they have none).
VOCABULARIES = {"MESH": "MESH", "OMIM": "OMIM", "HP": "HP", "DOID": "DOID", "MONDO": "MONDO",
                "CHEBI": "CHEBI", "GO": "GO", "UMLS": "", "CUI": ""}  # fmt: skip
LABEL_INFON, PACKED_INFON = "type", "termlink"
_RESERVED = {*ID_INFONS, *VOCABULARIES, LABEL_INFON, PACKED_INFON}


def _library(name: str) -> Any:
    try:
        import bioc.biocjson
        import bioc.biocxml
    except ImportError as error:
        raise MissingExtraError("TL004", library="bioc", extra="corpora") from error
    return {"bioc": bioc, "xml": bioc.biocxml, "json": bioc.biocjson}[name]


def is_json(path: Path) -> bool:
    """Whether a path is that of BioC JSON."""
    return path.suffix.lower() == ".json"


def read_bioc(path: Path, report: Report, *, prefix: str = "") -> Iterator[CorpusDoc]:
    """Documents of a BioC collection, XML or (.json) JSON.

    The text is that of the passages at their offsets; gaps become line breaks. A mention with several
    locations is discontinuous. Infons of passages and relations are counted as lost.
    prefix (str): Put before ids that have none.
    RAISES (TermlinkError): TL982 if the file is no BioC, TL004 without the bioc library.
    """
    in_json, library = is_json(path), _library("json")
    for number, raw in enumerate(_read_json(path) if in_json else _read_xml(path), start=1):
        place = f"document {number}"
        named = raw.get("id") if isinstance(raw, dict) else getattr(raw, "id", None)
        with report.rejecting(str(named) if named else None, place):
            with report.parsing(path, place, "BioC"):
                document = library.fromJSON(_filled(raw), "BioCDocument") if in_json else raw
                doc = _doc(path, number, document, report, prefix)
            yield doc


def _read_xml(path: Path) -> Iterator[Any]:
    library = _library("xml")
    from lxml.etree import XMLSyntaxError

    require_file(path)
    try:
        with path.open("rb") as file, library.iterparse(file) as reader:
            yield from reader
    except XMLSyntaxError as error:
        reason = f"not well-formed XML ({str(error).split(',')[0]})"
        raise _bad(path, f"line {error.lineno}", reason) from None
    except (TypeError, ValueError, AttributeError) as error:
        raise _bad(path, "collection", f"not BioC ({type(error).__name__})") from None


def _read_json(path: Path) -> list[Any]:
    require_file(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        raise _bad(path, "file", "not JSON") from None
    # a collection, PubTator 3's {"PubTator3": [...]}, or a list of documents
    if isinstance(data, dict):
        data = data.get("documents", data.get("PubTator3"))
    if not isinstance(data, list):
        raise _bad(path, "collection", "no list of documents")
    return data


def _filled(part: dict[str, Any]) -> dict[str, Any]:
    """A part of a BioC JSON document with the lists that the library asks for and files leave out."""
    filled = {"infons": {}, "annotations": [], "relations": [], "text": "", **part}
    for name in ("passages", "sentences"):
        filled[name] = [_filled(inner) for inner in part.get(name) or ()]
    filled["annotations"] = [
        {"infons": {}, "text": None, **annotation} for annotation in filled["annotations"]
    ]
    filled["relations"] = [{"infons": {}, "nodes": [], **r} for r in filled["relations"]]
    return filled


def _doc(path: Path, number: int, document: Any, report: Report, prefix: str) -> CorpusDoc:
    if not document.id:
        raise _bad(path, f"document {number}", "it has no id")
    doc_id = str(document.id)
    parts = [document, *document.passages, *chain(*(p.sentences for p in document.passages))]
    report.lose("relations", sum(len(part.relations) for part in parts))
    report.lose("infons of passages", sum(len(part.infons) for part in parts[1:]))
    annotations = [a for part in parts for a in part.annotations]
    mentions = [_mention(path, doc_id, annotation, prefix) for annotation in annotations]
    text, entities = place_mentions(
        lambda unit: _assemble(path, doc_id, document, unit), mentions,
        path=path, doc_id=doc_id, report=report,
    )  # fmt: skip
    known = unpack(document.infons.get(PACKED_INFON), f"document '{doc_id}'", path)
    infons = {k: v for k, v in document.infons.items() if k != PACKED_INFON}
    given = known.get("doc_concepts")
    return CorpusDoc(
        doc_id, text, entities, None if given is None else tuple(given), known.get("split", ""),
        {**infons, **known.get("extra", {})},
    )  # fmt: skip


def _assemble(path: Path, doc_id: str, document: Any, unit: str) -> tuple[str, int]:
    """Passages at their offsets, which are counted in a unit; and how many gaps are not 1."""
    text, at, n_odd = "", 0, 0
    for passage in document.passages:
        segments = [passage] if passage.text else [s for s in passage.sentences if s.text]
        for segment in segments:
            if segment.offset < at:
                place = f"document '{doc_id}', passage at {segment.offset}"
                raise _bad(path, place, "it overlaps the text before it")
            n_odd += bool(text) and segment.offset - at != 1
            text += "\n" * (segment.offset - at) + segment.text
            at = segment.offset + length_in(segment.text, unit)
    return text, n_odd


def _mention(path: Path, doc_id: str, annotation: Any, prefix: str) -> RawMention:
    place = f"annotation '{annotation.id}'"
    infons = annotation.infons
    if not annotation.locations:
        raise _bad(path, f"document '{doc_id}', {place}", "it has no location")
    known = unpack(infons.get(PACKED_INFON), f"document '{doc_id}', {place}", path)
    concepts, extra = _concepts(infons, prefix)
    others = {key: value for key, value in infons.items() if key not in _RESERVED}
    entity = CorpusEntity(
        0, 0, tuple(known.get("concepts", concepts)), infons.get(LABEL_INFON) or "",
        tuples(known.get("accept")), extra={**extra, **others, **known.get("extra", {})},
    )  # fmt: skip
    spans = [(loc.offset, loc.offset + loc.length) for loc in annotation.locations]
    return RawMention(place, spans, annotation.text or None, entity)


def _concepts(infons: dict[str, Any], prefix: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    for name in (*ID_INFONS, *VOCABULARIES):
        if str(infons.get(name) or "").strip() not in NO_CONCEPT:
            ids, extra = split_ids(str(infons[name]))
            own = VOCABULARIES.get(name, "") or prefix
            return tuple(dict.fromkeys(with_prefix(i, own) for i in ids)), extra
    return (), {}


def write_bioc(docs: Iterable[CorpusDoc], path: Path, report: Report) -> None:
    """One passage a document, at offset 0; offsets in characters. `path` decides: .json is JSON."""
    library = _library("bioc")
    info = library.BioCCollection()
    info.source, info.date, info.key = "spacy-termlink", "", "identifier: concept ids"
    if is_json(path):
        info.documents = [document for _, document in _documents(docs, library, report)]
        dumped = _library("json").dumps(info, ensure_ascii=False, indent=1)
        path.write_bytes(f"{dumped}\n".encode())
        return
    from bioc.biocxml.encoder import encode_document
    from lxml.etree import tostring

    with path.open("wb") as file, _library("xml").iterwrite(file, encoding="utf-8") as writer:
        writer.write_collection_info(info)
        for doc, document in _documents(docs, library, report):
            with report.rejecting(doc.doc_id):
                try:  # before anything of it is in the file
                    tostring(encode_document(document))
                except ValueError:
                    reason = "its text or an id holds a control character, which XML cannot"
                    raise TermlinkError(
                        "TL984", doc_id=doc.doc_id, format="bioc", reason=reason
                    ) from None
                writer.write_document(document)


def _documents(
    docs: Iterable[CorpusDoc], bioc: Any, report: Report
) -> Iterator[tuple[CorpusDoc, Any]]:
    for doc in docs:
        with report.rejecting(doc.doc_id):
            if not doc.doc_id:
                raise TermlinkError("TL984", doc_id="", format="bioc", reason="its id is empty")
            yield doc, _document(doc, bioc)


def _document(doc: CorpusDoc, bioc: Any) -> Any:
    document = bioc.BioCDocument()
    document.id = doc.doc_id
    plain, packed = _plain(doc.extra, {PACKED_INFON})
    values = pack({"split": doc.split, "extra": packed})
    if doc.doc_concepts is not None:
        inner = {"doc_concepts": list(doc.doc_concepts), **(json.loads(values or "{}"))}
        values = json.dumps(inner, ensure_ascii=False, sort_keys=True)
    document.infons = {**plain, **({PACKED_INFON: values} if values else {})}
    passage = bioc.BioCPassage()
    passage.offset, passage.text = 0, doc.text
    for number, entity in enumerate(doc.entities, start=1):
        passage.add_annotation(_annotation(doc, number, entity, bioc))
    document.add_passage(passage)
    return document


def _annotation(doc: CorpusDoc, number: int, entity: CorpusEntity, bioc: Any) -> Any:
    annotation = bioc.BioCAnnotation()
    annotation.id = str(number)
    annotation.text = mention_text(doc.text, entity.start, entity.end, entity.fragments)
    extra = dict(entity.extra)
    if joins_back(entity) and extra.get("cardinality") == "conjunct+" and len(entity.concepts) > 1:
        del extra["cardinality"]  # the "+" between the ids says it
    plain, others = _plain(extra, _RESERVED)
    values = pack({"accept": entity.accept, "extra": others,
                   "concepts": None if joins_back(entity) else list(entity.concepts)})  # fmt: skip
    annotation.infons = {LABEL_INFON: entity.label, "identifier": join_ids(entity), **plain}
    if values:
        annotation.infons[PACKED_INFON] = values
    for start, end in entity.fragments or [(entity.start, entity.end)]:
        annotation.add_location(bioc.BioCLocation(start, end - start))
    return annotation


def _plain(extra: dict[str, Any], reserved: set[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """Extras that an infon holds as they are, and the others."""
    plain = {
        k: v
        for k, v in extra.items()
        if k not in reserved and isinstance(v, str) and v.strip() == v and v
    }
    return plain, {key: value for key, value in extra.items() if key not in plain}


def _bad(path: Path, place: Optional[str], reason: str) -> TermlinkError:
    return TermlinkError("TL982", path=path, place=place, reason=reason)
