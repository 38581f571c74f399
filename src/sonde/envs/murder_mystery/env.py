"""Murder mystery: question people, examine things and places, check records, and accuse whoever did it.

Sources and presets:
    paprika       PAPRIKA (arXiv 2502.17543), section 4 and appendices B.4.4 and D: a detective takes one action a turn,
                  at most 20 turns, a language model plays the world and says when there is a final accusation, a
                  judge decides whether it is right; the culprit may be a witness; 203 training and 50 test tasks; no
                  message is checked. Any accusation of one person ends the game (`claimed`), a wrong one with a loss
    delta_belief  ΔBelief-RL (arXiv 2602.12342), appendices B.2.3 and C.4, and its code: the 50 test tasks of PAPRIKA,
                  20 turns, no message is checked. Only the right accusation ends the game; a wrong one is neither
                  confirmed nor denied, uses up its turn, and the investigation continues; 200 new tokens. So whoever
                  accuses everybody in turn wins every game; evidence is needed in `paprika`

Ours: the cases, what can be found out in them and what it means (`cases.py`, `filter.py`), and the reading of free text
(`reading.py`). A program narrates; a language model that gets all facts of the case can take its place. The rules judge
an accusation by the accused person; with `judge="seat"` the policy in that seat judges. ΔBelief-RL only tests on this
game: the tasks of its preset are those of `paprika`. If the game continues after a wrong accusation, an accusation is
also a question: the filter then knows that this person did not do it.

The hypothesis is the culprit's name; the posterior is exact for `users:narrator`. A task may also be a foreign
scenario, `{"scenario": ..., "solution": ...}`. Only a language model can narrate it, it has no filter, and it needs a
judge (`judge="seat"`), because no rule can tell what solves it.

`turn.info`: `evidence` (what this turn revealed, in words), `accused` (a name, or ""), and what
`envs/_shared/dialogue.py` adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Frozen, Rng, Spec, Step, Task, TaskList, invalid
from sonde.core.types import Json

from .._shared.checks import Candidates
from .._shared.dialogue import GOAL, JUDGE, USER, Dialogue, Talk
from .._shared.english.naming import Names, Verdict, judge_naming, name_lookup
from .._shared.english.tokens import name_key
from .._shared.quoting import quote_message
from .accusing import find_accused, is_accusation, may_accuse
from .belief import MysteryFilter
from .cases import TASKS, Case, Frame, is_name, numbered_case
from .filter import Truth
from .names import mark_sentences
from .reading import LONGEST, ReadAct, read_case_message
from .replies import act_message, act_messages, describe_evidence, revealed_slots, unanswered_kind
from .telling import all_clues, find_lies, write_briefing, write_ending

_NAME = "murder_mystery"
_SOURCES = {"paprika": "PAPRIKA, appendices B.4.4 and D", "delta_belief": "ΔBelief-RL, appendices B.2.3 and C.4"}
_ENDS = ("an accusation ends the game whatever the user says of it",)
_DELTA_BELIEF = (
    "the paper's 50 scenarios are PAPRIKA's; here they are the 50 test tasks of preset paprika, all of them",
    "the training tasks are those of preset paprika: the paper has none",
    "a right accusation ends the game whatever the user says of it, and nothing else does",
)
_GIVEN_AWAY = (
    "{n} is the {x}", "{n} was the {x}", "the {x} is {n}", "the {x} was {n}", "the true {x} is {n}", "{n} is our {x}",
    "{n} is guilty", "{n} did it", "{n} killed {w}", "{n} murdered {w}", "{n} poisoned {w}", "it was {n} who",
    "i killed {w}", "i murdered {w}", "i poisoned {w}", "i am the {x}",
)  # fmt: skip
"""Phrases that a narrator must not say about the culprit."""


class World(NamedTuple):
    """A case by name ("train/3") with its truth, or a foreign scenario with its solution."""

    name: str
    truth: Truth | None = None
    scenario: str = ""
    solution: str = ""


@dataclass(frozen=True, kw_only=True)
class MurderMystery(Dialogue):
    """See the module, and `envs/_shared/dialogue.py` for the arguments. `error_rate` must be 0, because the filter
    recovers the revealed values from the rules' words."""

    name_of_prompts: ClassVar[str] = _NAME
    presets: ClassVar[tuple[str, ...]] = tuple(_SOURCES)
    going_on: ClassVar[tuple[str, ...]] = ("delta_belief",)
    longest: ClassVar[int] = 1000

    preset: str = "paprika"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.error_rate:
            raise invalid(f"{_NAME}: error_rate", self.error_rate, "0, because the narrator's words are never wrong")

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=_NAME,
            version="6",
            summary="question people and examine things until you can say who did it",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(0.0, 1.0),
            support="every suspect and every witness; the witnesses together have probability 0.18",
            source=_SOURCES[self.preset],
            seats=self.seats("users:narrator"),
            assumes=self.assumed_users("users:narrator"),
            reference="murder_mystery",
            max_new_tokens=200 if self.goes_on else 1024,
            departures=(
                "cases are drawn by a program, and each can be solved with certainty",
                "a program narrates unless another user is seated",
                "the judge is called after an accusation or a claim, not in every turn",
                "only the first 4,000 characters of a message are read",
                *(_DELTA_BELIEF if self.goes_on else _ENDS),
            ),
        )

    # --- tasks -------------------------------------------------------------------------------------------------------

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(
            TASKS[split], lambda i: self._make_task(f"{split}/{i}", numbered_case(split, i).truth, split, i)
        )

    def task(self, hidden: Json) -> Task:
        """`{"case": "train/3"}`, with `culprit`, `vectors`, `mark` and `traits` for another truth of that case; or
        `{"scenario": "...", "solution": "..."}`, which a language model narrates."""
        if foreign := self.foreign_task(hidden):
            return foreign
        setup: Mapping[str, Any] = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else {}
        name = setup.get("case")
        if not isinstance(name, str) or name not in _case_names():
            raise invalid(f"{_NAME}: hidden: case", name, "train/0 to train/202 or test/0 to test/49")
        if not setup.keys() - {"case"}:
            return self._make_task(name, _parse_case(name).truth, "custom", 0)
        return self._make_task(name, _parse_truth(_parse_case(name).frame, setup), "custom", 0)

    def _make_task(self, name: str, truth: Truth, split: str, index: int) -> Task:
        frame = _parse_case(name).frame
        suspects = sum(p.suspect for p in frame.people)
        public = Frozen[Json](
            case=name, setting=frame.setting, suspects=suspects, witnesses=len(frame.people) - suspects
        )
        hidden = Frozen[Any]({"case": name, **truth._asdict()})
        return self.make_listed_task(split, index, public, hidden, setting=frame.setting)

    def reset(self, task: Task, rng: Rng) -> Talk:
        h = task.hidden
        if "scenario" in h:
            return Talk(World("", None, h["scenario"], h["solution"]))
        return Talk(World(h["case"], _parse_truth(_parse_case(h["case"]).frame, h)))

    # --- seats -------------------------------------------------------------------------------------------------------

    def intro(self, state: Talk, seat: str) -> str:
        say, world = self.say_pieces, _parse_world(state)
        if seat == JUDGE:
            return ""
        if world.truth is None:
            text, judging = say["intro-foreign" if seat == AGENT else "user-foreign"], say["judging-foreign"]
            about = {"scenario": world.scenario, "solution": world.solution, "judging": judging.format(goal=GOAL)}
            return text.format(**about, turns=self.turns, ending=say["ending"])
        if seat == AGENT:
            return say["intro"].format(
                briefing=write_briefing(_case_frame(world)), turns=self.turns, accusing=say["accusing"]
            )
        return _culprit_role(world, say["user"], say["no-lies"], say["judging"])

    def private(self, state: Talk, seat: str) -> Mapping[str, Any]:
        """For the narrator: the `question`, the turns `left` after this one, the `case`, and the reply to a wrong
        accusation (`unmoved`; empty if any accusation reaches the goal)."""
        if seat != USER:
            return Frozen()
        world = _parse_world(state)
        known = None if world.truth is None else Case(_case_frame(world), world.truth)
        left = self.turns - state.turn - 1
        unmoved = self.say_pieces["denied"] if self.goes_on else ""
        return Frozen[Any](question=state.said, left=left, case=known, unmoved=unmoved)

    def hypothesis(self, state: Talk) -> str:
        world = _parse_world(state)
        return world.solution if world.truth is None else _culprit_name(world)

    def filter(self, public: Mapping[str, Json]) -> MysteryFilter | None:
        longest = self.longest if "length" in self.active_checks else LONGEST
        return (
            _prior_filter(public["case"], longest, self.goes_on and self.judge == "rules") if "case" in public else None
        )

    def actions(self, state: Talk) -> Sequence[str] | None:
        """Every act that has an answer, in plain words, and everybody's full name and given name, which accuse them.
        None for a foreign scenario."""
        world = _parse_world(state)
        return _legal_actions(world.name) if world.truth else None

    def say(self, answer: str) -> str:
        """Turn a name into an accusation; other texts stay unchanged."""
        return f"I accuse {answer} of the murder." if is_name(answer) else answer

    # --- rules -------------------------------------------------------------------------------------------------------

    def is_solution(self, state: Talk) -> bool:
        world, found = _parse_world(state), self._read_message(state)
        return world.truth is not None and found.kind == "accuse" and found.person == world.truth.culprit

    def is_final(self, state: Talk) -> bool:
        if self.goes_on:
            return self.is_solution(state)
        if _parse_world(state).truth is None:
            return is_accusation(state.said)
        return self._read_message(state).kind == "accuse"

    def _read_message(self, state: Talk) -> ReadAct:
        world = _parse_world(state)
        return ReadAct("nothing") if world.truth is None else read_case_message(_case_frame(world), state.said)

    def judge_message(self, state: Talk) -> Verdict:
        """A name alone is not an accusation: the message must state guilt."""
        world, found = _parse_world(state), self._read_message(state)
        if world.truth is None:
            return "unclear"
        if found.kind == "accuse":
            return "right" if self.is_solution(state) else "wrong"
        stated = found.kind == "nothing" and may_accuse(mark_sentences(_case_frame(world), state.said[:LONGEST]))
        return judge_naming(state.said, self.candidate_names(state)) if stated else "nothing"

    def candidate_names(self, state: Talk) -> Names:
        world = _parse_world(state)
        assert world.truth is not None
        rows = [(i, name) for i, p in enumerate(_case_frame(world).people) for name in (p.name, p.given_name)]
        people = {name_key(name): 1 << i for i, name in rows}
        return Names(name_lookup(people), 4, 1 << world.truth.culprit)

    def secret_names(self, state: Talk) -> Sequence[str]:
        """Sentences that give the culprit away, which the name alone does not."""
        world = _parse_world(state)
        return _list_giveaways(world) if world.truth else ()

    def count_candidates(self, said: str) -> int:
        return int(is_accusation(said))

    def candidate_counter(self, state: Talk) -> Candidates:
        """Count the accused people, by the names of the case."""
        world = _parse_world(state)
        if world.truth is None:
            return self.count_candidates
        return lambda said: len(find_accused(mark_sentences(_case_frame(world), said[:LONGEST])))

    def unanswered_kind(self, state: Talk, reply: str) -> str:
        world = _parse_world(state)
        own = "" if world.truth is None else unanswered_kind(_case_frame(world), state.said, reply)
        return own or super().unanswered_kind(state, reply)

    def turn_facts(self, state: Talk, reply: str) -> Mapping[str, Any]:
        world = _parse_world(state)
        if world.truth is None:
            return Frozen[Any](evidence=(), accused="")
        frame, found = _case_frame(world), self._read_message(state)
        name = frame.people[found.person].name if found.kind == "accuse" else ""
        return Frozen[Any](evidence=describe_evidence(frame, revealed_slots(frame, state.said, reply)), accused=name)

    def epilogue(self, state: Talk) -> str:
        """Say who did it, and how; empty for a foreign scenario."""
        world = _parse_world(state)
        return "" if world.truth is None else write_ending(Case(_case_frame(world), world.truth))

    def judge_prompt(self, state: Talk) -> str:
        world = _parse_world(state)
        secret = world.solution if world.truth is None else _culprit_name(world)
        told = world.scenario if world.truth is None else write_briefing(_case_frame(world))
        return self.say_pieces["judge"].format(said=quote_message(state.said, secret), secret=secret, scenario=told)

    def _handle_claim(self, state: Talk, claimed: bool) -> Step:
        """An accusation claims that the case is solved, whatever the narrator says."""
        return super()._handle_claim(state, True)


