"""A language model in any seat but the agent's: answerer, customer, narrator, judge. Its messages define the role.

Source: PAPRIKA, appendix E: temperature 0 and at most 1,024 tokens for simulated users and judges. The environment
decides what a reply may look like, how often it is requested again, and what never reaches the agent
(`envs/_shared/dialogue.py`). One model object may fill several seats.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, View, derive

from ._modelled import Modelled


@dataclass(frozen=True, kw_only=True)
class LLM(Modelled):
    """See the module docstring."""

    async def act(self, view: View) -> Action:
        completion, answer = await self.generate_reply(view.messages, derive(view.seed, "call", 0))
        return Action(answer, completions=(completion,))
