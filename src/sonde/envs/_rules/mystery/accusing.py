"""Who is accused in a template (`words`): only what states it, about somebody named, in a sentence of its own.

A suspicion ("I think it was X"), a condition, a report ("they say that X did it"), a question and a denial accuse
nobody. Source: ours; PAPRIKA, appendix B.4.4, has the detective announce an accusation, "merely confronting" is none.
"""

from __future__ import annotations

import re

from .patterns import SENTENCE
from .wordings import wordings

_SAID = wordings("accusing")

_CERTAIN = _SAID.pattern("certain")
_HEDGED = _SAID.test("hedged")
_PROVEN = _SAID.pattern("proven")
_PATTERNS = _SAID.patterns("patterns")
_NOT = _SAID.pattern("not")
_OTHERWISE = _SAID.pattern("otherwise")
_LEAD = _SAID.pattern("lead")
_ANNOUNCED = _SAID.pattern("announced")
_GUILT = _SAID.test("guilt")
_QUOTED = _SAID.test("quoted")
_RETRACTED = _SAID.test("retracted")
_PRONOUN = _SAID.pattern("pronoun")
_ALSO = _SAID.pattern("also")


def accused(template: str) -> tuple[int, ...]:
    """The numbers of all people whom a template accuses.

    >>> accused("i accuse the @p2 of the murder ."), accused("i think that @p2 did it ."), accused("was it @p1 ?")
    ((2,), (), ())
    """
    if "@p" not in template or _QUOTED(template):
        return ()
    found: dict[str, None] = {}
    for sentence in SENTENCE.findall(template):
        if "?" in sentence or not _GUILT(sentence):
            continue
        plain = " ".join(_NOT.sub(" ", _PROVEN.sub(" ", _CERTAIN.sub(" ", sentence))).split())
        if _HEDGED(plain):
            continue
        if (before := _PRONOUN.search(plain)) and _states(plain[: before.start()]):
            found |= _meant(template)
        for pattern in _PATTERNS:
            for match in pattern.finditer(plain):
                stated = _states(plain[: match.start()]) and not _OTHERWISE.match(plain, match.end())
                found |= _named(plain, match) if stated else {}
    return tuple(sorted(int(p[1:]) for p in found))


def may_accuse(template: str) -> bool:
    """Whether a template that is not understood states somebody's guilt, in a sentence that neither asks nor supposes.

    >>> may_accuse("it ends here : @p2 is the one , the murderer ."), may_accuse("i think that @p2 did it .")
    (True, False)
    """
    plain = (_PROVEN.sub(" ", _CERTAIN.sub(" ", s)) for s in SENTENCE.findall(template) if "?" not in s)
    return not _QUOTED(template) and any("@p" in s and _GUILT(s) and not _HEDGED(s) for s in plain)


def doubtful(template: str) -> bool:
    """Whether the message that accuses somebody takes it back or names company."""
    return _RETRACTED(template)


def _states(before: str) -> bool:
    """Whether the words of a sentence before the guilt leave it a statement: a clause that leads to it, after others
    that are no order to repeat something."""
    last = re.split(r"[,:]", before)[-1]
    said = before.rsplit(":", 1)[0] if ":" in before else None
    if said is not None and (not _ANNOUNCED.search(said) or re.search(r"@p\d (?!,)[a-z']", said)):
        return False
    joined = re.split(r"\b(?:and|so|but|because) (?=\w)", last.strip())[-1]
    return bool(
        _LEAD.fullmatch(joined.strip()) or re.fullmatch(r"(?:(?:the|our) )?@p\d(?: ,| and| or)?|", joined.strip())
    )


def _meant(template: str) -> dict[str, None]:
    """Whom "I accuse her" means: the only person whom the message mentions."""
    people = dict.fromkeys(re.findall(r"@(p\d)", template))
    return people if len(people) == 1 else {}


def _named(sentence: str, match: re.Match[str]) -> dict[str, None]:
    """The person of a pattern, and whoever is joined to them."""
    people = {p: None for p in match.groups() if p}
    more = _ALSO.match(sentence, match.end(1))
    while more:
        people[more[1]] = None
        more = _ALSO.match(sentence, more.end())
    if match.start() > 0 and (before := re.search(r"@(p\d) (?:and|or) (?:the )?@$", sentence[: match.start(1)])):
        people[before[1]] = None
    return people


_PLAIN = _SAID.pattern("plain")


def is_accusation(said: str) -> bool:
    """Whether a message accuses somebody, in a case of which nothing is known but the words.

    >>> is_accusation("I accuse the janitor."), is_accusation("Is Akiko the murderer?")
    (True, False)
    """
    sentences = SENTENCE.findall(said.lower())
    plain = (_PROVEN.sub(" ", _CERTAIN.sub(" ", s)) for s in sentences if "?" not in s)
    return any(_PLAIN.search(s) and not _HEDGED(s) for s in plain)
