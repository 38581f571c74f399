"""PSRL made of language models: a posterior sampler, a policy for the sample, a posterior updater.

Source: Toward Efficient Exploration by LLM Agents, section 3.2, appendices C and H.1:

    beliefs = prior, a text
    for each sub-episode:  hypothesis = sampler(beliefs)
                           at each step: action = policy(hypothesis, observation)
                           beliefs = updater(beliefs, what happened)

Sub-calls: `posterior_sample`, `policy`, `posterior_update`, each with its own model and temperature, and `prior` where
a model writes the prior. `updates="trajectory"` hands the updater each sub-episode whole, at its end; `"step"` every
step at once. The former makes K (H + 2) calls, 3 T in a bandit, the last update in `finish`. `cache=True` asks the
policy once per state and sub-episode (appendix C).

`prior` is `well-specified` (the problem's own, in words and numbers; see `agents/_shared/priors.py`), `worlds` (every
possible world of a bandit, or every code, listed), `model` (one call more, before the first act, by the updater's
model), `hinted` (the same, the writer told the truth as one possibility, where the environment offers it: the paper's
way to a well-specified prior, `customer_service_bandit` with `told_prior="hint"`), or the text itself. In a table,
`alpha` is every parameter of its Dirichlets, by default 1/|S|. An environment without a finite problem is played as a
bandit: every turn is a sub-episode.

Fallbacks, counted in `memory["calls"]` and in the names of completions: without a readable hypothesis the policy acts
on the beliefs; an update that cannot be read leaves the beliefs as they are and its experience to the next one; for an
unreadable action a legal one is drawn; an unreadable prior is "Nothing is known."
What the update in `finish` says is not kept, because the episode is over; it is made so that calls and costs are those
of the algorithm, and for models that record what they are asked.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonde.core import Action, Model, View, derive, invalid, unknown
from sonde.envs._shared.sub_episodes import episode_length

from ._shared.beliefs import WRITTEN, BeliefAgent, BeliefKeeper
from ._shared.calls import Calls, text_reader
from ._shared.prompting import ActContext, PolicyCache, choose_action, finish_act, read_scene

UPDATES = ("trajectory", "step")


@dataclass(frozen=True, kw_only=True)
class LLMPSRL(BeliefAgent):
    """See the module docstring. Memory: beliefs, the turns they rest on, and the
    hypothesis."""

    prompt_files = ("llm_psrl", "beliefs", "priors", "calls")

    sampler_model: Model | None = None
    policy_model: Model | None = None
    sampler_temperature: float = 1.0
    policy_temperature: float = 1.0
    alpha: float | None = None
    updates: str = "trajectory"
    cache: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha is not None and not 0.0 < self.alpha < math.inf:
            raise invalid("agents:llm_psrl: alpha", self.alpha, "more than 0, or none for 1/|S|")
        if self.updates not in UPDATES:
            raise unknown("agents:llm_psrl: updates", self.updates, UPDATES)

    async def act(self, view: View) -> Action:
        memory: Mapping[str, Any] = view.memory or {}
        calls, at = self.start_calls(view.seed, memory), read_scene(view, self.prompt_pieces)
        begins = at.now.step == 0 or "hypothesis" not in memory
        due = begins or self.updates == "step"
        beliefs = await self.belief_keeper.current_beliefs(at, calls, memory, due=due)
        hypothesis = await self._sample_hypothesis(at, calls, beliefs.text) if begins else memory["hypothesis"]
        cached = PolicyCache.from_memory(self.cache, memory, begins)
        chosen = cached.cached_action(at) or await self._choose_action(at, calls, hypothesis or beliefs.text)
        return finish_act(
            view, chosen, calls, hypothesis=hypothesis, **beliefs.to_memory(), **cached.to_memory(at, chosen)
        )

    async def draw_hypotheses(self, view: View, beliefs: str, n: int) -> list[str]:
        """`n` independent samples from these beliefs, empty where a reply could not be read: what the sampler would
        have said at this act in `n` other runs."""
        at, seeds = read_scene(view, self.prompt_pieces), (derive(view.seed, "draw", i) for i in range(n))
        return await asyncio.gather(*(self._sample_hypothesis(at, self.start_calls(seed), beliefs) for seed in seeds))

    async def _sample_hypothesis(self, at: ActContext, calls: Calls, beliefs: str) -> str:
        """One sampled hypothesis; empty if the reply could not be parsed."""
        say, role = at.say("llm_psrl"), self.make_role("posterior_sample", "sampler")
        system = say["sample-system"].format(how=say[f"how-{at.problem_kind}"].format(), problem=at.problem_text())
        user = say["sample-user"].format(posterior=beliefs, situation=at.situation_block(role.name))
        return await calls.ask_model(role, system, user, text_reader("Hypothesis:")) or ""

    async def _choose_action(self, at: ActContext, calls: Calls, hypothesis: str) -> str:
        say = at.say("llm_psrl")
        system = say["policy-system"].format(hypothesis=hypothesis, problem=at.problem_text())
        return await choose_action(
            at, calls, self.make_role("policy", "policy"), system, say["policy-user"].format(**at.prompt_fields())
        )

    @property
    def belief_keeper(self) -> BeliefKeeper:
        return super().belief_keeper._replace(alpha=self.alpha)

    def most_calls(self, view: View) -> Mapping[str, int]:
        sub_episodes, steps = episode_length(view)
        updates = steps if self.updates == "step" else sub_episodes
        return {"sampler": sub_episodes, "policy": steps, "updater": updates + (self.prior in WRITTEN)}