# --- cases -----------------------------------------------------------------------------------------------------------


def _parse_world(state: Talk) -> World:
    return cast("World", state.world)


def _parse_case(name: str) -> Case:
    split, _, index = name.partition("/")
    return numbered_case(split, int(index))


@lru_cache(maxsize=1)
def _case_names() -> frozenset[str]:
    return frozenset(f"{split}/{i}" for split, n in TASKS.items() for i in range(n))


def _case_frame(world: World) -> Frame:
    return _parse_case(world.name).frame


def _culprit_name(world: World) -> str:
    assert world.truth is not None
    return _case_frame(world).people[world.truth.culprit].name


def _parse_truth(frame: Frame, setup: Mapping[str, Any]) -> Truth:
    """The truth that a setup states; raises an error if the case cannot have it."""
    try:
        vectors = tuple(tuple(int(v) for v in row) for row in setup["vectors"])
        found = Truth(int(setup["culprit"]), vectors, int(setup["mark"]), tuple(int(t) for t in setup["traits"]))
        possible = frame.model.truth_prob(found) > 0.0
    except (KeyError, TypeError, ValueError, OverflowError):
        possible, found = False, None
    if not possible or found is None:
        raise invalid(f"{_NAME}: hidden: culprit, vectors, mark, traits", dict(setup), "a truth that the case can have")
    return found


