"""Whether a name says what its mention denies, whatever else they differ in: "close-set eyes" and
"wide-set eyes", "third nerve palsy" and "fourth cranial nerve palsy", "normal gait" and "abnormal
gait". `decisive.are_opposites` sees less, of names that are equal but for one word.

All texts are in normal form. The tables are English.
"""

from functools import lru_cache
from typing import NamedTuple, Union

from .numbers import read_numbers
from .stems import stem

#: Groups of words: "/" parts the poles of an axis. A word may stand at two poles ("unilateral" is
#: left or right), and on several axes.
AXES = (
    "increased increase increases increasing elevated elevation raised high higher excess excessive "
    "gain enlarged large big giant overactive overactivity hyperactive overdose overdosing "
    "overdosage overweight overproduction overgrowth toxicity intoxication poisoning polycythemia "
    "leukocytosis thrombocytosis lymphocytosis monocytosis neutrophilia eosinophilia / "
    "decreased decrease decreases decreasing reduced reduction diminished low deficient deficiency "
    "loss lack small tiny underactive underactivity hypoactive underdose underdosing underweight "
    "underproduction undergrowth underdeveloped insufficient",
    "large big enlarged enlargement giant / small tiny underdeveloped",
    "long tall elongated prolonged lengthened / short shortened",
    "wide widely broad widened / narrow narrowed thin slender",
    "wide widely far / close closely",
    "thick thickened full / thin thinned",
    "fast rapid accelerated / slow slowed",
    "loud / quiet soft weak",
    "moist wet / dry", "warm hot / cold cool", "strong / weak", "soft / hard firm", "light pale / dark",
    "stiff rigid / lax loose flexible floppy", "rough / smooth", "curly / straight",
    "sparse / dense thick", "flat depressed sunken / prominent protruding bulging", "convex / concave",
    "upslanted upslanting upturned upward upwards / downslanted downslanting downturned downward downwards",
    "early premature precocious / late delayed",
    "left unilateral / right unilateral / bilateral both bilaterally",
    "upper superior / lower inferior", "proximal / distal", "anterior / posterior", "medial / lateral",
    "internal inner / external outer", "deep / superficial", "central / peripheral",
    "horizontal / vertical", "ascending / descending", "inward / outward",
    "acute / chronic", "transient temporary / persistent permanent", "deciduous / permanent",
    "congenital / acquired", "primary / secondary", "antepartum prenatal antenatal / postpartum postnatal",
    "neonatal newborn infantile juvenile childhood pediatric / adult adulthood",
    "single solitary / multiple numerous many",
    "regular regularly / irregular irregularly irregularity irregularities",
    "able ability capable / unable inability incapable cannot",
    "positive / negative", "stable / unstable instability", "displaced / nondisplaced undisplaced",
    "symmetric symmetrical symmetry / asymmetric asymmetrical asymmetry",
    "complete / incomplete partial", "generalized diffuse / localized focal", "simple / complex",
    "open / closed", "malunion / nonunion", "traumatic / nontraumatic",
    "mild slight / moderate / severe / profound",
    "benign / malignant malignancy cancer cancerous carcinoma", "male / female", "maternal / paternal",
    "dominant / recessive", "systolic / diastolic", "sensory / motor", "arterial / venous",
    "viral / bacterial / fungal / parasitic", "conductive / sensorineural", "ischemic / hemorrhagic",
    "inspiratory / expiratory", "adduction / abduction",
)  # fmt: skip
#: Beginnings and endings that put a word at the first or second pole of an axis (its place above).
_BEGINNINGS = (
    ("hyper", 0, 0), ("hypo", 0, 1), ("macro", 1, 0), ("mega", 1, 0), ("micro", 1, 1),
    ("tachy", 6, 0), ("brady", 6, 1),
)  # fmt: skip
_ENDINGS = (("penia", 0, 1), ("megaly", 1, 0))
#: Words that begin so, but say nothing of an amount or a size.
_NO_AMOUNT = (
    "hyperop", "hypertelor", "hypochond", "hypogloss", "hypophary", "hypophys", "hypospad", "hypostas",
    "hypotelor", "hypothal", "macrophag", "megakary", "microang", "microb", "microsc",
)  # fmt: skip
#: What a beginning leaves of a word, at least.
LEAST_REST = 4

