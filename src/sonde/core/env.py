"""What an environment is: a pure, synchronous description of a game. It never calls a model, sleeps or reads a clock.

A concrete environment is one file with one class:

    @dataclass(frozen=True, kw_only=True)
    class Mastermind(CertainEnv[State]):
        preset: str = "paprika"            # constructor arguments are the configuration
        ...

States are small hashable values. The environment owns no generator: `reset` and `step` receive a lazy one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any, ClassVar, Generic, Literal, TypeVar, overload

from sonde._util.frozen import Frozen, as_frozen

from .belief import Filter, TabularFilter
from .config import Configured
from .errors import UserError, invalid, unknown
from .prompts import OPTIONAL, Pieces, Prompts, overlay_prompts, parse_pieces, read_prompts
from .registry import env_folder
from .seeding import Rng
from .tools import ACTION, TEXT, CallDefect, Tool, ToolCall, action_tool, read_call
from .types import AGENT, EMPTY, Json, Spec, Step, Task

MOST_TURNS = 1_000_000
"""Upper bound of `max_turns`, because records hold every turn."""
S = TypeVar("S", bound=Hashable)
Split = Literal["train", "test"]


@dataclass(frozen=True)
class TaskList(Sequence[Task]):
    """The tasks of a split; builds each task on access. Pickled, it is a tuple of them."""

    length: int
    build: Callable[[int], Task]

    def __reduce__(self) -> tuple[type[tuple[Task, ...]], tuple[tuple[Task, ...]]]:
        return tuple, (tuple(self),)

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        if isinstance(index, slice):
            rows = range(self.length)[index]
            return TaskList(len(rows), lambda i: self.build(rows[i]))
        if not -self.length <= index < self.length:
            raise IndexError(f"task {index} of a split with {self.length}")
        return self.build(index % self.length)


@cache
def load_pieces(name: str) -> Pieces:
    """The package's texts in `envs/FOLDER/prompts/NAME.md`, loaded once per process."""
    return Frozen(parse_pieces(env_folder(name).joinpath("prompts", f"{name}.md").read_text("utf-8")))


