"""OMOP's concept ids of a terminology's codes, out of the vocabulary files of a download (Athena):
CONCEPT.csv and, where it lies beside it, CONCEPT_RELATIONSHIP.csv. Both are streamed.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from ..errors import TermlinkError
from ..files import require_file
from .omop import OmopConcept

CONCEPT_COLUMNS = ("concept_id", "vocabulary_id", "concept_code")
RELATION_COLUMNS = ("concept_id_1", "concept_id_2", "relationship_id")
#: Names of a vocabulary elsewhere -> OMOP's, both without signs and in lower case.
ALIASES = {"snomedct": "snomed", "snomedctus": "snomed", "hp": "hpo"}
BLOCK_BYTES = 8 << 20


class Wanted(NamedTuple):
    """A concept that OMOP's id is looked for.

    kb, concept_id (str): KB, native id.
    vocabularies (frozenset[str]): Names that its vocabulary may have.
    """

    kb: str
    concept_id: str
    vocabularies: frozenset[str]


class _Row(NamedTuple):
    """A row of CONCEPT.csv; the first of several for one code is the best."""

    not_standard: bool
    invalid: bool
    concept_id: int
    vocabulary: str


def check_concepts(path: Path) -> None:
    """Refuse a file that is no CONCEPT.csv, before hours of work for it.

    RAISES (TermlinkError): TL001, TL005, TL008; TL864.
    """
    _open(path, CONCEPT_COLUMNS)


def want(kb: str, concept_id: str, names: Collection[str]) -> Wanted:
    """What to look for.

    names (Collection[str]): Of the KB and of its source; the prefix of an id is one, too.
    """
    prefix = concept_id.rpartition(":")[0]
    known = {_vocabulary(name) for name in (*names, prefix) if name}
    return Wanted(kb, concept_id, frozenset(known))


def read_concepts(path: Path, wanted: Sequence[Wanted]) -> dict[tuple[str, str], OmopConcept]:
    """Find the concepts of codes.

    A code counts where its vocabulary has a name of the KB's ("ICD10CM" and "icd10cm" are one name).
    Else it would be taken for the same code of another vocabulary, but for two cases: an id with a
    prefix ("HP:0001250") that stands there whole, and a file of a single vocabulary.
    The standard concept is the concept itself, if it is one, else the one it "Maps to"; of several the
    one of the smallest id. Without CONCEPT_RELATIONSHIP.csv the concept itself stands for it.

    path (Path): CONCEPT.csv, separated by tabs as it is delivered, or by commas.
    wanted (Sequence[Wanted]): What to look for.
    RETURNS (dict): (KB, native id) -> concept, of those found.
    RAISES (TermlinkError): See `check_concepts`.
    """
    found, n_vocabularies = _find_rows(path, {code for w in wanted for code in _codes(w)})
    chosen: dict[tuple[str, str], _Row] = {}
    for one in wanted:
        rows = [
            row
            for code in _codes(one)
            for row in found.get(code, ())
            if row.vocabulary in one.vocabularies
            or n_vocabularies == 1
            or (":" in one.concept_id and code == one.concept_id)
        ]
        if rows:
            chosen[one.kb, one.concept_id] = min(rows)
    others = {row.concept_id for row in chosen.values() if row.not_standard or row.invalid}
    standard = _find_standard(path, others)
    return {
        key: OmopConcept(standard.get(row.concept_id, row.concept_id), row.concept_id)
        for key, row in chosen.items()
    }


def _codes(one: Wanted) -> tuple[str, ...]:
    """The id as it is, and without its prefix."""
    return tuple(dict.fromkeys((one.concept_id, one.concept_id.rpartition(":")[2])))


def _vocabulary(name: str) -> str:
    bare = re.sub(r"[^0-9a-z]", "", name.casefold())
    return ALIASES.get(bare, bare)


def _find_rows(path: Path, codes: set[str]) -> tuple[dict[str, list[_Row]], int]:
    """Code -> rows; number of vocabularies in the file."""
    found: dict[str, list[_Row]] = defaultdict(list)
    vocabularies: set[str] = set()
    sought = pa.array(sorted(codes), type=pa.string())
    for batch in _open(path, CONCEPT_COLUMNS, ("standard_concept", "invalid_reason")):
        vocabularies.update(pc.unique(batch["vocabulary_id"]).to_pylist())
        for row in batch.filter(pc.is_in(batch["concept_code"], value_set=sought)).to_pylist():
            found[row["concept_code"]].append(
                _Row(
                    row.get("standard_concept", "S") != "S",
                    bool(row.get("invalid_reason")),
                    _number(row["concept_id"], path),
                    _vocabulary(row["vocabulary_id"]),
                )
            )
    return found, len(vocabularies)


def _find_standard(path: Path, others: set[int]) -> dict[int, int]:
    """Concept that is not standard -> the one it maps to, or 0; nothing without the file."""
    names = [p for p in path.parent.iterdir() if p.name.upper() == "CONCEPT_RELATIONSHIP.CSV"]
    if not others or not names:
        return {}
    standard = dict.fromkeys(others, 0)
    sought = pa.array([str(number) for number in sorted(others)], type=pa.string())
    for batch in _open(names[0], RELATION_COLUMNS, ("invalid_reason",)):
        maps = pc.equal(batch["relationship_id"], "Maps to")
        known = pc.is_in(batch["concept_id_1"], value_set=sought)
        for row in batch.filter(pc.and_(maps, known)).to_pylist():
            if not row.get("invalid_reason"):
                source = _number(row["concept_id_1"], names[0])
                target = _number(row["concept_id_2"], names[0])
                standard[source] = min(standard[source] or target, target)
    return standard


def _open(
    path: Path, needed: Sequence[str], more: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Blocks of a vocabulary file, its columns as strings; the file is looked at now."""
    require_file(path)
    with path.open("rb") as file:
        header = file.readline().decode("utf-8-sig", "replace").strip()
    tab = "\t" in header
    names = [name.strip('"').lower() for name in header.split("\t" if tab else ",")]
    if lacking := [name for name in needed if name not in names]:
        raise TermlinkError("TL864", path=path, reason=f"it has no column '{lacking[0]}'")
    columns = [name for name in (*needed, *more) if name in names]
    options = (
        pa_csv.ReadOptions(block_size=BLOCK_BYTES, column_names=names, skip_rows=1),
        # as delivered, a quote is a sign like any other
        pa_csv.ParseOptions(delimiter="\t" if tab else ",", quote_char=False if tab else '"'),
        pa_csv.ConvertOptions(
            include_columns=columns, column_types=dict.fromkeys(columns, pa.string())
        ),
    )
    return _blocks(path, options)


def _blocks(path: Path, options: tuple[Any, ...]) -> Iterator[pa.RecordBatch]:
    try:
        yield from pa_csv.open_csv(path, *options)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise TermlinkError("TL864", path=path, reason=reason) from None


def _number(text: str, path: Path) -> int:
    try:
        return int(text)
    except ValueError:
        raise TermlinkError("TL864", path=path, reason=f"'{text}' is no concept id") from None