#: Words that deny what follows, up to one that ends their scope.
NEGATORS = frozenset(("no", "without", "not", "never", "denies", "denied"))
_ENDS_SCOPE = frozenset(("with", "but", "and", "except", "due", "from", "in", "on", "who", "to"))
#: "Laceration without foreign body of hand": the hand is not denied.
_FOREIGN = ["foreign", "body"]
_DENYING = ("non", "un", "in", "im", "ir")
#: Words with such a beginning that deny nothing.
_NO_DENIAL = (
    "implant", "import", "impress", "inborn", "inbre", "increas", "incurv", "indraw", "infold", "inform",
    "ingrow", "inlet", "input", "intens", "intent", "inturn", "under", "uni",
)  # fmt: skip
#: Words by which a text says without a negation that something is missing or worse: "absent speech"
#: is "no speech", "impaired glucose tolerance" is "glucose intolerance".
LACKING = frozenset((
    "abnormal", "abnormality", "abnormalities", "absence", "absent", "agenesis", "aplasia",
    "cannot", "decreased", "deficiency", "deficient", "delay", "delayed", "deterioration",
    "difficulty", "difficulties", "disorder", "disturbance", "failure", "impaired",
    "impairment", "inability", "inadequate", "incapable", "incomplete", "insufficient", "lack",
    "lacking", "late", "limited", "lose", "loses", "losing", "loss", "lost", "low", "missing",
    "poor", "problem", "problems", "reduced", "sparse", "trouble", "unable", "weak",
))  # fmt: skip
#: Words of a mention that say that nothing is wrong: no abnormality is meant.
NORMAL = frozenset(("normal", "normally", "unremarkable", "healthy", "intact", "wnl"))
_ABLE = frozenset(("able", "ability", "capable"))
#: Words beside which "normal" is a measure of something else, or "able" is restricted.
_COMPARING = frozenset((
    "above", "barely", "below", "beyond", "exceeding", "hardly", "high", "less", "low", "near",
    "nearly", "only", "otherwise", "outside", "than",
))  # fmt: skip
_OTHER_CLAUSE = frozenset(("with", "but", "despite", "except"))
#: Axes of AXES that are amounts and sizes, and beginnings of words that leave open which way.
_AMOUNTS = frozenset((0, 1))
_VAGUE = ("abnormal", "change", "defect", "disorder")
#: Where "absence" is a kind and says not that something is missing.
_KINDS = ("absence seizure", "absence epilep", "absence status", "absence attack")
#: A contradiction that is of no axis and no number.
DENIED = "<denied>"
NOTHING: frozenset[Union[int, str]] = frozenset()


class Claims(NamedTuple):
    """What a text says.

    poles (dict[int, frozenset[int]]): Axis (its place in AXES) -> poles.
    numbers (dict[str, frozenset[str]]): What is counted -> numbers (`numbers.read_numbers`).
    denied (frozenset[str]): Stems of the words that are denied.
    normal (frozenset[str]): The table, NORMAL or the words for "able", one of whose words says that
        nothing is wrong; empty if none does.
    """

    poles: dict[int, frozenset[int]]
    numbers: dict[str, frozenset[str]]
    denied: frozenset[str]
    normal: frozenset[str]


def contradictions(text: str, name: str) -> frozenset[Union[int, str]]:
    """In what a name says what its mention denies: the axes at whose other poles it stands, what it
    counts with other numbers, or DENIED where one denies what the other asserts or the mention says
    that nothing is wrong. A text that holds both poles ("low or high") contradicts neither.

    text, name (str): Normal forms.
    """
    mine, its = read_claims(text), read_claims(name)
    found: list[Union[int, str]] = []
    for axis, poles in mine.poles.items():
        if axis in its.poles and poles.isdisjoint(its.poles[axis]):
            found.append(axis)
    for counted, numbers in mine.numbers.items():
        others = its.numbers.get(counted)
        if others is not None and not (numbers <= others or others <= numbers):
            found.append(counted)
    if (
        (mine.normal and not _says(name, mine.normal))
        or (mine.denied and _is_denied(mine.denied, text, its.denied, name))
        or (its.denied and _is_denied(its.denied, name, mine.denied, text))
    ):
        found.append(DENIED)
    return frozenset(found) if found else NOTHING


def is_vague(text: str, name: str) -> bool:
    """Whether a name says only that something is abnormal ("abnormal hemoglobin", "thyroid disorder")
    where the mention says too much or too little, too large or too small.

    text, name (str): Normal forms.
    """
    amounts = _AMOUNTS & read_claims(text).poles.keys()
    if not amounts or not amounts.isdisjoint(read_claims(name).poles):
        return False
    return any(word.startswith(_VAGUE) for word in name.split(" "))


