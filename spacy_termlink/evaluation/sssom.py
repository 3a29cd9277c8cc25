"""Mappings as SSSOM (Simple Standard for Sharing Ontological Mappings), as one tsv with its metadata
in the head; the slots are those of SSSOM 1.0.
"""

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Optional
from urllib.parse import quote, unquote

from .. import __version__
from ..files import atomic_file
from ..terminology import Terminology
from ..terminology.iris import OBO, OBO_IN_OWL
from .matching import Pair

#: From this score on a pair is an exact match, under it a close match.
EXACT_FROM = 0.9
NO_LICENCE = "https://w3id.org/sssom/license/unspecified"
#: Where concepts of a prefix of the OBO library lie; other prefixes are resolved by the Bioregistry.
OBO_READERS = ("obo", "owl", "obograph")
REGISTRY = "https://bioregistry.io/"
COLUMNS = (
    "subject_id", "subject_label", "predicate_id", "object_id", "object_label",
    "mapping_justification", "confidence", "subject_match_field", "object_match_field",
    "match_string", "comment",
)  # fmt: skip
#: Property that a name of a kind is a value of.
FIELDS = {
    "preferred": "rdfs:label",
    "exact": "oboInOwl:hasExactSynonym",
    "narrow": "oboInOwl:hasNarrowSynonym",
    "broad": "oboInOwl:hasBroadSynonym",
}
OTHER_FIELD = "oboInOwl:hasRelatedSynonym"

_CURIE = re.compile(r"([A-Za-z_][\w.\-]*):(\S+)")
_NO_NAME = re.compile(r"[^A-Za-z0-9_]")


def write_sssom(
    path: Path,
    pairs: Sequence[Pair],
    a: Terminology,
    b: Terminology,
    *,
    licence: str = NO_LICENCE,
    description: str = "",
) -> None:
    """Write pairs as mappings, in the order of A's ids.

    A pair is `skos:exactMatch` from EXACT_FROM on, else `skos:closeMatch`. Its justification is
    `semapv:LexicalMatching` where the two names have one normal form, which is the match string, else
    `semapv:SemanticSimilarityThresholdMatching`. `confidence` is the score. Ids that are no CURIEs get
    the source's name as prefix. No date is written: the same pairs give the same bytes.

    licence (str): Address of the licence of the mappings.
    description (str): How they were made.
    """
    prefixes: dict[str, str] = {}
    rows = [_row(pair, a, b, prefixes) for pair in sorted(pairs, key=lambda p: p[:2])]
    head = _head(a, b, prefixes, licence, description, rows)
    with atomic_file(path) as part, part.open("w", encoding="utf8", newline="\n") as file:
        file.writelines(f"#{line}\n" for line in _yaml(head))
        file.write("\t".join(COLUMNS) + "\n")
        file.writelines("\t".join(map(_cell, row)) + "\n" for row in rows)


def _row(pair: Pair, a: Terminology, b: Terminology, prefixes: dict[str, str]) -> tuple[str, ...]:
    lexical = pair.is_lexical
    justification = "LexicalMatching" if lexical else "SemanticSimilarityThresholdMatching"
    return (
        curie(a, a.concept_id(pair.subject), prefixes),
        a.preferred_name(pair.subject),
        "skos:exactMatch" if pair.score >= EXACT_FROM else "skos:closeMatch",
        curie(b, b.concept_id(pair.object), prefixes),
        b.preferred_name(pair.object),
        f"semapv:{justification}",
        f"{min(1.0, pair.score):.4f}",
        FIELDS.get(pair.subject_kind, OTHER_FIELD),
        FIELDS.get(pair.object_kind, OTHER_FIELD),
        # a bar would separate two values
        _plain(pair.object_name).replace("|", "/") if lexical else "",
        f"{pair.subject_name} = {pair.object_name}",
    )


def curie(terminology: Terminology, concept_id: str, prefixes: dict[str, str]) -> str:
    """Id as a CURIE; what its prefix stands for is added to `prefixes`."""
    meta = terminology.meta
    if (match := _CURIE.fullmatch(concept_id)) and not match[2].startswith("//"):
        prefix, local = match.groups()
        space = f"{OBO}{prefix}_" if meta["reader"] in OBO_READERS else f"{REGISTRY}{prefix}:"
    else:
        prefix = _source_prefix(terminology)
        local, space = quote(concept_id, safe="._-~"), f"{REGISTRY}{prefix}:"
    prefixes.setdefault(prefix, space)
    return f"{prefix}:{local}"


def concept_of(terminology: Terminology, written: str) -> str:
    """The inverse of `curie`: an id without the prefix that its source's name gave it. What has
    another prefix stays as it is."""
    local = written.removeprefix(f"{_source_prefix(terminology)}:")
    return written if local == written else unquote(local)


def _source_prefix(terminology: Terminology) -> str:
    prefix = _NO_NAME.sub("_", terminology.meta["source"] or "concept")
    return prefix if prefix[0].isalpha() else f"_{prefix}"


def _head(
    a: Terminology,
    b: Terminology,
    prefixes: dict[str, str],
    licence: str,
    description: str,
    rows: list[tuple[str, ...]],
) -> dict[str, Any]:
    content = json.dumps(
        [a.meta["source"], a.meta["release"], b.meta["source"], b.meta["release"], rows]
    )
    said = [f"{_named(side)}, licence: {side.meta['licence'] or 'not stated'}" for side in (a, b)]
    return {
        "curie_map": {**dict(sorted(prefixes.items())), "oboInOwl": OBO_IN_OWL},
        # the same content has the same id
        "mapping_set_id": f"https://w3id.org/sssom/mappings/{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "mapping_set_title": f"{_named(a)} to {_named(b)}",
        "mapping_set_description": description or None,
        "license": licence,
        "subject_source_version": a.meta["release"] or None,
        "object_source_version": b.meta["release"] or None,
        "mapping_tool": "termlink match",
        "mapping_tool_version": __version__,
        "comment": "; ".join(said),
    }


def _named(terminology: Terminology) -> str:
    return f"{terminology.meta['source']} {terminology.meta['release']}".strip()


def _yaml(data: dict[str, Any]) -> Iterator[str]:
    """Lines of a mapping of texts, one level deep; a JSON string is a YAML string."""
    for key, value in data.items():
        if isinstance(value, dict):
            yield f"{key}:"
            yield from (f"  {name}: {_quoted(text)}" for name, text in value.items())
        elif value is not None:
            yield f"{key}: {_quoted(value)}"


def _quoted(text: Optional[str]) -> str:
    return json.dumps(_plain(text or ""), ensure_ascii=False)


def _cell(text: str) -> str:
    text = _plain(text)
    return '"' + text.replace('"', '""') + '"' if '"' in text else text


def _plain(text: str) -> str:
    """Text on one line, without a tab."""
    return " ".join(text.split())
