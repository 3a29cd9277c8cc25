"""Spelling of single words, in lower case: British and American, singular and plural."""

import re
from functools import lru_cache

#: Parts of words, British -> American. Both sides of every comparison go through them, so a rule
#: may make a word odd; it must not make two words one.
_PARTS = {
    "aem": "em", "aesth": "esth", "aetio": "etio", "caec": "cec", "caes": "ces", "faec": "fec",
    "gynaec": "gynec", "laevo": "levo", "naev": "nev", "paed": "ped", "palaeo": "paleo",
    "phaeo": "pheo", "amoeb": "ameb", "coeli": "celi", "foet": "fet", "homoeo": "homeo",
    "oedem": "edem", "oesoph": "esoph", "oestr": "estr", "pnoe": "pne", "rrhoe": "rrhe",
    "manoeuvr": "maneuver", "leuco": "leuko", "sulph": "sulf",
    **{f"{part}our": f"{part}or" for part in
       ("tum", "col", "od", "behavi", "lab", "hum", "fav", "vap", "flav", "neighb", "hon", "harb",
        "rig")},
}  # fmt: skip
_PART = re.compile("|".join(_PARTS))
_ISE = re.compile(r"(?<=[a-z]{3})is(e|ed|ing|er|ers|ation|ations|able)$")
_YSE = re.compile(r"(?<=[a-z]{3})ys(e|ed|ing|er|ers)$")
_RE = re.compile(r"((?:^|[a-z])(?:cent|fib|lit|met|tit|goit|calib|theat|lust))re(s|d)?$")
_LL = re.compile(
    r"^(label|travel|cancel|model|channel|signal|level|counsel|tunnel|panel|pedal|funnel)"
    r"l(ed|ing|er|ers)$"
)
_OGUE = re.compile(r"(anal|catal|dial|homol)ogue(s?)$")
_WORDS = {
    "ageing": "aging", "aluminium": "aluminum", "defence": "defense", "disc": "disk",
    "discs": "disks", "distension": "distention", "fontanelle": "fontanel",
    "fontanelles": "fontanels", "grey": "gray", "greyish": "grayish", "judgement": "judgment",
    "mould": "mold", "moulds": "molds", "moustache": "mustache", "neurone": "neuron",
    "neurones": "neurons", "orientated": "oriented", "percent": "%", "plough": "plow",
    "programme": "program", "programmes": "programs", "skilful": "skillful",
    "tranquilliser": "tranquilizer", "tranquillisers": "tranquilizers",
}  # fmt: skip

IRREGULAR_PLURALS = {
    "feet": "foot", "teeth": "tooth", "children": "child", "men": "man", "women": "woman",
    "lice": "louse", "viscera": "viscus", "genera": "genus", "corpora": "corpus",
    "ova": "ovum", "septa": "septum", "data": "datum", "criteria": "criterion",
    "ganglia": "ganglion", "bacteria": "bacterium", "diverticula": "diverticulum",
    "femora": "femur", "crura": "crus", "foramina": "foramen", "calves": "calf", "halves": "half",
    "leaves": "leaf", "knives": "knife", "lives": "life",
}  # fmt: skip
_PLURAL_OF = {singular: plural for plural, singular in IRREGULAR_PLURALS.items()}
#: Plural ending -> singular endings, tried in order; the first ending that fits decides.
_ENDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ss", ()), ("us", ()), ("is", ()),
    ("inges", ("inx",)), ("anges", ("anx", "ange")), ("mata", ("ma",)),
    ("ices", ("ix", "ex", "ice")), ("ies", ("y", "ie")),
    ("sses", ("ss",)), ("shes", ("sh",)), ("ches", ("ch", "che")), ("xes", ("x", "xe")),
    ("zzes", ("zz",)), ("oes", ("o", "oe")), ("ses", ("sis", "se", "s")),
    ("ides", ("ide", "is")), ("s", ("",)),
    ("ae", ("a",)), ("ulae", ("ula",)), ("i", ("us",)), ("a", ("um", "on")),
)  # fmt: skip


@lru_cache(maxsize=1 << 17)
def american(word: str) -> str:
    """The American spelling of a lower-case word; itself where there is no other.

    word (str): In lower case.
    RETURNS (str): A fixed point: its own American spelling is itself.
    """
    if len(word) < 4 or len(word) > 64:  # longer is no word
        return word
    found = _WORDS.get(word, word)
    found = _PART.sub(lambda match: _PARTS[match.group()], found)
    found = _ISE.sub(r"iz\1", found)
    found = _YSE.sub(r"yz\1", found)
    found = _RE.sub(lambda m: f"{m[1]}er{'ed' if m[2] == 'd' else m[2] or ''}", found)
    found = _LL.sub(r"\1\2", found)
    found = _OGUE.sub(r"\1og\2", found)
    return found if found == word else american(found)


@lru_cache(maxsize=1 << 16)
def singulars(word: str) -> tuple[str, ...]:
    """What a word may be the plural of, the likeliest first; nothing for short words.

    word (str): In normal form.
    RETURNS (tuple[str, ...]): Candidates for a dictionary to confirm.
    """
    if len(word) < 4 or not word.isalpha() or not word.isascii():
        return ()
    if word in IRREGULAR_PLURALS:
        return (IRREGULAR_PLURALS[word],)
    for ending, others in _ENDINGS:
        if word.endswith(ending):
            stem = word[: len(word) - len(ending)]
            return tuple(stem + other for other in others) if len(stem) >= 2 else ()
    return ()


@lru_cache(maxsize=1 << 16)
def plurals(word: str) -> tuple[str, ...]:
    """What the plural of a word may be, the likeliest first; nothing for short words.

    word (str): In normal form.
    RETURNS (tuple[str, ...]): Candidates for a dictionary to confirm.
    """
    if len(word) < 3 or not word.isalpha() or not word.isascii():
        return ()
    if word in _PLURAL_OF:
        return (_PLURAL_OF[word],)
    if word.endswith("y") and word[-2] not in "aeiou":
        return (word[:-1] + "ies",)
    if word.endswith("is"):
        return (word[:-2] + "es",)
    if word.endswith("us"):
        return (word[:-2] + "i", word + "es")
    if word.endswith(("s", "sh", "ch", "z")):
        return (word + "es",)
    if word.endswith(("ix", "ex")):
        return (word[:-2] + "ices", word + "es")
    if word.endswith("nx"):
        return (word[:-1] + "ges",)
    if word.endswith("x"):
        return (word + "es",)
    if word.endswith("a"):
        return (word + "s", word + "e", word + "ta")
    if word.endswith("um"):
        return (word[:-2] + "a", word + "s")
    return (word + "s",)
