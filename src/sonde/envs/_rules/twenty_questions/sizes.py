"""Questions about size, weight and price: "bigger than a dog", "more than 10 kg", "fits in a pocket".

Ours. Sizes, weights and prices are known in coarse steps, so a comparison is answered where the step decides it, and
otherwise it is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from sonde.people.language.numbers import amount

from .english import base
from .phrases import source
from .queries import Query, atom
from .topics import Known, knowledge, name_key
from .wordlists import word_list

_MORE = {
    "big": "size",
    "bigger": "size",
    "larger": "size",
    "greater": "size",
    "taller": "size",
    "wider": "size",
    "heavier": "weight",
    "longer": "size",
}
_LESS = {"smaller": "size", "lighter": "weight", "shorter": "size", "tinier": "size", "thinner": "", "littler": "size"}
_WEIGHTS = (0.0, 0.1, 1.0, 10.0, 50.0, 500.0, float("inf"))
_PRICES = (0.0, 5.0, 50.0, 500.0, 5000.0, float("inf"))
_KG = {
    "kg": 1.0,
    "gram": 0.001,
    "g": 0.001,
    "pound": 0.4536,
    "ton": 1000.0,
    "tonne": 1000.0,
    "ounce": 0.02835,
    "oz": 0.02835,
}
_ARTICLES = word_list("sizes.articles")


@cache
def _references() -> Mapping[str, float]:
    """Things to compare with -> their size; a half lies between two steps."""
    found: dict[str, float] = {}
    for what, phrases in source():
        if what.startswith("size "):
            found.update({name_key(p): float(what[5:]) for p in phrases})
    return found


def reference_size(words: Sequence[str]) -> float | None:
    """The size of what is compared with, or None."""
    words = list(words)
    while words and words[0] in _ARTICLES:
        words = words[1:]
    while words:
        name = name_key(" ".join(words))
        topics = knowledge().lookup.get(name, 0)
        found = _references().get(name, knowledge().number_of("size", topics) if topics else None)
        if found is not None:
            return found
        words = words[1:] if len(words) > 1 and words[0] not in (*_JOINING, *_TELLING) else []
    return None


_TELLING = (
    *("baby", "toy", "model", "miniature", "giant", "huge", "tiny", "young", "half", "two", "three", "ten"),
    *("big", "large", "small", "little"),
)
_JOINING = ("of", "in", "on", "at", "with", "and", "or", "from", "for", "to", "that", "which", "than")


def compared(words: Sequence[str]) -> Query | None:
    """As in "bigger than a dog", "more than 10 kg in weight", "the size of a car": what follows "it is"."""
    words = [w for w in words if w not in ("much", "usually", "typically", "generally", "physically", "any", "even")]
    if len(words) < 3 or words[1] != "than":
        return None
    more, less = _MORE.get(words[0]), _LESS.get(words[0])
    field, rest = more or less, words[2:]
    wide = _wider(rest, bool(more)) if words[0] in _BROAD else None
    if wide is not None:
        return wide
    if field == "weight":
        limit = kilograms(rest)
        if limit is not None:
            return steps("weight", _WEIGHTS, limit, bool(more))
    if field is None or not field:
        return None
    weight = _weight_of(rest) if field == "weight" else None
    if weight is not None:
        return _beyond("weight", weight, bool(more))
    ref = reference_size(rest)
    if ref is None or (words[0] in ("taller", "longer", "shorter", "wider", "heavier", "lighter") and ref >= 6.5):
        return None
    return _beyond(field, ref, bool(more)) if field == "size" else _outweighs(rest, bool(more), ref)


_BROAD = ("bigger", "larger", "greater", "smaller")
_DOUBT = 0.1
"""Areas this near to each other are not told apart."""


@cache
def _areas() -> Mapping[int, float]:
    """Countries, continents, seas, deserts -> thousands of square kilometres, in round figures."""
    rows = (row.rpartition(": ") for row in word_list("sizes.areas"))
    return {knowledge().index[name]: float(area) for name, _, area in rows}


def _wider(words: Sequence[str], more: bool) -> Query | None:
    """Compared in area with a place, such as "bigger than France"."""
    name = name_key(" ".join(w for w in words if w not in _ARTICLES))
    topics = knowledge().lookup.get(name, 0)
    there = [area for i, area in _areas().items() if topics >> i & 1]
    if len(there) != 1:
        return None
    yes = no = 0
    for i, area in _areas().items():
        if abs(area - there[0]) > _DOUBT * there[0]:
            yes, no = (yes | 1 << i, no) if (area > there[0]) == more else (yes, no | 1 << i)
    small = knowledge().numbers("size", lambda n: n < _LARGEST).yes
    small |= knowledge().known("city_place").yes if there[0] > _CITY else 0
    known = Known(yes | (0 if more else small & ~no), no | (small & ~yes if more else 0))
    return atom(f"area{'>' if more else '<'}{name}", known)


_LARGEST, _CITY = 7, 20
"""The size of what is as large as a city or larger, and the area that no city has."""


def _weight_of(words: Sequence[str]) -> int | None:
    """The step of weight of a thing that is named."""
    name = name_key(" ".join(w for w in words if w not in _ARTICLES))
    topics = knowledge().lookup.get(name, 0)
    return _WEIGHED.get(name, knowledge().number_of("weight", topics) if topics else None)


_WEIGHED = {"feather": 0, "hair": 0, "leaf": 0, "coin": 0, "sheet of paper": 0, "brick": 2, "elephant": 5, "truck": 5}
"""Steps of weight of what things are compared with."""


def _outweighs(words: Sequence[str], more: bool, size: float) -> Query | None:
    """Compared in weight with a thing: by its weight, else by two steps of size."""
    weight = _weight_of(words)
    if weight is not None:
        return _beyond("weight", weight, more)

    def holds(n: int) -> bool | None:
        return (n > size) == more if abs(n - size) >= 2 else None

    return atom(f"weight{'>' if more else '<'}size {size:g}", knowledge().numbers("size", holds))


def _beyond(field: str, ref: float, more: bool) -> Query:
    def holds(n: int) -> bool | None:
        return (n > ref) == more if n != ref else None

    return atom(f"{field}{'>' if more else '<'}{ref:g}", knowledge().numbers(field, holds))


def fits(words: Sequence[str]) -> Query | None:
    """As in "fit in a pocket", "fit inside a car": no larger than that."""
    pocketed = words[:1] and words[0] in ("carry", "put", "keep") and words[-1] in ("pocket", "pockets", "purse")
    if (
        len(words) < 3
        or (words[0] not in ("fit", "fits") and not pocketed)
        or words[1] not in ("in", "inside", "into", "within", "through")
    ):
        return None
    ref = reference_size([w for w in words[2:] if w not in ("palm",)])
    return None if ref is None else _beyond("size", ref, False)


def kilograms(words: Sequence[str]) -> float | None:
    """A weight in words."""
    if len(words) < 2:
        return None
    unit, n = _KG.get(base(words[-1])), amount(words[:-1]) if words[:-1] not in (["a"], ["an"]) else 1
    return None if unit is None or n is None else n * unit


def steps(field: str, bounds: Sequence[float], limit: float, more: bool) -> Query:
    """A number known by its step, compared with a limit."""

    def holds(step: int) -> bool | None:
        if bounds[step] >= limit:
            return more
        return not more if bounds[step + 1] <= limit else None

    return atom(f"{field}{'>' if more else '<'}{limit:g} exactly", knowledge().numbers(field, holds))


def valued(verb: str, words: Sequence[str]) -> Query | None:
    """As in "weigh more than 10 kg", "cost less than 20 dollars": the verb's base and what follows."""
    found = comparer(words)
    if found is None:
        return None
    more, rest, _ = found
    if verb == "weigh":
        limit = kilograms(rest)
        if limit is None:
            ref = reference_size(rest)
            return None if ref is None else _outweighs(rest, more, ref)
        return steps("weight", _WEIGHTS, limit, more)
    if verb in ("cost", "be worth"):
        n = amount([w for w in rest if base(w) not in ("dollar", "euro", "us", "around", "about")])
        return None if n is None else steps("price", _PRICES, n, more)
    return None


