"""A language model in any seat but the agent's: answerer, customer, narrator, judge. Its role is in its messages.

Source: PAPRIKA, appendix E: temperature 0 and at most 1,024 tokens for simulated users and judges. What a reply may
look like, how often it is asked for again, and what never reaches the agent is the environment's business
(`envs/_rules/dialogue.py`). One model object may sit in several seats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sonde.core import Action, Message, Model, Policy, Sampling, View, derive


@dataclass(frozen=True, kw_only=True)
class LLM(Policy):
    """See the module. `system` is put in front of the messages of the seat."""

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

    async def act(self, view: View) -> Action:
        system = (Message("system", self.system),) if self.system else ()
        completion = await self.model.generate((*system, *view.messages), self._sampling(derive(view.seed, "call", 0)))
        return Action(completion.text, completions=(completion,))

    async def close(self) -> None:
        await self.model.close()
