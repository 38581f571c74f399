"""What a detective's message does: an act, an accusation of one person, several things at once, or nothing.

Source: PAPRIKA (arXiv:2502.17543), appendix B.4.4: one action in every turn, and a conclusion that ends the game. How
free text is read is ours. A message is cut into sentences with marks for names (`names`), these into units, one for
every verb of asking or looking. What is denied, dismissed or said to give a reason is taken out; then a unit is a
question to somebody or a look at something, by the declared phrasings that are spots in it
(`data/phrases.txt`), or nothing. Units that do different things make the message `several`. What is not
understood does nothing, and costs a turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from .._shared.english.lists import word_set
from .accusing import accused
from .cases import Act, Frame
from .looking import looked, seen, worn
from .names import Sentence, mentioned, sentences
from .phrases import listed_as, says, spots
from .topics import topic
from .units import BODY, MANY, NOTHING, WH, Context, Reading, Words, affirmed, begun, numbered, order, parts

LONGEST: Final = 2000
"""Characters of a message that are read."""


@lru_cache(maxsize=8192)
def read(frame: Frame, text: str) -> Reading:
    """What a message does, whatever it is; the same for everybody who has the same frame."""
    heard = text[:LONGEST]
    said = sentences(frame, heard)
    everything = tuple(w for s in said for w in (*s.words, ","))
    if says("meta", everything):
        return NOTHING
    if says("taken back", everything):
        return MANY
    guilty = accused(said)
    if not guilty:
        return _together(list(_units(frame, heard, said)))
    besides = _together(list(_units(frame, heard, said, guilty=True)))
    if len(guilty) > 1 or besides.kind in ("act", "several"):
        return MANY
    return Reading("accuse", person=int(guilty[0][1:]))


# --- units -----------------------------------------------------------------------------------------------------------


def _units(frame: Frame, heard: str, said: Iterable[Sentence], guilty: bool = False) -> Iterable[Reading]:
    """What every unit of a message does; where it accuses somebody (`guilty`), only orders count."""
    here = Context(frame, heard)
    for sentence in said:
        words = affirmed(numbered(sentence.words))
        called = _called(words, here)
        here = here._replace(teller=called, told=bool(_called(words, here._replace(teller=""))) or here.told)
        units = list(parts(words))
        open_ = units and (sentence.asks or "either" in units[0]) and says("later", tuple(units[0]))
        for unit in () if open_ else units:
            if guilty and (says("guilt", tuple(unit)) or order(tuple(unit)) is None):
                continue
            reading = _unit(here, tuple(unit), sentence.asks)
            people, things = mentioned(unit, "pb"), mentioned(unit, "irb")
            if reading.kind == "talk":
                here = here._replace(teller=f"p{reading.person}")
            elif reading.act and reading.act.verb == "ask":
                here = here._replace(teller=reading.act.target, told=here.told and reading.act.target == here.teller)
            here = here._replace(people=(*here.people, *people), things=(*here.things, *things))
            yield reading


# --- one unit --------------------------------------------------------------------------------------------------------


def _unit(here: Context, words: tuple[str, ...], asks: bool) -> Reading:
    """What one unit does."""
    if here.teller == ",":
        return MANY
    start = next((i for i, w in enumerate(words) if w not in listed_as("lead")), 0)
    if says("done", words) or says("later", words) or begun("spoil", words, start):
        return NOTHING
    verb = order(words)
    if begun("charge", words, verb):
        return MANY if here.people or here.things else NOTHING
    if words[0] == "had" and not asks:
        return NOTHING
    if says("all", words) and (begun("ask", words, verb) or (here.teller and not mentioned(words, "ri"))):
        return MANY
    asked = _object(here, words, verb)
    if asked is not None:
        return _asked(here, *asked)
    look = worn(here, words, verb is not None or asks) or looked(here, words, verb, asks)
    if look is not None:
        return look
    if here.teller:
        requests = asks or _requests(words)
        return _asked(here, here.teller, words, here.told) if requests else NOTHING
    return _third(here, words, asks or verb is not None or words[0] in WH | word_set("aux"))


def _requests(words: Words) -> bool:
    """Whether somebody who is spoken to is asked something."""
    told = [w for w in words if w != ","]
    if [w[0] for w in told[:2]] == ["@", "@"]:
        return False
    rest = [w for w in told if w[0] != "@" and w not in listed_as("lead") - {"i", "we", "you"}]
    return not rest or rest[0] not in _STATED or says("wish", tuple(told))


_STATED = frozenset(("i", "we", "he", "she", "they", "it", "there", "that", "this", "you"))


def _called(words: Words, here: Context) -> str:
    """Who is called by name, or was before; "," for several."""
    yours, fillers = {"you", "your"} & {*words}, word_set("fillers") | listed_as("calling")
    for i, word in enumerate(words):
        if word[0] != "@" or word[1] not in "pb":
            continue
        before, after = words[:i], words[i + 1 : i + 2]
        first = all(w in fillers for w in before)
        alone = not after or after[0] in (",", "you", "your")
        asked = after and (after[0] in WH or after[0] in word_set("aux") or after[0] in ("tell", "please", "and"))
        if "about" in before and words[-1][:2] == "@p" and words[-2] == ",":
            return words[-1][1:]
        if first and (alone or (asked and yours)):
            joined = [w for w in words[i + 2 : i + 3] if w[0] == "@" and w[1] in "pb" and words[i + 1] in (",", "and")]
            return "," if joined and yours else word[1:]
        if yours and alone and words[i - 1 : i] in ([","], (",",)):
            return word[1:]
    return here.teller


def _object(here: Context, words: tuple[str, ...], verb: int | None) -> tuple[str, Words] | None:
    """Whom a verb of asking is about, and what they are asked; "," for several people, "" for nobody of the case."""
    for spot in spots("ask", words):
        if spot.start != verb:
            continue
        at = next((i for i in range(spot.end, min(spot.end + 4, len(words))) if _ends(words[i])), len(words))
        word, rest = (words[at], words[at + 1 :]) if at < len(words) else (",", ())
        if word == "@x":
            return None
        if word[0] == "@":
            return _one(word, rest), rest
        if word != "," and here.people:
            return here.people[-1], rest
        if here.teller or here.people:
            return here.teller or here.people[-1], words[spot.end :]
    return None


def _ends(word: str) -> bool:
    """Whether a word behind a verb of asking says who is asked, or that nobody is named."""
    return word in ("him", "her", "them", ",") or (word[0] == "@" and word[1] in "pbx")


def _one(mark: str, rest: Words) -> str:
    """The only person who is asked."""
    if rest[:1] == ("s",) and mark[1] == "p":
        return ""
    joined = next((w for w in rest[:3] if w not in ("to", "with", ",", "and", "or", "then")), "")
    more = joined[:2] in ("@p", "@b") and rest[0] in (",", "and", "or")
    return "," if more or {"too", "both"} & {*rest} else mark[1:]


def _asked(here: Context, teller: str, words: Words, told: bool = False) -> Reading:
    """A question to somebody, who is `told` it, or to be asked."""
    if not teller or teller == ",":
        return MANY if teller else NOTHING
    if teller[0] == "b":
        return seen(teller)
    asked = tuple(words)
    if says("wear", asked) and says("shown", asked) and not says("worn not", asked) and not mentioned(asked, "p"):
        return seen(teller)
    if says("aside", asked):
        return Reading("talk", person=int(teller[1:]))
    found = topic(here.frame, _as_asked(here, words, teller, told), teller)
    if found == "several":
        return MANY
    return Reading("act", Act("ask", teller, found)) if found else Reading("talk", person=int(teller[1:]))


_OWN: Mapping[str, str] = {
    **dict.fromkeys(("he", "she", "they", "him", "them"), "you"),
    **dict.fromkeys(("his", "her", "their"), "your"),
}


def _as_asked(here: Context, words: Words, teller: str, told: bool) -> tuple[str, ...]:
    """The question with the person asked as "you"."""
    start = next((i for i, w in enumerate(words) if w not in (f"@{teller}", ",")), 0)
    out = ["you" if w == f"@{teller}" else "weapon" if w == "@i1" else w for w in words[start:]]
    if not told and {"you", "your"}.isdisjoint(out):
        return tuple(_OWN.get(w, w) for w in out)
    other = next((f"@{p}" for p in reversed(here.people) if p != teller), "@v")
    return tuple(other if w in ("he", "she", "him", "her") else w for w in out)


def _third(here: Context, words: tuple[str, ...], asks: bool) -> Reading:
    """A question about somebody that is put to nobody: they are asked."""
    people = mentioned(words, "pb")
    if not people:
        return BODY if says("body", words) and asks else NOTHING
    if people[0][0] == "b":
        return seen(people[0]) if asks and says("witnessed", words) else NOTHING
    if words[0][:2] == "@p" and words[1:2] != ("s",):
        return NOTHING
    bare = len(words) < 5 and says("alibi", words) and word_set("aux").isdisjoint(words)
    if not (asks or bare) or says("aside", words):
        return NOTHING
    found = _asked(here, people[0], words)
    return found if found.act or found.kind == "several" else NOTHING


# --- together --------------------------------------------------------------------------------------------------------


def _together(found: Sequence[Reading]) -> Reading:
    """What the units do: one act, or several, or something less."""
    kinds = {reading.kind for reading in found}
    acts = list(dict.fromkeys(reading for reading in found if reading.act))
    while len(acts) > 1 and acts[0].act and acts[0].act.target[0] == "l" and acts[0].act.verb == "examine":
        acts = acts[1:]
    talks = {reading for reading in found if reading.kind == "talk"}
    apart = acts and any(acts[0].act and acts[0].act.target != f"p{talk.person}" for talk in talks)
    if "several" in kinds or len(acts) > 1 or apart:
        return MANY
    if acts:
        return acts[0]
    if talks:
        return talks.pop() if len(talks) == 1 else MANY
    return BODY if "body" in kinds else NOTHING
