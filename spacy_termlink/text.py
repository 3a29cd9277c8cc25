"""Name normalisation: one function, used on every side (names, mentions, matcher).

Two texts with the same normal form count as the same name, so the rules only undo differences of
spelling. Signs that can change what a name says (+, -, <, >, %, a decimal point) are kept.
"""

import re
import unicodedata
from collections.abc import Iterator

from .spelling import american, plurals, singulars

_POSSESSIVE = re.compile(r"(?<=[^\W\d_])'s(?![^\W_])")
# "CD4+", "Rh+" (a letter in the word); "p53-" (letter and digit, so not "neuro- and ...")
_POSITIVE = re.compile(r"(?<![^\W_])(?=\d*[a-z])([a-z0-9]+)\+(?![^\W_])")
_NEGATIVE = re.compile(
    r"(?<![^\W_])(?=[a-z]*\d)(?=\d*[a-z])([a-z0-9]+)-(?![^\W_])(?!\s*(?:and|or|to)\b)"
)
_LEADING_POINT = re.compile(r"(?<![^\W_])(?<!\.)\.(?=\d)")
_LOOSE_POINT = re.compile(r"(?<!\d)[./]|[./](?!\d)")
_ONE_GREEK = re.compile(r"(?<![\u0370-\u03ff])([\u0391-\u03a9\u03b1-\u03c9])(?![\u0370-\u03ff])")
_GREEK_PAIR = re.compile(
    r"\b(?:\u03b1\u03b2|\u03b3\u03b4)(?![\u0370-\u03ff])"
)  # of T-cell receptors
_MICRO = re.compile(r"\u03bc(?=(?:g|l|m|mol|s)\b)")
_CJK = "\u3005-\u3007\u3040-\u3096\u309d-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_BESIDE_CJK = re.compile(f"(?<=[{_CJK}]) | (?=[{_CJK}])")
_LATIN_MARK = re.compile("(?<=[a-zA-Z])[\u0300-\u036f]+")
# what NFKC would fuse with the digits before it: 10\u2079 is not 109, 1\u00bd is not 11/2
_FUSING = re.compile("(?<=[0-9])([\u00b2\u00b3\u00b9\u2070-\u207e\u00bc-\u00be\u2150-\u215e])")
_SPELLED = re.compile(r"[^a-z0-9 ]")
_NUMBER = re.compile(r"\d+[a-z]?(?:/\d+[a-z]?)*")
_GLUED = re.compile(r"(type|grade|stage|class|phase|group)(\d+[a-z]?)")
_ROMAN = re.compile(r"(x{0,3}(?:ix|iv|v?i{0,3}))([a-e]?)")

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu",
    "ξ": "xi", "ο": "omicron", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon",
    "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega",
}  # fmt: skip
#: Latin letters that Unicode does not decompose.
_LETTERS = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "Ae", "œ": "oe",
     "Œ": "Oe", "ı": "i", "ħ": "h", "Ħ": "H"}
)  # fmt: skip
_BEFORE_NFKC = str.maketrans(dict.fromkeys("\u00ae\u2122\u2120\u00a9"))  # TM is no letter
#: Words after which a Roman number is a number, whatever its letters.
HEADS = frozenset(
    ("type", "types", "grade", "grades", "stage", "stages", "class", "classes", "phase", "phases",
     "group", "groups", "category", "categories", "factor", "factors", "nerve", "nerves",
     "typ", "tipo", "stade", "stadium")
)  # fmt: skip
_JOINERS = frozenset(("and", "or", "to"))
#: Roman numbers that are no word and no abbreviation: numbers wherever they stand.
_ALWAYS_ROMAN = frozenset(("ii", "iii", "vii", "viii", "xii", "xiii", "xiv", "xviii"))
_COUNTED = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5",
    "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip


class _Separators(dict):
    """str.translate table, filled as characters are met: letters, digits and marks stay, signs of
    mathematics become words of their own, invisible characters go, all else separates."""

    def __missing__(self, code: int) -> str | int | None:
        char = chr(code)
        category = unicodedata.category(char)
        if char in "./" or category[0] in "LNM":
            self[code] = code
        elif category == "Cf":
            self[code] = None
        elif char == "&":
            self[code] = " and "
        elif char in "%\u2030" or (category == "Sm" and char not in "|~\u00ac"):
            self[code] = f" {char} "
        else:
            self[code] = " "
        return self[code]


_SEPARATORS = _Separators()


def normalize(text: str) -> str:
    """Normal form under which a mention and a name count as equal.

    Undone: compatibility forms (NFKC), case, accents of Latin letters, hyphens and punctuation,
    possessive 's, British spelling, single Greek letters, Roman numbers after words as "type".
    Kept: + < > = % and arrows as words of their own, the point and slash inside numbers, a plus or
    minus that ends a word with a digit ("CD4+" is "cd4 positive"). Chinese and Japanese characters
    are never set apart by spaces. A text of nothing but punctuation is its own normal form, so
    that two of them do not become equal.

    RETURNS (str): Words with single spaces between; normalising it again changes nothing. Empty
        only for blank text.
    """
    if text.isascii():
        return _normalize(text)
    normal, again = text, _normalize(text)
    while again != normal:  # a sign gone can let a mark join a letter: rare, found by the tests
        normal, again = again, _normalize(again)
    return normal


