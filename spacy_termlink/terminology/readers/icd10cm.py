"""ICD-10-CM tabular list, the XML that NCHS publishes."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from ..concept import Concept, Name, Relation
from ._input import parse_xml, squeeze

#: A code is complete with seven characters; the dot after the third is not one of them.
WRITTEN_LENGTH = 7
#: "7th characters D and S do not apply to codes in category S06 with 6th character 7 - ..., or 8 - ..."
_EXCEPTION = re.compile(
    r"7th characters? (.+?) do(?:es)? not apply to codes in category (\S+) with (.+)"
)
_RANGE = re.compile(r"\s*\([A-Z]\w\w(-[A-Z]\w\w)?\)$")
#: "()" hold words that may be there or not, "[]" other wordings.
_BRACKETS = re.compile(r"\s*\([^()]*\)|\s*\[[^][]*\]")
#: External causes and poisonings: their terms are whole under their heading only ("Cocaine (topical)").
_UNDER_HEADING = re.compile(r"[V-Y]|T(?:3[6-9]|[45]|6[0-5])")
#: A plain name of so few letters is a word of everyday, as the "Fit" of "Fit NOS".
_LEAST_PLAIN = 3
_UNSPECIFIED = re.compile(r",? (?:NOS|unspecified)$")
_LEADING = re.compile(r"^Unspecified (?=\w)")
#: Of an injury the words behind "Unspecified" name a class: "Unspecified injury", "... fracture of ...".
_INJURY = re.compile(r"[ST]")


class Extensions:
    """The seventh characters that a code and all codes below it take.

    texts (dict[str, list[str]]): Character -> its meaning, then other wordings of it.
    exceptions (list[tuple[str, str, str]]): Category, 6th characters, 7th characters that do not
        go together.
    """

    def __init__(self, texts: dict[str, list[str]], exceptions: list[tuple[str, str, str]]) -> None:
        self.texts = texts
        self.exceptions = exceptions

    def of(self, code: str) -> Iterator[tuple[str, list[str]]]:
        """Yield (complete code, meanings of its last character) for a code without children."""
        base = (code if len(code) > 3 else f"{code}.").ljust(WRITTEN_LENGTH, "X")
        for char, texts in self.texts.items():
            if not any(
                base.startswith(category) and base[-1] in sixth and char in seventh
                for category, sixth, seventh in self.exceptions
            ):
                yield base + char, texts


NO_EXTENSIONS = Extensions({}, [])


def read_icd10cm(path: Path) -> Iterator[Concept]:
    """Yield chapters, sections and codes, each is_a the one it stands in.

    Ids: a chapter's number ("1"), a section's range ("A00-A09"; "B99-B99" where the range is one
    category, whose own id is "B99"), a code with its dot ("E11.9", "S06.0X0A"). Names: the
    description (preferred), inclusion terms (exact), includes notes (narrow); `source` of a name says
    which. By the conventions of the classification a name is also given without the words in
    brackets, which may be there or not, and without "NOS" or "unspecified" at its end (and, injuries
    aside, "Unspecified" at its beginning): exact, or narrow where the name was. (As printed, no text has
    "Acute kidney injury (nontraumatic)", "Hypothyroidism, unspecified" or "Unspecified jaundice".)
    Excludes, code first, use additional code and code also are instructions, never names.
    Semantic types: chapter, section, category or subcategory, and billable where no code extends it.

    path (Path): The file.
    RAISES (TermlinkError): TL105 or TL108 if it is another file.
    """
    root = _root(path)
    for chapter in root.iterfind("chapter"):
        yield from _read_node(chapter, parent="", extensions=NO_EXTENSIONS)


def describe_icd10cm(path: Path) -> dict[str, str]:
    """Release, as the file says (the fiscal year)."""
    return {"release": squeeze(_root(path).findtext("version"))}


def _root(path: Path) -> Element:
    return parse_xml(path, format="icd10cm", roots=("ICD10CM.tabular",))


def _read_node(node: Element, *, parent: str, extensions: Extensions) -> Iterator[Concept]:
    code = _code(node)
    kind = _kind(node, code)
    children = [child for child in node if child.tag in ("section", "diag")]
    extensions = _read_extensions(node) or extensions
    extended = [] if children or node.tag != "diag" else list(extensions.of(code))
    concept = Concept(code, _description(node), _names(node), semantic_types=[kind])
    if node.tag == "diag" and not children and not extended:
        concept.semantic_types.append("billable")
    if parent:
        concept.relations.append(Relation("is_a", parent))
    yield concept
    for child in children:
        yield from _read_node(child, parent=code, extensions=extensions)
    for full_code, (text, *others) in extended:
        yield Concept(
            full_code,
            f"{concept.name}, {text}",
            [Name(f"{concept.name}, {other}", "exact", source="sevenChrDef") for other in others],
            semantic_types=["subcategory", "billable"],
            relations=[Relation("is_a", code)],
        )


def _code(node: Element) -> str:
    if node.tag != "section":
        return squeeze(node.findtext("name"))
    code = node.get("id", "")
    return code if "-" in code else f"{code}-{code}"


def _kind(node: Element, code: str) -> str:
    if node.tag != "diag":
        return node.tag
    return "category" if "." not in code else "subcategory"


def _description(node: Element) -> str:
    text = squeeze(node.findtext("desc"))
    # chapters and sections repeat their range of codes: "Tuberculosis (A15-A19)"
    return text if node.tag == "diag" else _RANGE.sub("", text)


def _names(node: Element) -> list[Name]:
    names = []
    for tag, kind in (("inclusionTerm", "exact"), ("includes", "narrow")):
        for element in node.iterfind(tag):
            names += [Name(text, kind, source=tag) for text in _notes(element)]
    # a note among the extensions that does not go on in lower case is a term of the whole code
    names += [
        Name(squeeze(note.text), "exact", source="sevenChrDef")
        for note in node.iterfind("sevenChrDef/note")
        if not _is_wording(note)
    ]
    names = [name for name in names if name.text]
    if node.tag != "diag" or _UNDER_HEADING.match(_code(node)):
        return names
    return [*names, *_plain_names(node, names)]


def _plain_names(node: Element, names: list[Name]) -> Iterator[Name]:
    description = Name(_description(node), "exact", source="desc")
    seen = {name.text.lower() for name in (description, *names)}
    injury = bool(_INJURY.match(_code(node)))
    for name in (description, *names):
        text = _plain(name.text if injury else _LEADING.sub("", name.text))
        if text.lower() not in seen:
            seen.add(text.lower())
            yield Name(text, name.kind, source=name.source)


def _plain(text: str) -> str:
    """A name without what may be left out; as it is where little would be left of it."""
    plain = _UNSPECIFIED.sub("", _BRACKETS.sub("", text)).strip(" ,;")
    return plain if len(plain) > _LEAST_PLAIN else text


def _notes(element: Element) -> Iterator[str]:
    """Texts of the notes; one that ends in a colon is completed by each that follows it."""
    lead = ""
    notes = [squeeze(note.text) for note in element.iterfind("note")]
    for note in notes:
        if note.endswith(":") and note != notes[-1]:
            lead = note[:-1] + " "
        else:
            yield lead + note


def _is_wording(note: Element) -> bool:
    return squeeze(note.text)[:1].islower()


def _read_extensions(node: Element) -> Extensions | None:
    definition = node.find("sevenChrDef")
    if definition is None:
        return None
    texts: dict[str, list[str]] = {}
    last: list[str] = []
    for element in definition:
        if element.tag == "extension":
            last = texts.setdefault(element.get("char", ""), [])
            last.append(squeeze(element.text))
        elif last and _is_wording(element):
            last.append(squeeze(element.text))
    return Extensions(texts, list(_read_exceptions(node)))


def _read_exceptions(node: Element) -> Iterator[tuple[str, str, str]]:
    for note in node.iterfind("notes/note"):
        if found := _EXCEPTION.search(squeeze(note.text)):
            seventh, category, sixth = found.groups()
            yield (
                category,
                "".join(re.findall(r"\b([0-9A-Z]) - ", sixth)),
                "".join(re.findall(r"\b[0-9A-Z]\b", seventh)),
            )
