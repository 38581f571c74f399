"""What is answered to a detective's message, what an answer reveals, and the plainest words for every act.

An answer follows from the reading of the message (`reading`) and from the values that its act reveals
(`telling.describe`), so the values can be read back from it: `revealed` compares texts. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product

from .answers import unanswered
from .cases import Act, Case, Frame, data
from .filter import MARK, VALUES, Slot
from .reading import read
from .telling import describe, observe


def reply(case: Case, said: str, accusation: str, left: int | None = None) -> str:
    """The true answer to a message; `accusation` if it accuses somebody. `left` are the turns after this one."""
    act = read(case.frame, said).act
    return observe(case, act).text if act and case.frame.acts[act] else empty(case.frame, said, accusation, left)


def empty(frame: Frame, said: str, accusation: str, left: int | None = None) -> str:
    """The answer to a message that reveals nothing, which follows from what is public."""
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
    """What an answer to a message reveals; nothing if it is none that the rules would give."""
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
    """A thing as one speaks of it when it is known: "the letter" for "a letter"."""
    article, _, rest = name.partition(" ")
    return f"the {rest}" if article in ("a", "an") else name


def sentences(frame: Frame) -> tuple[str, ...]:
    """The plainest message for every act that has an answer."""
    return tuple(sentence(frame, act) for act in frame.acts)