def _normalize(text: str) -> str:
    ascii_text = text.isascii()
    lowered = text.lower() if ascii_text else _fold(text)
    words = lowered.split() if not _SPELLED.search(lowered) else _split(lowered)
    if not words:
        return " ".join(lowered.split())
    normal = " ".join(arabic([american(word) for word in _unglued(words)]))
    return normal if ascii_text else _BESIDE_CJK.sub("", normal)


def variants(normalized: str) -> Iterator[str]:
    """Other normal forms under which the same concept may be listed, the most trusted first:
    singular and plural of the last word, then of any word, hyphenated words joined, "x of y" turned
    to "y x". Each may be nonsense: use one only where the terminology has it.
    """
    words = normalized.split(" ")
    seen = {normalized}
    for changed in _changed(words):
        form = " ".join(changed)
        if form not in seen:
            seen.add(form)
            yield form


def _changed(words: list[str]) -> Iterator[list[str]]:
    for other in (*singulars(words[-1]), *plurals(words[-1])):
        yield [*words[:-1], other]
    if len(words) > 12:  # a sentence, not a name
        return
    yield [next(iter(singulars(word)), word) for word in words]
    for i, word in enumerate(words[:-1]):
        for other in (*singulars(word), *plurals(word)):
            yield [*words[:i], other, *words[i + 1 :]]
    for i in range(len(words) - 1):
        yield [*words[:i], words[i] + words[i + 1], *words[i + 2 :]]
    if words.count("of") == 1:
        at = words.index("of")
        rest = words[at + 1 :]
        yield [*(rest[1:] if rest[:1] == ["the"] else rest), *words[:at]]


def _fold(text: str) -> str:
    text = _FUSING.sub(r" \1", text.translate(_BEFORE_NFKC))
    text = unicodedata.normalize("NFKC", text).translate(_LETTERS)
    text = _LATIN_MARK.sub("", unicodedata.normalize("NFD", text))
    text = unicodedata.normalize("NFKC", text.casefold())
    for dash in "\u2010\u2011\u2012\u2013\u2014\u2212":
        text = text.replace(dash, "-")
    for quote in "\u2018\u2019\u02bc\u00b4`":
        text = text.replace(quote, "'")
    text = text.replace("\u2044", "/").replace("\u2215", "/")
    text = _GREEK_PAIR.sub(lambda m: f"{m[0][0]} {m[0][1]}", _MICRO.sub("u", text))
    return _ONE_GREEK.sub(_greek_name, text)


def _greek_name(match: re.Match) -> str:
    before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    left = " " if before.isalnum() else ""
    right = " " if after.isalpha() else ""
    return f"{left}{_GREEK.get(match.group(), match.group())}{right}"


def _split(text: str) -> list[str]:
    """Words of a lower-case text; see normalize for the signs that are kept."""
    text = text.replace("`", "'")
    if "'" in text:
        text = _POSSESSIVE.sub("", text)
    text = text.replace("+/-", " \u00b1 ").replace(">=", "\u2265").replace("<=", "\u2264")
    if "+" in text:
        text = _POSITIVE.sub(r"\1 positive ", text)
    if "-" in text:
        text = _NEGATIVE.sub(r"\1 negative ", text)
    if "." in text:
        text = _LEADING_POINT.sub(" 0.", text)
    text = text.translate(_SEPARATORS)
    if "." in text or "/" in text:
        text = _LOOSE_POINT.sub(" ", text)
    return text.split()


def arabic(words: list[str]) -> list[str]:
    """Arabic numbers for Roman ones, and for "one" to "ten", after a word as "type"; one word for
    each word.

    words (list[str]): In lower case.
    """
    found: list[str] = []
    counting = False
    for word in words:
        if word in HEADS:
            counting = True
            found.append(word)
        elif counting or word in _ALWAYS_ROMAN:
            number = _number(word)
            counting = counting and (number is not None or word in _JOINERS)
            found.append(number or word)
        else:
            found.append(word)
    return found


def _unglued(words: list[str]) -> Iterator[str]:
    for word in words:
        glued = _GLUED.fullmatch(word)
        if glued:
            yield from glued.groups()
        else:
            yield word


def _number(word: str) -> str | None:
    if _NUMBER.fullmatch(word):
        return word
    match = _ROMAN.fullmatch(word)
    if not match or not match.group(1):
        return _COUNTED.get(word)
    values = [{"i": 1, "v": 5, "x": 10}[c] for c in match.group(1)]
    total = sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
    return f"{total}{match.group(2)}"