@dataclass(frozen=True, kw_only=True)
class Env(Configured, ABC, Generic[S]):
    """An environment. All methods are pure functions of their arguments and the configuration. `prompts`: a folder with
    texts in place of the package's (`core.prompts`)."""

    kind: ClassVar[str] = "envs"
    words: ClassVar[str] = "an environment, such as sonde.make('wordle')"
    presets: ClassVar[tuple[str, ...]]
    """The values that the constructor argument `preset` may take, the default first."""

    prompts: str | Prompts = field(default=EMPTY, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        """Check `preset`, `max_turns` and `prompts`, if present; subclasses call it before their own checks."""
        preset = vars(self).get("preset")
        if preset is not None and preset not in self.presets:
            raise unknown(f"{self.name}: preset", preset, self.presets)
        self.check_turns()
        if self.prompts:
            object.__setattr__(self, "prompts", read_prompts(self.name, self.prompts, self.package_prompts()))

    def check_turns(self) -> None:
        """Raise `UserError` if `max_turns` is out of range."""
        turns = vars(self).get("max_turns")
        if isinstance(turns, int) and not 1 <= turns <= MOST_TURNS:
            raise invalid(f"{self.name}: max_turns", turns, f"1 or more, up to {MOST_TURNS:,}")

    @classmethod
    def prompt_files(cls) -> tuple[str, ...]:
        """The names of the files, in its folder or shared, with the texts that this environment says."""
        name = cls.called
        return (name,) if env_folder(name).joinpath("prompts", f"{name}.md").is_file() else ()

    @classmethod
    def package_prompts(cls) -> Prompts:
        """The texts that `prompts` may replace."""
        return {file: load_pieces(file) for file in cls.prompt_files()}

    @cached_property
    def _own_prompts(self) -> Mapping[str, Pieces]:
        given = self.prompts
        return overlay_prompts(given, self.package_prompts()) if isinstance(given, Mapping) else {}

    def prompt_pieces(self, file: str) -> Pieces:
        """The texts of a file, those of `prompts` before the package's."""
        return self._own_prompts.get(file) or load_pieces(file)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits; every environment has these two, some presets have more."""
        return ("train", "test")

    @cached_property
    @abstractmethod
    def spec(self) -> Spec:
        """Facts about this environment in this configuration. Subclasses cache it."""

    @abstractmethod
    def split(self, split: str) -> Sequence[Task]:
        """The tasks of a split whose name has been checked. Callers use `tasks`."""

    def tasks(self, split: str) -> Sequence[Task]:
        """The tasks of one of `splits`: `len()` and `[i]` without building the rest; the two are disjoint."""
        if split not in self.splits:
            raise unknown("split", split, self.splits)
        return self.split(split)

    @abstractmethod
    def task(self, hidden: Json) -> Task:
        """A task with this hidden setup; raises `UserError` naming the invalid field."""

    def make_listed_task(
        self, split: str, index: int, public: Mapping[str, Json] = EMPTY, hidden: Json = None, **tags: str
    ) -> Task:
        """The task at one index of a split; its group is the environment's name unless the tags name another."""
        return Task(self.name, self.spec.preset, split, index, public, hidden, {"group": self.name, **tags})

    @abstractmethod
    def reset(self, task: Task, rng: Rng) -> S:
        """The first state of an episode. Draws whatever the task leaves open from `rng`."""

    @abstractmethod
    def to_act(self, state: S) -> str | None:
        """The seat that speaks next; None when the episode is over."""

    @abstractmethod
    def intro(self, state: S, seat: str) -> str:
        """The first message to a seat: rules, answer syntax, the opening position. Empty if the seat gets its first
        message later."""

    @abstractmethod
    def step(self, state: S, text: str, rng: Rng) -> Step:
        """The result when the seat to act says `text`, which may be any text. Never raises because of the text."""

    @abstractmethod
    def hypothesis(self, state: S) -> Hashable:
        """What the agent must identify, as a function of the hidden state; constant over an episode."""

    def in_words(self, hypothesis: Hashable) -> str | None:
        """A hypothesis as text for a question to a model: the answer that names it, if there is one (`say` adds the
        answer syntax), otherwise a description; None if it has neither. A hypothesis that is text is returned
        unchanged."""
        return hypothesis if isinstance(hypothesis, str) else None

    def private(self, state: S, seat: str) -> Mapping[str, Any]:
        """Facts only this seat may see."""
        return EMPTY

    def denies(self, state: S, seat: str, text: str) -> bool:
        """Whether the rules know that the text which a seat is about to say is untrue."""
        return False

    def actions(self, state: S) -> Sequence[str] | None:
        """The agent's legal answers (without answer syntax), if they depend on nothing hidden; otherwise None."""
        return None

    def say(self, answer: str) -> str:
        """A text that this environment reads as `answer`, one of the listed answers. Any other text is only wrapped in
        the answer syntax."""
        return answer

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """The JSON schema of the agent's answers to tasks with this public part, for its tool (`core.tools`): of a
        string, or of an object whose fields `compose_answer` joins; None for free text."""
        return None

    def compose_answer(self, fields: Mapping[str, str]) -> str:
        """The answer with these fields, where `answer_schema` is that of an object."""
        raise NotImplementedError(f"{self.name}: an answer schema with fields needs compose_answer")

    def tool(self, public: Mapping[str, Json]) -> Tool:
        """The agent's action as a tool, the same during an episode."""
        schema = self.answer_schema(public)
        request = "Say this, as your next turn." if schema is None else "Take your next turn."
        return action_tool(f"The game: {self.spec.summary}.", request, schema)

    def read_calls(self, public: Mapping[str, Json], calls: Sequence[ToolCall]) -> tuple[str, CallDefect]:
        """The text for which the tool calls of a reply stand: empty, with the defect, unless there is exactly one
        usable call."""
        tool = self.tool(public)
        fields, defect = read_call(tool, calls)
        if fields is None:
            return "", defect
        if tool.name == "say":
            return self.say(fields[TEXT]), ""
        return self.say(fields[ACTION] if list(fields) == [ACTION] else self.compose_answer(fields)), ""

    def acts(self, seat: str) -> tuple[int, int]:
        """The maximum number of acts of a seat in an episode, and the maximum number of repeats on top when unusable
        replies are requested again."""
        return self.spec.max_turns, 0

    def epilogue(self, state: S) -> str:
        """What a human player learns about the hidden world after the game, which no seat is ever told; empty if the
        hypothesis says everything."""
        return ""

    def render(self, state: S, seat: str) -> str | None:
        """One message that replaces the history; None if the history is the only record."""
        return None

    def filter(self, public: Mapping[str, Json]) -> Filter | None:
        """The prior over hypotheses for tasks with this public part; None if the environment has no filter."""
        return None

    def decision_problem(self, public: Mapping[str, Json]) -> Any:
        """The decision problem of tasks with this public part, for agents that plan over several sub-episodes
        (`envs/_shared/finite.py`); None if it is not finite."""
        return None


class TabularEnv(Env[S]):
    """An environment that lists its outcomes: one outcome model gives simulation, likelihood and solution.

    A leaf brings `outcomes` and either a finite `prior` or its own `draw` and `filter`. `memoryless` says that what may
    be told, up to words about the progress of the episode ("3 guesses left"), depends on the hidden setup and the text
    alone, not on the history: the exact filter then computes expected gains from the first states, once.
    """

    memoryless: ClassVar[bool] = False

    @abstractmethod
    def start(self, public: Mapping[str, Json], hidden: Json) -> S:
        """The first state for a hidden setup."""

    @abstractmethod
    def outcomes(self, state: S, text: str) -> Sequence[tuple[float, Step]]:
        """Every step that may follow `text`, with its probability; probabilities sum to 1."""

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        """Every hidden setup that a task with this public part may have, with its probability."""
        raise UserError(f"{self.name}: the prior over hidden setups is not finite; use filter(public)")

    def draw(self, public: Mapping[str, Json], rng: Rng) -> Json:
        """Sample a hidden setup from the prior, for tasks that leave it open."""
        return pick_weighted(self.prior(public), rng)

    def reset(self, task: Task, rng: Rng) -> S:
        hidden = self.draw(task.public, rng) if task.hidden is None else task.hidden
        return self.start(task.public, hidden)

    def step(self, state: S, text: str, rng: Rng) -> Step:
        outcomes = self.outcomes(state, text)
        return outcomes[0][1] if len(outcomes) == 1 else pick_weighted(outcomes, rng)

    def filter(self, public: Mapping[str, Json]) -> Filter | None:
        return _tabular_prior(self, as_frozen(public))


class CertainEnv(TabularEnv[S]):
    """An environment with deterministic transitions: chance only draws the hidden setup."""

    @abstractmethod
    def next_step(self, state: S, text: str) -> Step:
        """The step that follows `text`."""

    def outcomes(self, state: S, text: str) -> Sequence[tuple[float, Step]]:
        return [(1.0, self.next_step(state, text))]

    def step(self, state: S, text: str, rng: Rng) -> Step:
        return self.next_step(state, text)


@lru_cache(maxsize=64)
def _tabular_prior(env: TabularEnv[Any], public: Mapping[str, Json]) -> TabularFilter:
    """The prior, listed once per environment and public part."""
    rows = [(p, env.start(public, hidden)) for p, hidden in env.prior(public)]
    return TabularFilter(rows, env.outcomes, env.hypothesis, env.actions, env.say, env.memoryless)


T = TypeVar("T")


def pick_weighted(rows: Sequence[tuple[float, T]], rng: Rng) -> T:
    """One value drawn with its probability."""
    u = rng.random() * sum(p for p, _ in rows)
    for p, value in rows:
        u -= p
        if u < 0.0:
            return value
    return next(value for p, value in reversed(rows) if p > 0.0)


def seat_error(seat: str, seats: Mapping[str, Any]) -> UserError:
    """The error for a seat that an environment does not have."""
    return unknown("seat", seat, seats) if seat != AGENT else UserError("seat: the agent needs a policy")
