"""Stems: what the forms of a medical word have in common.

English, and Latin endings. A word of another language is left as it is or loses an ending on both
sides of a comparison alike. Stems only propose; what may count as the same is checked on the words.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from ..spelling import IRREGULAR_PLURALS

#: Words that are there for grammar: they take no part in the comparison of names.
FUNCTION_WORDS = frozenset(("of", "the", "in", "is", "are", "was", "were", "be", "been"))
VERBS = frozenset(("is", "are", "was", "were", "be", "been"))
#: Words that all say "not normal", and words that add nothing beside one of them.
_ABNORMAL = ("abnormal", "abnormality", "abnormalities", "anomaly", "anomalies", "malformation",
             "malformations", "deformity", "deformities", "defect", "defects")  # fmt: skip
#: Words by which a text says that something is not normal; no name of a malformation is meant.
_VAGUE = frozenset(("deficit", "deficits", "disorder", "disorders", "disturbance", "disturbances",
                    "manifestation", "manifestations", "problem", "problems", "sign", "signs"))  # fmt: skip
_GENERAL = frozenset(("abnormal", "abnormality", "abnormalities", "anomaly", "anomalies"))
_EMPTY = ("morphology",)
#: Adjective -> noun, where the adjective's own stem differs.
_ADJECTIVES = {
    "abdominal": "abdomen", "anal": "anus", "aortic": "aorta", "arterial": "artery",
    "atrial": "atrium", "cardiac": "heart", "cerebellar": "cerebellum", "clavicular": "clavicle",
    "cochlear": "cochlea", "colonic": "colon", "corneal": "cornea", "costal": "rib",
    "crises": "crisis", "cutaneous": "skin", "dental": "tooth", "duodenal": "duodenum", "esophageal": "esophagus",
    "facial": "face", "femoral": "femur", "fibular": "fibula", "gastric": "stomach",
    "genital": "genitalia", "gingival": "gingiva", "hepatic": "liver",
    "hippocampal": "hippocampus", "humeral": "humerus", "hypothalamic": "hypothalamus",
    "intestinal": "intestine", "labial": "lip", "laryngeal": "larynx", "lingual": "tongue",
    "macular": "macula", "mandibular": "mandible", "maxillary": "maxilla",
    "muscular": "muscle", "nasal": "nose", "ocular": "eye", "ophthalmic": "eye", "oral": "mouth",
    "otic": "ear", "ovarian": "ovary", "palatal": "palate", "palpebral": "eyelid",
    "patellar": "patella", "pelvic": "pelvis", "penile": "penis", "phalangeal": "phalanx", "pharyngeal": "pharynx",
    "pulmonary": "lung", "rectal": "rectum", "renal": "kidney", "retinal": "retina",
    "sacral": "sacrum", "scapular": "scapula", "scrotal": "scrotum", "septal": "septum",
    "spinal": "spine", "splenic": "spleen", "testicular": "testis", "testes": "testis",
    "thalamic": "thalamus", "thoracic": "thorax", "tibial": "tibia", "tracheal": "trachea",
    "ulnar": "ulna", "umbilical": "umbilicus", "ungual": "nail", "uterine": "uterus",
    "valvular": "valve", "venous": "vein", "ventricular": "ventricle", "vertebral": "vertebra",
}  # fmt: skip
#: Adjective -> words beside which it names another structure than its noun, or another thing: "aortic
#: stenosis" is one of the valve, "spinal fusion" an operation, a "femoral hernia" none of the femur.
_OTHERWISE = {
    "aortic": "stenosis insufficiency incompetence regurgitation sclerosis atresia prolapse",
    "pulmonary": "stenosis insufficiency incompetence regurgitation atresia hypertension embolism "
                 "thrombosis",
    "spinal": "fusion tap block anesthesia shock nerve",
    "femoral": "hernia pulse neuropathy nerve",
    "tibial": "neuropathy nerve palsy", "ulnar": "neuropathy nerve palsy",
    "labial": "fusion adhesion hypertrophy hypoplasia",
    "oral": "contraceptive contraception intake medication",
}  # fmt: skip
#: Word -> a word that says the same in the names of findings.
_SAME = {
    "absence": "absent", "missing": "absent", "bleeding": "hemorrhage", "broadened": "broad",
    "broadening": "broad", "convulsion": "seizure", "convulsions": "seizure",
    "diminished": "decreased", "elevated": "increased", "elevation": "increased",
    "elongated": "long", "extremities": "limb", "extremity": "limb", "first": "1st",
    "fifth": "5th", "flattened": "flat", "flattening": "flat", "fourth": "4th",
    "level": "concentration", "levels": "concentration", "numerous": "multiple",
    "raised": "increased", "reduced": "decreased", "reduction": "decreased", "second": "2nd",
    "shortened": "short", "shortening": "short", "thickened": "thick", "thickening": "thick",
    "third": "3rd", "tumor": "neoplasm", "tumors": "neoplasm", "wide": "broad",
    "widened": "broad", "widening": "broad",
}  # fmt: skip
_WORDS = {**_ADJECTIVES, **_SAME, **dict.fromkeys((*_ABNORMAL, *sorted(_VAGUE)), "abnormal")}
#: (ending, replacement, least length of what stands before it); the first that fits is applied.
_PLURAL = (
    ("lens", "lens", 0), ("ss", "ss", 0), ("us", "us", 0), ("is", "is", 0),
    ("phalanges", "phalanx", 0), ("larynges", "larynx", 0), ("pharynges", "pharynx", 0),
    ("meninges", "meninx", 0), ("ices", "ix", 4), ("mata", "ma", 3), ("ies", "y", 2),
    ("sses", "ss", 1), ("nses", "ns", 1), ("shes", "sh", 1), ("ches", "ch", 1), ("xes", "x", 1), ("ae", "a", 2),
    ("s", "", 3),
)  # fmt: skip
_ADJECTIVAL = (
    ("plastic", "plasia", 1), ("lytic", "lysis", 3), ("istic", "ism", 2), ("otic", "osis", 4),
    ("ically", "", 4), ("ical", "", 4), ("atous", "a", 3), ("iness", "y", 4), ("ness", "", 3),
    ("ement", "", 4), ("ment", "", 4), ("ity", "", 4),
)  # fmt: skip
_VERBAL = (
    ("ation", "", 4), ("ating", "", 4), ("ated", "", 4), ("ied", "y", 3), ("ion", "", 4),
    ("ed", "", 3), ("ing", "", 3),
)  # fmt: skip
_LAST = (
    ("ix", "", 4), ("ex", "", 4), ("ate", "", 5), ("ia", "", 4), ("ic", "", 4), ("ism", "", 4),
    ("ous", "", 4), ("us", "", 3), ("um", "", 4), ("is", "", 5), ("a", "", 4), ("i", "", 3),
    ("y", "", 4), ("e", "", 4),
)  # fmt: skip


def rules_fingerprint() -> str:
    """Tells one release's stems from another's: keys of a dictionary fit those it was built with."""
    rules = (_WORDS, _EMPTY, sorted(FUNCTION_WORDS), _PLURAL, _ADJECTIVAL, _VERBAL, _LAST)
    return hashlib.sha256(repr(rules).encode("utf8")).hexdigest()


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """The stem of a word; "" for a word that adds nothing.

    word (str): In normal form.
    """
    if len(word) < 4 or not (word.isascii() and word.isalpha()) or len(word) > 40:
        return "" if word in FUNCTION_WORDS else word
    if word in _EMPTY or word in FUNCTION_WORDS:
        return ""
    word = _WORDS.get(word, word)
    word = IRREGULAR_PLURALS.get(word, word)
    for endings in (_PLURAL, _ADJECTIVAL, _VERBAL, _LAST):
        word = _change_ending(word, endings)
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":  # thinn(ing), no skull
        word = word[:-1]
    return word


def is_adjective(word: str) -> bool:
    """Whether a word is an adjective for certain: of an organ, or by its ending."""
    return word in _ADJECTIVES or word.endswith(("ic", "atous", "plastic"))


def says_the_same(name_word: str, text_word: str) -> bool:
    """Whether two words of one stem may stand for each other: "eye signs" and "eye disorder" are an
    abnormality of the eye, but no malformation of it, and no disorder where a name says "sign"."""
    if name_word in _VAGUE or text_word in _VAGUE:
        vague = name_word in _VAGUE and text_word in _VAGUE
        same = vague and name_word.rstrip("s") == text_word.rstrip("s")
        return same or (text_word in _VAGUE and name_word in _GENERAL)
    return True


@lru_cache(maxsize=1)
def _otherwise() -> dict[str, frozenset[str]]:
    return {
        adjective: frozenset(map(stem, words.split())) for adjective, words in _OTHERWISE.items()
    }


def names_another(name_word: str, text_word: str, stems: Iterable[str]) -> bool:
    """Whether one of two words of one stem is an adjective that names another thing than the other,
    its noun, beside words of these stems: "aortic" and "aorta" beside "stenosis"."""
    if name_word == text_word:
        return False
    table = _otherwise()
    return any(
        word in table and not table[word].isdisjoint(stems) for word in (name_word, text_word)
    )


def _change_ending(word: str, endings: tuple[tuple[str, str, int], ...]) -> str:
    for ending, replacement, least in endings:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word[: len(word) - len(ending)] + replacement
    return word
