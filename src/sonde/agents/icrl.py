"""In-context reinforcement learning: act on earlier sub-episodes shown in the prompt, all of them or a random subset.

Source: Monea et al. (2024), as played in Toward Efficient Exploration by LLM Agents (section 4 and appendix H.7.1): at
every step, each past sub-episode is shown with probability p, independently; p in {1, 0.5, 0.1}. One `policy` call per
step; `cache=True` makes one per state and sub-episode (appendix C).

Fallback, counted in `memory["calls"]` and in the names of completions: for an unreadable action a legal one is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonde.core import Action, Rng, View, invalid
from sonde.envs._shared.sub_episodes import list_experiences

from ._shared.calls import Calls, ComposedAgent
from ._shared.prompting import (
    ActContext,
    PolicyCache,
    choose_action,
    finish_act,
    group_by_sub_episode,
    read_scene,
    steps_block,
)


@dataclass(frozen=True, kw_only=True)
class ICRL(ComposedAgent):
    """See the module docstring. `keep` is the paper's p."""

    prompt_files = ("icrl", "calls")

    keep: float = 1.0
    temperature: float = 1.0
    cache: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.keep <= 1.0:
            raise invalid("agents:icrl: keep", self.keep, "0 to 1")

    async def act(self, view: View) -> Action:
        memory: Mapping[str, Any] = view.memory or {}
        calls, at = self.start_calls(view.seed, memory), read_scene(view, self.prompt_pieces)
        cached = PolicyCache.from_memory(self.cache, memory, at.now.step == 0)
        chosen = cached.cached_action(at) or await self._choose_action(at, calls)
        return finish_act(view, chosen, calls, **cached.to_memory(at, chosen))

    async def _choose_action(self, at: ActContext, calls: Calls) -> str:
        say, role = at.say("icrl"), self.make_role("policy")
        user = say["policy-user"].format(history=self._draw_history(at) or say["no-history"], **at.prompt_fields())
        return await choose_action(at, calls, role, say["policy-system"].format(problem=at.problem_text()), user)

    def _draw_history(self, at: ActContext) -> str:
        """The past sub-episodes to show in this prompt."""
        past = [row for row in list_experiences(at.view) if row.sub_episode < at.now.sub_episode]
        rng = Rng(at.view.seed, "keep")
        return "\n\n".join(
            steps_block(rows) for rows in group_by_sub_episode(past).values() if rng.random() < self.keep
        )

    def most_calls(self, view: View) -> Mapping[str, int]:
        return {"": view.spec.max_turns}
