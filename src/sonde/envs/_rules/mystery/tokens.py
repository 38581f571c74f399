"""Words of a detective's message: tokens, stems, and the lists that `words` needs. Source: ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from sonde.people.language.letters import apostrophes, unaccented

_TOKEN = re.compile(r"[a-z]+|\d+|'s\b|[.,:;?!]")
_DASHES = re.compile(" -+ |--+")
_COMMAS = str.maketrans("–—", ",,")
_TITLES = re.compile(
    r"\b(?:mr|mrs|ms|miss|mister|dr|prof|madam|madame|sir|lady|lord|sister|brother|father|reverend|signor|signora"
    r"|mme|mlle|herr|frau)\b\.?(?= [a-z])"
)
_CLOCK = re.compile(
    r"\b(?:half|(?:a )?quarter|five|ten|twenty|twenty[ -]five) (?:past|to) (?:one|two|three|four|five|six|seven"
    r"|eight|nine|ten|eleven|twelve|noon|midnight)\b|\b(\d{1,2})[.:](\d\d)\b"
)
_CONTRACTED = (
    (r"\bcan't\b", "can not"), (r"\bwon't\b", "will not"), (r"\bain't\b", "is not"), (r"n't\b", " not"),
    (r"\blet's\b", "let us"), (r"\bi'm\b", "i am"), (r"'ve\b", " have"), (r"'re\b", " are"), (r"'ll\b", " will"),
    (r"'d\b", " would"), (r"\b(what|where|who|how|that|there|it|he|she)'s\b", r"\1 is"),
)  # fmt: skip
"""What has an apostrophe -> what it is short for."""
_CLIPPED = (
    (r"\bcan(?:t|not)\b", "can not"), (r"\bu\b(?![.-])", "you"), (r"\bur\b", "your"),
    (r"\b(what|where|who)s\b", r"\1 is"),
    (r"\be\.g\.", "for example"), (r"\bi\.e\.", "that is"),
)  # fmt: skip
"""The same without an apostrophe."""
_Rewriting = tuple[re.Pattern[str], str]


def _compiled(rows: Iterable[tuple[str, str]]) -> tuple[_Rewriting, ...]:
    return tuple((re.compile(short), full) for short, full in rows)


_WITH_APOSTROPHE, _WITHOUT = _compiled(_CONTRACTED), _compiled(_CLIPPED)
_ANY_CLIPPED = re.compile(r"\b(?:can(?:t|not)|ur?|(?:what|where|who)s|e\.g|i\.e)\b")


def words(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


_SCRAMBLED: Mapping[tuple[str, str, str], str] = {
    (verb[0], verb[-1], "".join(sorted(verb))): verb
    for verb in words("examine inspect question interview search check look talk walk where read visit")
}
"""First letter, last letter, all letters -> the verb that was meant."""


SMALL = words("""
    a an the of in on at to from for with by and or that was is were which are 's my our your his her their this
    these those about under behind outside below beside above before next made between
""")
"""Words that may stand between the words of a name."""
BEFORE = SMALL | words("""
    . , : ; ? ! i you he she it they we us me him them who whom whose what where when how why whether if as than then
    so now first next also again just only please not no yes ok okay well and but or because since while after ask asks
    question interview interrogate talk talking speak speaking see saw seen look looking into over around through up out
    off down back near close between inside against along past towards examine inspect check checking search study view
    read reading review watch investigate analyse analyze visit go going went walk head enter return show showing give
    hand bring get take pull fetch tell told say says said know knows knew think accuse arrest charge did do does done
    have has had be been being am can could would will shall should may might must let want like need hear heard find
    found explore open press approach consult confront call called murderer killer culprit exact actual same whole old
    mentioned named all every each any some one both either other another himself herself ever really together verify
    compare request pick lift test touch turn sniff smell leave forget skip ignore mind minus obtain concerning
    regarding until upon onto rather instead neither nor killed murdered poisoned struck dear hello hi good thank thanks
    morning evening afternoon entire famous poor late local own big little small present actually
""")
"""Words that may stand before a part of a name. After any other ("the security camera") it means something else."""
VERBS = words("""
    head guide cook guard host judge press bar study model watch note print stand look staff pilot coach record list log
    file book map chart lock play work check show film cut report store lounge mess stage script stool scale house trust
    can
""")
"""Names that can be verbs."""
DETERMINERS = words("the a an our your his her their its this that my 's each any every no which what")
SUBJECTS = words("i you he she we they")
"""After these words there is a verb, whatever it looks like: "how did you stand with"."""
RANKS = words(
    "doctor professor captain master suspect witness detective sir madam lady lord frau herr chef nurse mister"
)
"""Words that may stand before a family name."""
HOLDERS = words("""
    set pair box row rack pack bunch tray stack bundle coil crate sack net bucket roll can pinch tuft drop smear streak
    slice bowl glass cup jar bottle flask jug mug pot tin tube vial phial pouch
""")

_SAME = (
    "phone telephone",
    "list register log record book sheet ledger file diary roll rota tally count registry logbook entry",
    "camera footage cctv picture recording video film webcam",
    "grey gray",
)
SYNONYMS: Mapping[str, str] = {word: line.split()[0] for line in _SAME for word in line.split()}
RECORDED = frozenset(w for w, same in SYNONYMS.items() if same in ("list", "camera"))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """The singular of a word, roughly.

    >>> [stem(w) for w in ("diaries", "buttons", "boxes", "glass", "gloves", "fibres")]
    ['diary', 'button', 'box', 'glass', 'glove', 'fibre']
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("xes", "shes", "ches", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@lru_cache(maxsize=8192)
def tokens(text: str) -> tuple[str, ...]:
    """Words and marks of punctuation, in lower case, contractions written out, times of day as 0000.

    >>> " ".join(tokens("Where's Dr. Kim's key-ring, at 20:15?"))
    "where is kim 's key ring , at 0000 ?"
    """
    if not text.isascii():
        text = text.translate(_COMMAS)
    low = _DASHES.sub(" , ", apostrophes(unaccented(text)).lower())
    if "'" in low:
        low = _written_out(low, _WITH_APOSTROPHE)
    if _ANY_CLIPPED.search(low):
        low = _written_out(low, _WITHOUT)
    found = _TOKEN.findall(_CLOCK.sub("0000", _TITLES.sub("", low.replace("s' ", "s's "))))
    return tuple(map(_unscrambled, found))


def _written_out(low: str, rows: Iterable[_Rewriting]) -> str:
    for short, full in rows:
        low = short.sub(full, low)
    return low


@lru_cache(maxsize=8192)
def _unscrambled(word: str) -> str:
    """The verb of which a word has all letters, the first and the last in their places; else the word."""
    return _SCRAMBLED.get((word[0], word[-1], "".join(sorted(word))), word)


@lru_cache(maxsize=8192)
def words_of(name: str) -> tuple[str, ...]:
    """The stems of a name without small words."""
    return tuple(stem(w) for w in tokens(name) if w not in SMALL)
