"""Environments of others as environments of sonde: what every adapter inward shares.

    env = sonde.make("textarena:GuessTheNumber-v0")       # SOURCE:NAME, as its library calls it

An environment of sonde is a pure function of its state, and a state is a value. Elsewhere an environment is an object
that changes. So a state here is where that object is: the host's seed, and all that has been said since. The objects
themselves are kept in a pool (`objects.py`), found by that place; one that is not there any more, or was never there
(a fork, a record replayed, another process), is made again by saying it all once more. This is right as far as the host
is a function of its seed and of what is said to it. Where it is not (the order of a Python set of words, say, which
differs from process to process), `Episode.replay` finds out and says so.

Task i of `train` is the host's seed i, task i of `test` its seed 1,000,000 + i; the world seed decides nothing more.
There is no filter, so gains are n/a. A call in which the host itself fails ends the episode with the kind `error`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any, ClassVar, NamedTuple

from sonde._util.frozen import Frozen, frozen
from sonde.core import AGENT, EMPTY, Env, Outcome, Rng, Spec, Step, Task, TaskList, UserError, build, invalid
from sonde.core.types import Json

from .objects import Live, Place, Pool

SIZES = {"train": 1000, "test": 200}
FIRST = {"train": 0, "test": 1_000_000}
"""The host's seed of the first task of a split."""
LONGEST = 16_000
"""Characters that are said or told at a time: of more, the beginning and the end. Hosts echo what they hear, and their
regular expressions take minutes over a megabyte of it."""
NOTHING = "(nothing is said)"


class Heard(NamedTuple):
    """What a host answers: what it tells each seat, who speaks next, what it rewards, and how it ended, if it did."""

    told: Mapping[str, str]
    to_act: str | None = AGENT
    rewards: Mapping[str, float] = EMPTY
    outcome: Outcome | None = None
    info: Mapping[str, Json] = EMPTY


