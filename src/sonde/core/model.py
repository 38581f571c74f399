"""What a language model backend is. Backends live in `sonde.models`, one file each.

A model turns chat messages into a `Completion` and, where it can, scores given continuations. It says in
`capabilities` what it can do; asking for more is an error that names the backends that can.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from .checked import Checked
from .config import Configured
from .errors import CapabilityError, invalid
from .types import Completion, Message

CAPABILITIES: Mapping[str, tuple[str, ...]] = {
    "ids": ("fake", "hf"),
    "logprobs": ("fake", "hf", "http where the endpoint returns them"),
    "score": ("fake", "hf"),
    "steer": ("hf",),
    "deterministic": ("fake",),
}
"""Every capability, with the backends that have it."""


@dataclass(frozen=True, kw_only=True)
class Sampling(Checked):
    """How to draw a completion. `min_p` keeps tokens with p >= min_p * max p, after temperature; 0 turns it off.

    Temperature 0 is greedy. `seed` is derived by the caller from `View.seed`, so k samples never collapse into one.
    """

    called = "sampling"

    max_new_tokens: int = 1024
    temperature: float = 1.0
    top_p: float = 1.0
    min_p: float = 0.0
    stop: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise invalid("sampling: max_new_tokens", self.max_new_tokens, "1 or more")
        if not 0.0 <= self.temperature < math.inf:
            raise invalid("sampling: temperature", self.temperature, "0 or more")
        if not 0.0 < self.top_p <= 1.0:
            raise invalid("sampling: top_p", self.top_p, "(0, 1]")
        if not 0.0 <= self.min_p <= 1.0:
            raise invalid("sampling: min_p", self.min_p, "[0, 1]")

    @property
    def truncates(self) -> bool:
        """Whether some tokens can never be drawn."""
        return self.top_p < 1.0 or self.min_p > 0.0


@dataclass(frozen=True, kw_only=True)
class Capabilities(Checked):
    """What a backend can do. `ids`, `logprobs`: completions carry them; `score`: `Model.score` works; `steer`: decode
    hooks; `deterministic`: equal requests give equal completions whatever else runs."""

    ids: bool = False
    logprobs: bool = False
    score: bool = False
    steer: bool = False
    deterministic: bool = False


class Model(Configured, ABC):
    """A backend. Async, because a model is the one thing that is slow; safe to call from many episodes at once."""

    kind: ClassVar[str] = "models"
    words: ClassVar[str] = "a model, such as sonde.make('models:hf', ...)"
    capabilities: ClassVar[Capabilities] = Capabilities()

    @abstractmethod
    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The assistant message that follows. Raises `WorldError` when the backend fails."""

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> list[list[float]]:
        """Natural log-probabilities, per token, of each continuation as the next assistant message."""
        raise self.lacks("score")

    def lacks(self, capability: str) -> CapabilityError:
        """The error for a capability this backend does not have."""
        have = ", ".join(CAPABILITIES[capability])
        return CapabilityError(f"model {self.name!r} cannot {capability}; backends that can: {have}")

    def require(self, *capabilities: str) -> Self:
        """This model, or the error for the first capability that it lacks."""
        for c in capabilities:
            if not getattr(self.capabilities, c):
                raise self.lacks(c)
        return self

    async def close(self) -> None:
        """Release connections, threads and memory. Idempotent."""
