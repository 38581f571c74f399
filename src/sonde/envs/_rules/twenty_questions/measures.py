"""Comparisons behind verbs and measures: "go faster than a car", "its population smaller than Australia's".

Ours. Each form leads to a scale (`scales.py`) and what is compared with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .queries import Query
from .scales import COMPASS, beside, compare, compared, limit_of, scale
from .wordlists import word_set

Words = Sequence[str]

_GOING = word_set("measures.going")
_LYING = word_set("measures.lying")


def done(words: Words) -> Query | None:
    """As in "go faster than a car", "lie north of France", "have more inhabitants than Spain", "come before March"."""
    first, rest = words[0], list(words[1:])
    if first in _GOING or first in _LYING:
        found = compared(rest) if rest[:1] else None
        wanted = ("speed",) if first in _GOING else ("north", "east", "sun", *COMPASS)
        return found if found is not None and found.text.split()[0] in wanted else None
    if first == "last" and rest[:2] == ["longer", "than"]:
        return beside("lasting", True, rest[2:])
    if first == "come" and rest[:1] and rest[0] in ("before", "after"):
        both = (beside(name, rest[0] == "after", rest[1:]) for name in ("order", "weekday"))
        return next((q for q in both if q is not None), None)
    if first == "cost" and rest[1:2] == ["than"] and rest[0] in ("more", "less"):
        return beside("value", rest[0] == "more", rest[2:])
    return _having(rest) if first in ("have", "contain") else None


_PEOPLED = re.compile(
    r"(?:a )?(more|larger|bigger|greater|higher|fewer|less|smaller|lower) (\w+) than (?:that of )?(.+)"
)
_PEOPLE = ("people", "inhabitants", "residents", "citizens", "population")
_MORE = ("more", "larger", "bigger", "greater", "higher")


def _having(words: Words) -> Query | None:
    row = _PEOPLED.fullmatch(" ".join(words))
    if row is None:
        return _populated(words)
    if row[2] == "alcohol":
        return beside("alcohol", row[1] in _MORE, row[3].split())
    return beside("population", row[1] in _MORE, row[3].split()) if row[2] in _PEOPLE else None


_POPULATED = re.compile(
    r"(?:a )?(?:population )?(?:of |that is )?(more than|over|at least|above|greater than|larger than"
    r"|bigger than|less than|under|"
    r"fewer than|below|smaller than) (.+)"
)


def _populated(words: Words) -> Query | None:
    """As in "have a population of over 20 million", "have fewer than a million inhabitants"."""
    row = _POPULATED.fullmatch(" ".join(words))
    if row is None or not ("population" in words or words[-1] in _PEOPLE):
        return None
    limit = limit_of("population", row[2].split())
    more = row[1] in ("more than", "over", "at least", "above", "greater than", "larger than", "bigger than")
    return None if limit is None else compare(scale("population"), limit, more)


_HEADS = {
    **dict.fromkeys(("population",), "population"),
    **dict.fromkeys(("top speed", "speed"), "speed"),
    **dict.fromkeys(("height",), "height"),
    **dict.fromkeys(("length",), "length"),
    **dict.fromkeys(("alcohol content",), "alcohol"),
    **dict.fromkeys(("diameter",), "diameter"),
}


def of_part(words: Words) -> Query | None:
    """What is asked of a measure: "its population smaller than Australia's", "its height over 300 metres"."""
    if words[0] not in ("its", "the", "their", "his", "her"):
        return None
    for n in (2, 1):
        name = _HEADS.get(" ".join(words[1 : n + 1]))
        if name is not None:
            return _of_measure(name, list(words[n + 1 :]))
    return None


_OF_MEASURE = re.compile(
    r"(?:much |far )?(?:(greater|larger|bigger|higher|more|longer) than|(over|above|at least)"
    r"|(?:smaller|lower|less|fewer|shorter) than|under|below) (?:that of )?(.+)"
)


def _of_measure(name: str, words: Words) -> Query | None:
    row = _OF_MEASURE.fullmatch(" ".join(words))
    return None if row is None else beside(name, bool(row[1] or row[2]), row[3].split())


def reversed_(words: Words) -> tuple[Words, Words] | None:
    """As in "a cat smaller than it": what is compared, and the comparative; None for anything else."""
    if "than" not in words:
        return None
    words = list(words)
    at = words.index("than")
    if words[at + 1 : at + 2] not in (["it"], ["this"], ["that"], ["him"], ["her"]):
        return None
    cut = next((i for i in range(1, at) if words[i] in _STARTING or words[i].endswith("er")), 0)
    tail = words[at + 2 :]
    return (words[:cut], words[cut:at]) if cut and (not tail or tail[0] in (",", "is", "does")) else None


_STARTING = word_set("measures.starting")