# names come again and again as candidates of a batch
@lru_cache(maxsize=16384)
def read_claims(text: str) -> Claims:
    """What a text says.

    text (str): Normal form.
    """
    words = text.split(" ")
    scope = _denied_places(words)
    poles: dict[int, frozenset[int]] = {}
    lacking = not LACKING.isdisjoint(words)
    for i, word in enumerate(words):
        if i in scope or words[i + 1 : i + 2] == ["than"]:
            continue
        if lacking and word in _ABLE:  # "loss of the ability"
            continue
        for axis, found in _poles(word):
            poles[axis] = poles.get(axis, frozenset()) | found
    denied = {stem(words[i]) for i in scope} | {stem(_denied_part(word)) for word in words}
    return Claims(poles, read_numbers(words), frozenset(denied - {""}), _normal(words, scope))


def _tables() -> dict[str, tuple[tuple[int, frozenset[int]], ...]]:
    found: dict[str, dict[int, frozenset[int]]] = {}
    for axis, group in enumerate(AXES):
        for pole, words in enumerate(group.split("/")):
            for word in words.split():
                axes = found.setdefault(word, {})
                axes[axis] = axes.get(axis, frozenset()) | {pole}
    return {word: tuple(axes.items()) for word, axes in found.items()}


_TABLED = _tables()


@lru_cache(maxsize=16384)
def _poles(word: str) -> tuple[tuple[int, frozenset[int]], ...]:
    tabled = _TABLED.get(word)
    if tabled is not None:
        return tabled
    if word.startswith(_NO_AMOUNT):
        return ()
    parts = [(len(part), *rest) for part, *rest in _BEGINNINGS if word.startswith(part)]
    parts += [(len(part), *rest) for part, *rest in _ENDINGS if word.endswith(part)]
    return tuple(
        (axis, frozenset((pole,)))
        for length, axis, pole in parts
        if len(word) - length >= LEAST_REST
    )


def _denied_places(words: list[str]) -> set[int]:
    """Places of the words in the scope of a negation."""
    found: set[int] = set()
    within = False
    for i, word in enumerate(words):
        if word in NEGATORS:
            within = True
        elif word in _ENDS_SCOPE or (word == "of" and words[i - 2 : i] == _FOREIGN):
            within = False
        elif within or words[i - 1 : i] == ["non"]:
            found.add(i)
    return found


@lru_cache(maxsize=16384)
def _denied_part(word: str) -> str:
    """What a negation is glued to: "ambulatory" of "nonambulatory"; "" of another word."""
    if word.startswith(_NO_DENIAL):
        return ""
    for part in _DENYING:
        if word.startswith(part) and len(word) - len(part) >= LEAST_REST:
            return word[len(part) :]
    return ""


def _normal(words: list[str], scope: set[int]) -> frozenset[str]:
    """See Claims. "Microcephaly with normal intelligence" is a finding, so is "below normal"."""
    for table in (NORMAL, _ABLE):
        if table.isdisjoint(words):
            continue
        places = [i for i, word in enumerate(words) if word in table and i not in scope]
        if not places:
            continue
        others = frozenset(words)
        if not (others & _COMPARING or others & LACKING or others & _OTHER_CLAUSE):
            joined = places[0] > 1 and "and" in words[1 : places[0]]
            return frozenset() if joined else table
    return frozenset()


def _says(name: str, table: frozenset[str]) -> bool:
    """Whether a name says so, too: "normal interictal EEG", not "loss of ability to walk"."""
    words = name.split(" ")
    said = any(word in table or word.startswith("normo") for word in words)
    return said and LACKING.isdisjoint(words)


def _is_denied(
    denied: frozenset[str], text: str, others_denied: frozenset[str], other: str
) -> bool:
    """Whether a text asserts what another denies. What says in other words that something is missing
    is no assertion: "absent speech" beside "no speech"; but "no loss" is no loss of another kind."""
    asserted = _asserted(other)
    shared = (denied & {stem(word) for word in asserted}) - others_denied
    said = _asserted(text)
    if not shared or shared <= {stem(word) for word in said}:
        return False
    return not LACKING.isdisjoint(_words_of(text) - said) or LACKING.isdisjoint(asserted - said)


def _words_of(text: str) -> set[str]:
    return set(text.split(" ")) - NEGATORS


def _asserted(text: str) -> set[str]:
    """The words that a text has outside of its negations."""
    words = text.split(" ")
    scope = _denied_places(words)
    found = {word for i, word in enumerate(words) if i not in scope} - NEGATORS
    return found - {"absence"} if any(kind in text for kind in _KINDS) else found
