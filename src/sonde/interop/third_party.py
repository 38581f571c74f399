"""Base class for adapters that expose third-party environments as sonde environments.

    env = sonde.make("textarena:GuessTheNumber-v0")       # SOURCE:NAME, as its library calls it

A sonde environment is a pure function of its state, and a state is a value. A third-party environment (a "host" here)
is a mutable object. So the state here is a `Place`: the host's seed and all texts since. The objects are kept in a pool
and found by their place; if an object is gone or never existed (a fork, a replayed record, another process), it is
created again by repeating every text. This is correct if the host is a function of its seed and of the texts. If it is
not (the order of a Python set of words differs from process to process), `Episode.replay` detects the difference and
reports it.

Hosts that draw from the global generators of Python and numpy get their own stream per object: around every call
(`HostObject.isolate_generators`) the generators are swapped and restored, so that episodes disturb neither each other
nor the rest of the process.

Task i of `train` is the host's seed i, task i of `test` its seed 1,000,000 + i; the world seed changes nothing else.
There is no filter, so gains are n/a. If the host itself fails during a call, the episode ends with the kind `error`.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from threading import RLock
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sonde._util.frozen import Frozen, as_frozen
from sonde.core import AGENT, EMPTY, Env, Outcome, Rng, Spec, Step, Task, TaskList, UserError, build, invalid, unknown
from sonde.core.types import Json

SIZES = {"train": 1000, "test": 200}
FIRST_SEED = {"train": 0, "test": 1_000_000}
"""The host's seed for the first task of a split."""
MAX_CHARS = 16_000
"""Maximum length of a text in either direction; of a longer one, the beginning and the end are passed on. Hosts echo
their input, and their regular expressions take minutes for a megabyte."""
NO_TEXT = "(nothing is said)"
MAX_WAITING = 1024
"""Maximum number of host objects kept in the middle of an episode."""


class HostReply(NamedTuple):
    """A host's reply: the text for each seat, whose turn is next, the rewards, and the outcome at the end."""

    told: Mapping[str, str]
    to_act: str | None = AGENT
    rewards: Mapping[str, float] = EMPTY
    outcome: Outcome | None = None
    info: Mapping[str, Json] = EMPTY


# --- the host's objects ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """The state of a host object: its seed, and all texts since, by any seat.

    >>> Place(seed=7, opening=(("agent", "Guess a number."),)).said
    ()
    """

    seed: int
    opening: tuple[tuple[str, str], ...]
    said: tuple[str, ...] = ()
    to_act: str | None = AGENT
    turns: int = 0


class HostObject:
    """An object of the host, with its own streams of the global generators."""

    def __init__(self) -> None:
        self.host: Any = None
        self.seed_generators(0)

    def seed_generators(self, seed: int) -> None:
        numpy_state = np.random.RandomState(seed % 2**32)
        self._generators = (random.Random(seed).getstate(), numpy_state._bit_generator)

    @contextmanager
    def isolate_generators(self) -> Iterator[None]:
        """A context in which the global generators are the object's own."""
        before = _exchange_generators(self._generators)
        try:
            yield
        finally:
            self._generators = _exchange_generators(before)


def _exchange_generators(states: tuple[Any, Any]) -> tuple[Any, Any]:
    """Set the global generators to this state (Python) and bit generator (numpy); returns the previous ones."""
    before = random.getstate(), np.random.get_bit_generator()  # pyright: ignore[reportAttributeAccessIssue]
    random.setstate(states[0])
    np.random.set_bit_generator(states[1])  # pyright: ignore[reportAttributeAccessIssue]
    return before


class HostPool:
    """The host objects: those in the middle of an episode, by their place, and free ones."""

    def __init__(self, end: Callable[[Any], None]) -> None:
        self.lock = RLock()
        self.free: list[HostObject] = []
        self._end = end
        self._waiting: OrderedDict[tuple[int, tuple[str, ...]], list[HostObject]] = OrderedDict()

    def take_object(self, place: Place) -> HostObject | None:
        """Remove and return an object that is at this place, if there is one."""
        key = (place.seed, place.said)
        objects = self._waiting.get(key)
        if objects is None:
            return None
        if len(objects) == 1:
            del self._waiting[key]
        return objects.pop()

    def put_object(self, place: Place, host_object: HostObject) -> None:
        self._waiting.setdefault((place.seed, place.said), []).append(host_object)
        if len(self._waiting) > MAX_WAITING:
            self.free += self._waiting.popitem(last=False)[1]

    def drop_object(self, host_object: HostObject) -> None:
        """Release an object that has failed."""
        self._end(host_object.host)


