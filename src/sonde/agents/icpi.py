"""In-context policy iteration: simulate every action with models learned in context, and take the best.

Source: Brooks et al. (2023), as played in Toward Efficient Exploration by LLM Agents (section 4 and appendix H.7.3):

    for each action:  simulate it from the present observation, then the rollout policy, to the end of the sub-episode
    play the action with the highest sum of simulated rewards; ties are broken at random

The simulation has three in-context models: `transition` and `reward` get examples drawn from all past steps,
`rollout_policy` the most recent ones, so that each act improves on the policy played so far. `examples` is the number
of examples per call. An act at step h of H (from 0) takes |A| (3 (H - h) - 2) calls; the actions are simulated
concurrently.

Fallbacks, counted in `memory["calls"]` and in the names of completions: an unreadable observation leaves the simulation
at its state, an unreadable reward counts as 0, and for an unreadable action a legal one is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonde.core import Action, Model, Rng, View, invalid
from sonde.core.types import Json
from sonde.envs._shared.sub_episodes import (
    Experience,
    list_experiences,
    pick_largest,
    problem_horizon,
    require_legal_actions,
)

from ._shared.calls import (
    Calls,
    ComposedAgent,
    Work,
    action_reader,
    json_block,
    number_reader,
    text_reader,
)
from ._shared.prompting import ActContext, finish_act, read_scene


@dataclass(frozen=True, kw_only=True)
class ICPI(ComposedAgent):
    """See the module docstring."""

    prompt_files = ("icpi", "calls")

    transition_model: Model | None = None
    reward_model: Model | None = None
    temperature: float = 1.0
    transition_temperature: float = 1.0
    reward_temperature: float = 0.0
    examples: int = 20
    max_new_tokens: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.examples < 1:
            raise invalid("agents:icpi: examples", self.examples, "1 or more")

    async def act(self, view: View) -> Action:
        memory: Mapping[str, Any] = view.memory or {}
        calls, at, actions = (
            self.start_calls(view.seed, memory),
            read_scene(view, self.prompt_pieces),
            require_legal_actions(view, "icpi"),
        )
        seen = [row for row in list_experiences(view) if row.action is not None]
        returns = await calls.run_concurrently(
            [self._simulate_return(at, seen, actions, i) for i in range(len(actions))]
        )
        return finish_act(view, actions[pick_largest(returns, Rng(view.seed, "tie"))], calls)

    def _simulate_return(self, at: ActContext, seen: Sequence[Experience], actions: Sequence[str], first: int) -> Work:
        """The simulated return of taking an action now and following the rollout policy to the horizon."""

        async def run_rollout(calls: Calls) -> float:
            world = _Simulation(self, at, seen, actions, Rng(at.view.seed, "simulation", first), calls)
            observation, taken, total = at.observation_text, actions[first], 0.0
            for left in reversed(range(at.horizon - at.now.step)):
                total += await world.predict_reward(observation, taken)
                if left:
                    observation = await world.predict_observation(observation, taken)
                    taken = await world.choose_action(observation)
            return total

        return run_rollout

    def most_calls(self, view: View) -> Mapping[str, int]:
        horizon, rollouts = problem_horizon(view), len(require_legal_actions(view, "icpi"))
        left = [horizon - turn % horizon for turn in range(view.spec.max_turns)]
        rewards, moves = rollouts * sum(left), rollouts * sum(steps - 1 for steps in left)
        return {"reward": rewards, "transition": moves, "": moves}


@dataclass(frozen=True)
class _Simulation:
    """The three in-context models in one rollout."""

    agent: ICPI
    at: ActContext
    seen: Sequence[Experience]
    actions: Sequence[str]
    rng: Rng
    calls: Calls

    async def predict_observation(self, observation: str, taken: str) -> str:
        role = self.agent.make_role("transition", "transition")
        rows: Json = [{"observation": e.observation, "action": e.action, "next": e.next} for e in self._draw_examples()]
        prompt = self._build_prompt(role.name, "transition", rows, observation, taken)
        return await self.calls.ask_model(role, *prompt, text_reader("Next:", 4_000)) or observation

    async def predict_reward(self, observation: str, taken: str) -> float:
        role = self.agent.make_role("reward", "reward")
        rows: Json = [
            {"observation": e.observation, "action": e.action, "reward": e.reward} for e in self._draw_examples()
        ]
        prompt = self._build_prompt(role.name, "reward", rows, observation, taken)
        return await self.calls.ask_model(role, *prompt, number_reader("Reward:")) or 0.0

    async def choose_action(self, observation: str) -> str:
        role = self.agent.make_role("rollout_policy")
        recent = self.seen[-self.agent.examples :]
        rows: Json = [{"observation": e.observation, "action": e.action} for e in recent]
        found = await self.calls.ask_model(
            role, *self._build_prompt(role.name, "policy", rows, observation), action_reader(self.actions)
        )
        return found or self.actions[self.rng.randrange(len(self.actions))]

    def _draw_examples(self) -> list[Experience]:
        """Examples sampled from all experience, in their order."""
        n = min(self.agent.examples, len(self.seen))
        return [self.seen[i] for i in sorted(self.rng.sample(range(len(self.seen)), n))]

    def _build_prompt(self, call: str, piece: str, rows: Json, observation: str, taken: str = "") -> tuple[str, str]:
        at = self.at
        say = at.say("icpi")
        user = say[f"{piece}-user"].format(
            examples=json_block(examples=rows),
            observation=observation,
            action=taken,
            situation=at.situation_block(call, simulated=observation, action=taken),
            available=at.action_list(),
        )
        return say[f"{piece}-system"].format(problem=at.problem_text()), user
