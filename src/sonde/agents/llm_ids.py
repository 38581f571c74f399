"""Information-directed sampling with language models: they estimate the regret and information gain of every action.

Source: Toward Efficient Exploration by LLM Agents, appendices F and H.6; Russo and Van Roy (2018). Per act: the beliefs
are updated with the last step (`posterior_update`), 2 |A| calls estimate regret and information gain of each action,
and the action is drawn from the distribution over pairs of actions, weights on a grid, with the smallest information
ratio.

Bandits (and environments without a finite problem) ask for the `expected_regret`. Problems of several steps ask for the
`expected_value` of taking the action and playing perfectly afterwards, which is subtracted from `best_value`, the value
of optimal play: 1 in the lock and in Wordle, as in the paper. `information_gain` is about optimal behaviour, in bits.
The prompts ask for cautious estimates (high regret, low gain). Myopic, as in the paper.

Fallbacks, counted in `memory["calls"]` and in the names of completions: an unreadable cost is the largest (1, or a
value of 0), an unreadable gain is 0; beliefs as in `agents:llm_psrl`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonde.core import Action, Model, Rng, View, invalid
from sonde.envs._shared.sub_episodes import require_legal_actions

from ._shared.beliefs import WRITTEN, BeliefAgent
from ._shared.calls import Calls, Work, number_reader
from ._shared.prompting import ActContext, finish_act, read_scene
from ._shared.ratio import minimise_ratio


@dataclass(frozen=True, kw_only=True)
class LLMIDS(BeliefAgent):
    """See the module docstring. `grid`: the weights tried for a pair are 0, 1/grid,
    ..., 1."""

    prompt_files = ("llm_ids", "beliefs", "priors", "calls")

    regret_model: Model | None = None
    gain_model: Model | None = None
    regret_temperature: float = 0.0
    gain_temperature: float = 0.0
    best_value: float = 1.0
    grid: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid < 2:
            raise invalid("agents:llm_ids: grid", self.grid, "2 or more")
        if not math.isfinite(self.best_value):
            raise invalid("agents:llm_ids: best_value", self.best_value, "a finite number")

    async def act(self, view: View) -> Action:
        memory: Mapping[str, Any] = view.memory or {}
        calls, at = self.start_calls(view.seed, memory), read_scene(view, self.prompt_pieces)
        beliefs = await self.belief_keeper.current_beliefs(at, calls, memory, due=True)
        actions = require_legal_actions(view, "llm_ids")
        regrets, gains = (
            [estimate(at, beliefs.text, a) for a in actions]
            for estimate in (self._estimate_regret, self._estimate_gain)
        )
        found = await calls.run_concurrently([*regrets, *gains])
        rng = Rng(view.seed, "mix")
        chosen = actions[minimise_ratio(found[: len(actions)], found[len(actions) :], rng, self.grid).draw_action(rng)]
        return finish_act(view, chosen, calls, **beliefs.to_memory())

    def _estimate_regret(self, at: ActContext, beliefs: str, action: str) -> Work:
        """The expected regret of an action, estimated directly or by its value."""
        several = at.horizon > 1
        name, marker = ("expected_value", "Expected value:") if several else ("expected_regret", "Expected regret:")
        role = self.make_role(name, "regret")

        async def ask_regret(calls: Calls) -> float:
            piece = "value" if several else "regret"
            found = await calls.ask_model(
                role, *_build_prompt(piece, at, name, beliefs, action), number_reader(marker, 0.0)
            )
            if not several:
                return 1.0 if found is None else found
            return max(0.0, self.best_value - (found or 0.0))

        return ask_regret

    def _estimate_gain(self, at: ActContext, beliefs: str, action: str) -> Work:
        role = self.make_role("information_gain", "gain")

        async def ask_gain(calls: Calls) -> float:
            prompt = _build_prompt("gain", at, role.name, beliefs, action)
            return await calls.ask_model(role, *prompt, number_reader("Information gain:", 0.0)) or 0.0

        return ask_gain

    def most_calls(self, view: View) -> Mapping[str, int]:
        turns = view.spec.max_turns
        estimates = turns * len(require_legal_actions(view, "llm_ids"))
        return {"regret": estimates, "gain": estimates, "updater": turns + (self.prior in WRITTEN)}


def _build_prompt(piece: str, at: ActContext, call: str, beliefs: str, action: str) -> tuple[str, str]:
    """System and user message of one estimate."""
    say = at.say("llm_ids")
    words = {"posterior": beliefs, "observation": at.observation, "action": action}
    user = say[f"{piece}-user"].format(situation=at.situation_block(call, action=action), **words)
    return say[f"{piece}-system"].format(problem=at.problem_text()), user
