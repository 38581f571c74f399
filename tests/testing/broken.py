"""The same game with one promise broken in each."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sonde.core import (
    AGENT,
    Filter,
    Frozen,
    Rng,
    Spec,
    Step,
    Task,
    TaskList,
)

from .hunt import WORDS, Hunt, State, told


@dataclass(frozen=True, kw_only=True)
class Nameless(Hunt):
    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="hunt", version="1", summary="", preset="small", max_turns=8, reward_range=(1.0, 1.0), support="",
            source="",
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Stubborn(Hunt):
    """Does not mind a preset that it does not have."""

    def __post_init__(self) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class Fixed(Hunt):
    """Its limit is not the one that was asked for."""

    @cached_property
    def spec(self) -> Spec:
        return Hunt().spec


@dataclass(frozen=True, kw_only=True)
class Forgetful(Hunt):
    """Its configuration leaves out an argument that matters."""

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, "max_turns": 5}


@dataclass(frozen=True, kw_only=True)
class Renumbered(Hunt):
    def split(self, split: str) -> Sequence[Task]:
        return TaskList(18, lambda i: self._task(WORDS[i * 2 + (split == "test")], split, 0))


@dataclass(frozen=True, kw_only=True)
class Overlapping(Hunt):
    def split(self, split: str) -> Sequence[Task]:
        words = WORDS[:20] if split == "train" else WORDS[18:]
        return TaskList(len(words), lambda i: self._task(words[i], split, i))


@dataclass(frozen=True, kw_only=True)
class Fragile(Hunt):
    """Its `task` trips over what is no word."""

    def task(self, hidden: Any) -> Task:
        return self._task(WORDS[WORDS.index(hidden.lower())], "custom", 0)


@dataclass(frozen=True, kw_only=True)
class Unseeded(Hunt):
    """Its open tasks are all one world."""

    def _task(self, word: Any, split: str, index: int) -> Task:
        return Task(self.name, self.preset, split, index, Frozen(n=len(WORDS)))

    def draw(self, public: Mapping[str, Any], rng: Rng) -> Any:
        return WORDS[0]


_ambient = itertools.count()


@dataclass(frozen=True, kw_only=True)
class Ambient(Hunt):
    """What it says depends on how often it was asked."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, told(s, f"{s.told[AGENT]} {next(_ambient)}")) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Mute(Hunt):
    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, told(s, "")) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Endless(Hunt):
    def to_act(self, state: State) -> str | None:
        return AGENT

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(1.0, Step(state, Frozen({AGENT: "Go on."})))]


@dataclass(frozen=True, kw_only=True)
class Generous(Hunt):
    prize: ClassVar[float] = 2.0


@dataclass(frozen=True, kw_only=True)
class Templating(Hunt):
    """Uses what the agent says as a template."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, told(s, (text[:100] + " {n}").format(n=1))) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Parroting(Hunt):
    """Says back all that it was told."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, told(s, f"You said {text}")) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Slow(Hunt):
    """Looks through the rest of the text at every tag."""

    def read(self, text: str) -> str | None:
        for at in range(0, len(text), 160):
            text.count("<", at)
        return super().read(text)


@dataclass(frozen=True, kw_only=True)
class Gullible(Hunt):
    """Lets an agent win that says it has."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return super().outcomes(state, self.say(state.word) if "You have won" in text else text)


@dataclass(frozen=True, kw_only=True)
class Eager(Hunt):
    """Reads an answer wherever it stands."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return super().outcomes(state, self.say(state.word) if state.word in text else text)


class _Written(str):
    """A word that is no key."""

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class Unhashable(Hunt):
    def start(self, public: Mapping[str, Any], hidden: Any) -> State:
        return State(_Written(hidden))

    def hypothesis(self, state: State) -> str:
        return str(state.word)


