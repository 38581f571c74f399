"""Tokens, sentences, inflection and slips of the pen.

Own design. Closed lists and regular rules: all forms of every verb in the list are spelled out once, so that no word
becomes another by accident ("planes" is not a form of "plan"). Nothing here raises, and everything takes time linear in
the text.

A slip is corrected only in an unknown word: two letters exchanged or, in longer words, one missing, added or wrong; the
first letter must be right. A word with two possible corrections is left unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, lru_cache

from .letters import add_apostrophes, strip_accents
from .lists import word_list, word_set
from .numbers import drop_thousands_commas

Words = Sequence[str]

_CONTRACTIONS = {
    "can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not", "ain't": "is not",
    "let's": "let us", "i'm": "i am", "im": "i am", "y'all": "you",
}  # fmt: skip
_TOKEN = re.compile(r"(?<![\w.])\d*\.\d+(?!\.?\d)|[a-z0-9]+(?:'[a-z]+)?|,")
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
"""Maximum number of slips in a text."""


def mend_slips(words: Sequence[str], vocabulary: Collection[str], known: Callable[[str], bool]) -> list[str] | None:
    """Correct the slips in the words; None if there are none, too many, or one that cannot be corrected.

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
