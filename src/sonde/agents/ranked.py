"""A language model restricted to the legal answers: it scores all of them, and says the best or a sampled one.

    worth(answer) = sum over its tokens, and the one that ends it, of  log pi + beta (min Q - V)

with the second term only if the model has value heads (`models:hf`, `heads`); without them, worth is the
log-probability of the answer. At temperature 0 the answer with the highest worth is said, otherwise one is sampled with
probabilities proportional to exp(worth / temperature). So an answer is never illegal. One call scores all answers
together, and computes their common prefix once.

Source: LMRL-Gym (arXiv 2311.18232): its code chooses among the four moves of a maze in this way, the best one or a
sampled one, and does not divide values by the length of a text either. For environments that list the legal answers
(`View.legal`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sonde.core import Action, Message, Probe, Rng, View, invalid
from sonde.envs._shared.sub_episodes import require_legal_actions

from ._shared.chat import ChatAgent


@dataclass(frozen=True, kw_only=True)
class Ranked(ChatAgent):
    """See the module docstring. What the model is shown is as for `agents:llm`."""

    temperature: float = 0.7

    def __post_init__(self) -> None:
        super().__post_init__()
        self.model.require_capabilities("score")
        if not 0.0 <= self.temperature < math.inf:
            raise invalid(f"{self.called}: temperature", self.temperature, "0 or more")

    async def act(self, view: View) -> Action:
        said = [view.say(answer) for answer in require_legal_actions(view, "ranked")]
        prompt = self.build_prompt(view)
        worth = await self.model.rank([Probe((*prompt, Message("assistant", text)), ending=True) for text in said])
        return Action(said[choose_index(worth, self.temperature, Rng(view.seed).random())])


def choose_index(worth: Sequence[float], temperature: float, u: float) -> int:
    """The index of the largest value, ties going to the first; above temperature 0, the index that `u` in [0, 1)
    selects.

    >>> worth = [math.log(x) for x in (0.1, 0.3, 0.6)]
    >>> choose_index(worth, 0.0, 0.05), choose_index(worth, 1.0, 0.05), choose_index(worth, 1.0, 0.35)
    (2, 0, 1)
    """
    best = max(range(len(worth)), key=worth.__getitem__)
    if temperature == 0.0:
        return best
    weights = [math.exp((x - worth[best]) / temperature) for x in worth]
    left = u * sum(weights)
    for i, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return i
    return best
