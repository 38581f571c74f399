"""Shared parts of agents that make several language model calls: named sub-calls, counted retries, prompts, parsers.

A *role* is a sub-call with a name, a model and a temperature of its own. A reply that cannot be read is asked for again
in the same conversation, at most `retries` times; after that the agent does what its docstring says (its fallback).
Nothing of this is silent: every reply is recorded under its role's name, one that could not be read as
`Completion.unread == "malformed"`, and the last one of a call that was given up as `"fallback"`. They are counted over
the episode in the agent's memory under `"calls"`, as `"policy:malformed"` (say).

Prompts live in `agents/_shared/prompts/NAME.md`; a line `## name` begins the piece called `name`. What a program
could need of a prompt (the situation, what was observed, a belief) stands in fenced JSON blocks, which models read as
well.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, partial
from importlib.resources import files
from typing import Any, ClassVar, NamedTuple, TypeVar

from sonde.core import EMPTY, Completion, Frozen, Message, Model, Policy, Sampling, View, derive, invalid
from sonde.core.prompts import OPTIONAL, Pieces, Prompts, overlay_prompts, parse_pieces, read_prompts
from sonde.core.types import Json
from sonde.envs._shared.answer import read_answer
from sonde.envs._shared.frames import parse_frames
from sonde.models.chat.reasoning import split_completion

T = TypeVar("T")
Reader = Callable[[str], T | None]
Say = Callable[[str], Pieces]
"""From the name of a file to its texts."""

KEPT = 24_000
"""Maximum size in bytes of JSON of one text in a memory; two of them and the rest fit into `MEMORY_LIMIT`."""

_BRANCH = 10_000
"""Number of call numbers reserved for one branch of an act."""
_NUMBER = re.compile(r"[-+]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,3})?")
_AROUND = " \t\r\n\"'`*_.,;:!()[]“”‘’"


class Role(NamedTuple):
    """A sub-call: its name in the record, its model and its settings."""

    name: str
    model: Model
    temperature: float = 1.0
    max_new_tokens: int = 2048


class Calls:
    """The calls of one act. `counts` starts from earlier acts' counts; `completions` holds this act's calls only."""

    def __init__(
        self, seed: int, retries: int, counts: Mapping[str, int] | None = None, first: int = 0, again: str = ""
    ) -> None:
        self.completions: list[Completion] = []
        self.counts: dict[str, int] = dict(counts or {})
        self._seed, self._retries, self._n, self._again = seed, retries, first, again or retry_message()

    async def ask_model(self, role: Role, system: str, user: str, read: Reader[T]) -> T | None:
        """What `read` parses from the reply; None, counted as a fallback, if no reply could be parsed."""
        messages: tuple[Message, ...] = (Message("system", system), Message("user", user))
        for left in reversed(range(self._retries + 1)):
            completion, text = await self._generate(role, messages)
            value = read(text)
            if value is not None:
                self.completions.append(replace(completion, name=role.name))
                return value
            unread = "malformed" if left else "fallback"
            self.completions.append(replace(completion, name=role.name, unread=unread))
            self._add_count(f"{role.name}:{unread}", 1)
            messages = (*messages, Message("assistant", completion.text, completion), Message("user", self._again))
        return None

    async def _generate(self, role: Role, messages: Sequence[Message]) -> tuple[Completion, str]:
        seed = derive(self._seed, "call", self._n)
        self._n += 1
        sampling = Sampling(max_new_tokens=role.max_new_tokens, temperature=role.temperature, seed=seed)
        return split_completion(await role.model.generate(messages, sampling))

    def _add_count(self, name: str, n: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + n

    async def run_concurrently(self, works: Iterable[Callable[[Calls], Awaitable[T]]]) -> list[T]:
        """Run independent pieces of work concurrently, each with its own call numbers; recorded in their order."""
        todo = list(works)
        branches = [
            Calls(self._seed, self._retries, first=_BRANCH * (i + 1), again=self._again) for i in range(len(todo))
        ]
        found = await asyncio.gather(*(work(branch) for work, branch in zip(todo, branches, strict=True)))
        for branch in branches:
            self.completions += branch.completions
            for name, n in branch.counts.items():
                self._add_count(name, n)
        return list(found)


Work = Callable[[Calls], Awaitable[float]]
"""A piece of work that returns a number, given its own calls."""


@dataclass(frozen=True, kw_only=True)
class ComposedAgent(Policy):
    """An agent made of several sub-calls. `prompts`: a folder with texts in place of the package's (`core.prompts`).

    Fields called `..._model` are the models of single roles, `model` where they are None; `temperature` and fields
    called `..._temperature` are the roles' temperatures.
    """

    prompt_files: ClassVar[tuple[str, ...]]
    """The files of `agents/_shared/prompts` that it speaks by."""

    model: Model
    retries: int = 2
    max_new_tokens: int = 2048
    prompts: str | Prompts = field(default=EMPTY, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        """Read the texts and check the settings of the calls; subclasses call it."""
        if self.prompts:
            object.__setattr__(self, "prompts", read_prompts(self.called, self.prompts, self.package_prompts()))
        if self.retries < 0:
            raise invalid(f"{self.called}: retries", self.retries, "0 or more")
        if self.max_new_tokens < 1:
            raise invalid(f"{self.called}: max_new_tokens", self.max_new_tokens, "1 or more")
        for name in self._list_fields("temperature"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise invalid(f"{self.called}: {name}", getattr(self, name), "0 or more")

    def _list_fields(self, kind: str) -> list[str]:
        """The fields of this kind, of all roles."""
        return [f.name for f in fields(self) if f.name == kind or f.name.endswith(f"_{kind}")]

    def make_role(self, name: str, who: str = "") -> Role:
        """The sub-call `name`, by the model and temperature of the role `who`."""
        temperature: float = getattr(self, f"{who}_temperature" if who else "temperature")
        return Role(name, self.model_of(who), temperature, self.max_new_tokens)

    def model_of(self, who: str) -> Model:
        """The model of the role `who`; that of all roles if it has none of its own."""
        own: Model | None = getattr(self, f"{who}_model", None)
        return own or self.model

    async def close(self) -> None:
        await close_models(*(getattr(self, name) for name in self._list_fields("model")))

    @classmethod
    def package_prompts(cls) -> Prompts:
        """The texts that `prompts` may replace."""
        return {file: load_prompts(file) for file in cls.prompt_files}

    @cached_property
    def _own_prompts(self) -> Mapping[str, Pieces]:
        given = self.prompts
        return overlay_prompts(given, self.package_prompts()) if isinstance(given, Mapping) else {}

    def prompt_pieces(self, file: str) -> Pieces:
        """The texts of a file, those of `prompts` before the package's."""
        return self._own_prompts.get(file) or load_prompts(file)

    def start_calls(self, seed: int, memory: Mapping[str, Any] = EMPTY) -> Calls:
        """The calls of an act, counted on from those in the memory."""
        again = self.prompt_pieces("calls")["again"]
        return Calls(seed, self.retries, memory.get("calls"), again=again)

    @abstractmethod
    def most_calls(self, view: View) -> Mapping[str, int]:
        """The numbers of model calls of a full-length episode, without retries, from its first view: by the roles of
        `model_of`."""