@dataclass(frozen=True, kw_only=True)
class Thawed(Hunt):
    """Tells in a dict that anyone may change."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, s._replace(told=dict(s.told))) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Recounting(Hunt):
    """Notes a thing that JSON does not keep."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, s._replace(info=Frozen(seen={state.turn}))) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Pointing(Hunt):
    """Lists as legal only what is near the truth."""

    def actions(self, state: State) -> Sequence[str] | None:
        at = WORDS.index(state.word)
        return WORDS[max(0, at - 5) : at + 5]


@dataclass(frozen=True, kw_only=True)
class Noting(Hunt):
    """Notes a fact that the agent was not told."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p, s._replace(info=Frozen(first=state.word[:2]))) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Hinting(Hunt):
    def intro(self, state: State, seat: str) -> str:
        return f"Find my word. It begins with {state.word[:2]}."


@dataclass(frozen=True, kw_only=True)
class Confessing(Hunt):
    """Tells the answer at the end."""

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        rows = super().outcomes(state, text)
        return [(p, told(s, f"It was {state.word}.") if s.outcome else s) for p, s in rows]


@dataclass(frozen=True, kw_only=True)
class Lopsided(Hunt):
    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(p * 0.9, s) for p, s in super().outcomes(state, text)]


@dataclass(frozen=True, kw_only=True)
class Biased(Hunt):
    """Draws otherwise than its probabilities say."""

    def step(self, state: State, text: str, rng: Rng) -> Step:
        rows = self.outcomes(state, text)
        return rows[int(rng.random() * len(rows))][1]


@dataclass(frozen=True, kw_only=True)
class Doubting(Hunt):
    """Its prior holds nothing that comes late."""

    def prior(self, public: Mapping[str, Any]) -> Sequence[tuple[float, Any]]:
        return super().prior(public)[:20]


class _Wrapped(Filter):
    def __init__(self, inner: Filter) -> None:
        self.inner = inner

    def observe(self, turn: Any) -> Filter:
        return type(self)(self.inner.observe(turn))

    def belief(self) -> Any:
        return self.inner.belief()

    def expected_gain(self, action: str) -> float:
        return self.inner.expected_gain(action)

    def best_question(self) -> tuple[str, float]:
        return self.inner.best_question()


class _Vain(_Wrapped):
    @property
    def entropy(self) -> float:
        return super().entropy * 0.9


class _Hasty(_Wrapped):
    def best_question(self) -> tuple[str, float]:
        return WORDS[0], self.expected_gain(f"<Answer>{WORDS[0]}</Answer>")


class _Boastful(_Wrapped):
    def best_question(self) -> tuple[str, float]:
        answer, bits = super().best_question()
        return answer, bits + 0.01


class _Deaf(_Wrapped):
    """Learns, when asked about what it has learned before, less than the episode's filter did."""

    _heard = 0

    def observe(self, turn: Any) -> Filter:
        _Deaf._heard += 1
        return self if _Deaf._heard % 3 == 0 else super().observe(turn)


@dataclass(frozen=True, kw_only=True)
class Filtered(Hunt):
    wrap: ClassVar[type[_Wrapped]] = _Wrapped

    def filter(self, public: Mapping[str, Any]) -> Filter | None:
        inner = super().filter(public)
        assert inner is not None
        return self.wrap(inner)


@dataclass(frozen=True, kw_only=True)
class Vain(Filtered):
    wrap: ClassVar[type[_Wrapped]] = _Vain


@dataclass(frozen=True, kw_only=True)
class Hasty(Filtered):
    wrap: ClassVar[type[_Wrapped]] = _Hasty


@dataclass(frozen=True, kw_only=True)
class Boastful(Filtered):
    wrap: ClassVar[type[_Wrapped]] = _Boastful


@dataclass(frozen=True, kw_only=True)
class Deaf(Filtered):
    wrap: ClassVar[type[_Wrapped]] = _Deaf


@dataclass(frozen=True, kw_only=True)
class Tiring(Hunt):
    """Says that it is memoryless, and tells nothing from the third turn on."""

    memoryless: ClassVar[bool] = True

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        rows = super().outcomes(state, text)
        if state.turn < 2 or len(rows) == 1:
            return rows
        return [(1.0, rows[-1][1])]
