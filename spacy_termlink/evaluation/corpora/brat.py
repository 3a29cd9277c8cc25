"""BRAT: a folder of .txt with .ann beside; T lines are mentions, N lines their concepts.

An N line names a concept as RESOURCE:ID. An id that is a CURIE is written as it is
(`MESH:D003920`); another one under the resource `id` (`id:E11.9`), which reading takes off again.
What BRAT has no line for is written as a note of type `termlink` with JSON.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from ...errors import TermlinkError
from .model import CorpusDoc, CorpusEntity, Report, mention_text, pack, tuples, unpack, with_prefix
from .offsets import RawMention, place_mentions

NO_RESOURCE = "id:"
NOTE_TYPE = "termlink"
_MENTION = re.compile(r"(\S+) (\d+ \d+(?:;\d+ \d+)*)")
_LINE_BREAK = re.compile(r"\s*\n\s*")
_KINDS = {"R": "relations", "E": "events", "A": "attributes", "M": "attributes", "*": "equivalences",
          "#": "notes"}  # fmt: skip
#: Bytes of a file name that every file system takes, suffix included.
MAX_NAME = 240


def read_brat(path: Path, report: Report, *, prefix: str = "") -> Iterator[CorpusDoc]:
    """Documents of a folder and those below it; the id is the path without suffix.

    A mention's concepts are those of its N lines, in their order. Relations, events, attributes and
    notes are counted as lost.
    prefix (str): Put before ids that have none.
    """
    if not path.is_dir():
        raise TermlinkError(
            "TL982", path=path, place="path", reason="BRAT is a folder of .txt and .ann"
        )
    texts = {p.with_suffix("") for p in path.rglob("*.txt") if p.is_file()}
    annotated = {p.with_suffix("") for p in path.rglob("*.ann") if p.is_file()}
    for stem in sorted(texts | annotated):
        doc_id = stem.relative_to(path).as_posix()
        with report.rejecting(doc_id, "file"):
            if stem not in texts:
                raise _bad(path, f"{doc_id}.ann", "there is no .txt beside it")
            yield _doc(path, doc_id, report, prefix)


def _doc(folder: Path, doc_id: str, report: Report, prefix: str) -> CorpusDoc:
    text = _decoded(folder, f"{doc_id}.txt")
    name = f"{doc_id}.ann"
    lines = _decoded(folder, name).split("\n") if (folder / name).is_file() else []
    rows = [(f"{name}, line {n}", line.rstrip("\r")) for n, line in enumerate(lines, start=1)]
    rows = [(place, line) for place, line in rows if line]
    concepts: dict[str, list[str]] = {}
    packed: dict[str, dict[str, Any]] = {}
    for place, line in rows:
        if line[0] == "N":
            target, concept_id = _normalisation(folder, place, line)
            concepts.setdefault(target, []).append(with_prefix(concept_id, prefix))
        elif line[0] == "#" and line.partition("\t")[2].startswith(f"{NOTE_TYPE} "):
            head, _, values = line.partition("\t")[2].partition("\t")
            packed[head.split(" ")[1]] = unpack(values, place, folder)
        elif line[0] in _KINDS:
            report.lose(_KINDS[line[0]])
        elif line[0] != "T":
            raise _bad(folder, place, "an unknown kind of line")
    mentions = [
        _mention(folder, place, line, concepts, packed) for place, line in rows if line[0] == "T"
    ]
    if unknown := concepts.keys() - {mention.place.rsplit(" ", 1)[-1] for mention in mentions}:
        raise _bad(folder, name, f"a concept for {min(unknown)}, which is no mention")
    text, entities = place_mentions(
        lambda unit: (text, 0), mentions, path=folder, doc_id=doc_id, report=report
    )
    return CorpusDoc(doc_id, text, entities)


def _normalisation(folder: Path, place: str, line: str) -> tuple[str, str]:
    # N1 <tab> Reference T1 MESH:D003920 <tab> name
    words = line.split("\t")[1].split(" ") if "\t" in line else []
    if len(words) != 3 or words[0] != "Reference" or not words[2]:
        raise _bad(folder, place, "expected 'Reference MENTION RESOURCE:ID'")
    return words[1], words[2].removeprefix(NO_RESOURCE)


def _mention(
    folder: Path, place: str, line: str, concepts: dict[str, list[str]], packed: dict[str, dict]
) -> RawMention:
    cells = line.split("\t", 2)
    found = _MENTION.fullmatch(cells[1]) if len(cells) == 3 else None
    if not found:
        raise _bad(folder, place, "expected ID, 'LABEL START END' and text, with tabs between")
    spans = [tuple(map(int, pair.split(" "))) for pair in found[2].split(";")]
    known = packed.get(cells[0], {})
    entity = CorpusEntity(
        0, 0, tuple(dict.fromkeys(concepts.get(cells[0], ()))), str(known.get("label", found[1])),
        tuples(known.get("accept")), extra=known.get("extra", {}),
    )  # fmt: skip
    return RawMention(f"{place}, {cells[0]}", [(s, e) for s, e in spans], cells[2], entity)


def _decoded(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_bytes().decode("utf8")  # bytes: line ends stay as they are
    except UnicodeDecodeError:
        raise _bad(folder, name, "not UTF-8 text") from None


def write_brat(docs: Iterable[CorpusDoc], path: Path, report: Report) -> None:
    """Two files a document. A mention with a line break inside is cut there, as BRAT wants it."""
    for doc in docs:
        with report.rejecting(doc.doc_id):
            name = _file_name(doc)
            lines = "".join(f"{line}\n" for line in _lines(doc))
            (path / f"{name}.txt").parent.mkdir(parents=True, exist_ok=True)
            (path / f"{name}.txt").write_bytes(doc.text.encode("utf8"))
            (path / f"{name}.ann").write_bytes(lines.encode("utf8"))
            report.lose_fields(doc, keep=lambda name, entity: entity is not None)


def _file_name(doc: CorpusDoc) -> str:
    """The id, where it is a path below the folder and nowhere else."""
    pure = PurePosixPath(doc.doc_id)
    good = pure.as_posix() == doc.doc_id and not pure.is_absolute() and ".." not in pure.parts
    short = all(len(part.encode("utf8")) <= MAX_NAME for part in pure.parts)
    if (
        not doc.doc_id
        or doc.doc_id == "."
        or not good
        or not short
        or re.search(r"[\\:\0]", doc.doc_id)
    ):
        raise _cannot(doc, "its id is no file name")
    return doc.doc_id


def _lines(doc: CorpusDoc) -> Iterator[str]:
    n_concepts = 0
    for number, entity in enumerate(doc.entities, start=1):
        label = entity.label if re.fullmatch(r"[^\s;]+", entity.label) else "Entity"
        spans = list(_pieces(doc.text, entity))
        offsets = ";".join(f"{start} {end}" for start, end in spans)
        text = re.sub(r"\s", " ", mention_text(doc.text, entity.start, entity.end, spans))
        yield f"T{number}\t{label} {offsets}\t{text}"
        for concept_id in entity.concepts:
            if re.search(r"\s", concept_id) or concept_id.startswith(NO_RESOURCE):
                raise _cannot(doc, "a concept id holds white space or begins with 'id:'")
            n_concepts += 1
            resource = "" if ":" in concept_id.strip(":") else NO_RESOURCE
            yield f"N{n_concepts}\tReference T{number} {resource}{concept_id}\t"
        other_label = {"label": entity.label} if label != entity.label else {}
        # a label that is empty is said, too: pack leaves empty values out
        values = pack({"accept": entity.accept, "extra": entity.extra, **other_label})
        if other_label and not entity.label:
            values = '{"label": ""}' if not values else values[:-1] + ', "label": ""}'
        if values:
            yield f"#{number}\t{NOTE_TYPE} T{number}\t{values}"


def _pieces(text: str, entity: CorpusEntity) -> Iterator[tuple[int, int]]:
    for start, end in entity.fragments or [(entity.start, entity.end)]:
        for gap in _LINE_BREAK.finditer(text, start, end):
            if gap.start() > start and gap.end() < end:
                yield start, gap.start()
                start = gap.end()
        yield start, end


def _cannot(doc: CorpusDoc, reason: str) -> TermlinkError:
    return TermlinkError("TL984", doc_id=doc.doc_id, format="brat", reason=reason)


def _bad(path: Path, place: str, reason: str) -> TermlinkError:
    return TermlinkError("TL982", path=path, place=place, reason=reason)
