"""Shared settings of users that a language model plays; the defaults are those of PAPRIKA, appendix E."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sonde.core import Completion, Message, Model, Policy, Sampling
from sonde.models.chat.reasoning import split_completion


@dataclass(frozen=True, kw_only=True)
class Modelled(Policy):
    """Temperature 0 and at most 1,024 tokens; `system` is prepended to the messages."""

    kind: ClassVar[str] = "users"

    model: Model
    system: str = ""
    temperature: float = 0.0
    top_p: float = 1.0
    min_p: float = 0.0
    max_new_tokens: int = 1024

    def __post_init__(self) -> None:
        self._sampling(0)

    def _sampling(self, seed: int) -> Sampling:
        return Sampling(
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            min_p=self.min_p,
            seed=seed,
        )

    async def generate_reply(self, messages: Sequence[Message], seed: int) -> tuple[Completion, str]:
        """The model's completion after these messages, and its answer without the thinking, which no other seat
        sees."""
        system = (Message("system", self.system),) if self.system else ()
        return split_completion(await self.model.generate((*system, *messages), self._sampling(seed)))

    async def close(self) -> None:
        await self.model.close()
