"""In-context policy iteration: simulate every action with models learnt in context, and take the best.

Source: Brooks et al. (2023), as Toward Efficient Exploration by LLM Agents plays it (section 4 and appendix H.7.3):

    for each action:  simulate it from the present observation, then the rollout policy, to the end of the sub-episode
    play the action whose simulated rewards sum to the most; ties are broken at random

The simulation consists of three in-context models: `transition` and `reward` learn from steps drawn from everything
that happened, `rollout_policy` from the most recent ones, so that each act improves on the policy that was played.
`examples` is how many each call is shown. An act at step h of H (from 0) takes |A| (3 (H - h) - 2) calls; the actions
are simulated at the same time.

Fallbacks, counted in `memory["calls"]` and in the names of completions: an unreadable observation leaves the simulation
where it was, an unreadable reward is 0, for an unreadable action a legal one is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonde.core import Action, Model, Rng, View, invalid
from sonde.core.types import Json
from sonde.envs._shared.sub_episodes import Experience, best_of, experiences, horizon_of, legal_of

from ._shared.calls import Calls, Composed, Role, Work, action, after, block, check_calls, close_models, number, pieces
from ._shared.prompting import Scene, act, scene


@dataclass(frozen=True, kw_only=True)
class ICPI(Composed):
    """See the module docstring. A model that is None is `model`."""

    model: Model
    transition_model: Model | None = None
    reward_model: Model | None = None
    temperature: float = 1.0
    transition_temperature: float = 1.0
    reward_temperature: float = 0.0
    examples: int = 20
    retries: int = 2
    max_new_tokens: int = 512

    def __post_init__(self) -> None:
        names = ("temperature", "transition_temperature", "reward_temperature")
        temperatures = {name: getattr(self, name) for name in names}
        check_calls("agents:icpi", self.retries, self.max_new_tokens, **temperatures)
        if self.examples < 1:
            raise invalid("agents:icpi: examples", self.examples, "1 or more")

    async def act(self, view: View) -> Action:
        memory: Mapping[str, Any] = view.memory or {}
        calls, at, actions = Calls(view.seed, self.retries, memory.get("calls")), scene(view), legal_of(view, "icpi")
        seen = [row for row in experiences(view) if row.action is not None]
        returns = await calls.together([self._rollout(at, seen, actions, i) for i in range(len(actions))])
        return act(view, actions[best_of(returns, Rng(view.seed, "tie"))], calls)

    def _rollout(self, at: Scene, seen: Sequence[Experience], actions: Sequence[str], first: int) -> Work:
        """The simulated return of taking an action now and following the rollout policy to the horizon."""

        async def work(calls: Calls) -> float:
            world = _Simulation(self, at, seen, actions, Rng(at.view.seed, "simulation", first), calls)
            observation, taken, total = at.shown, actions[first], 0.0
            for left in reversed(range(at.horizon - at.now.step)):
                total += await world.reward(observation, taken)
                if left:
                    observation = await world.next(observation, taken)
                    taken = await world.choose(observation)
            return total

        return work

    def most_calls(self, view: View) -> int:
        horizon = horizon_of(view)
        left = [horizon - turn % horizon for turn in range(view.spec.max_turns)]
        return len(legal_of(view, "icpi")) * sum(3 * steps - 2 for steps in left)

    async def close(self) -> None:
        await close_models(self.model, self.transition_model, self.reward_model)


@dataclass(frozen=True)
class _Simulation:
    """The three in-context models in one rollout."""

    agent: ICPI
    at: Scene
    seen: Sequence[Experience]
    actions: Sequence[str]
    rng: Rng
    calls: Calls

    async def next(self, observation: str, taken: str) -> str:
        role = self._role("transition", self.agent.transition_model, self.agent.transition_temperature)
        rows: Json = [{"observation": e.observation, "action": e.action, "next": e.next} for e in self._drawn()]
        prompt = self._prompt(role.name, "transition", rows, observation, taken)
        return await self.calls.ask(role, *prompt, after("Next:", 4_000)) or observation

    async def reward(self, observation: str, taken: str) -> float:
        role = self._role("reward", self.agent.reward_model, self.agent.reward_temperature)
        rows: Json = [{"observation": e.observation, "action": e.action, "reward": e.reward} for e in self._drawn()]
        prompt = self._prompt(role.name, "reward", rows, observation, taken)
        return await self.calls.ask(role, *prompt, number("Reward:")) or 0.0

    async def choose(self, observation: str) -> str:
        role = self._role("rollout_policy", None, self.agent.temperature)
        recent = self.seen[-self.agent.examples :]
        rows: Json = [{"observation": e.observation, "action": e.action} for e in recent]
        found = await self.calls.ask(role, *self._prompt(role.name, "policy", rows, observation), action(self.actions))
        return found or self.actions[self.rng.randrange(len(self.actions))]

    def _drawn(self) -> list[Experience]:
        """Examples sampled from all experience, in their order."""
        n = min(self.agent.examples, len(self.seen))
        return [self.seen[i] for i in sorted(self.rng.sample(range(len(self.seen)), n))]

    def _prompt(self, call: str, piece: str, rows: Json, observation: str, taken: str = "") -> tuple[str, str]:
        say, at = pieces("icpi"), self.at
        user = say[f"{piece}-user"].format(
            examples=block(examples=rows),
            observation=observation,
            action=taken,
            situation=at.situation(call, simulated=observation, action=taken),
            available=at.available(),
        )
        return say[f"{piece}-system"].format(problem=at.described()), user

    def _role(self, name: str, model: Model | None, temperature: float) -> Role:
        return Role(name, model or self.agent.model, temperature, self.agent.max_new_tokens)