# --- the environment -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ThirdPartyEnv(Env[Place]):
    """Base class of the adapters. `options` go to the host's constructor; `max_turns` ends an episode that the host
    does not end; `reward_range` bounds the host's reward of a turn. `for_game` creates one subclass per game."""

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
        object.__setattr__(self, "options", as_frozen(self.options))
        if not self.reward_range[0] < self.reward_range[1]:
            raise invalid(f"{self.name}: reward_range", self.reward_range, "two numbers, the first below the second")

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Copies and pickles are constructed anew: running host objects stay here."""
        return build, (self.config,)

    @classmethod
    def for_game(cls, game: str) -> type[ThirdPartyEnv]:
        """The class of a game, named as in its library."""
        cls.check_game(game)
        made: type[ThirdPartyEnv] = type(cls.__name__, (cls,), {"game": game, "__module__": cls.__module__})
        made.called = f"{cls.source}:{game}"
        return made

    # --- for adapters to implement -----------------------------------------------------------------------------------

    @classmethod
    def list_games(cls) -> Iterable[str]:
        """The names that the library knows."""
        return ()

    @classmethod
    def check_game(cls, game: str) -> None:
        """Raise `UserError` for a name that the library does not know."""
        if game not in (games := cls.list_games()):
            raise unknown(cls.source, game, games)

    @abstractmethod
    def make_host(self) -> Any:
        """A new object of the host."""

    @abstractmethod
    def begin_host(self, host: Any, seed: int) -> HostReply:
        """Begin an episode on the object, regardless of its past."""

    @abstractmethod
    def tell_host(self, host: Any, seat: str, text: str) -> HostReply:
        """Pass on a seat's text."""

    def end_host(self, host: Any) -> None:
        """Release the resources of an object that is no longer needed."""

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
        return TaskList(SIZES[split], lambda i: self.make_listed_task(split, i, hidden={"seed": FIRST_SEED[split] + i}))

    def task(self, hidden: Json) -> Task:
        seed = hidden.get("seed") if isinstance(hidden, Mapping) else None
        if type(seed) is not int or not 0 <= seed < 2**31 or len(hidden) > 1:
            raise invalid("hidden", hidden, "{'seed': the host's, 0 to 2**31 - 1}")
        return self.make_listed_task("custom", 0, hidden={"seed": seed})

    def reset(self, task: Task, rng: Rng) -> Place:
        seed = task.hidden["seed"]
        with self._pool.lock:
            host_object, reply = self._begin_object(seed)
            opening = {seat: _clip_text(text) for seat, text in reply.told.items() if text}
            if reply.to_act is not None:
                opening.setdefault(reply.to_act, NO_TEXT)
            place = Place(seed, tuple(sorted(opening.items())), to_act=reply.to_act)
            self._pool.put_object(place, host_object)
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
                host_object = self._pool.take_object(state) or self._repeat_texts(state)
            except Exception as e:
                return self._end_with_error(state, e)
            try:
                reply = self._tell_object(host_object, state.to_act, text)
                self._check_rewards(reply)
            except UserError:
                raise
            except Exception as e:  # any exception of the host
                self._pool.drop_object(host_object)
                return self._end_with_error(state, e)
            place, outcome = self._advance_place(state, text, reply)
            if outcome is None:
                self._pool.put_object(place, host_object)
            else:
                self._pool.free.append(host_object)
        told = {seat: _clip_text(words) for seat, words in reply.told.items() if words}
        if outcome is None and reply.to_act is not None and not told.get(reply.to_act):
            told[reply.to_act] = NO_TEXT
        rewards = {seat: float(reward) for seat, reward in reply.rewards.items() if reward}
        return Step(place, Frozen(told), Frozen(rewards), as_frozen(reply.info), outcome)

    def _advance_place(self, state: Place, text: str, reply: HostReply) -> tuple[Place, Outcome | None]:
        """The place after this reply, and the outcome if the episode ends there."""
        turns, outcome = state.turns + (state.to_act == AGENT), reply.outcome
        if outcome is None and turns >= self.max_turns and reply.to_act in (AGENT, None):
            outcome = Outcome("out_of_turns", truncated="turns")
        to_act = reply.to_act if outcome is None else None
        return Place(state.seed, state.opening, (*state.said, text), to_act, turns), outcome

    # --- talking to the host -----------------------------------------------------------------------------------------

    @cached_property
    def _pool(self) -> HostPool:
        return HostPool(self.end_host)

    def _begin_object(self, seed: int) -> tuple[HostObject, HostReply]:
        host_object = self._pool.free.pop() if self._pool.free else HostObject()
        try:
            with host_object.isolate_generators():
                host_object.host = self.make_host() if host_object.host is None else host_object.host
            host_object.seed_generators(seed)
            with host_object.isolate_generators():
                return host_object, self.begin_host(host_object.host, seed)
        except UserError:
            raise
        except Exception as e:
            raise UserError(f"{self.name}: the host cannot begin seed {seed}: {_describe_error(e)}") from e

    def _repeat_texts(self, place: Place) -> HostObject:
        """An object at this place, brought there by repeating all texts."""
        host_object, reply = self._begin_object(place.seed)
        for text in place.said:
            assert reply.to_act is not None, "the host has ended where it went on before"
            reply = self._tell_object(host_object, reply.to_act, text)
        return host_object

    def _tell_object(self, host_object: HostObject, seat: str, text: str) -> HostReply:
        with host_object.isolate_generators():
            return self.tell_host(host_object.host, seat, _clip_text(text))

    def _check_rewards(self, reply: HostReply) -> None:
        low, high = self.reward_range
        for seat, reward in reply.rewards.items():
            if not low <= reward <= high:
                raise invalid(f"{self.name}: reward of {seat}", reward, f"{low} to {high}; give a wider reward_range")

    def _end_with_error(self, state: Place, error: Exception) -> Step:
        place = Place(state.seed, state.opening, state.said, None, state.turns)
        return Step(place, info=Frozen(error=f"{self.package}: {_describe_error(error)}"), outcome=Outcome("error"))


def make_outcome(reward: float, *, cut: bool = False, unreadable: bool = False, won: bool | None = None) -> Outcome:
    """The outcome by the last reward: 1 or more is a win unless the host says who has won (`won`). `cut`: the host's
    limit on turns ended the episode. `unreadable`: the host could not read the last text."""
    score = min(1.0, max(0.0, float(reward)))
    if unreadable:
        return Outcome("unreadable")
    if won if won is not None else reward >= 1.0:
        return Outcome("win", 1.0 if won is None else score)
    return Outcome("out_of_turns", score, truncated="turns") if cut else Outcome("loss", score)


def _describe_error(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


def _clip_text(text: str) -> str:
    half = MAX_CHARS // 2
    return text if len(text) <= MAX_CHARS else f"{text[:half]}\n[...]\n{text[-half:]}"
