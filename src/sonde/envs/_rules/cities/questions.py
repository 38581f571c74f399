"""What a message of guess_my_city asks: from words to a query.

Ours. The message is brought into one form (`text.py`) and must then fit a pattern as a whole, every word of it: a
word that no pattern expects could change what is asked, so it makes the message unreadable, and the reply is "I do not
know." Guesses come first (`proposals.py`), then patterns for names (refused), then yes/no questions, then open ones.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .atlas import atlas
from .claims import opposite
from .customs import of_country
from .facts import far_from, nationwide, widened
from .fame import country_known
from .gist import gist
from .lands import of_land
from .local import ranked
from .named import vague
from .nations import of_nation
from .patterns import built, opening
from .proposals import AUX, proposed, strange
from .replies import REFUSED, Asked, Query, Silent
from .sayings import NEARBY, Said, saying
from .text import Form, form, tidy
from .unread import again
from .words import guessed, lands, town

UNREADABLE = Silent("unknown")
REFUSE = Silent("refuse", REFUSED)

_REFUSED = re.compile(
    r"(?:C|N|NAME|C N|C , N|N and C|N or C)"
    r"|(?:what|which) (?:is |are )?(?:(?:full |real |official |exact |actual )*(?:C|N|NAME|answer|"
    r"secret))(?: called| named| exactly| then)?"
    r"|(?:what|which) (?:country|city|nation|state|town|C|N|place|province|county)(?: and (?:country|"
    r"city))? (?:is C|are you|do you live|is C part|does C belong|do you come|were you born|was C|are P|"
    r"C is|you live|you are)(?: (?:in|from|of|to|located))*"
    r"|in (?:what|which) (?:country|city|nation|state|town|N|C|place) (?:is C|are you|do you live|is N|"
    r"C is|do P live)(?: in)?"
    r"|where (?:is|are|do|can|does|did|exactly) .{0,40}"
    r"|(?:name|reveal|spell|give me|give|say|write|print|tell|show|disclose|output|state|spill|"
    r"type)(?: me| us| out)?(?: just)? (?:(?:first|last) (?:letters|word) of )?(?:C|N|NAME)(?: (?:and|"
    r"or) (?:C|N|NAME))*(?: now)?"
    r"|what do (?:you|people|locals|P) call (?:C|N)|what is (?:C|N) called|what is (?:name|"
    r"capital) of N|what is N 's (?:capital|name)(?: city)?|what is N 's capital C|what (?:is|"
    r"are) (?:demonym|nationality).*"
    r"|(?:what|which) (?:city|C) is C|what is C 's (?:full |official )?name|what is capital city|"
    r"what nationality (?:are|is) .{0,20}|(?:i )?give up .{0,30}|what is answer|who are you"
)


@lru_cache(maxsize=8192)
def query(message: str) -> Query:
    """What a message asks.

    >>> [query(m).topic for m in ("Is it in Europe?", "Paris, France!", "What is its name?", "Is it blurple?")]
    ['continent', 'guess', 'refuse', 'unknown']
    """
    found, read = _query(message), form(message)
    return ranked(widened(found) if read and nationwide(read.spoken) else found)


def _query(message: str) -> Query:
    found, read = _read(message), form(message)
    if read is None:
        return found
    if read.said.endswith(" inN") and not read.negated and (meant := of_nation(read.said)) is not None:
        return meant
    if not (found is UNREADABLE or _of_fame(found)):
        return found
    if (found is UNREADABLE or vague(found) or read.text.endswith(" inN")) and (meant := _again(read)) is not None:
        return meant
    if read.negated:
        return found
    dark = found is UNREADABLE or vague(found)
    meant = (gist(tidy(message), asked) if dark else None) or found
    meant = of_land(read.said, meant)
    claim = saying(read.said, bool(NEARBY.search(read.spoken)))
    return Said(claim, meant) if claim else meant


def _again(read: Form) -> Query | None:
    """What a message that stays unread asks in plainer words."""
    found = again(read.text, read.spoken, asked) if len(read.text) <= 160 else None
    if not isinstance(found, Asked) or vague(found):
        return None if read.negated or isinstance(found, Asked) else found
    return Asked(found.claims, found.how, found.negated ^ read.negated)


def _of_fame(found: Query) -> bool:
    """Whether all that is asked is what the city is known for."""
    if not isinstance(found, Asked) or found.how not in ("one", "all"):
        return False
    return all(claim.label or claim.words.endswith((" born here", "known for that")) for claim in found.claims)


def _read(message: str) -> Query:
    read = form(message)
    if read is None:
        return UNREADABLE
    if not read.negated:
        guess = proposed(message)
        if guess is not None:
            return guess
        if _REFUSED.fullmatch(read.text.removesuffix(" inN")):
            return REFUSE
    found = asked(read.text) if len(read.text) <= 160 else None
    if isinstance(found, Asked):
        return Asked(found.claims, found.how, read.negated) if read.negated else found
    if found is not None and not read.negated:
        return found
    return UNREADABLE if read.negated else strange(read.text, read.spoken) or UNREADABLE


_PAST = re.compile(r"(?:was|were|had|did|has [CN] (?:ever|once|been)) (?!.*\b(?:founded|established|built|settled)\b)")
_OF_OLD = re.compile(r"\[(?:was\||has\|has not)")
"""Words of a claim on the past."""
_RULED = re.compile(r"\[was\|was not\] (?:once|part)")
_ONCE = re.compile(
    r"\b(?:ever|once|previously|formerly|historically|former|in past|before|at some point|at one time)\b"
)
"""Without one of these words "is it under British rule" asks of today."""


@lru_cache(maxsize=8192)
def asked(text: str) -> Query | None:
    """The query of a text in the one form; None if no pattern fits it, or if it asks what was and is told what is."""
    found = _fitting(text)
    return None if isinstance(found, Asked) and _of_another_time(text, found) else found


def _of_another_time(text: str, found: Asked) -> bool:
    """Whether what was is asked for and what is would be told, or the other way round."""
    if _PAST.match(text):
        return not all(claim.label or _OF_OLD.search(claim.words) for claim in found.claims)
    return bool(re.match(r"(?:is|are) ", text)) and (
        not _ONCE.search(text) and any(_RULED.search(claim.words) for claim in found.claims)
    )


def _fitting(text: str) -> Query | None:
    if text.endswith(" inN"):
        return _in_country(asked(text.removesuffix(" inN")))
    if (
        text.startswith("is C ")
        and not text.startswith("is C in ")
        and guessed(text[5:], True) is not None
        and lands(text[5:]) is None
    ):
        return None
    m = _SUBJECT.fullmatch(text)
    if m:
        found = built("having" if m["verb"] == "have" else "being", f"{m['who']} {m['rest']}")
        if found is not None:
            return found
    return built("whole", text) or opening(text) or _far(text) or _exampled(text) or _joined(text) or _short(text)


def _short(text: str) -> Query | None:
    """A question cut to what it says of the city or the country: "coastal", "on river", "france"."""
    if re.match(rf"(?:{AUX}|what|which|how|where|who|why|when|C|N|P|NAME|if|i|my|you|not|describe|name|tell)\b", text):
        return None
    for frame in ("is C", "does C have", "is N", "does N have"):
        found = asked(f"{frame} {text}")
        if isinstance(found, Asked) and not any(claim.label for claim in found.claims):
            return found
    return None


_PARTS = (
    re.compile(r"(?P<a>(?P<h>is|was) [CN] .+?) (?P<w>and|but|butnot|or)(?: also)? (?P<b>.+)"),
    re.compile(r"(?P<a>(?P<h>does) [CN] .+?) (?P<w>and|but|butnot|or)(?: also)? (?P<b>.+)"),
    re.compile(
        r"(?P<a>(?P<h>is|was) C .*?(?:city|town|metropolis|port|capital|capital city))(?P<w>) (?P<b>(?:in|"
        r"on|of|at|by|near|with) .+)"
    ),
    re.compile(r"(?P<a>(?P<h>is) C on .+? coast)(?P<w>) of (?P<b>.+)"),
    re.compile(r"(?P<a>(?P<h>is) C on island)(?P<w>) (?P<b>in .+)"),
)


_SUPERLATIVE = re.compile(r"\b(?:\w+est|most|second|third) ")
"""Words that belong to what follows: the biggest city in Asia need not be the biggest of its country."""


def _one_idea(head: str, tail: str) -> bool:
    """Whether two parts are one claim: a superlative and where it holds, "capital" and what it is the capital of."""
    capital = head.endswith(("capital", "capital city"))
    return bool(_SUPERLATIVE.search(head)) or (
        capital and (tail.startswith("of ") or tail.removeprefix("in ") in atlas().states)
    )


def _joined(text: str) -> Query | None:
    """Two questions in one: "is C in asia and on coast", "is C in asia butnot in china", "is C port city in europe"."""
    for pattern in _PARTS:
        m = pattern.fullmatch(text)
        if m is None or " , " in m["a"] or (not m["w"] and _one_idea(m["a"], m["b"])) or _foreign_coast(m["a"], m["b"]):
            continue
        first, second = asked(m["a"]), _second(m)
        if isinstance(first, Asked) and isinstance(second, Asked) and first.how == second.how == "one":
            a, b = first.claims[0], second.claims[0]
            if m["w"] == "butnot":
                b = opposite(b, re.sub(r"\[([^|\]]*)\|([^\]]*)\]", r"[\2|\1]", b.words))
            return Asked((a, b), "any" if m["w"] == "or" else "all")
    return None


def _foreign_coast(head: str, tail: str) -> bool:
    """Whether a west or east coast is said to be that of a country, and not of the United States."""
    return head.endswith((" west coast", " east coast")) and "US" not in (lands(tail) or ("US",))


def _second(m: re.Match[str]) -> Query | None:
    rest = m["b"]
    if re.match(r"(?:is|does|was) [CN] ", rest):
        return asked(rest)
    who = m["a"].split()[1]
    if m["h"] == "does":
        return asked(f"does {who} {rest}") or asked(f"does {who} have {rest}")
    prefix = "in " if m["a"].endswith("coast") and not m["w"] else ""
    return asked(f"{m['h']} {who} {prefix}{rest}")


def _exampled(text: str) -> Query | None:
    """Without examples at its end: "is C in south america , such as peru"."""
    head, mark, _ = text.partition(" , such as ")
    if not mark:
        head, mark, _ = text.partition(" , like ")
    if not mark:
        head, mark, _ = text.partition(" , for example ")
    return asked(head) if mark else None


_WIDE = "language currency religion flag neighbours drives_on wealth region country continent history cuisine"
_OF_COUNTRIES = frozenset(_WIDE.split())
"""Topics whose claims and facts are of the whole country, or hold for it if they do for the city."""


def _in_country(found: Query | None) -> Query | None:
    """What is asked of the whole country."""
    if not isinstance(found, Asked) or not any(claim.label for claim in found.claims):
        own = isinstance(found, Asked) and all("its country" in claim.words for claim in found.claims)
        return widened(found) if found is not None and (own or found.topic in _OF_COUNTRIES) else None
    claims = tuple(country_known(claim, claim.label) if claim.label else of_country(claim) for claim in found.claims)
    return Asked(claims, found.how, found.negated)


_SUBJECT = re.compile(r"(?:(?:is|are|was|were|has) |does |do )(?P<who>C|N) (?P<verb>have|)(?: ?)(?P<rest>.+)")


_FAR = re.compile(
    r"(?:how far(?: away)? (?:is C|are you)(?: away)? (?:from|to)|what is distance (?:from C )?(?:from|"
    r"to|between C and)|how (?:many km|many miles|close) is C (?:from|"
    r"to)) (?P<x>[a-z' ]+?)(?: , and how far to (?P<y>[a-z ]+))?"
)


def _far(text: str) -> Query | None:
    m = _FAR.fullmatch(text)
    other = town(m["x"]) if m else None
    return None if other is None or not m or m["y"] else far_from(other.id, other.name)
