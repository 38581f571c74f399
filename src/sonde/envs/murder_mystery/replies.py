"""Answers to a detective's message, what an answer reveals, and the plainest message for every act.

An answer follows from the reading of the message (`reading`) and from the values that its act reveals
(`telling.describe`), so the values can be read back from it: `revealed` compares texts. A message that does nothing
gets help: who is there, where to go, which records and visible things there are, what is known of the victim, and how
many turns are left can be asked at any time, at the cost of a turn; a person who is asked nothing in particular says
what people can be asked. This help follows from the message and from the frame alone, so it is the same whatever is
hidden; its wordings are `[told]` in `data/phrases.txt`. Source: ours; in PAPRIKA (arXiv:2502.17543,
appendix B.4.4) a language model improvises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from typing import Final

from .cases import Act, Case, Frame, data
from .filter import MARK, VALUES, Slot
from .names import mark_sentences, mentioned, says, spoken
from .reading import LONGEST, Reading, order, read
from .telling import describe, fill, listed, observe, pick


def reply(case: Case, said: str, accusation: str, left: int | None = None) -> str:
    """Return the true answer to a message; `accusation` if it accuses somebody. `left` are the turns after this one."""
    act = read(case.frame, said).act
    return observe(case, act).text if act and case.frame.acts[act] else empty(case.frame, said, accusation, left)


def empty(frame: Frame, said: str, accusation: str, left: int | None = None) -> str:
    """Return the answer to a message that reveals nothing, from public facts alone."""
    found = read(frame, said)
    if found.kind == "accuse":
        return accusation
    return describe(frame, found.act, ()) if found.act else unanswered(frame, found, said, left)


@lru_cache(maxsize=16384)
def _answers(frame: Frame, act: Act) -> Mapping[str, tuple[int, ...]]:
    """Every answer that an act may get -> the values it reveals."""
    slots = frame.acts[act]
    rows = product(*(range(frame.model.size(s)) for s in slots))
    return {describe(frame, act, values): values for values in rows}


def revealed(frame: Frame, said: str, answer: str) -> dict[Slot, int]:
    """Return the slots that an answer reveals; empty for an answer that the rules would not give."""
    act = read(frame, said).act
    if act is None or not frame.acts[act]:
        return {}
    values = _answers(frame, act).get(answer)
    return {} if values is None else dict(zip(frame.acts[act], values, strict=True))


def evidence(frame: Frame, facts: Mapping[Slot, int]) -> tuple[str, ...]:
    """Facts in words, such as "Ruth Moreau, access: implicates" or "mark at the scene: a reef knot"."""
    return tuple(_fact(frame, slot, value) for slot, value in facts.items())


def _fact(frame: Frame, slot: Slot, value: int) -> str:
    marks = data()["traces"][frame.trace]["values"]
    if slot == MARK:
        return f"mark at the scene: {marks[value]}"
    name = frame.people[slot.person].name
    if slot.channel == "trace":
        return f"{name}, own mark: {marks[value] if value < len(marks) else 'unknown'}"
    return f"{name}, {slot.channel}: {VALUES[value]}"


# --- words for acts --------------------------------------------------------------------------------------------------


def sentence(frame: Frame, act: Act) -> str:
    """The plainest message that does an act."""
    name = frame.names[act.target]
    if act.verb == "ask":
        return f"{name}, {_question(frame, act.topic)}"
    if act.verb == "check":
        record = frame.records[int(act.target[1:])]
        return f"Talk to {name}." if record.kind == "bystander" else f"Check {name}."
    verb = "Search" if act.target[0] == "l" else "Examine"
    return f"{verb} {thing(name)}."


def _question(frame: Frame, topic: str) -> str:
    if topic in frame.names:
        return f"what can you tell me about {frame.names[topic]}?"
    means = {"key": "did you have a key to", "code": "did you know the code of", "skill": "do you know how to"}
    return {
        "alibi": "where were you at the time of the murder?",
        "access": f"{means[frame.means]} {frame.thing}?",
        "victim": f"how did you stand with {frame.victim}?",
        "scene": f"were you {frame.near} before it happened?",
        "death": f"what do you know about the death of {frame.victim}?",
        "others": "about whom of the others can you tell me something?",
    }[topic]


def thing(name: str) -> str:
    """Return the definite form of a name: "the letter" for "a letter"."""
    article, _, rest = name.partition(" ")
    return f"the {rest}" if article in ("a", "an") else name


def sentences(frame: Frame) -> tuple[str, ...]:
    """The plainest message for every act that has an answer."""
    return tuple(sentence(frame, act) for act in frame.acts)


def unanswered(frame: Frame, found: Reading, said: str, left: int | None) -> str:
    """Return the answer to a message that is neither an act nor an accusation; `left` are the turns after this one,
    None where turns are not counted."""
    turn = len(said)
    if found.kind == "body":
        return _text(frame, f"body_{frame.method}", 0)
    if found.kind == "several":
        return _text(frame, "several", turn)
    words = tuple(w for s in mark_sentences(frame, said[:LONGEST]) for w in (*s.words, ","))
    plain = tuple(w for s in spoken(said[:LONGEST]) for w in (*s.words, ","))
    if left is not None and says("turns left", plain):
        return _text(frame, "turns" if left > 1 else "last_turn" if left else "no_turn", turn, a=str(left))
    if found.kind == "talk":
        person = frame.people[found.person]
        return f'{person.name}: "{_text(frame, "unclear", turn)} {_text(frame, f"topics_{frame.means}", 0)}"'
    asked = next((name for name in _TOLD if says(name, words) or says(name, plain)), None)
    if asked and not mentioned(words, "p"):
        return _TOLD[asked](frame, turn)
    if mentioned(words, "p") and says("guilt", words):
        return _text(frame, "suspicion", turn)
    if {"you", "your", "him", "her", "them"} & {*words}:
        return f"{_text(frame, 'unnamed', turn)} {_people(frame, turn)}"
    looks = order(words) is not None and not mentioned(words, "pirblx")
    return _text(frame, "absent" if looks else "nothing", turn)


def _text(frame: Frame, key: str, turn: int, **more: str) -> str:
    """One of the replies of a kind."""
    return fill(frame, pick(frame, data()["text"]["reply"][key], key, turn), None, **more)


def _victim(frame: Frame, turn: int) -> str:
    row, say = data()["settings"][frame.setting], data()["text"]["briefing"]
    told = fill(frame, pick(frame, say[frame.method], "how"))
    about = {key: row[key] for key in ("occasion", "site", "victim")}
    found = fill(frame, pick(frame, data()["text"]["reply"]["victim"], "victim", turn), **about)
    return f"{found} {told} {_text(frame, 'ask_on', turn)}"


def _group(frame: Frame, turn: int, suspects: bool) -> str:
    names = [f"{p.name} ({p.role})" for p in frame.people if p.suspect is suspects]
    key = "suspects" if suspects else "witness" if len(names) == 1 else "witnesses"
    return _text(frame, key, turn, items=listed(names))


def _people(frame: Frame, turn: int) -> str:
    outside = listed([r.name for r in frame.records if r.kind == "bystander"])
    more = [_text(frame, "bystander", turn, items=outside)] if outside else []
    return " ".join([_group(frame, turn, True), _group(frame, turn, False), *more])


def _records(frame: Frame, turn: int) -> str:
    return _text(frame, "records", turn, items=listed([r.name for r in frame.records if r.kind != "bystander"]))


def _things(frame: Frame, turn: int) -> str:
    seen = listed([i.name for i in frame.items if i.place == 0])
    return f"{_text(frame, 'things', turn, items=seen)} {_records(frame, turn)} {_text(frame, 'more', turn)}"


_TOLD: Final[Mapping[str, Callable[[Frame, int], str]]] = {
    "suspects": lambda frame, turn: _group(frame, turn, True),
    "witnesses": lambda frame, turn: _group(frame, turn, False),
    "people": _people,
    "places": lambda frame, turn: _text(frame, "places", turn, items=listed([p.name for p in frame.places])),
    "records": _records,
    "things": _things,
    "victim is": _victim,
}
"""What a message may ask of the briefing -> what is said; the first that fits."""
