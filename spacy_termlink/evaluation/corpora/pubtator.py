"""PubTator: `id|t|title`, `id|a|abstract`, then one mention a line, tab-separated.

The bioc library has a reader, too; it strips the lines that offsets count in, and drops the parts of
composite mentions, so this one is our own.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Optional

from ...errors import TermlinkError
from ...files import require_file
from .model import CorpusDoc, CorpusEntity, Report, join_ids, joins_back, split_ids
from .offsets import RawMention, place_mentions

_PASSAGE = re.compile(r"([^|\t]+)\|([a-z])\|(.*)", re.S)
_DIGITS = re.compile(r"\d+")

Line = tuple[int, str]


def read_pubtator(path: Path, report: Report, *, prefix: str = "") -> Iterator[CorpusDoc]:
    """Documents of a PubTator file, blank lines between them.

    Title and abstract are joined by a line break, which is one character, as the format counts. A
    line of a document that cannot be read rejects the document. Relations are counted as lost.
    prefix (str): Put before ids that have none.
    """
    for block in _blocks(path):
        doc_id = _PASSAGE.match(block[0][1])
        with report.rejecting(doc_id[1] if doc_id else None, f"line {block[0][0]}"):
            yield _doc(path, block, report, prefix)


def _blocks(path: Path) -> Iterator[list[Line]]:
    block: list[Line] = []
    with require_file(path).open("rb") as file:
        for number, raw in enumerate(file, start=1):
            raw = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            try:
                line = raw.decode("utf8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise _bad(path, number, "not UTF-8 text") from None
            if line:
                block.append((number, line))
            elif block:
                yield block
                block = []
    if block:
        yield block


def _doc(path: Path, block: list[Line], report: Report, prefix: str) -> CorpusDoc:
    passages: list[str] = []
    mentions: list[RawMention] = []
    doc_id: Optional[str] = None
    for number, line in block:
        found = _PASSAGE.match(line)
        if found and not mentions:
            if doc_id not in (None, found[1]):
                raise _bad(path, number, f"document '{found[1]}' inside of '{doc_id}'")
            doc_id = found[1]
            passages.append(found[3])
            continue
        cells = line.split("\t")
        if cells[0] != doc_id:
            raise _bad(path, number, f"neither a passage nor a line of document '{doc_id}'")
        if len(cells) >= 5 and _DIGITS.fullmatch(cells[1]) and _DIGITS.fullmatch(cells[2]):
            mentions.append(_mention(number, cells, prefix))
        elif len(cells) >= 4:
            report.lose("relations")
        else:
            raise _bad(path, number, f"{len(cells)} columns, expected 6")
    while passages and not passages[-1]:
        passages.pop()
    text, entities = place_mentions(
        lambda unit: ("\n".join(passages), 0),
        mentions,
        path=path,
        doc_id=str(doc_id),
        report=report,
    )
    return CorpusDoc(str(doc_id), text, entities)


def _mention(number: int, cells: list[str], prefix: str) -> RawMention:
    concepts, extra = split_ids(cells[5] if len(cells) > 5 else "", prefix=prefix)
    if len(cells) > 6 and cells[6]:
        extra["parts"] = cells[6].split("|")
    entity = CorpusEntity(0, 0, concepts, cells[4], extra=extra)
    return RawMention(f"line {number}", [(int(cells[1]), int(cells[2]))], cells[3], entity)


def write_pubtator(docs: Iterable[CorpusDoc], path: Path, report: Report) -> None:
    """The title is the text up to its first line break, the abstract the rest; later line breaks
    become spaces, which moves no offset and is counted as lost, as is what the format has no place for.
    """
    with path.open("w", encoding="utf8", newline="\n") as file:
        for doc in docs:
            with report.rejecting(doc.doc_id):
                file.write(_lines(doc, report) + "\n")


def _lines(doc: CorpusDoc, report: Report) -> str:
    if not doc.doc_id or re.search(r"[|\s]", doc.doc_id):
        raise _cannot(doc, "its id is empty or holds white space or '|'")
    title, _, abstract = doc.text.partition("\n")
    lines = [f"{doc.doc_id}|t|{_one_line(title)}", f"{doc.doc_id}|a|{_one_line(abstract)}"]
    n_kept = bool(abstract) and "\n" in doc.text
    report.lose("line breaks", len(re.findall(r"[\r\n]", doc.text)) - n_kept)
    for entity in doc.entities:
        if not joins_back(entity):
            raise _cannot(doc, "a concept id holds a separator of ids")
        mention = _cell(doc.text[entity.start : entity.end])
        cells = [doc.doc_id, str(entity.start), str(entity.end), mention]
        cells += [_cell(entity.label), join_ids(entity)]
        if parts := _parts(entity):
            cells.append(parts)
        lines.append("\t".join(cells))
    report.lose_fields(doc, keep=_keeps)
    return "\n".join(lines) + "\n"


def _parts(entity: CorpusEntity) -> str:
    parts = entity.extra.get("parts")
    good = isinstance(parts, list) and all(isinstance(p, str) and "|" not in p for p in parts)
    return _cell("|".join(parts)) if good and parts else ""


def _keeps(name: str, entity: Optional[CorpusEntity]) -> bool:
    if entity is None:
        return False
    if name == "cardinality":
        return split_ids(join_ids(entity))[1] == {name: entity.extra[name]}
    return name == "parts" and bool(_parts(entity))


def _one_line(text: str) -> str:
    return re.sub(r"[\r\n]", " ", text)


def _cell(text: str) -> str:
    return re.sub(r"[\r\n\t]", " ", text)


def _cannot(doc: CorpusDoc, reason: str) -> TermlinkError:
    return TermlinkError("TL984", doc_id=doc.doc_id, format="pubtator", reason=reason)


def _bad(path: Path, number: int, reason: str) -> TermlinkError:
    return TermlinkError("TL982", path=path, place=f"line {number}", reason=reason)
