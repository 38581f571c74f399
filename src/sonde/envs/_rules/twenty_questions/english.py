"""English as far as short questions need it: tokens, contractions, base forms of verbs and nouns.

Ours. Closed lists and regular rules: every verb of the list gets its forms spelled out once, so that no word is ever
mangled into another ("planes" is not a form of "plan"). Nothing here raises, and all of it is linear in the text.
"""

from __future__ import annotations

import re
from functools import cache

from sonde.people.language.letters import apostrophes, unaccented
from sonde.people.language.numbers import TENS, UNITS, ungrouped

from .wordlists import word_list, word_set

_VERBS = word_set("english.verbs")

_IRREGULAR = word_list("english.irregular")

_PARTICIPLES = word_set("english.participles")

_SPELLING = {word: to for pair in sorted(word_set("english.spelling")) for word, _, to in [pair.partition(":")]}

_CONTRACTIONS = {
    "can't": "can not",
    "cannot": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "ain't": "is not",
    "let's": "let us",
    "i'm": "i am",
    "im": "i am",
    "y'all": "you",
}

NUMBERS = {
    **UNITS,
    **TENS,
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
}

_TOKEN = re.compile(r"(?<![\w.])\d*\.\d+(?!\.?\d)|[a-z0-9]+(?:'[a-z]+)?|,")
_THOUSANDS = re.compile(r"(?<=\d)k\b")
_VOWELS = frozenset("aeiou")


def _spelled(verb: str) -> set[str]:
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
def _bases() -> dict[str, str]:
    """Every spelled-out form of every verb of the list, to its base."""
    found: dict[str, str] = {}
    for verb in sorted(_VERBS):
        found.update(dict.fromkeys(_spelled(verb), verb))
        found.setdefault(verb, verb)
    for row in _IRREGULAR:
        verb, *forms = row.split()
        found.update(dict.fromkeys((verb, *forms, *(f for f in _spelled(verb) if f.endswith(("s", "ing")))), verb))
    found.update(
        left="left", ground="ground", found="find", saw="saw", wound="wound", rose="rose", flies="fly", set="set"
    )
    return found | _SPELLING


@cache
def _base_words() -> frozenset[str]:
    return frozenset(_VERBS) | {row.split()[0] for row in _IRREGULAR}


def is_base(word: str) -> bool:
    """Whether the word may be the base form of a verb."""
    return word in _base_words()


def is_participle(word: str) -> bool:
    """Whether the word may be a past participle.

    >>> is_participle("eaten"), is_participle("cooked"), is_participle("red"), is_participle("speed")
    (True, True, False, False)
    """
    return word in _PARTICIPLES or (word.endswith("ed") and word in _bases())


@cache
def singular(word: str) -> str:
    """The singular of a regular noun; other words as they are.

    >>> [singular(w) for w in ("guitars", "boxes", "berries", "glass", "bus", "this")]
    ['guitar', 'box', 'berry', 'glass', 'bus', 'this']
    """
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "oes")):
        return word[:-2]
    return word[:-1]


@cache
def base(word: str) -> str:
    """The form under which a word is looked up: the base of a verb, the singular of a noun, one spelling.

    >>> [base(w) for w in ("eaten", "using", "planes", "grey", "houses", "wings")]
    ['eat', 'use', 'plane', 'gray', 'home', 'wing']
    """
    found = _bases().get(word)
    if found is not None:
        return found
    bare = singular(word)
    return _bases().get(bare, bare)


def ascii_lower(text: str) -> str:
    """Lower case, without accents, with plain quotation marks.

    >>> ascii_lower("Café “Über”")
    'cafe "uber"'
    """
    if not text.isascii():
        text = unaccented(text.replace("“", '"').replace("”", '"'))
    return text.lower()


def tokens(text: str) -> list[str]:
    """The words of a sentence in lower case, contractions spelled out, commas kept.

    >>> tokens("It's a man-made thing, isn't it? It weighs 1,500 lbs")
    ['it', 'is', 'a', 'man', 'made', 'thing', ',', 'is', 'not', 'it', 'it', 'weighs', '1500', 'lbs']
    """
    found: list[str] = []
    text = apostrophes(ungrouped(ascii_lower(text))).replace("$", " dollar ")
    text = _THOUSANDS.sub(" thousand", text)
    for word in _TOKEN.findall(text):
        if word in _CONTRACTIONS:
            found += _CONTRACTIONS[word].split()
        elif "'" in word:
            found += _apart(*word.split("'", 1))
        else:
            found.append(word)
    return found


_OWNERS = word_set("english.owners")


def _apart(word: str, end: str) -> list[str]:
    if end == "t" and word.endswith("n"):
        return [word[:-1], "not"]
    if end == "s":
        return [word, "is"] if word in _OWNERS else [word]
    full = {"re": "are", "ve": "have", "ll": "will", "d": "would", "m": "am"}.get(end)
    return [word + end] if full is None else [word, full]
