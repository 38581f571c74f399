"""Best of n: sample a player's candidates for one turn, simulate the reply to each, and say the most informative one.

Source: ΔBelief-RL, section 3.1, equation 2 and figure 3: eight questions are sampled, the reply to each is simulated,
and the question with the greatest ΔBelief of the truth is asked. All candidates share the belief before the turn, so
this is the one after which the model's belief in the truth is highest. The agent knows the truth, so it is marked
privileged. `worst` takes the lowest belief, and with `p` below 1 some turns take a random candidate, as in the paper's
code.

`by="expected"` is ours: the question with the greatest expected gain under the environment's own filter, which needs
neither the truth nor a model's belief.

The simulated replies are the actual ones if the other seats use only the randomness of their view's seed. A winning
candidate counts as the best, and as the worst only if all win. Departure: the paper's code elicits a belief there too.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sonde.beliefs.elicitation import Elicitation, agent_messages, text_logprob, truth_probe
from sonde.core import (
    Action,
    Episode,
    EpisodePolicy,
    Model,
    Policy,
    Rng,
    UserError,
    View,
    advance_to_agent,
    derive,
    invalid,
)


@dataclass(frozen=True, kw_only=True)
class BestOfN(EpisodePolicy):
    """See the module docstring. `player` proposes the candidates, the first as it would play alone; `believer` is the
    model whose belief is elicited (None: the player's own) by `template`. Ties go to the first."""

    player: Policy
    n: int = 8
    by: Literal["belief", "expected"] = "belief"
    worst: bool = False
    p: float = 1.0
    believer: Model | None = None
    template: str = "statement"
    aggregate: Literal["sum", "mean"] = "sum"

    def __post_init__(self) -> None:
        if self.n < 1:
            raise invalid("agents:best_of_n: n", self.n, "1 or more")
        if self.by not in ("belief", "expected"):
            raise invalid("agents:best_of_n: by", self.by, "belief or expected")
        if not 0.0 <= self.p <= 1.0:
            raise invalid("agents:best_of_n: p", self.p, "0 to 1")
        if self.by == "belief":
            _ = self._value_model.require_capabilities("score"), self._elicitation
        object.__setattr__(self, "privileged", self.by == "belief" or self.player.privileged)

    @property
    def _value_model(self) -> Model:
        model = self.believer or getattr(self.player, "model", None)
        if not isinstance(model, Model):
            raise invalid(
                "agents:best_of_n: believer", model, f"{Model.words}: {self.player.name!r} has none of its own"
            )
        return model

    @property
    def _elicitation(self) -> Elicitation:
        return Elicitation(template=self.template, aggregate=self.aggregate)

    async def choose_action(self, ep: Episode, policies: Mapping[str, Policy]) -> Action:
        candidates = await self.sample_candidates(ep)
        drawn = self.draw_candidate(ep, candidates)
        if drawn is not None:
            return drawn
        texts = tuple(dict.fromkeys(action.text for action in candidates))
        worth = dict(zip(texts, await self._score_texts(ep, texts, policies), strict=True))
        best = min if self.worst else max
        return best(candidates, key=lambda action: worth[action.text])

    async def sample_candidates(self, ep: Episode) -> list[Action]:
        """What the player would say now, `n` times."""
        return await asyncio.gather(*(self.player.act(each) for each in self._sample_views(ep, ep.view().seed)))

    def draw_candidate(self, ep: Episode, candidates: Sequence[Action]) -> Action | None:
        """A random one of these, on the share 1 - `p` of turns."""
        rng = Rng(ep.view().seed, "pick")
        return candidates[rng.randrange(self.n)] if rng.random() >= self.p else None

    async def measure_gains(self, ep: Episode, texts: Sequence[str], policies: Mapping[str, Policy]) -> list[float]:
        """The gain of saying each of these texts now, in bits: expected, under the environment's filter, or that of the
        believer's belief in the truth (`inf` where the text wins, `-inf` where it ends the game without the truth)."""
        scores = await self._score_texts(ep, texts, policies)
        if self.by == "expected":
            return list(scores)
        (before,) = await self._truth_logprobs([ep])
        return [(score - before) / math.log(2) for score in scores]

    def _sample_views(self, ep: Episode, seed: int) -> list[View]:
        """The same view, with other randomness from the second copy on."""
        return [(ep.fork(sample=derive(seed, "candidate", i) >> 1) if i else ep).view() for i in range(self.n)]

    async def _score_texts(self, ep: Episode, texts: Sequence[str], policies: Mapping[str, Policy]) -> Sequence[float]:
        if self.by == "belief":
            tried = await asyncio.gather(*(advance_to_agent(ep.step(text), policies) for text in texts))
            return await self._truth_logprobs(tried)
        known = ep.filter()
        if known is None:
            raise UserError(f"agents:best_of_n: by: got 'expected', but {ep.env.name} has no filter; allowed: belief")
        return [known.expected_gain(text) for text in texts]

    async def _truth_logprobs(self, tried: Sequence[Episode]) -> list[float]:
        """ln b of the truth after each candidate; won games rank above all others, games that end without the truth
        below."""
        prompt: Any = getattr(self.player, "prompt", agent_messages)
        found = [truth_probe(ep, self._elicitation, prompt) for ep in tried]
        scores = iter(await self._value_model.score([one for one in found if one is not None]))
        worth = [-math.inf if one is None else text_logprob(self._elicitation, next(scores)) for one in found]
        won = [ep.outcome is not None and ep.outcome.kind == "win" for ep in tried]
        return [math.inf if w else x for w, x in zip(won, worth, strict=True)]

    async def finish(self, view: View) -> None:
        await self.player.finish(view)

    async def close(self) -> None:
        await self.player.close()
        if self.believer is not None:
            await self.believer.close()
