"""Characters, tokens, numbers and sentences of plain English, before any interpretation.

- Characters: accents, apostrophes, invisible letters and look-alikes are normalised. Invisible characters are those of
  Unicode's categories Cf, Mn and Me, and its blank letters; look-alikes are letters of other scripts that are drawn
  like Latin ones (after Unicode Technical Standard 39).
- Word lists (`english.txt`), rows of data files, and an index of phrases by their first word.
- Amounts and intervals: digits, number words, "more than", "between".
- Tokens and sentences, inflection and typing errors. All forms of every verb in the list are spelled out once, so that
  no word becomes another by accident ("planes" is not a form of "plan"). A typing error is corrected only in a word
  that is in no list: two letters exchanged or, in longer words, one missing, added or wrong; the first letter must be
  right. A word with two possible corrections is left unchanged.

Nothing here raises an error, and everything takes time linear in the length of the text.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from html import unescape
from importlib.resources import files
from typing import NamedTuple

from sonde._util.folders import data_file

# --- characters -------------------------------------------------------------------------------------------------------

_PLAIN = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe",
     "ı": "i", "ð": "d", "þ": "th", "Þ": "Th", "’": "'", "‘": "'", "ʼ": "'", "´": "'", "`": "'"}
)  # fmt: skip
_NEGATIVE = re.compile(
    r"\b(is|are|was|were|do|does|did|has|have|had|ca|could|would|should|must|might|wo|need|ai)nt\b", re.IGNORECASE
)


def strip_accents(text: str) -> str:
    """Drop accents and use one kind of apostrophe.

    >>> strip_accents("Łódź’s Café")
    "Lodz's Cafe"
    """
    if text.isascii():
        return text.replace("`", "'")
    bare = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    return "".join(c for c in bare if not unicodedata.combining(c))


def add_apostrophes(text: str) -> str:
    """Restore the missing apostrophes of negations.

    >>> add_apostrophes("Isnt it so? It cant be, we want a hint.")
    "Isn't it so? It can't be, we want a hint."
    """
    return _NEGATIVE.sub(r"\1n't", text)


_DRAWN_AS = (
    "aаАαΑɑᴀ bВвΒβᴃʙ cсСϲϹᴄ dԁᴅ eеЕεΕєᴇ fꜰ gɡցɢ hһНнΗհʜ iіІιΙıɩɪ jјЈϳᴊ kкКκΚᴋ lӏӀʟ mмМΜᴍ nոηΝɴ oоОοΟօᴏ pрРρΡᴘ qԛզ "
    "rгʀ sѕЅꜱ tтТτΤᴛ uυսᴜ vνѵᴠ wԝωᴡ xхХχΧ yуУγΥүʏ zΖᴢ"
)
_ALIKE = str.maketrans({letter: row[0] for row in _DRAWN_AS.split() for letter in row[1:]})
_MARKUP = re.compile(r"<[^<>]{0,200}>|[*_~`\\]+")
_BLANK = frozenset("\u115f\u1160\u3164\uffa0")


def visible_readings(text: str) -> tuple[str, ...]:
    """The possible readings of a text, with look-alikes replaced by Latin letters: markup and invisible characters
    removed, or replaced by blanks.

    >>> visible_readings("It is L\\u0456s<b>bon</b>."), visible_readings("Dublin")
    (('It is Lisbon.', 'It is Lis bon .'), ('Dublin',))
    """
    shown = unescape(text) if "&" in text else text
    if shown.isascii():
        joined, apart = (_MARKUP.sub(blank, shown) for blank in ("", " "))
    else:
        shown = unicodedata.normalize("NFKD", shown.translate(_ALIKE))
        joined, apart = (
            "".join(_visible_character(c, blank) for c in _MARKUP.sub(blank, shown)) for blank in ("", " ")
        )
    return (joined,) if joined == apart else (joined, apart)


def _visible_character(c: str, blank: str) -> str:
    """A character as a reader sees it: accents vanish, invisible characters become `blank`."""
    category = unicodedata.category(c)
    if category in ("Mn", "Me"):
        return ""
    return blank if category == "Cf" or c in _BLANK else c


_WORD = re.compile(r"[^\W_]+")


def plain_words(text: str) -> str:
    """A text in lower case, without accents and punctuation, its words separated by single blanks.

    >>> plain_words("São  Paulo, Brazil!")
    'sao paulo brazil'
    """
    return " ".join(_WORD.findall(text.lower() if text.isascii() else strip_accents(text).casefold()))


# --- word lists -------------------------------------------------------------------------------------------------------

_HEADING = re.compile(r"\[\w+\]")


@cache
def _english_lists() -> Mapping[str, str]:
    text = files("sonde.envs._shared.english").joinpath("english.txt").read_text("utf-8")
    return parse_sections(text)


def parse_sections(text: str) -> Mapping[str, str]:
    """The parts of a text under headings in brackets; lines that start with # are comments.

    >>> parse_sections("# none\\n[a]\\nx y\\nz\\n[b]\\nw")
    {'a': 'x y\\nz', 'b': 'w'}
    """
    found: dict[str, list[str]] = {}
    rows = found.setdefault("", [])
    for line in text.splitlines():
        if _HEADING.fullmatch(line):
            rows = found.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            rows.append(line)
    return {name: "\n".join(rows) for name, rows in found.items() if name}


@cache
def read_rows(env: str, name: str) -> Sequence[Sequence[str]]:
    """The lines of an environment's data file, each split at " | "; lines that start with # are comments."""
    text = data_file(env, name).read_text("utf-8")
    return tuple(tuple(line.split(" | ")) for line in text.splitlines() if line and not line.startswith("#"))


