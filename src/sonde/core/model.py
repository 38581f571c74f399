"""What a language model backend is. Backends live in `sonde.models`, one file each.

A model turns chat messages into a `Completion` and, where supported, scores given text. `capabilities` says what it can
do; asking for more is an error that names the backends that can.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import isawaitable
from typing import Any, ClassVar, Self

from sonde._util.argument_checks import Checked

from .config import Configured
from .errors import CapabilityError, invalid
from .tools import Tool
from .types import Completion, Message

CAPABILITIES: Mapping[str, tuple[str, ...]] = {
    "ids": ("fake", "hf", "vllm", "sglang"),
    "logprobs": ("fake", "hf", "http where the endpoint returns them", "vllm", "sglang"),
    "score": ("fake", "hf", "http where the endpoint returns prompt_logprobs", "vllm", "sglang"),
    "steer": ("hf",),
    "deterministic": ("fake",),
    "tools": ("fake", "http", "hf, vllm and sglang where the chat template shows tools"),
}
"""Every capability, with the backends that have it."""


@dataclass(frozen=True, kw_only=True)
class Sampling(Checked):
    """How to draw a completion. `min_p` keeps tokens with p >= min_p * max p, after temperature; 0 disables it.

    Temperature 0 is greedy. The caller derives `seed` from `View.seed`, so each of k samples has its own randomness.
    With `tools`, the model is shown these and should reply with a call (`Completion.calls`); a user message after an
    assistant message with calls is then what the call returned.
    """

    called = "sampling"

    max_new_tokens: int = 1024
    temperature: float = 1.0
    top_p: float = 1.0
    min_p: float = 0.0
    stop: tuple[str, ...] = ()
    seed: int = 0
    tools: tuple[Tool, ...] = ()

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise invalid("sampling: max_new_tokens", self.max_new_tokens, "1 or more")
        if not 0.0 <= self.temperature < math.inf:
            raise invalid("sampling: temperature", self.temperature, "0 or more")
        if not 0.0 < self.top_p <= 1.0:
            raise invalid("sampling: top_p", self.top_p, "(0, 1]")
        if not 0.0 <= self.min_p <= 1.0:
            raise invalid("sampling: min_p", self.min_p, "[0, 1]")
        if "" in self.stop:
            raise invalid("sampling: stop", self.stop, "non-empty texts")
        if not 0 <= self.seed < 2**64:
            raise invalid("sampling: seed", self.seed, "0 to 2**64 - 1")

    def cut_at_stop(self, text: str) -> str | None:
        """The text before its first stop word; None if it has none.

        >>> Sampling(stop=("now", "is it")).cut_at_stop("What is it now?")
        'What '
        """
        places = [at for word in self.stop if (at := text.find(word)) >= 0]
        return text[: min(places)] if places else None

    @property
    def is_truncating(self) -> bool:
        """Whether some tokens can never be sampled."""
        return self.top_p < 1.0 or self.min_p > 0.0


@dataclass(frozen=True, kw_only=True)
class Capabilities(Checked):
    """What a backend can do. `ids`, `logprobs`: completions carry them; `score`: `Model.score` works; `steer`: it
    supports decode hooks; `deterministic`: equal requests give equal completions regardless of other requests;
    `tools`: it reads calls of tools."""

    ids: bool = False
    logprobs: bool = False
    score: bool = False
    steer: bool = False
    deterministic: bool = False
    tools: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Probe(Checked):
    """A conversation whose last message is an assistant message, to be scored by `Model.score`.

    `span` is the half-open range of characters of that message to score; None means all of it. With `ending`, the token
    that ends the message is scored too, as the last one.

    >>> told = Message("user", "yes"), Message("assistant", "Is it an apple?")
    >>> Probe(told, span=(9, 14)).span_text
    'apple'
    """

    called = "probe"

    messages: tuple[Message, ...]
    span: tuple[int, int] | None = None
    ending: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        if not self.messages or self.messages[-1].role != "assistant":
            raise invalid("probe: messages", [m.role for m in self.messages], "an assistant message last")
        n = len(self.messages[-1].content)
        if self.span is not None and not 0 <= self.span[0] < self.span[1] <= n:
            raise invalid("probe: span", self.span, f"characters of the last message, which has {n}: 0 <= a < b <= {n}")

    @property
    def span_bounds(self) -> tuple[int, int]:
        """The scored span as start and end."""
        return self.span or (0, len(self.messages[-1].content))

    @property
    def span_text(self) -> str:
        """The text of the span."""
        a, b = self.span_bounds
        return self.messages[-1].content[a:b]


class Model(Configured, ABC):
    """A language model backend. Async, because models are slow; safe to call from many episodes at once."""

    kind: ClassVar[str] = "models"
    words: ClassVar[str] = "a model, such as sonde.make('models:hf', ...)"
    capabilities: ClassVar[Capabilities] = Capabilities()
    costs_nothing: ClassVar[bool] = False
    """True for programs that stand in for a model; estimates of costs do not count their calls."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "generate" in vars(cls):
            cls.generate = _wrap_generate(cls.generate)  # pyright: ignore[reportAttributeAccessIssue]

    @abstractmethod
    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The assistant message that follows. Raises `WorldError` if the backend fails. A custom class may return plain
        text; anything else is a `UserError`."""

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        """For each probe, the natural log-probabilities, at temperature 1, of the tokens that overlap its span.

        A backend computes shared prefixes once, so pass many probes per call and issue calls concurrently.
        """
        raise self.capability_error("score")

    async def rank(self, probes: Sequence[Probe]) -> list[float]:
        """A score for the text of each probe: the sum of its log-probabilities, plus the value terms if values steer
        this model."""
        return [sum(logprobs) for logprobs in await self.score(probes)]

    def capability_error(self, capability: str) -> CapabilityError:
        """The error for a missing capability of this backend."""
        have = ", ".join(CAPABILITIES[capability])
        return CapabilityError(f"model {self.name!r} cannot {capability}; backends that can: {have}")

    def require_capabilities(self, *capabilities: str) -> Self:
        """This model, or the error for the first capability that it lacks."""
        for c in capabilities:
            if not getattr(self.capabilities, c):
                raise self.capability_error(c)
        return self

    async def close(self) -> None:
        """Release connections, threads and memory. Idempotent."""


def _wrap_generate(generate: Callable[..., Any]) -> Callable[..., Awaitable[Completion]]:
    """Wrap a custom class's `generate` so that plain text becomes a completion."""

    @wraps(generate)
    async def generate_completion(self: Model, messages: Sequence[Message], sampling: Sampling) -> Completion:
        reply = generate(self, messages, sampling)
        if isawaitable(reply):
            reply = await reply
        if isinstance(reply, str):
            return Completion(text=reply, model=self.name)
        if not (isinstance(reply, Completion) and isinstance(reply.text, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid(f"{self.called}.generate", reply, "a Completion, or the text of one")
        return reply

    return generate_completion
