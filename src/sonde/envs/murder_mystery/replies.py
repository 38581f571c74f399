"""Answers to a detective's message, the values that an answer reveals, and the plainest message for every act.

An answer depends on the reading of the message (`reading`) and on the values that its act reveals
(`telling.describe_act`), so `revealed_slots` can recover the values from it by comparing texts. A message that does
nothing gets help. At the cost of a turn, the detective can always ask who is there, where to go, for records and
visible things, for facts about the victim, and for the number of turns left; a person who is asked nothing in
particular says what people can be asked. This help depends only on the message and the frame, so it is independent of
the hidden truth; its wordings are `[told]` in `data/phrases.txt`. Own design; in PAPRIKA (arXiv:2502.17543, appendix
B.4.4) a language model improvises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from typing import Final

from .._shared.english.sentences import is_question
from .cases import Case, CaseAct, Frame, case_data
from .filter import MARK, VALUES, Slot
from .names import has_meaning, mark_sentences, mentioned_ids, split_message
from .reading import LONGEST, ReadAct, order_verb, read_case_message
from .telling import definite_name, describe_act, fill_sentence, join_names, observe_act, pick_sentence


def answer_message(case: Case, said: str, accusation: str, left: int | None = None) -> str:
    """The true answer to a message; `accusation` if it accuses somebody. `left` is the number of turns after this
    one."""
    act = read_case_message(case.frame, said).act
    return (
        observe_act(case, act).text
        if act and case.frame.acts[act]
        else empty_answer(case.frame, said, accusation, left)
    )


def empty_answer(frame: Frame, said: str, accusation: str, left: int | None = None) -> str:
    """The answer to a message that reveals nothing, from public facts alone."""
    found = read_case_message(frame, said)
    if found.kind == "accuse":
        return accusation
    return describe_act(frame, found.act, ()) if found.act else answer_without_act(frame, found, said, left)


@lru_cache(maxsize=16384)
def _possible_answers(frame: Frame, act: CaseAct) -> Mapping[str, tuple[int, ...]]:
    """Map every possible answer to an act to the values that it reveals."""
    slots = frame.acts[act]
    rows = product(*(range(frame.model.size(s)) for s in slots))
    return {describe_act(frame, act, values): values for values in rows}


def revealed_slots(frame: Frame, said: str, answer: str) -> dict[Slot, int]:
    """The slots that an answer reveals; empty for an answer that the rules would not give."""
    act = read_case_message(frame, said).act
    if act is None or not frame.acts[act]:
        return {}
    values = _possible_answers(frame, act).get(answer)
    return {} if values is None else dict(zip(frame.acts[act], values, strict=True))


def describe_evidence(frame: Frame, facts: Mapping[Slot, int]) -> tuple[str, ...]:
    """Facts in words, such as "Ruth Moreau, access: implicates" or "mark at the scene: a reef knot"."""
    return tuple(_describe_fact(frame, slot, value) for slot, value in facts.items())


def _describe_fact(frame: Frame, slot: Slot, value: int) -> str:
    marks = case_data()["traces"][frame.trace]["values"]
    if slot == MARK:
        return f"mark at the scene: {marks[value]}"
    name = frame.people[slot.person].name
    if slot.channel == "trace":
        return f"{name}, own mark: {marks[value] if value < len(marks) else 'unknown'}"
    return f"{name}, {slot.channel}: {VALUES[value]}"


# --- words for acts --------------------------------------------------------------------------------------------------


def act_message(frame: Frame, act: CaseAct) -> str:
    """The plainest message that performs an act."""
    name = frame.names[act.target]
    if act.verb == "ask":
        return f"{name}, {_topic_question(frame, act.topic)}"
    if act.verb == "check":
        record = frame.records[int(act.target[1:])]
        return f"Talk to {name}." if record.kind == "bystander" else f"Check {name}."
    verb = "Search" if act.target[0] == "l" else "Examine"
    return f"{verb} {definite_name(name)}."


def _topic_question(frame: Frame, topic: str) -> str:
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


def act_messages(frame: Frame) -> tuple[str, ...]:
    """The plainest message for every act that has an answer."""
    return tuple(act_message(frame, act) for act in frame.acts)


def answer_without_act(frame: Frame, found: ReadAct, said: str, left: int | None) -> str:
    """The answer to a message that is neither an act nor an accusation; `left` is the number of turns after this one,
    None if turns are not counted."""
    turn = len(said)
    if found.kind == "body":
        return _reply_text(frame, f"body_{frame.method}", 0)
    if found.kind == "several":
        return _reply_text(frame, "several", turn)
    words = tuple(w for s in mark_sentences(frame, said[:LONGEST]) for w in (*s.words, ","))
    plain = tuple(w for s in split_message(said[:LONGEST]) for w in (*s.words, ","))
    if left is not None and has_meaning("turns left", plain):
        return _reply_text(frame, "turns" if left > 1 else "last_turn" if left else "no_turn", turn, a=str(left))
    if found.kind == "talk":
        person = frame.people[found.person]
        return (
            f'{person.name}: "{_reply_text(frame, "unclear", turn)} {_reply_text(frame, f"topics_{frame.means}", 0)}"'
        )
    asked = next((name for name in _TOLD if has_meaning(name, words) or has_meaning(name, plain)), None)
    if asked and not mentioned_ids(words, "p"):
        return _TOLD[asked](frame, turn)
    if mentioned_ids(words, "p") and has_meaning("guilt", words):
        return _reply_text(frame, "suspicion", turn)
    if {"you", "your", "him", "her", "them"} & {*words}:
        return f"{_reply_text(frame, 'unnamed', turn)} {_tell_people(frame, turn)}"
    looks = order_verb(words) is not None and not mentioned_ids(words, "pirblx")
    return _reply_text(frame, "absent" if looks else "nothing", turn)


_SILENT: Final[Mapping[str, str]] = {
    "several": "invalid", "suspicion": "invalid", "unnamed": "invalid",
    "absent": "not_known", "unclear": "not_understood", "nothing": "not_understood",
}  # fmt: skip
"""Maps the kinds of replies that give no answer to the reason."""


def unanswered_kind(frame: Frame, said: str, reply: str) -> str:
    """Why a reply of the narrator is no answer: "invalid", "not_understood" or "not_known"; "" if it is an answer."""
    spoken = reply.partition(': "')[2] or reply  # what somebody says who was asked
    texts = case_data()["text"]["reply"]
    found = next((key for key in _SILENT if any(spoken.startswith(text) for text in texts[key])), "")
    if found == "nothing" and not is_question(said) and not _gives_order(frame, said):
        return "invalid"
    return _SILENT.get(found, "")


def _gives_order(frame: Frame, said: str) -> bool:
    return any(order_verb(s.words) is not None for s in mark_sentences(frame, said[:LONGEST]))


def _reply_text(frame: Frame, key: str, turn: int, **more: str) -> str:
    """One of the replies of a kind."""
    return fill_sentence(frame, pick_sentence(frame, case_data()["text"]["reply"][key], key, turn), None, **more)


def _tell_victim(frame: Frame, turn: int) -> str:
    row, say = case_data()["settings"][frame.setting], case_data()["text"]["briefing"]
    told = fill_sentence(frame, pick_sentence(frame, say[frame.method], "how"))
    about = {key: row[key] for key in ("occasion", "site", "victim")}
    found = fill_sentence(frame, pick_sentence(frame, case_data()["text"]["reply"]["victim"], "victim", turn), **about)
    return f"{found} {told} {_reply_text(frame, 'ask_on', turn)}"


def _tell_group(frame: Frame, turn: int, suspects: bool) -> str:
    names = [f"{p.name} ({p.role})" for p in frame.people if p.suspect is suspects]
    key = "suspects" if suspects else "witness" if len(names) == 1 else "witnesses"
    return _reply_text(frame, key, turn, items=join_names(names))


def _tell_people(frame: Frame, turn: int) -> str:
    outside = join_names([r.name for r in frame.records if r.kind == "bystander"])
    more = [_reply_text(frame, "bystander", turn, items=outside)] if outside else []
    return " ".join([_tell_group(frame, turn, True), _tell_group(frame, turn, False), *more])


def _tell_records(frame: Frame, turn: int) -> str:
    return _reply_text(
        frame, "records", turn, items=join_names([r.name for r in frame.records if r.kind != "bystander"])
    )


def _tell_things(frame: Frame, turn: int) -> str:
    seen = join_names([i.name for i in frame.items if i.place == 0])
    things, more = _reply_text(frame, "things", turn, items=seen), _reply_text(frame, "more", turn)
    return f"{things} {_tell_records(frame, turn)} {more}"


_TOLD: Final[Mapping[str, Callable[[Frame, int], str]]] = {
    "suspects": lambda frame, turn: _tell_group(frame, turn, True),
    "witnesses": lambda frame, turn: _tell_group(frame, turn, False),
    "people": _tell_people,
    "places": lambda frame, turn: _reply_text(frame, "places", turn, items=join_names([p.name for p in frame.places])),
    "records": _tell_records,
    "things": _tell_things,
    "victim is": _tell_victim,
}
"""Maps what a message may ask of the briefing to the reply; the first match counts."""