@dataclass(frozen=True, kw_only=True)
class Foreign(Env[Place]):
    """Base of the adapters. `options` go to the host's constructor; `max_turns` ends an episode that the host does not,
    `reward_range` is what it may reward a turn with. `find` (`of`) makes a class of it per game."""

    source: ClassVar[str]
    package: ClassVar[str]
    game: ClassVar[str] = ""
    presets: ClassVar[tuple[str, ...]] = ("default",)

    preset: str = "default"
    options: Mapping[str, Json] = EMPTY
    max_turns: int = 50
    reward_range: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "options", frozen(self.options))
        if not self.reward_range[0] < self.reward_range[1]:
            raise invalid(f"{self.name}: reward_range", self.reward_range, "two numbers, the first below the second")

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Copies and pickles are made anew: what is being played stays here."""
        return build, (self.config,)

    @classmethod
    def of(cls, game: str) -> type[Foreign]:
        """The class of a game."""
        made: type[Foreign] = type(cls.__name__, (cls,), {"game": game, "__module__": cls.__module__})
        made.called = f"{cls.source}:{game}"
        return made

    # --- what an adapter says ----------------------------------------------------------------------------------------

    @abstractmethod
    def made(self) -> Any:
        """A new object of the host."""

    @abstractmethod
    def begun(self, host: Any, seed: int) -> Heard:
        """Begin an episode on it, whatever it did before."""

    @abstractmethod
    def answered(self, host: Any, seat: str, text: str) -> Heard:
        """Say something to it."""

    def ended(self, host: Any) -> None:
        """Release what an object holds that is not wanted any more."""

    @property
    def seats(self) -> Mapping[str, str | None]:
        return Frozen({AGENT: None})

    # --- the environment ---------------------------------------------------------------------------------------------

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=self.name,
            version=version(self.package),
            summary=f"{self.game} of {self.package}",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=self.reward_range,
            support="none: what is hidden is the host's",
            source=f"{self.package} {version(self.package)}",
            seats=self.seats,
            departures=("replayed by the host's seed and what was said", "gains are n/a"),
        )

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(SIZES[split], lambda i: self.listed(split, i, hidden={"seed": FIRST[split] + i}))

    def task(self, hidden: Json) -> Task:
        seed = hidden.get("seed") if isinstance(hidden, Mapping) else None
        if type(seed) is not int or not 0 <= seed < 2**31 or len(hidden) > 1:
            raise invalid("hidden", hidden, "{'seed': the host's, 0 to 2**31 - 1}")
        return self.listed("custom", 0, hidden={"seed": seed})

    def reset(self, task: Task, rng: Rng) -> Place:
        seed = task.hidden["seed"]
        with self._pool.lock:
            live, heard = self._begin(seed)
            opening = {seat: _clipped(text) for seat, text in heard.told.items() if text}
            if heard.to_act is not None:
                opening.setdefault(heard.to_act, NOTHING)
            place = Place(seed, tuple(sorted(opening.items())), to_act=heard.to_act)
            self._pool.put(place, live)
        return place

    def to_act(self, state: Place) -> str | None:
        return state.to_act

    def intro(self, state: Place, seat: str) -> str:
        return dict(state.opening).get(seat, "")

    def hypothesis(self, state: Place) -> int:
        return state.seed

    def in_words(self, hypothesis: Any) -> None:
        return None

    def step(self, state: Place, text: str, rng: Rng) -> Step:
        assert state.to_act is not None
        with self._pool.lock:
            try:
                live = self._pool.take(state) or self._again(state)
            except Exception as e:
                return self._failed(state, e)
            try:
                heard = self._checked(self._say(live, state.to_act, text))
            except UserError:
                raise
            except Exception as e:  # the host's own, whatever it is
                self._pool.drop(live)
                return self._failed(state, e)
            place, outcome = self._after(state, text, heard)
            if outcome is None:
                self._pool.put(place, live)
            else:
                self._pool.free.append(live)
        told = {who: _clipped(words) for who, words in heard.told.items() if words}
        if outcome is None and heard.to_act is not None and not told.get(heard.to_act):
            told[heard.to_act] = NOTHING
        rewards = {who: float(reward) for who, reward in heard.rewards.items() if reward}
        return Step(place, Frozen(told), Frozen(rewards), frozen(heard.info), outcome)

    def _after(self, state: Place, text: str, heard: Heard) -> tuple[Place, Outcome | None]:
        """Where an object is that has answered so, and how the episode ended, if it did."""
        turns, outcome = state.turns + (state.to_act == AGENT), heard.outcome
        if outcome is None and turns >= self.max_turns and heard.to_act in (AGENT, None):
            outcome = Outcome("timeout", truncated="turns")
        to_act = heard.to_act if outcome is None else None
        return Place(state.seed, state.opening, (*state.said, text), to_act, turns), outcome

    # --- the host's objects ------------------------------------------------------------------------------------------

    @cached_property
    def _pool(self) -> Pool:
        return Pool(self.ended)

    def _begin(self, seed: int) -> tuple[Live, Heard]:
        live = self._pool.free.pop() if self._pool.free else Live()
        try:
            with live.alone():
                live.host = self.made() if live.host is None else live.host
            live.seed(seed)
            with live.alone():
                return live, self.begun(live.host, seed)
        except UserError:
            raise
        except Exception as e:
            raise UserError(f"{self.name}: the host cannot begin seed {seed}: {_said(e)}") from e

    def _again(self, place: Place) -> Live:
        """An object that is brought there, by saying everything once more."""
        live, heard = self._begin(place.seed)
        for text in place.said:
            assert heard.to_act is not None, "the host has ended where it went on before"
            heard = self._say(live, heard.to_act, text)
        return live

    def _say(self, live: Live, seat: str, text: str) -> Heard:
        with live.alone():
            return self.answered(live.host, seat, _clipped(text))

    def _checked(self, heard: Heard) -> Heard:
        low, high = self.reward_range
        for seat, reward in heard.rewards.items():
            if not low <= reward <= high:
                raise invalid(f"{self.name}: reward of {seat}", reward, f"{low} to {high}; give a wider reward_range")
        return heard

    def _failed(self, state: Place, error: Exception) -> Step:
        place = Place(state.seed, state.opening, state.said, None, state.turns)
        return Step(place, info=Frozen(error=f"{self.package}: {_said(error)}"), outcome=Outcome("error"))


def ending(reward: float, *, cut: bool = False, unreadable: bool = False, won: bool | None = None) -> Outcome:
    """How an episode ended, by its last reward: 1 or more is a win unless the host says who has won, a limit on turns a
    timeout, what the host could not read a format failure."""
    score = min(1.0, max(0.0, float(reward)))
    if unreadable:
        return Outcome("format")
    if won if won is not None else reward >= 1.0:
        return Outcome("win", 1.0 if won is None else score)
    return Outcome("timeout", score, truncated="turns") if cut else Outcome("loss", score)


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


def _clipped(text: str) -> str:
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}\n[...]\n{text[-half:]}"