@cache
def word_set(name: str) -> frozenset[str]:
    """A list of single words."""
    return frozenset(_english_lists()[name].split())


@cache
def word_list(name: str) -> Sequence[str]:
    """A list of phrases, in order."""
    return tuple(" ".join(part.split()) for part in _english_lists()[name].split(";") if part.strip())


def index_phrases(texts: Iterable[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
    """The texts as words, indexed by their first word, the longest first."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for text in sorted(texts, key=lambda t: -len(t.split())):
        found.setdefault(text.split()[0], []).append(tuple(text.split()))
    return found


def match_length(words: Sequence[str], index: Mapping[str, Sequence[tuple[str, ...]]]) -> int:
    """The number of words of the longest indexed phrase at the start of the words; 0 without one."""
    found = index.get(words[0], ()) if words else ()
    return next((len(parts) for parts in found if tuple(words[: len(parts)]) == parts), 0)


# --- numbers ----------------------------------------------------------------------------------------------------------

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip

UNITS: Mapping[str, int] = {word: n for n, word in enumerate(_UNITS)}
"""From zero to twenty."""
TENS: Mapping[str, int] = {
    word: 10 * n for n, word in enumerate(("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 3)
}

SCALES: Mapping[str, int] = {
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9,
    "k": 10**3, "millions": 10**6, "mio": 10**6, "mil": 10**6, "m": 10**6, "bn": 10**9,
}  # fmt: skip
DIGITS = r"(?:\d+(?:\.\d+)?|\.\d+)"
"""A number in digits, without thousands separators."""

_WORDS: Mapping[str, float] = {**UNITS, **TENS, "half": 0.5}
_DIGITS = re.compile(DIGITS)
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LONGEST = 15
"""Maximum number of digits; longer numbers are not amounts."""


def drop_thousands_commas(text: str) -> str:
    """A text without the commas between thousands.

    >>> drop_thousands_commas("1,500,000 of 12, 13")
    '1500000 of 12, 13'
    """
    return _GROUPED.sub("", text)


def parse_amount(words: Sequence[str]) -> float | None:
    """The number that all of these words form, or None.

    >>> [parse_amount(words.split()) for words in ("1.5 million", "two hundred and five", "half a million")]
    [1500000.0, 205.0, 500000.0]
    >>> parse_amount(["a", "million"]), parse_amount(["2.5", "k"]), parse_amount(["a"]), parse_amount(["blue"])
    (1000000.0, 2500.0, None, None)
    """
    total, part = 0.0, None
    read = False
    for word in words:
        if word in ("a", "an", "of") or (word == "and" and read):
            continue
        read = True
        if word in SCALES:
            part = (1.0 if part is None else part) * SCALES[word]
            if SCALES[word] >= 1000:
                total, part = total + part, None
            continue
        value = float(word) if len(word) <= _LONGEST and _DIGITS.fullmatch(word) else _WORDS.get(word)
        if value is None:
            return None
        part = (part or 0.0) + value
    return total + (part or 0.0) if read else None


class Interval(NamedTuple):
    """Numbers from `low` to `high`, both included."""

    low: float
    high: float

    def contains_range(self, low: float, high: float) -> bool | None:
        """Whether a value known to lie between two limits is inside; None if undecided.

        >>> [Interval(5, 9).contains_range(*v) for v in ((6, 7), (1, 2), (4, 6))]
        [True, False, None]
        """
        if self.low <= low and high <= self.high:
            return True
        return False if high < self.low or low > self.high else None

    def scale_by(self, factor: float) -> Interval:
        return Interval(self.low * factor, self.high * factor)


_COMPARERS: Sequence[tuple[tuple[str, ...], str]] = tuple(
    (tuple(form.split()), sense)
    for sense, forms in (row.split(" ", 1) for row in word_list("comparers"))
    for form in forms.split("|")
)


def parse_interval(words: Sequence[str]) -> Interval | None:
    """The numbers that words such as "more than five million" allow; None if the words are not an amount.

    >>> parse_interval("at least 3".split()), parse_interval("between 5 and 10".split())
    (Interval(low=3.0, high=inf), Interval(low=5.0, high=10.0))
    >>> parse_interval("between 1 and 5 million".split()), parse_interval("500 to 2 thousand".split())
    (Interval(low=1000000.0, high=5000000.0), Interval(low=500.0, high=2000.0))
    >>> parse_interval("20 or more".split())
    Interval(low=20.0, high=inf)
    >>> parse_interval(["12"]), parse_interval("less than blue".split())
    (Interval(low=12.0, high=12.0), None)
    """
    words = (
        [w for w in words if w not in ("around", "about", "roughly", "approximately", "least")]
        if words[:1] != ["at"]
        else list(words)
    )
    if words[:1] == ["between"] and "and" in words:
        return _parse_between(words[1:], "and")
    if words[-2:-1] == ["or"] and words[-1] in ("more", "less", "fewer", "older", "younger"):
        n = parse_amount(words[:-2])
        more = words[-1] in ("more", "older")
        return None if n is None else Interval(n, math.inf) if more else Interval(-math.inf, n)
    for form, sense in _COMPARERS:
        if tuple(words[: len(form)]) == form:
            n = parse_amount(words[len(form) :])
            return None if n is None else _one_sided_interval(sense, n)
    n = parse_amount(words)
    return Interval(n, n) if n is not None else _parse_between(words, "to")


def _parse_between(words: Sequence[str], joint: str) -> Interval | None:
    at = next((i for i, w in enumerate(words) if w == joint), 0)
    low, high = (parse_amount(words[:at]), parse_amount(words[at + 1 :])) if at else (None, None)
    if low is None or high is None:
        return None
    shared = SCALES.get(words[-1], 1) if SCALES.keys().isdisjoint(words[:at]) else 1
    return Interval(low * shared if low * shared <= high else low, high)


def _one_sided_interval(sense: str, n: float) -> Interval:
    if sense[0] == ">":
        return Interval(n if sense == ">=" else math.nextafter(n, math.inf), math.inf)
    if sense[0] == "<":
        return Interval(-math.inf, n if sense == "<=" else math.nextafter(n, -math.inf))
    return Interval(n, n)


def parse_measure(words: Sequence[str], units: Mapping[str, float]) -> Interval | None:
    """An amount followed by one of the units, converted to the unit with factor 1.

    >>> parse_measure("at least 2 km".split(), {"m": 1, "km": 1000})
    Interval(low=2000.0, high=inf)
    """
    unit = units.get(words[-1]) if len(words) > 1 else None
    found = parse_interval(words[:-1]) if unit is not None else None
    return None if found is None or unit is None else found.scale_by(unit)


# --- tokens and sentences ---------------------------------------------------------------------------------------------

Words = Sequence[str]

_CONTRACTIONS = {
    "can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not", "ain't": "is not",
    "let's": "let us", "i'm": "i am", "im": "i am", "y'all": "you",
}  # fmt: skip
_THOUSANDS = re.compile(r"(?<=\d)k\b")
_UNIT = re.compile(r"(?<=\d)(?=(?:kg|km|cm|mm|g|m|lbs?|feet|ft|miles?|million|billion)\b)")
_VOWELS = frozenset("aeiou")


def _regular_forms(verb: str) -> set[str]:
    """The regular forms of a verb."""
    if verb.endswith("e"):
        return {verb + "s", verb + "d", verb[:-1] + "ing"}
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return {verb[:-1] + "ies", verb[:-1] + "ied", verb + "ing"}
    forms = {verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s"), verb + "ed", verb + "ing"}
    if len(verb) > 2 and verb[-1] not in "aeiouwxy" and verb[-2] in _VOWELS and verb[-3] not in _VOWELS:
        forms |= {verb + verb[-1] + "ed", verb + verb[-1] + "ing"}
    return forms


@cache
def _verb_bases() -> dict[str, str]:
    """Maps every form of every verb in the list to its base."""
    found: dict[str, str] = {}
    for verb in sorted(word_set("verbs")):
        found.update(dict.fromkeys(_regular_forms(verb), verb))
        found.setdefault(verb, verb)
    for row in word_list("irregular"):
        verb, *forms = row.split()
        found.update(
            dict.fromkeys((verb, *forms, *(f for f in _regular_forms(verb) if f.endswith(("s", "ing")))), verb)
        )
    found.update(
        left="left", ground="ground", found="find", saw="saw", wound="wound", rose="rose", flies="fly", set="set"
    )
    return found | {word: to for pair in word_set("same") for word, _, to in [pair.partition(":")]}


@cache
def _base_verbs() -> frozenset[str]:
    return word_set("verbs") | {row.split()[0] for row in word_list("irregular")}


def is_verb(word: str) -> bool:
    """Whether the word can be the base form of a verb."""
    return word in _base_verbs()


@cache
def is_participle(word: str) -> bool:
    """Whether the word can be a past participle.

    >>> is_participle("eaten"), is_participle("cooked"), is_participle("red"), is_participle("speed")
    (True, True, False, False)
    """
    return word in word_set("participles") or (word.endswith("ed") and word in _verb_bases())


_PLURALS = {
    "mice": "mouse", "geese": "goose", "teeth": "tooth", "feet": "foot", "men": "man", "women": "woman",
    "children": "child", "knives": "knife", "wolves": "wolf", "leaves": "leaf", "shelves": "shelf", "loaves": "loaf",
    "scarves": "scarf", "hooves": "hoof", "thieves": "thief", "wives": "wife", "halves": "half", "oxen": "ox",
    "dice": "die", "lice": "louse", "cacti": "cactus", "fungi": "fungus",
}  # fmt: skip


@lru_cache(maxsize=1 << 14)
def singular_form(word: str) -> str:
    """The singular of a noun; other words unchanged.

    >>> [singular_form(w) for w in ("guitars", "boxes", "berries", "glass", "bus", "this", "mice")]
    ['guitar', 'box', 'berry', 'glass', 'bus', 'this', 'mouse']
    """
    if word in _PLURALS:
        return _PLURALS[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "oes")):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=1 << 15)
def base_form(word: str) -> str:
    """The form for look-ups: the base of a verb, the singular of a noun, one spelling.

    >>> [base_form(w) for w in ("eaten", "using", "planes", "grey", "houses", "wings")]
    ['eat', 'use', 'plane', 'gray', 'home', 'wing']
    """
    found = _verb_bases().get(word)
    if found is not None:
        return found
    bare = singular_form(word)
    return _verb_bases().get(bare, bare)


@lru_cache(maxsize=1 << 14)
def word_stem(word: str) -> str:
    """A word without its ending, as far as regular rules go, for words whose forms no list has.

    >>> word_stem("clogged"), word_stem("batteries"), word_stem("pressing"), word_stem("noise"), word_stem("tightly")
    ('clog', 'battery', 'press', 'nois', 'tight')
    """
    word = singular_form(word)
    for ending in ("ing", "ed", "ly"):
        if len(word) > len(ending) + 2 and word.endswith(ending):
            word = word[: -len(ending)]
            if ending != "ly" and len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def ascii_lower(text: str) -> str:
    """Lower case, without accents, with plain quotation marks.

    >>> ascii_lower("Café “Über”")
    'cafe "uber"'
    """
    if not text.isascii():
        text = strip_accents(text.replace("“", '"').replace("”", '"'))
    return text.lower()


@cache
def _token_pattern(marks: str) -> re.Pattern[str]:
    """A number with a point, a word, or one of the marks."""
    kept = f"|[{re.escape(marks)}]" if marks else ""
    return re.compile(rf"(?<![\w.])\d*\.\d+(?!\.?\d)|[^\W_]+(?:'[^\W_]+)*{kept}")


def tokenize(text: str, marks: str = ",", possessive: str = "") -> list[str]:
    """Split a text into words in lower case, with contractions spelled out; `marks` are the punctuation marks to keep.
    `possessive` is the token for a possessive ending, which is dropped by default.

    >>> tokenize("It's a man-made thing, isn't it? It weighs 1,500lbs")
    ['it', 'is', 'a', 'man', 'made', 'thing', ',', 'is', 'not', 'it', 'it', 'weighs', '1500', 'lbs']
    >>> tokenize("St. Paul's, the butlers' room!", ".!", possessive="s")
    ['st', 'paul', 's', 'the', 'butlers', 's', 'room', '!']
    """
    text = add_apostrophes(drop_thousands_commas(ascii_lower(text))).replace("$", " dollar ").replace("%", " percent ")
    text = _UNIT.sub(" ", _THOUSANDS.sub(" thousand", text))
    if "." in marks:
        text = _ABBREVIATION.sub(r"\1 ", text)
    if possessive:
        text = _PLURAL_OWNER.sub(f" {possessive} ", text)
    found: list[str] = []
    for word in _token_pattern(marks).findall(text):
        if word in _CONTRACTIONS:
            found += _CONTRACTIONS[word].split()
        elif "'" in word:
            first, _, end = word.partition("'")
            found += _expand_contraction(first, end, possessive)
        else:
            found.append(word)
    return found


_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|(?<=[?!])(?=[^\s?!])|\n+|\s+[-\u2013\u2014]+\s+|\u2026|\.{2,}")
_FULL_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def split_sentences(text: str, clauses: bool = True) -> list[str]:
    """Split a text into its sentences, each with its mark; with `clauses`, at colons and dashes as well.

    >>> split_sentences("It is 1.5 km to St. Paul's. Is it? Yes - quite")
    ["It is 1.5 km to St Paul's.", 'Is it?', 'Yes', 'quite']
    """
    ends = _SENTENCE if clauses else _FULL_SENTENCE
    return [part for part in ends.split(_ABBREVIATION.sub(r"\1", text)) if part.strip()]


_ABBREVIATION = re.compile(r"(?<!')\b(st|mt|mr|mrs|ms|dr|prof|jr|sr|vs|[a-z]|no(?=\.\s*\d))\.", re.IGNORECASE)
_PLURAL_OWNER = re.compile(r"(?<=[a-z]s)'(?= )")


def _expand_contraction(word: str, end: str, possessive: str) -> list[str]:
    """Expand a contraction, given the parts before and after its apostrophe."""
    if end == "t" and word.endswith("n"):
        return [word[:-1], "not"]
    if end == "s":
        return [word, "is"] if word in word_set("owners") else [word, possessive] if possessive else [word]
    full = {"re": "are", "ve": "have", "ll": "will", "d": "would", "m": "am"}.get(end)
    return [word + end.replace("'", "")] if full is None else [word, full]


_DROPPED = word_set("dropped") | {","}
_BASE = _verb_bases()


def phrase_key(words: Words) -> str:
    """The form for looking up a phrase: base forms, without words that change nothing.

    >>> phrase_key("usually eaten for the breakfast".split()), phrase_key("made by people".split())
    ('eat for breakfast', 'make by people')
    """
    return " ".join([_BASE.get(w) or base_form(w) for w in words if w not in _DROPPED])


@lru_cache(maxsize=1 << 14)
def name_key(text: str, common: bool = False) -> str:
    """The form for comparing names: plain words; for `common` nouns in the singular, without article.

    >>> name_key("St. Paul's"), name_key("The Guitars"), name_key("The Guitars", common=True)
    ('st paul', 'the guitars', 'guitar')
    """
    words = tokenize(text, "")
    if common and len(words) > 1 and words[0] in ("a", "an", "the"):
        words = words[1:]
    return " ".join([*words[:-1], singular_form(words[-1])] if common and words else words)


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST = 4
"""The shortest word, in letters, in which exchanged letters are corrected; longer ones allow other slips too."""
_MOST = 3
"""Maximum number of typing errors in a text."""


def mend_slips(words: Sequence[str], vocabulary: Collection[str], known: Callable[[str], bool]) -> list[str] | None:
    """Correct the typing errors in the words; None if there are none, too many, or one that cannot be corrected.

    >>> mend_slips("is it a pengiun".split(), {"penguin"}, {"is", "it", "a"}.__contains__)
    ['is', 'it', 'a', 'penguin']
    """
    slips = [i for i, word in enumerate(words) if _is_slip(word, vocabulary, known)]
    if not 0 < len(slips) <= _MOST:
        return None
    found = list(words)
    for i in slips:
        near = {form for form in _slip_forms(words[i]) if form in vocabulary}
        if len(near) != 1:
            return None
        found[i] = near.pop()
    return found


def _is_slip(word: str, vocabulary: Collection[str], known: Callable[[str], bool]) -> bool:
    return len(word) >= _SHORTEST and word.isalpha() and word not in vocabulary and not known(word)


def _slip_forms(word: str) -> Iterator[str]:
    for i in range(1, len(word) - 1):
        yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    if len(word) == _SHORTEST:
        return
    for i in range(1, len(word) + 1):
        head, tail = word[:i], word[i:]
        yield head + tail[1:]
        for letter in _LETTERS:
            yield head + letter + tail
            yield head + letter + tail[1:]