_SIZED = {
    "small": (1, 4, False),
    "tiny": (0, 2, False),
    "big": (5, 2, True),
    "huge": (6, 4, True),
    "giant": (6, 4, True),
    "massive": (6, 4, True),
    "enormous": (6, 4, True),
    "gigantic": (6, 4, True),
    "miniature": (0, 2, False),
    "compact": (2, 4, False),
    "bulky": (4, 1, True),
}
_HEAVY = {"heavy": (4, 1, True), "lightweight": (1, 3, False), "light": (1, 3, False)}


def sized(words: Sequence[str]) -> Query | None:
    """As in "small", "very big", "heavy", "big in size": known where the step of size is far to one side."""
    words = [
        w
        for w in words
        if w
        not in (
            "relatively",
            "fairly",
            "quite",
            "rather",
            "in",
            "size",
            "physically",
            "pretty",
            "somewhat",
            "generally",
            "usually",
            "typically",
        )
    ]
    very = words[:1] in (["very"], ["really"], ["extremely"])
    word = base(words[-1]) if words else ""
    if len(words) != 1 + very:
        return None
    field, (yes, no, up) = ("size", _SIZED[word]) if word in _SIZED else ("weight", _HEAVY.get(word, (0, 0, True)))
    if word not in _SIZED and word not in _HEAVY:
        return None
    yes += (1 if up else -1) * very

    def holds(n: int) -> bool | None:
        if n >= yes if up else n <= yes:
            return True
        return False if (n <= no if up else n >= no) else None

    found = knowledge().numbers(field, holds)
    return atom(
        ("very " if very else "") + word, found if word not in _LARGE else Known(found.yes & ~_vast(), found.no)
    )


_LARGE = ("big", "large", "huge", "giant", "massive", "enormous", "gigantic")


@cache
def _vast() -> int:
    """Places of the last step of size, which are not called large for that: a country may be a small one."""
    knows = knowledge()
    named = knows.known("country").yes | knows.known("island").yes | knows.known("city_place").yes
    large = knows.known("large_area").yes | knows.known("pop_over_1m").yes
    return named & ~large


_COMPARERS = {
    ("more", "than"): True,
    ("over",): True,
    ("at", "least"): True,
    ("above",): True,
    ("less", "than"): False,
    ("under",): False,
    ("fewer", "than"): False,
    ("below",): False,
    ("at", "most"): False,
}


def comparer(words: Sequence[str]) -> tuple[bool, Sequence[str], bool] | None:
    """As in "more than 10": whether more, what follows, and whether the number itself counts."""
    for form, more in _COMPARERS.items():
        if tuple(words[: len(form)]) == form:
            return more, words[len(form) :], form[0] == "at"
    return None
