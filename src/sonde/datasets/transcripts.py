"""A recorded conversation as an environment: it repeats the record as long as the agent does.

It holds texts that none of our environments would produce: LMRL-Gym's houses, cars and oracles. Such a trajectory has
those texts word for word and can be replayed, so it can be trained on like any other. `sonde.datasets.import_file`
makes it; it cannot be played, since any reply that differs from the record loses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Env, Episode, Frozen, Outcome, Rng, Spec, Step, Task, invalid, unknown
from sonde.core.types import Json

ENDS = ("win", "loss", "out_of_turns")
_FIELDS = {"opening", "turns", "end"}


class State(NamedTuple):
    """The record (the first message, then replies with their rewards and answers) and the number of replies so far.

    >>> State("Questions:", (("Is it alive?", -1.0, "No."),), "out_of_turns").turn
    0
    """

    opening: str
    turns: tuple[tuple[str, float, str], ...]
    end: str
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class Transcript(Env[State]):
    """See the module. It has no tasks of its own: `task` takes `{"opening": text, "turns": [[reply, reward, told],
    ...], "end": "win"}`, the end being win, loss or timeout."""

    presets: ClassVar[tuple[str, ...]] = ("lmrl",)

    preset: str = "lmrl"

    def __post_init__(self) -> None:
        if self.preset not in self.presets:
            raise unknown("transcript: preset", self.preset, self.presets)

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=self.name,
            version="1",
            summary="a recorded conversation, repeated",
            preset=self.preset,
            max_turns=1000,
            reward_range=(-1000.0, 1000.0),
            support="the record itself: nothing is hidden",
            source="the file that it was read from",
            floor="",
        )

    def split(self, split: str) -> Sequence[Task]:
        return ()

    def task(self, hidden: Json) -> Task:
        setup = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        turns = setup.get("turns", ())
        if set(setup) != _FIELDS or setup["end"] not in ENDS or not turns or not all(len(turn) == 3 for turn in turns):
            raise invalid("transcript: hidden", cast("object", hidden), f"a mapping with {', '.join(sorted(_FIELDS))}")
        return Task(self.name, self.preset, "custom", 0, Frozen(), Frozen(setup))

    def reset(self, task: Task, rng: Rng) -> State:
        hidden = task.hidden
        return State(hidden["opening"], tuple(tuple(turn) for turn in hidden["turns"]), hidden["end"])

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < len(state.turns) else None

    def intro(self, state: State, seat: str) -> str:
        return state.opening

    def step(self, state: State, text: str, rng: Rng) -> Step:
        said, reward, told = state.turns[state.turn]
        after = state._replace(turn=state.turn + 1)
        if text != said:
            return Step(after._replace(turn=len(state.turns)), info=Frozen(result="foreign"), outcome=Outcome("loss"))
        outcome = _make_outcome(state.end) if after.turn == len(state.turns) else None
        return Step(after, Frozen({AGENT: told}), Frozen({AGENT: reward}), Frozen(result="recorded"), outcome)

    def hypothesis(self, state: State) -> None:
        """There is nothing to identify."""
        return


def _make_outcome(end: str) -> Outcome:
    if end == "out_of_turns":
        return Outcome("out_of_turns", truncated="turns")
    return Outcome("win", 1.0) if end == "win" else Outcome("loss")


def make_transcript(opening: str, turns: Sequence[tuple[str, float, str]], end: str) -> Episode:
    """The finished episode of a record."""
    env = Transcript()
    hidden = {"opening": opening, "turns": [list(turn) for turn in turns], "end": end}
    ep = Episode.begin(env, env.task(hidden))
    for said, _, _ in turns:
        ep = ep.step(said)
    return ep