async def close_models(*models: Model | None) -> None:
    """Close each distinct model once."""
    seen: list[Model] = []
    for model in models:
        if model is not None and not any(model is other for other in seen):
            seen.append(model)
            await model.close()


# --- prompts ---------------------------------------------------------------------------------------------------------


@cache
def load_prompts(name: str) -> Pieces:
    """The pieces of `agents/_shared/prompts/NAME.md`, loaded once per process. They are `str.format` templates."""
    return Frozen(parse_pieces(files("sonde.agents._shared").joinpath("prompts", f"{name}.md").read_text("utf-8")))


def retry_message() -> str:
    """The message that follows a reply which could not be parsed."""
    return load_prompts("calls")["again"]


def json_block(**value: Json) -> str:
    """A fenced JSON block with one object.

    >>> print(json_block(situation={"step": 1}))
    ```json
    {"situation": {"step": 1}}
    ```
    """
    return f"```json\n{json.dumps(value, ensure_ascii=False)}\n```"


# --- readers ---------------------------------------------------------------------------------------------------------


def json_size(text: str) -> int:
    """The size of a text in a memory, which is JSON: a non-ASCII character takes 6 or 12 bytes."""
    return len(json.dumps(text))


def text_reader(marker: str, limit: int = KEPT) -> Reader[str]:
    """A parser for the text behind the last `marker`, of at most `limit` bytes (see `json_size`).

    >>> text_reader("Hypothesis:")("I think so. HYPOTHESIS: the code is 123")
    'the code is 123'
    """

    def read_text(text: str) -> str | None:
        found = _text_behind(marker, text)
        return found if found and json_size(found) <= limit else None

    return read_text


def _text_behind(marker: str, text: str) -> str | None:
    """The text behind the last `marker`, ignoring case; None if there is none."""
    ends = [found.end() for found in re.finditer(re.escape(marker), text, re.IGNORECASE)]
    return text[ends[-1] :].strip(" \t\r\n*") if ends else None


def action_reader(legal: Sequence[str] | None, limit: int = 4_000) -> Reader[str]:
    """A parser for an action: behind `Action:`, else in an answer tag, else the whole reply. One of `legal`, if given.

    >>> action_reader(("A", "B"))("Upstream it is. Action: **b**.")
    'B'
    """

    def read_action(text: str) -> str | None:
        for said in (_text_behind("Action:", text), read_answer(text), text):
            if said is not None and (found := match_action(said, legal, limit)) is not None:
                return found
        return None

    return read_action


def match_action(said: str, legal: Sequence[str] | None, limit: int = 4_000) -> str | None:
    """The legal action that the first line of `said` names; if none are listed, any text within the limit."""
    said = (read_answer(said) or said).strip()
    if legal is None:
        return said if 0 < len(said) <= limit else None
    lines = (said[:limit], said.partition("\n")[0][:limit])
    return next((found for line in lines if (found := parse_frames(line, partial(_unique_match, legal)))), None)


def _unique_match(legal: Sequence[str], said: str) -> str | None:
    plain = said.strip(_AROUND)
    if plain in legal:
        return plain
    same = [a for a in legal if a.casefold() == plain.casefold()]
    return same[0] if len(same) == 1 else None


def number_reader(marker: str, low: float = -math.inf, high: float = math.inf) -> Reader[float]:
    """A parser for the number behind the last `marker`, within bounds.

    >>> number_reader("Estimate:", 0.0)("0.5 of 2 is 1. Estimate: 1.25 bits")
    1.25
    """

    def read_number(text: str) -> float | None:
        said = _text_behind(marker, text) if marker else text
        found = _NUMBER.match(said.lstrip(" \t\r\n*$`")) if said else None
        value = float(found[0]) if found else math.nan
        return value if math.isfinite(value) and low <= value <= high else None

    return read_number
