"""Words that decide which of two alike concepts a name means: type 1 or 2, left or right, hypo- or
hyper-. Each is known by the class of the difference and by its side of it, its pole (seed 000,
table 1)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from .stems import stem

#: Class -> groups of words. "/" parts the poles of a group; the words of one pole say the same.
OPPOSITES: dict[str, tuple[str, ...]] = {
    "left/right": ("left lt / right rt / bilateral both / unilateral",),
    "position": (
        "upper / lower", "proximal innermost / middle / distal outermost",
        "anterior ventral front / posterior dorsal back", "medial / lateral / central",
        "superior / inferior", "internal inner / external outer", "deep / superficial",
        "apical / basal", "central / peripheral", "horizontal / vertical",
    ),
    "acute/chronic": (
        "acute / subacute / chronic", "transient temporary / persistent permanent",
        "episodic intermittent paroxysmal / continuous persistent chronic",
        "progressive / stable stationary", "remission / relapse",
    ),
    "onset": (
        "congenital / acquired", "primary / secondary / tertiary",
        "delayed late / premature precocious early accelerated advanced",
        "antepartum prenatal / postpartum postnatal", "neonatal / infantile / juvenile / adult",
        "deciduous / permanent",
    ),
    "encounter": ("initial / subsequent / sequela",),
    "increased/decreased": (
        "increased elevated high raised excessive / decreased reduced low diminished / normal",
        "gain / loss", "excess / deficiency", "hyperactive / hypoactive",
    ),
    "size": (
        "large enlarged big giant / small tiny", "long elongated tall / short shortened",
        "wide broad widened / narrow thin slender narrowed", "thick thickened / thin thinned",
        "absent missing / small hypoplastic underdeveloped", "prominent protruding / depressed recessed",
    ),
    "with/without": (
        "with / without / no", "positive / negative", "present / absent", "stable / unstable",
        "displaced / nondisplaced", "malunion / nonunion", "traumatic / nontraumatic",
    ),
    "extent": (
        "complete total / partial incomplete", "generalized diffuse / localized focal / multifocal",
        "open / closed", "single solitary / multiple", "simple / complex", "major / minor",
        "symmetric / asymmetric",
    ),
    "severity": ("mild / moderate / severe / profound",),
    "benign/malignant": ("benign / malignant",),
    "sex": ("male / female", "maternal / paternal"),
    "inheritance": ("dominant / recessive",),
}  # fmt: skip
#: Class -> groups of beginnings: what follows them is the same in both words.
PREFIXES: dict[str, tuple[str, ...]] = {
    "hypo-/hyper-": ("hypo / hyper / normo",),
    "micro-/macro-": ("micro / macro mega megalo",),
    "other prefix": (
        "brady / tachy", "oligo / poly / mono / pan", "intra / extra / inter", "pre / post", "endo / exo",
        "sub infra / supra", "ante / retro", "hemi / mono / para / tetra quadri / di",
        "ab / ad", "lepto / pachy", "lordo / kypho", "eso / exo", "thrombo / leuko / erythro",
    ),
}  # fmt: skip
NEGATIONS = ("non", "un", "in")
#: What a prefix leaves of a word, at least: "hyper" and "hypo" alone, "under" are none.
LEAST_REST = 4

#: Words before a number or letter that say what it counts.
TYPE_HEADS = frozenset(("type", "types", "subtype", "form", "group", "variant"))
STAGE_HEADS = frozenset(
    ("stage", "stages", "grade", "grades", "class", "category", "phase", "level", "zone")
)
_ORDINALS = {
    "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6",
    "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10", "one": "1", "two": "2",
    "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
}  # fmt: skip
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_NUMBER = re.compile(r"\d+(?:[./]\d+)*[a-z]?")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LETTERED = re.compile(r"([a-z]+)(\d+)")  # cd4 and cd8, il2 and il6
_LETTER = re.compile(r"[a-z]|alpha|beta|gamma|delta|epsilon|kappa|lambda|ig[agmde]")

DEVICES = (
    "balloon", "band", "bypass", "cannula", "catheter", "defibrillator", "device", "electrode", "graft",
    "implant", "lead", "lens", "mesh", "pacemaker", "plate", "port", "prosthesis", "pump", "rod",
    "screw", "shunt", "sling", "stent", "stimulator", "suture", "tube", "valve", "wire",
    "cystostomy", "gastrostomy", "colostomy", "ileostomy", "tracheostomy", "nephrostomy",
)  # fmt: skip
#: Where the body parts of a terminology are looked for; `mining.minimal_pairs` finds more of them in
#: the places where a terminology puts these. Adjectives ("renal") have the stem of the noun.
BODY_PARTS = (
    "abdomen", "adrenal", "ankle", "anus", "aorta", "arm", "artery", "axilla", "back", "bladder", "bone",
    "brain", "breast", "bronchus", "buttock", "cartilage", "cerebellum", "cheek", "chest", "chin",
    "clavicle", "cochlea", "colon", "cornea", "ear", "elbow", "esophagus", "eye", "eyebrow", "eyelid",
    "eyelash", "face", "femur", "fibula", "finger", "fingernail", "foot", "forearm", "forehead",
    "gallbladder", "gingiva", "groin", "hair", "hallux", "hand", "head", "heart", "hip", "humerus",
    "intestine", "iris", "jaw", "joint", "kidney", "knee", "larynx", "leg", "lip", "liver", "lung",
    "mandible", "maxilla", "metacarpal", "metatarsal", "mouth", "muscle", "nail", "neck", "nerve",
    "nipple", "nose", "ovary", "palate", "pancreas", "patella", "pelvis", "penis", "pharynx",
    "prostate", "radius", "rectum", "retina", "rib", "scalp", "scapula", "scrotum", "shoulder",
    "skin", "skull", "spine", "spleen", "sternum", "stomach", "testis", "thigh", "thorax", "thumb",
    "thyroid", "tibia", "toe", "toenail", "tongue", "tooth", "trachea", "trunk", "ulna", "ureter",
    "urethra", "uterus", "vagina", "vein", "vertebra", "wrist",
)  # fmt: skip
BODY_PART = "body part"

#: Every class, in the order of the reports.
CLASSES = (
    "type", "stage or grade", "number", "left/right", "position", "acute/chronic", "onset", "encounter",
    "hypo-/hyper-", "micro-/macro-", "other prefix", "increased/decreased", "size", "with/without",
    "extent", "severity", "benign/malignant", "sex", "inheritance", BODY_PART, "device",
)  # fmt: skip


class Decisive(NamedTuple):
    """One reading of a decisive word.

    kind (str): Its class, one of CLASSES.
    slot (str): What stands for it where names are compared but for their decisive word: words with
        different poles and one slot are opposites.
    pole (str): Its side.
    """

    kind: str
    slot: str
    pole: str


class DecisiveWords:
    """The decisive words of a vocabulary, each with its readings.

    A word with a prefix, or with a negation, is decisive only where its opposite is a word, too.
    """

    def __init__(self, vocabulary: Iterable[str], body_parts: frozenset[str]) -> None:
        """Read the words.

        vocabulary (Iterable[str]): Words of normal forms.
        body_parts (frozenset[str]): Stems of body parts, `body_part_stems()` or more.
        """
        words = sorted(set(vocabulary))
        poles: dict[str, set[str]] = {}
        prefixed = {word: tuple(_prefixed(word)) for word in words}
        for readings in prefixed.values():
            for found in readings:
                poles.setdefault(found.slot, set()).add(found.pole)
        self._readings: dict[str, tuple[Decisive, ...]] = {}
        for word in words:
            own = [*_TABLED.get(word, ()), *(r for r in prefixed[word] if len(poles[r.slot]) > 1)]
            if stem(word) in body_parts:
                own.append(Decisive(BODY_PART, "<body part>", stem(word)))
            if own:
                self._readings[word] = tuple(own)

    def read(self, words: list[str], i: int) -> Iterator[Decisive]:
        """Every reading of word i of a name as a decisive word.

        words (list[str]): Words of a normal form.
        """
        yield from _counted(words, i)
        yield from self._readings.get(words[i], ())


def are_opposites(words: list[str], others: list[str]) -> bool:
    """Whether two names are equal but for one word each, and these are opposites: "low TSH" and "high
    TSH". Other order is no difference; a number and a part of it (2, 2a) are no opposites.

    words, others (list[str]): Words of normal forms.
    """
    if len(words) != len(others) or len(set(words) ^ set(others)) > 2:
        return False  # what nearly all pairs are
    left, right = Counter(words) - Counter(others), Counter(others) - Counter(words)
    if left.total() != 1 or right.total() != 1:
        return False
    [word], [other] = left, right
    return any(
        a.slot == b.slot and a.pole != b.pole and not _is_part(a.pole, b.pole)
        for a in _readings(words, words.index(word))
        for b in _readings(others, others.index(other))
    )


def _readings(words: list[str], i: int) -> Iterator[Decisive]:
    """As `DecisiveWords.read`, of a word whose opposite is at hand."""
    yield from _counted(words, i)
    yield from _of_word(words[i])


# the words of names come again and again in the candidates of a batch
@lru_cache(maxsize=16384)
def _of_word(word: str) -> tuple[Decisive, ...]:
    found = [*_TABLED.get(word, ()), *_prefixed(word)]
    if stem(word) in body_part_stems():
        found.append(Decisive(BODY_PART, "<body part>", stem(word)))
    return tuple(found)


def _is_part(pole: str, other: str) -> bool:
    return pole[:1].isdigit() and pole.rstrip(_LETTERS) == other.rstrip(_LETTERS) and pole != other


@lru_cache(maxsize=1)
def body_part_stems() -> frozenset[str]:
    """Stems of BODY_PARTS."""
    return frozenset(map(stem, BODY_PARTS))


def is_tabled(word: str) -> bool:
    """Whether a word has a place in one of the tables of opposites or devices, or counts."""
    return word in _TABLED or _value(word) is not None


def _tables() -> dict[str, tuple[Decisive, ...]]:
    found: dict[str, list[Decisive]] = {}
    for kind, groups in OPPOSITES.items():
        for group in groups:
            for pole in group.split("/"):
                words = pole.split()
                for word in words:
                    slot = f"<{group.replace(' ', '')}>"
                    found.setdefault(word, []).append(Decisive(kind, slot, words[0]))
    for word in DEVICES:
        for form in (word, f"{word}s"):
            found.setdefault(form, []).append(Decisive("device", "<device>", word))
    return {word: tuple(readings) for word, readings in found.items()}


_TABLED = _tables()
_PREFIX_POLES = tuple(
    (kind, group.replace(" ", ""), prefix, pole.split()[0])
    for kind, groups in PREFIXES.items()
    for group in groups
    for pole in group.split("/")
    for prefix in pole.split()
)


def _prefixed(word: str) -> Iterator[Decisive]:
    if len(word) < LEAST_REST or not word.isalpha():
        return
    for kind, group, prefix, pole in _PREFIX_POLES:
        if word.startswith(prefix) and len(word) - len(prefix) >= LEAST_REST:
            yield Decisive(kind, f"<{group}>{word[len(prefix) :]}", pole)
    # a word and its negation share the slot of the word without it
    for negation in NEGATIONS:
        if word.startswith(negation) and len(word) - len(negation) >= LEAST_REST:
            yield Decisive("with/without", f"<{negation}>{word[len(negation) :]}", negation)
        yield Decisive("with/without", f"<{negation}>{word}", "")


def _counted(words: list[str], i: int) -> Iterator[Decisive]:
    value = _value(words[i])
    if value is not None:
        before = words[i - 1] if i else ""
        after = words[i + 1] if i + 1 < len(words) else ""
        if before in STAGE_HEADS or after in ("degree", "stage", "grade"):
            kind = "stage or grade"
        elif before in TYPE_HEADS or not value[0].isdigit():
            kind = "type"
        else:
            kind = "number"
        yield Decisive(kind, "<number>" if value[0].isdigit() else "<letter>", value)
    elif (match := _LETTERED.fullmatch(words[i])) is not None:
        yield Decisive("number", f"<{match[1]}number>", match[2])


def _value(word: str) -> str | None:
    """The number or letter that a word is, None for another word."""
    ordinal = _ORDINAL.fullmatch(word)
    if ordinal:
        return ordinal[1]
    if word in _ORDINALS:
        return _ORDINALS[word]
    return word if _NUMBER.fullmatch(word) or _LETTER.fullmatch(word) else None