@lru_cache(maxsize=256)
def _prior_filter(name: str, longest: int, goes_on: bool) -> MysteryFilter:
    return MysteryFilter(_parse_case(name).frame, longest, goes_on)


@lru_cache(maxsize=256)
def _legal_actions(name: str) -> tuple[str, ...]:
    frame = _parse_case(name).frame
    return (*act_messages(frame), *(p.name for p in frame.people), *(p.given_name for p in frame.people))


@lru_cache(maxsize=256)
def _list_giveaways(world: World) -> tuple[str, ...]:
    frame, name = _case_frame(world), _culprit_name(world)
    nouns = ("murderer", "killer", "culprit")
    rows = (
        text.format(n=n, w=w, x=x)
        for text in _GIVEN_AWAY
        for n in (name, name.split()[0])
        for w in (frame.victim, frame.victim.split()[0])
        for x in nouns
    )
    return tuple(dict.fromkeys(rows))


@lru_cache(maxsize=512)
def _culprit_role(world: World, user: str, no_lies: str, judging: str) -> str:
    """The narrator's role: everything it needs to play the case. `judging` is the rule on accusations."""
    frame = _case_frame(world)
    known = Case(frame, cast("Truth", world.truth))
    facts = "\n".join(f"- {act_message(frame, c.act)} -> {c.text}" for c in all_clues(known))
    lied = "\n".join(
        f"- {act_message(frame, lie.act)} Refuted by: {act_message(frame, lie.refuted)}" for lie in find_lies(known)
    )
    culprit = _culprit_name(world)
    rule = judging.format(goal=GOAL, culprit=culprit)
    return user.format(briefing=write_briefing(frame), culprit=culprit, facts=facts, lies=lied or no_lies, judging=rule)
